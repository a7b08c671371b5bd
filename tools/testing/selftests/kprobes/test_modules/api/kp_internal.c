// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: functions that kprobes provides to the rest of the kernel, but not to modules. The
 * script that loads the module chooses whether probed instructions are boosted, single-stepped or
 * optimised.
 */

#include <linux/cpu.h>
#include <linux/ftrace.h>
#include <linux/objtool.h>
#include <linux/probepoint.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/asm.h>
#include <asm/pgtable_types.h>
#include <asm/segment.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>
#include "kp_fault_handler.h"
#include "kp_handlers.h"
#include "kp_internal.h"
#include "kp_opt.h"
#include "kp_symbol.h"
#include "../internal.h"

static bool opt;
module_param(opt, bool, 0400);
MODULE_PARM_DESC(opt, "wait for jumps where probes are registered");

#define KP_INTERNAL(name, code) \
	".pushsection .text, \"ax\"\n\t" \
	".globl " #name "\n\t" \
	".type " #name ", @function\n" \
	#name ":\n\t" \
	ANNOTATE_NOENDBR "\n\t" \
	code "\n\t" \
	ASM_RET \
	".size " #name ", . - " #name "\n\t" \
	".popsection"
#define KP_INTERNAL_TWO \
	"leal 1(%" _ASM_ARG1 "), %eax\n\t" \
	"test %" _ASM_ARG1 ", %" _ASM_ARG1
#define KP_INTERNAL_NOPS	64
asm(KP_INTERNAL(kp_internal_plain, KP_INTERNAL_TWO));
asm(KP_INTERNAL(kp_internal_other, KP_INTERNAL_TWO));
asm(KP_INTERNAL(kp_internal_nops, ".skip " __stringify(KP_INTERNAL_NOPS) ", 0x90"));
/* Adjacent in the text: the test case kp_internal_area() blacklists a range across all three. */
asm(KP_INTERNAL(kp_internal_area1, KP_INTERNAL_TWO));
asm(KP_INTERNAL(kp_internal_area2, KP_INTERNAL_TWO));
asm(KP_INTERNAL(kp_internal_area3, KP_INTERNAL_TWO));

KP_PLUS(, long, kp_internal_entry, 1)
KP_PLUS(, long, kp_internal_forbidden, 1)
NOKPROBE_SYMBOL(kp_internal_forbidden);

/* Cases call the target by pointer: with IBT, kp_internal_plain() would need an endbr for that. */
static long kp_call_plain(long arg)
{
	return kp_internal_plain(arg);
}

struct kp_target {
	const char *name;
	/* the probed address */
	void *addr;
	long (*call)(long arg);
};

static const struct kp_target kp_targets[] = {
	{ "instruction", kp_internal_plain, kp_call_plain },
	{ "entry", kp_internal_entry, kp_internal_entry },
};

KUNIT_ARRAY_PARAM_DESC(kp_targets, kp_targets, name);

static struct {
	const struct kp_target *target;
	struct irq_work work;
	bool begin_in_handler;
	bool other_in_handler;
	bool irq_done;
	struct kprobe *before, *during, *after, *post, *irq;
	int count_before, count_after;
	unsigned int hits, posts, other_hits, returns, own_returns;
} kp;

/* Does the same as kprobe_running(), which reads a variable that is not exported to modules. */
static __kprobes struct kprobe *kp_running(void)
{
	struct kprobe_level *level;

	guard(preempt)();
	level = this_cpu_read(kprobe_levels.top);
	return level && level->context != KPROBE_CONTEXT_NONE ? level->probe : NULL;
}

static struct kprobe *kp_find(void *addr)
{
	guard(preempt)();
	return get_kprobe(addr);
}

static bool kp_in_slot(unsigned long addr)
{
	guard(rcu)();
	return is_kprobe_insn_slot(addr);
}

static bool kp_in_detour(unsigned long addr)
{
	guard(rcu)();
	return is_kprobe_optinsn_slot(addr);
}

static noinline long kp_internal_begins(long arg)
{
	kprobe_busy_begin();
	return arg + 1;
}

static int __kprobes kp_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp.hits++;
	kp.before = kp_running();
	kp.count_before = preempt_count();
	if (kp.begin_in_handler) {
		kprobe_busy_begin();
		kp.during = kp_running();
		kp_internal_other(1);
		kprobe_busy_begin();
		kprobe_busy_end();
		kp_internal_other(1);
		kprobe_busy_end();
	}
	kp.count_after = preempt_count();
	kp.after = kp_running();
	if (kp.other_in_handler)
		kp_internal_other(1);
	return 0;
}

static void __kprobes kp_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp.posts++;
	kp.post = kp_running();
}

KP_PRE_HANDLER(__kprobes, kp_other_pre, kp.other_hits++)

static struct kprobe kp_probe, kp_second, kp_other;
static struct kretprobe kp_return[3];

static void kp_wait_optimized(struct kunit *test, struct kprobe *p)
{
	if (opt && !kprobe_ftrace(p))
		KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(p->addr, true), "no jump comes");
}

static void kp_register(struct kunit *test, struct kprobe *p, void *addr, bool post)
{
	*p = (struct kprobe){
		.addr = addr,
		.pre_handler = p == &kp_other ? kp_other_pre : kp_pre,
		.post_handler = post ? kp_post : NULL,
	};
	kp_kprobe_add(test, p);
	kp_wait_optimized(test, p);
}

static void kp_register_nop(struct kunit *test, unsigned int i)
{
	kp_probe = (struct kprobe){ .addr = (void *)kp_internal_nops + i, .pre_handler = kp_pre };
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp_probe), 0);
}

/* Call the function, and expect @hits hits and @missed missed hits so far. */
static noinline void kp_calls(struct kunit *test, unsigned int hits, unsigned int missed)
{
	void *caller = __builtin_return_address(0);

	KUNIT_EXPECT_EQ_MSG(test, kp.target->call(4), 5, "in %pS", caller);
	KUNIT_EXPECT_EQ_MSG(test, kp.hits, hits, "in %pS", caller);
	KUNIT_EXPECT_EQ_MSG(test, kp_probe.nmissed, missed, "in %pS", caller);
}

/* A hit between kprobe_busy_begin() and kprobe_busy_end() must be missed. */
static void kp_internal_busy(struct kunit *test)
{
	int count;

	kp_register(test, &kp_probe, kp.target->addr, true);
	kp_calls(test, 1, 0);
	preempt_disable();
	count = preempt_count();
	kprobe_busy_begin();
	KUNIT_EXPECT_EQ(test, preempt_count(), count + PREEMPT_DISABLE_OFFSET);
	KUNIT_EXPECT_NOT_NULL(test, kp_running());
	KUNIT_EXPECT_PTR_NE(test, kp_running(), &kp_probe);
	kp_calls(test, 1, 1);
	kprobe_busy_begin();
	kp_calls(test, 1, 2);
	kprobe_busy_end();
	kp_calls(test, 1, 3);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, preempt_count(), count);
	KUNIT_EXPECT_NULL(test, kp_running());
	preempt_enable();
	kp_calls(test, 2, 3);
	KUNIT_EXPECT_EQ(test, kp.posts, 2);
}

static void kp_irq(struct irq_work *work)
{
	kp.irq = kp_running();
	kp.target->call(1);
	kp.irq_done = true;
}

/* A hit in an interrupt between a task's kprobe_busy_begin() and _end() must not be missed. */
static void kp_internal_busy_interrupted(struct kunit *test)
{
	unsigned long timeout = jiffies + 30 * HZ;

	kp_register(test, &kp_probe, kp.target->addr, false);
	kp.work = IRQ_WORK_INIT_HARD(kp_irq);
	kprobe_busy_begin();
	irq_work_queue(&kp.work);
	while (!READ_ONCE(kp.irq_done) && time_before(jiffies, timeout))
		cpu_relax();
	KUNIT_EXPECT_TRUE_MSG(test, kp.irq_done, "no interrupt comes");
	KUNIT_EXPECT_PTR_EQ(test, kp.before, &kp_probe);
	kp_calls(test, 1, 1);
	kprobe_busy_end();
	KUNIT_EXPECT_NULL(test, kp_running());
	kp_calls(test, 2, 1);
}

/*
 * A handler calls kprobe_busy_begin() and _end(). Two nested hits before _end() and one after it
 * must all be missed.
 */
static void kp_internal_busy_in_handler(struct kunit *test)
{
	kp_register(test, &kp_probe, kp.target->addr, true);
	kp_register(test, &kp_other, kp_internal_other, false);
	kp.begin_in_handler = true;
	kp.other_in_handler = true;
	kp_calls(test, 1, 0);
	KUNIT_EXPECT_PTR_EQ(test, kp.before, &kp_probe);
	KUNIT_EXPECT_NOT_NULL(test, kp.during);
	KUNIT_EXPECT_PTR_EQ(test, kp.after, &kp_probe);
	KUNIT_EXPECT_PTR_EQ(test, kp.post, &kp_probe);
	KUNIT_EXPECT_EQ(test, kp.count_after, kp.count_before);
	KUNIT_EXPECT_EQ(test, kp.other_hits, 0);
	KUNIT_EXPECT_EQ(test, kp_other.nmissed, 3);
	KUNIT_EXPECT_NULL(test, kp_running());
	kp_internal_other(1);
	KUNIT_EXPECT_EQ(test, kp.other_hits, 1);
}

static int __kprobes kp_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp.returns++;
	kp.own_returns += kp_running() == &get_kretprobe(ri)->kp;
	kp_internal_other(1);
	return 0;
}

KP_RETURN_HANDLER(__kprobes, kp_entered, kp.before = kp_running())

static void kp_internal_running(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, kp_running());
	kp_register(test, &kp_probe, kp.target->addr, true);
	kp_calls(test, 1, 0);
	KUNIT_EXPECT_PTR_EQ(test, kp.before, &kp_probe);
	KUNIT_EXPECT_PTR_EQ(test, kp.post, &kp_probe);
	KUNIT_EXPECT_NULL(test, kp_running());
	/* The handlers of the newest probe run first, so kp_probe's are the last ones. */
	kp_register(test, &kp_second, kp.target->addr, true);
	kp_calls(test, 3, 0);
	KUNIT_EXPECT_PTR_EQ(test, kp.before, &kp_probe);
	KUNIT_EXPECT_PTR_EQ(test, kp.post, &kp_probe);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&kp_probe), 0);
	kp_calls(test, 4, 0);
	KUNIT_EXPECT_PTR_EQ(test, kp.before, &kp_second);
	KUNIT_EXPECT_PTR_EQ(test, kp.post, &kp_second);
	KUNIT_EXPECT_NULL(test, kp_running());
}

/* If one of several post_handlers is cleared meanwhile, hits go on calling the others. */
static void kp_internal_cleared_post(struct kunit *test)
{
	kp_register(test, &kp_probe, kp.target->addr, true);
	kp_register(test, &kp_second, kp.target->addr, true);
	WRITE_ONCE(kp_second.post_handler, NULL);
	kp_calls(test, 2, 0);
	KUNIT_EXPECT_EQ(test, kp.posts, 1);
	KUNIT_EXPECT_PTR_EQ(test, kp.post, &kp_probe);
}

static void kp_register_return(struct kunit *test, struct kretprobe *rp, void *addr)
{
	*rp = (struct kretprobe){
		.kp.addr = addr,
		.handler = kp_returned,
		.entry_handler = kp_entered,
	};
	kp_kretprobe_add(test, rp);
	kp_wait_optimized(test, &rp->kp);
}

static void kp_internal_running_return(struct kunit *test)
{
	int i, returns = 0;

	kp_register(test, &kp_other, kp_internal_other, false);
	for (i = 0; i < ARRAY_SIZE(kp_return); i++) {
		kp_register_return(test, &kp_return[i], kp.target->addr);
		KUNIT_EXPECT_EQ(test, kp.target->call(4), 5);
		returns += i + 1;
		KUNIT_EXPECT_PTR_EQ(test, kp.before, &kp_return[0].kp);
		KUNIT_EXPECT_EQ(test, kp.returns, returns);
		KUNIT_EXPECT_EQ(test, kp.own_returns, returns);
		KUNIT_EXPECT_EQ(test, kp_other.nmissed, returns);
		KUNIT_EXPECT_NULL(test, kp_running());
	}
}

/* The probed function calls kprobe_busy_begin(). The context is still busy after the return. */
static void kp_internal_running_return_busy(struct kunit *test)
{
	struct kprobe *busy;
	int i;

	for (i = 0; i < 2; i++)
		kp_register_return(test, &kp_return[i], kp_internal_begins);
	KUNIT_EXPECT_EQ(test, kp_internal_begins(4), 5);
	busy = kp_running();
	KUNIT_EXPECT_EQ(test, kp.returns, 2);
	KUNIT_EXPECT_EQ(test, kp.own_returns, 2);
	KUNIT_EXPECT_NOT_NULL(test, busy);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_PTR_NE(test, busy, &kp_return[i].kp);
	kprobe_busy_end();
	KUNIT_EXPECT_NULL(test, kp_running());
}

/* For all probes at an address, get_kprobe() returns the kprobe embedded in the probepoint. */
static void kp_internal_get_kprobe(struct kunit *test)
{
	struct kprobe *found;
	void *addr;
	int i;

	kp_register(test, &kp_probe, kp.target->addr, false);
	addr = kp_probe.addr;
	found = kp_find(addr);
	KUNIT_ASSERT_NOT_NULL(test, found);
	KUNIT_EXPECT_PTR_EQ(test, (void *)found->addr, addr);
	for (i = -16; i <= 16; i++)
		if (i)
			KUNIT_EXPECT_NULL_MSG(test, kp_find(addr + i), "at %d", i);
	kp_register(test, &kp_second, addr, false);
	KUNIT_EXPECT_PTR_EQ(test, kp_find(addr), found);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&kp_probe), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&kp_second), 0);
	KUNIT_EXPECT_NOT_NULL(test, kp_find(addr));
	kp_kprobe_del(test, &kp_probe);
	KUNIT_EXPECT_NOT_NULL(test, kp_find(addr));
	kp_kprobe_del(test, &kp_second);
	KUNIT_EXPECT_NULL(test, kp_find(addr));
	KUNIT_EXPECT_NULL(test, kp_find(NULL));
}

/*
 * In the hash table, a mark replaces a removed probepoint. A search for the highest address or for
 * 0 must not find the mark.
 */
static void kp_internal_no_address(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < KP_INTERNAL_NOPS; i++) {
		kp_register_nop(test, i);
		unregister_kprobe(&kp_probe);
		KUNIT_EXPECT_NULL_MSG(test, kp_find((void *)~0UL), "after %u", i);
		KUNIT_EXPECT_NULL_MSG(test, kp_find(NULL), "after %u", i);
	}
}

/* unregister_kprobe() must restore the addr that the user set. */
static void kp_internal_given_address(struct kunit *test)
{
	void *nops = (void *)kp_internal_nops;
	unsigned int i;

	/* Hide the address: objtool warns of addresses within functions. */
	OPTIMIZER_HIDE_VAR(nops);
	kp_probe = (struct kprobe){ .pre_handler = kp_pre, .offset = 4 };
	for (i = 0; i < 16; i += 4) {
		kp_probe.addr = nops + i;
		KUNIT_ASSERT_EQ(test, register_kprobe(&kp_probe), 0);
		KUNIT_EXPECT_PTR_EQ(test, (void *)kp_probe.addr, nops + i + 4);
		unregister_kprobe(&kp_probe);
		KUNIT_EXPECT_PTR_EQ(test, (void *)kp_probe.addr, nops + i);
	}
	/*
	 * If addr was found by symbol, unregistering keeps
	 * it, and another registration may replace it.
	 */
	kp_probe = (struct kprobe){ .symbol_name = "kp_internal_nops", .pre_handler = kp_pre };
	for (i = 0; i < 3; i++) {
		kp_probe.offset = i;
		KUNIT_ASSERT_EQ(test, register_kprobe(&kp_probe), 0);
		unregister_kprobe(&kp_probe);
		KUNIT_EXPECT_PTR_EQ(test, (void *)kp_probe.addr, nops + i);
	}
	kp_probe = (struct kprobe){ .addr = nops, .symbol_name = "kp_internal_nops" };
	KUNIT_EXPECT_EQ(test, register_kprobe(&kp_probe), -EINVAL);
}

/* If an int3 is handled as @wanted, the CPU must execute the text where the int3 was. */
static void kp_raise_int3(struct kunit *test, unsigned long cs, unsigned long ip, int wanted)
{
	struct pt_regs regs = { .cs = cs, .ip = ip };
	int handled;

	scoped_guard(irqsave)
		handled = kprobe_int3_handler(&regs);
	KUNIT_EXPECT_EQ(test, handled, wanted);
	KUNIT_EXPECT_EQ(test, regs.ip, wanted ? ip - INT3_INSN_SIZE : ip);
}

static void kp_user_int3(struct kunit *test, unsigned long ip)
{
	kp_raise_int3(test, __USER_CS, ip, 0);
}

/*
 * On some CPUs the address wraps around after an int3 at the end of 32-bit user space, so the saved
 * ip is 0. For such an int3, the handler must find neither a probepoint nor the mark that replaces
 * a removed probepoint in the hash table.
 */
static void kp_internal_user_int3(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < KP_INTERNAL_NOPS; i++) {
		kp_register_nop(test, i);
		kp_user_int3(test, (unsigned long)kp_probe.addr + INT3_INSN_SIZE);
		unregister_kprobe(&kp_probe);
		kp_user_int3(test, 0);
	}
	KUNIT_EXPECT_EQ(test, kp.hits, 0);
}

static void kp_kernel_int3(struct kunit *test, const u8 *addr, int wanted)
{
	kp_raise_int3(test, __KERNEL_CS, (unsigned long)addr + INT3_INSN_SIZE, wanted);
}

/*
 * If a breakpoint was removed after the CPU executed it, the CPU must execute the text. The byte
 * before the breakpoint may be unreadable.
 */
static void kp_internal_removed_int3(struct kunit *test)
{
	u8 *text = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, text);
	kp_at_end(test, kp_vfree, text);
	memset(text, 0x90, PAGE_SIZE);
	kp_kernel_int3(test, text, 1);
	kp_kernel_int3(test, text + 1, 1);
	/* int $3 */
	text[0] = 0xcd;
	text[1] = X86_TRAP_BP;
	kp_kernel_int3(test, text, 1);
	kp_kernel_int3(test, text + 1, 0);
	/* Breakpoints of other code */
	text[0] = INT3_INSN_OPCODE;
	text[1] = INT3_INSN_OPCODE;
	kp_kernel_int3(test, text, 0);
	kp_kernel_int3(test, text + 1, 0);
	/* No text */
	kp_kernel_int3(test, text - 1, 0);
}

static void kp_internal_blacklist(struct kunit *test)
{
	unsigned long forbidden = (unsigned long)kp_internal_forbidden;
	void *const allowed[] = {
		kp_internal_plain, kp_internal_entry, register_kprobe, schedule,
		/* not text */
		NULL, &kp,
	};
	int i;

	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(forbidden));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(forbidden + 1));
	/* These functions are in the section of __kprobes, or named by NOKPROBE_SYMBOL(). */
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist((unsigned long)get_kprobe));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist((unsigned long)kprobe_busy_begin));
	for (i = 0; i < ARRAY_SIZE(allowed); i++)
		KUNIT_EXPECT_FALSE_MSG(test, within_kprobe_blacklist((unsigned long)allowed[i]),
				       "%pS", allowed[i]);
}

/* A blacklisted area may begin and end inside functions. */
static void kp_internal_area(struct kunit *test)
{
	unsigned long first = (unsigned long)kp_internal_area1;
	unsigned long third = (unsigned long)kp_internal_area3;
	unsigned long addr;
	int ret;

	mutex_lock(&kprobe_mutex);
	ret = kprobe_add_area_blacklist(first + 1, third + 1);
	/*
	 * The first range stays on the blacklist until the module
	 * is unloaded. Only the second one is deleted here.
	 */
	if (!ret)
		ret = kprobe_add_area_blacklist(first, first + 1);
	kprobe_blacklist_del_range(first, first + 1);
	mutex_unlock(&kprobe_mutex);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(first));
	for (addr = first + 1; addr <= third; addr++)
		KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist(addr), "at +%lu", addr - first);
}

static struct probepoint *kp_point(void)
{
	return container_of(kp_find(kp_probe.addr), struct probepoint, kp);
}

static void kp_internal_slots(struct kunit *test)
{
	unsigned long plain = (unsigned long)kp_internal_plain, slot, detour;
	const unsigned long others[] = {
		plain, (unsigned long)&kp, 0, (unsigned long)is_kprobe_insn_slot,
	};
	unsigned int level, i;

	kp_register(test, &kp_probe, kp_internal_plain, false);
	KUNIT_ASSERT_NOT_NULL(test, kp_find(kp_probe.addr));
	slot = (unsigned long)kp_point()->arch.slot.copy;
	KUNIT_ASSERT_NE(test, slot, 0);
	KUNIT_EXPECT_TRUE(test, kp_in_slot(slot));
	KUNIT_EXPECT_TRUE(test, kp_in_slot(slot + 1));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_EXPECT_FALSE_MSG(test, kp_in_slot(others[i]), "%pS", (void *)others[i]);
	KUNIT_EXPECT_FALSE(test, pte_write(*lookup_address(slot, &level)));
	detour = kp_jump_target(kp_probe.addr);
	KUNIT_EXPECT_EQ(test, !!detour, opt);
	KUNIT_EXPECT_EQ(test, kp_in_detour(detour), opt);
	KUNIT_EXPECT_FALSE(test, kp_in_detour(slot));
	KUNIT_EXPECT_FALSE(test, kp_in_detour(plain));
	KUNIT_EXPECT_FALSE(test, kp_in_detour(0));
}

static enum x86_slot_form kp_slot_form(void)
{
	return kp_point()->arch.slot.form;
}

static void kp_internal_slot_form(struct kunit *test)
{
	/*
	 * Offset of the test instruction. The lea before it would
	 * not do: with a post_handler, kprobes emulates a lea.
	 */
	unsigned int offset = 3;
	enum x86_slot_form form;
	void *insn;

	/* On 64-bit the function ends with a jump to a return thunk, so it has room for a jump. */
	if (opt && !IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "the function has no room for a jump at the test");
	/* Hide the offset: a jump is not written if code loads the address of its byte 1 to 4. */
	OPTIMIZER_HIDE_VAR(offset);
	insn = (void *)kp_internal_plain + offset;
	kp_register(test, &kp_probe, insn, false);
	form = kp_slot_form();
	kp_register(test, &kp_second, insn, true);
	KUNIT_EXPECT_EQ(test, kp_slot_form(), form == X86_SLOT_BOOST ? X86_SLOT_POST : form);
	kp_kprobe_del(test, &kp_second);
	KUNIT_EXPECT_EQ(test, kp_slot_form(), form);
}

static struct {
	struct pt_regs regs;
	int times;
	int trap;
} kp_fault;

static int __kprobes kp_count_exception(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_fault.times++;
	kp_fault.trap = trapnr;
	return 0;
}

/* Return: the address that the handler of an exception at @ip is shown. */
static unsigned long kp_raise_at(unsigned long ip, int trapnr, unsigned long fixup)
{
	struct kprobe_fault fault = {};
	unsigned long flags, shown;

	kp_fault.regs = (struct pt_regs){ .ip = ip, .cs = __KERNEL_CS };
	local_irq_save(flags);
	kprobe_fault_begin(&fault, &kp_fault.regs, trapnr);
	shown = kp_fault.regs.ip;
	if (fixup)
		kp_fault.regs.ip = fixup;
	kprobe_fault_resume(&fault);
	local_irq_restore(flags);
	return shown;
}

static void kp_raise(struct kunit *test, unsigned long copy, int trapnr, unsigned long fixup)
{
	KUNIT_EXPECT_EQ(test, kp_raise_at(copy, trapnr, fixup), (unsigned long)kp_probe.addr);
}

static void kp_register_faulty(struct kunit *test)
{
	kp_fault.times = 0;
	kp_probe = (struct kprobe){ .addr = (void *)kp_internal_plain };
	kp_set_fault_handler(&kp_probe, kp_count_exception);
	kp_kprobe_add(test, &kp_probe);
	kp_wait_optimized(test, &kp_probe);
}

/*
 * The test cannot raise a #VE, which only TDX guests get, nor a machine check. So call the
 * functions of kprobes that the handlers of these exceptions call.
 */
static void kp_internal_exception(struct kunit *test)
{
	unsigned long copy, fixup = (unsigned long)kp_internal_other;

	kp_register_faulty(test);
	if (kp_slot_form() != X86_SLOT_BOOST || opt)
		kunit_skip(test, "a step and a jump have more state than these registers");
	copy = (unsigned long)kp_point()->arch.slot.copy;

	/* Without a fixup, the CPU must restart the instruction in its copy. */
	kp_raise(test, copy, X86_TRAP_VE, 0);
	KUNIT_EXPECT_EQ(test, kp_fault.regs.ip, copy);
	KUNIT_EXPECT_EQ(test, kp_fault.times, KP_FAULT_HANDLERS);
	KUNIT_EXPECT_EQ(test, kp_fault.trap, KP_FAULT_HANDLERS ? X86_TRAP_VE : 0);
	/* If an exception table entry applied, the ip is already the fixup address: keep it. */
	kp_raise(test, copy, X86_TRAP_VE, fixup);
	KUNIT_EXPECT_EQ(test, kp_fault.regs.ip, fixup);
	KUNIT_EXPECT_EQ(test, kp_fault.times, 2 * KP_FAULT_HANDLERS);
	/*
	 * A machine check and a breakpoint of the CPU (#DB) are not faults of the instruction: do
	 * not call the fault_handler.
	 */
	kp_raise(test, copy, X86_TRAP_MC, 0);
	KUNIT_EXPECT_EQ(test, kp_fault.regs.ip, copy);
	KUNIT_EXPECT_EQ(test, kp_fault.times, 2 * KP_FAULT_HANDLERS);
	kp_raise(test, copy, X86_TRAP_DB, 0);
	KUNIT_EXPECT_EQ(test, kp_fault.regs.ip, copy);
	KUNIT_EXPECT_EQ(test, kp_fault.times, 2 * KP_FAULT_HANDLERS);
}

/*
 * A detour buffer has copies of both instructions, but only the first one is probed: call the
 * fault_handler for a fault at the start of its copy, and nowhere else.
 */
static void kp_internal_fault_in_dcr(struct kunit *test)
{
	unsigned long first = (unsigned long)kp_internal_plain, second = 3;
	unsigned long fixup = (unsigned long)kp_internal_other, ip, shown;

	if (!opt)
		kunit_skip(test, "only a detour buffer has copies of several instructions");
	/* Hide the offset, as in kp_internal_slot_form(). */
	OPTIMIZER_HIDE_VAR(second);
	second += first;
	kp_register_faulty(test);
	ip = kp_jump_target(kp_probe.addr);
	KUNIT_ASSERT_NE(test, ip, 0);
	do {
		shown = kp_raise_at(ip++, X86_TRAP_PF, fixup);
	} while (shown == first);
	KUNIT_EXPECT_EQ(test, shown, second);
	KUNIT_EXPECT_EQ(test, kp_fault.times, KP_FAULT_HANDLERS);
}

/* The function must not read the page after the instruction, which may be unreadable. */
static __nocfi void kp_internal_restore_original(struct kunit *test)
{
	void (*restore)(u8 *buf, unsigned long addr) =
		kp_function(test, "x86_kprobe_restore_original");
	u8 *page = vmalloc(PAGE_SIZE);
	u8 buf[MAX_INSN_SIZE];
	int len;

	KUNIT_ASSERT_NOT_NULL(test, page);
	kp_at_end(test, kp_vfree, page);
	memset(page, 0x90, PAGE_SIZE);
	for (len = 1; len <= MAX_INSN_SIZE; len++) {
		memset(buf, 0, sizeof(buf));
		restore(buf, (unsigned long)page + PAGE_SIZE - len);
		KUNIT_EXPECT_EQ_MSG(test, buf[0], 0x90, "of %d bytes", len);
		KUNIT_EXPECT_EQ_MSG(test, buf[len - 1], 0x90, "of %d bytes", len);
	}
}

#ifdef CONFIG_HOTPLUG_CPU

static long kp_call_here(void *unused)
{
	return kp_internal_plain(1);
}

/*
 * INIT may stop a CPU while it is in a handler or single-steps a copy. When the CPU comes online
 * again, kprobes must have forgotten both, or else the CPU would miss all hits.
 */
static void kp_internal_restarted(struct kunit *test)
{
	struct kprobe_levels *levels = per_cpu_ptr(&kprobe_levels, 1);
	unsigned int *depth = per_cpu_ptr((unsigned int __percpu *)
					  kp_symbol(test, "kprobe_steps"), 1);

	if (num_online_cpus() < 2 || remove_cpu(1))
		kunit_skip(test, "CPU 1 cannot go offline");
	levels->top = &levels->level[1];
	levels->level[1].probe = &kp_probe;
	levels->level[1].context = 0;
	*depth = KPROBE_MAX_CONTEXTS;
	KUNIT_ASSERT_EQ(test, add_cpu(1), 0);
	KUNIT_EXPECT_PTR_EQ(test, levels->top, &levels->level[0]);
	KUNIT_EXPECT_EQ(test, levels->level[1].context, KPROBE_CONTEXT_NONE);
	KUNIT_EXPECT_EQ(test, *depth, 0);
	/* If kprobes has not reset one of these, do it here for the cases that follow. */
	levels->level[1].context = KPROBE_CONTEXT_NONE;
	levels->top = &levels->level[0];
	*depth = 0;

	kp_register(test, &kp_probe, kp_internal_plain, false);
	KUNIT_EXPECT_EQ(test, work_on_cpu(1, kp_call_here, NULL), 2);
	KUNIT_EXPECT_EQ(test, kp.hits, 1);
}

#endif

static struct kunit_case kp_internal_cases[] = {
	KUNIT_CASE_PARAM(kp_internal_busy, kp_targets_gen_params),
	KUNIT_CASE_PARAM(kp_internal_busy_interrupted, kp_targets_gen_params),
	KUNIT_CASE_PARAM(kp_internal_busy_in_handler, kp_targets_gen_params),
	KUNIT_CASE_PARAM(kp_internal_running, kp_targets_gen_params),
	KUNIT_CASE_PARAM(kp_internal_cleared_post, kp_targets_gen_params),
	KUNIT_CASE_PARAM(kp_internal_running_return, kp_targets_gen_params),
	KUNIT_CASE(kp_internal_running_return_busy),
	KUNIT_CASE_PARAM(kp_internal_get_kprobe, kp_targets_gen_params),
	KUNIT_CASE(kp_internal_no_address),
	KUNIT_CASE(kp_internal_user_int3),
	KUNIT_CASE(kp_internal_removed_int3),
	KUNIT_CASE(kp_internal_given_address),
	KUNIT_CASE(kp_internal_blacklist),
	KUNIT_CASE(kp_internal_area),
	KUNIT_CASE(kp_internal_slots),
	KUNIT_CASE(kp_internal_slot_form),
	KUNIT_CASE(kp_internal_exception),
	KUNIT_CASE(kp_internal_fault_in_dcr),
	KUNIT_CASE(kp_internal_restore_original),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(kp_internal_restarted),
#endif
	{}
};

static int kp_internal_init(struct kunit *test)
{
	memset(&kp, 0, sizeof(kp));
	memset(&kp_fault, 0, sizeof(kp_fault));
	kp.target = test->param_value;
	return 0;
}

static KP_SUITE(kp_internal, "kprobes_internal", .init = kp_internal_init);

KP_SUITES("KUnit tests of what the kernel itself calls of kprobes", &kp_internal_suite);
