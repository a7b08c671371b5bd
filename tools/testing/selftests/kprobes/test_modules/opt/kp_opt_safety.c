// SPDX-License-Identifier: GPL-2.0
/* A probepoint must be optimised only if nothing can enter its JTPR, bytes 1 to 4 of the jump. */

#include <linux/jump_label.h>
#include <linux/static_call.h>
#include <linux/stop_machine.h>
#if __has_include("linux/probepoint.h")
#include <linux/probepoint.h>
#endif
#include <asm/nops.h>
#include "kp_opt_suites.h"
#include "kp_symbol.h"

#define KP_ARGS		4
/* Error pointers are never mapped. */
#define KP_BAD_POINTER	-2048L
#define KP_SEARCHES	40

static long kp_good[KP_ARGS] = { 1000, 2000, 3000, 4000 };

struct kp_opt_checked {
	struct kp_probe *probe;
	long result[KP_ARGS];
	unsigned long hits[KP_ARGS];
};

static const char *kp_code_name(int i)
{
	return kp_opt_names + kp_opt_codes[i].name;
}

static void kp_code_call(int i, struct kp_opt_checked *got)
{
	kp_opt_fn *fn = (kp_opt_fn *)((void *)kp_opt_text + kp_opt_codes[i].start);
	unsigned long before;
	int arg;
	long value;

	for (arg = 0; arg < KP_ARGS; arg++) {
		value = arg;
		if (kp_opt_codes[i].flags & KP_POINTER)
			value = arg % 2 ? KP_BAD_POINTER - arg : (long)&kp_good[arg];
		before = got->probe->pre;
		got->result[arg] = kp_opt_run_code(fn, value);
		got->hits[arg] = got->probe->pre - before;
	}
}

/* @hits: expected hits, NULL if none */
static void kp_code_compare(struct kunit *test, int i, struct kp_probe *probe,
			    const long *results, const unsigned long *hits, const char *how)
{
	struct kp_opt_checked now = { .probe = probe };
	int arg;

	kp_code_call(i, &now);
	for (arg = 0; arg < KP_ARGS; arg++) {
		KUNIT_EXPECT_EQ_MSG(test, now.result[arg], results[arg], "%s(%d), %s",
				    kp_code_name(i), arg, how);
		KUNIT_EXPECT_EQ_MSG(test, now.hits[arg], hits ? hits[arg] : 0,
				    "hits of %s(%d), %s", kp_code_name(i), arg, how);
	}
}

static void kp_opt_codes_checked(struct kunit *test, bool post)
{
	struct kp_opt_checked *all, *checked, bare;
	int i, jumps = 0;

	all = kp_zalloc(test, kp_opt_codes_nr * sizeof(*all));
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	for (i = 0; i < kp_opt_codes_nr; i++) {
		checked = &all[i];
		checked->probe = kp_new_post(test, (void *)kp_opt_text + kp_opt_codes[i].probed,
					     post);
		bare.probe = checked->probe;
		kp_code_call(i, &bare);
		kp_register(test, checked->probe);
		kp_code_call(i, checked);
		KUNIT_EXPECT_MEMEQ_MSG(test, bare.result, checked->result, sizeof(bare.result),
				       "%s", kp_code_name(i));
	}
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	for (i = 0; i < kp_opt_codes_nr; i++) {
		u32 flags = kp_opt_codes[i].flags;
		bool jump;

		checked = &all[i];
		jump = kp_is_jump(checked->probe->kp.addr);
		jumps += jump;
		if (flags & KP_REFUSE)
			KUNIT_EXPECT_FALSE_MSG(test, jump, "%s is optimised", kp_code_name(i));
		if (flags & KP_ACCEPT || (flags & KP_ACCEPT_PRE && !post))
			KUNIT_EXPECT_TRUE_MSG(test, jump, "%s is not optimised", kp_code_name(i));
		/* Do not call a function with a wrong jump: it might crash the kernel. */
		if (!jump || !(flags & KP_REFUSE))
			kp_code_compare(test, i, checked->probe, checked->result, checked->hits,
					jump ? "jump" : "breakpoint");
	}
	kunit_info(test, "%d of %u functions have a jump\n", jumps, kp_opt_codes_nr);
	for (i = 0; i < kp_opt_codes_nr; i++) {
		kp_unregister(test, all[i].probe);
		kp_code_compare(test, i, all[i].probe, all[i].result, NULL, "unregistered");
	}
}

KP_CASE(kp_opt_safe, kp_opt_codes_checked(test, false))
KP_CASE(kp_opt_safe_post, kp_opt_codes_checked(test, true))

static DEFINE_STATIC_KEY_FALSE(kp_key);

/* A jump at the nop would cover the jump label. */
noinline long kp_opt_jump_label(long arg);
noinline notrace long kp_opt_jump_label(long arg)
{
	asm volatile("nop");
	if (static_branch_unlikely(&kp_key))
		return arg + 2;
	return arg + 1;
}

KP_PLUS(, long, kp_opt_one, 1)
KP_PLUS(, long, kp_opt_two, 2)

DEFINE_STATIC_CALL(kp_opt_static, kp_opt_one);

noinline long kp_opt_static_call(long arg);
noinline notrace long kp_opt_static_call(long arg)
{
	asm volatile("nop");
	arg = static_call(kp_opt_static)(arg);
	barrier();
	return arg;
}

static bool kp_is_patched(const u8 *text)
{
	static const u8 nop2[] = { BYTES_NOP2 }, nop5[] = { BYTES_NOP5 };

	return *text == JMP8_INSN_OPCODE || *text == JMP32_INSN_OPCODE ||
	       *text == CALL_INSN_OPCODE || !memcmp(text, nop2, sizeof(nop2)) ||
	       !memcmp(text, nop5, sizeof(nop5));
}

/*
 * Find the nop before a patched instruction. Return: NULL
 * if the compiler put other instructions in between.
 */
static void *kp_find_nop(void *fn)
{
	u8 *byte = fn + (kp_byte_at(fn) == 0xf3 ? ENDBR_INSN_SIZE : 0);
	int i;

	for (i = 0; i < 24; i++)
		if (byte[i] == 0x90)
			return kp_is_patched(byte + i + 1) ? byte + i : NULL;
	return NULL;
}

/*
 * Without inline static calls, the kernel patches only the trampoline, not the call. So the probe
 * may get a jump over the call: do not test for one.
 */
static void kp_opt_call_stays_int3(struct kunit *test, struct kp_probe *call)
{
	if (IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE))
		kp_opt_stays_int3(test, call);
	else
		KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
}

static void kp_opt_patched_by_others(struct kunit *test)
{
	struct kp_probe *label = kp_new(test, kp_find_nop(kp_opt_jump_label));
	struct kp_probe *call = kp_new(test, kp_find_nop(kp_opt_static_call));
	int i;

	if (IS_ENABLED(CONFIG_CC_IS_CLANG) && (!label->kp.addr || !call->kp.addr))
		kunit_skip(test, "this compiler has no nop before what is patched");
	KUNIT_ASSERT_NOT_NULL(test, label->kp.addr);
	KUNIT_ASSERT_NOT_NULL(test, call->kp.addr);
	kp_register(test, label);
	kp_register(test, call);
	for (i = 0; i < 6; i++) {
		kp_opt_stays_int3(test, label);
		kp_opt_call_stays_int3(test, call);
		if (i % 2) {
			static_branch_disable(&kp_key);
			static_call_update(kp_opt_static, kp_opt_one);
		} else {
			static_branch_enable(&kp_key);
			static_call_update(kp_opt_static, kp_opt_two);
		}
		KUNIT_EXPECT_EQ(test, kp_opt_jump_label(1), 3 - i % 2);
		KUNIT_EXPECT_EQ(test, kp_opt_static_call(1), 3 - i % 2);
	}
	KUNIT_EXPECT_EQ(test, label->pre, 6);
	KUNIT_EXPECT_EQ(test, call->pre, 6);
}

static void *kp_opt_entry(kp_opt_fn *fn)
{
	return (void *)fn + (kp_byte_at(fn) == 0xf3 ? ENDBR_INSN_SIZE : 0);
}

/*
 * Register probes one by one. kprobes must search the module's text for branches once for all of
 * them, and not once for each. It may also search the kernel's text once, since @search and @check
 * are probes there.
 */
static void kp_opt_one_search(struct kunit *test)
{
	struct kp_probe *search = kp_new(test, NULL);
	struct kp_probe *check = kp_new(test, NULL);
	int i;

	search->kp.symbol_name = "targets_find";
	check->kp.symbol_name = "arch_check_jumps";
	if (register_kprobe(&search->kp))
		kunit_skip(test, "targets_find() cannot be probed");
	unregister_kprobe(&search->kp);
	kp_register(test, search);
	kp_register(test, check);
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	search->pre = 0;
	check->pre = 0;
	for (i = 0; i < KP_SEARCHES; i++) {
		kp_register(test, kp_new(test, kp_opt_many[i]));
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		KUNIT_EXPECT_TRUE(test, kp_is_jump(kp_opt_entry(kp_opt_many[i])));
	}
	kunit_info(test, "%d probes, %d checks, %d searches\n", KP_SEARCHES, check->pre,
		   search->pre);
	KUNIT_EXPECT_GE(test, check->pre, KP_SEARCHES);
	KUNIT_EXPECT_LE(test, search->pre, 2);
}

#if __has_include("linux/probepoint.h")
/* Free the branch targets found in this module's text, so that kprobes must search it again. */
static void kp_opt_discard_targets(void)
{
	mutex_lock(&kprobe_mutex);
	arch_kprobe_module_going(THIS_MODULE);
	mutex_unlock(&kprobe_mutex);
}
#else
static void kp_opt_discard_targets(void)
{
}
#endif

/* A jump covers the load of an address. The next search of the text must still find the address. */
static void kp_opt_hidden_address(struct kunit *test)
{
	struct kp_probe *hides = kp_opt_jump(test, kp_opt_hides_probed, false);
	struct kp_probe *hidden = kp_new(test, kp_opt_hidden_probed);

	kp_opt_discard_targets();
	kp_register(test, hidden);
	kp_opt_stays_int3(test, hidden);
	if (kp_is_jump(hidden->kp.addr))
		return;
	KUNIT_EXPECT_EQ(test, kp_opt_run_code(kp_opt_hidden, 0), 35);
	KUNIT_EXPECT_EQ(test, kp_opt_run_code(kp_opt_hidden, 1), 19);
	KUNIT_EXPECT_EQ(test, hides->pre, 1);
	KUNIT_EXPECT_EQ(test, hidden->pre, 1);
}

/*
 * A debugger's breakpoint hides the length of the instruction there. So kprobes must refuse all
 * probes after it, whose instruction boundaries are unknown, and no probe before it may get a jump.
 */

static struct {
	int (*set)(unsigned long addr);
	int (*activate)(void);
	int (*deactivate)(void);
	int (*remove)(unsigned long addr);
	bool is_set;
} kp_debugger;

/* Run by stop_machine(), which stops all other CPUs, as a debugger does. */
static __nocfi int kp_opt_set_break(void *addr)
{
	return kp_debugger.set((unsigned long)addr) ?: kp_debugger.activate();
}

static __nocfi int kp_opt_remove_break(void *addr)
{
	return kp_debugger.deactivate() ?: kp_debugger.remove((unsigned long)addr);
}

/* Hide from kprobes that this module loads the address: no jump may overwrite such an address. */
static u8 *kp_opt_debugged_insn(void)
{
	u8 *entry = kp_opt_entry(kp_opt_debugged);

	OPTIMIZER_HIDE_VAR(entry);
	return entry + KP_DEBUGGED_INSN;
}

static void kp_opt_break(void *unused)
{
	int (*fn)(void *addr) = kp_debugger.is_set ? kp_opt_remove_break : kp_opt_set_break;
	void *addr = kp_opt_debugged_insn();
	int tries = 100;

	/* kgdb returns an error while other code holds text_mutex: retry. */
	while (stop_machine(fn, addr, NULL) && --tries)
		usleep_range(1000, 2000);
	kp_debugger.is_set = kp_byte_at(addr) == INT3_INSN_OPCODE;
}

static int kp_opt_try(int offset)
{
	struct kprobe kp = { .addr = kp_opt_entry(kp_opt_debugged) + offset };
	int ret = register_kprobe(&kp);

	if (!ret)
		unregister_kprobe(&kp);
	return ret;
}

static void kp_opt_with_debugger(struct kunit *test)
{
	void *addr = kp_opt_entry(kp_opt_debugged) + KP_DEBUGGED_BEFORE;
	struct kp_probe *before = kp_new(test, addr);

	if (!IS_ENABLED(CONFIG_KGDB))
		kunit_skip(test, "no debugger in this kernel");
	kp_debugger.set = kp_function(test, "dbg_set_sw_break");
	kp_debugger.activate = kp_function(test, "dbg_activate_sw_breakpoints");
	kp_debugger.deactivate = kp_function(test, "dbg_deactivate_sw_breakpoints");
	kp_debugger.remove = kp_function(test, "dbg_remove_sw_break");
	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_INSN + 1), -EILSEQ);
	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_NEXT), 0);

	kp_opt_break(NULL);
	KUNIT_ASSERT_TRUE(test, kp_debugger.is_set);
	kp_at_end(test, kp_opt_break, NULL);
	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_BEFORE), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_INSN), -EILSEQ);
	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_INSN + 1), -EILSEQ);
	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_NEXT), -EILSEQ);
	kp_register(test, before);
	kp_opt_stays_int3(test, before);
	kunit_release_action(test, kp_opt_break, NULL);
	KUNIT_EXPECT_FALSE(test, kp_debugger.is_set);

	KUNIT_EXPECT_EQ(test, kp_opt_try(KP_DEBUGGED_NEXT), 0);
	kp_unregister(test, before);
	kp_register(test, before);
	kp_opt_becomes_jump(test, before);
	KUNIT_EXPECT_EQ(test, kp_opt_run_code(kp_opt_debugged, 0), 0x12345678);
}

typedef void (*kp_opt_sync_t)(void);

static __nocfi void kp_opt_poke(struct kunit *test, u8 *addr, u8 byte)
{
	void *(*poke)(void *addr, const void *opcode, size_t len) = kp_function(test, "text_poke");
	kp_opt_sync_t sync = kp_function(test, "text_poke_sync");
	struct mutex *mutex = kp_find_symbol("text_mutex");

	KUNIT_ASSERT_NOT_NULL(test, mutex);
	mutex_lock(mutex);
	poke(addr, &byte, 1);
	sync();
	mutex_unlock(mutex);
}

/*
 * A debugger sets a breakpoint after the instructions were found to be movable, while there is no
 * jump: no jump may be written over it, and no detour buffer may have a copy of it.
 */
static void kp_opt_breakpoint_since(struct kunit *test)
{
	u8 *insn = kp_opt_debugged_insn();
	struct kp_probe *probe = kp_opt_jump(test, insn - 1, false);
	u8 opcode;

	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
	opcode = kp_byte_at(insn);
	kp_opt_poke(test, insn, INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	kp_opt_stays_int3(test, probe);
	KUNIT_EXPECT_EQ(test, kp_byte_at(insn), INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	kp_opt_poke(test, insn, opcode);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	kp_opt_becomes_jump(test, probe);
	KUNIT_EXPECT_EQ(test, kp_opt_run_code(kp_opt_debugged, 0), 0x12345678);
}

/*
 * kprobes has its own list of what the kernel patches
 * in its text. It must agree with the kernel's tables.
 */
static __nocfi void kp_opt_sites_of_kernel(struct kunit *test)
{
	bool (*patches)(unsigned long start, unsigned long end) =
		kp_own_function(kprobe_patches_text);
	int (*is_call)(void *start, void *end) = kp_find_function("static_call_text_reserved");
	int (*is_label)(void *start, void *end) = kp_find_function("jump_label_text_reserved");
	struct jump_entry *e = kp_find_symbol("__start___jump_table");
	unsigned int found = 0, i;
	unsigned long at, last;
	bool wanted;

	if (!patches || !IS_ENABLED(CONFIG_JUMP_LABEL) || !e || !is_label)
		kunit_skip(test, "no jump labels, or no such list");
	for (i = 0; i < 60; i++, e++) {
		for (at = jump_entry_code(e) - 8; at < jump_entry_code(e) + 8; at++) {
			last = at + JMP32_INSN_SIZE - 1;
			wanted = is_label((void *)at, (void *)last) ||
				 (is_call && is_call((void *)at, (void *)last));
			KUNIT_EXPECT_EQ_MSG(test, patches(at, last + 1), wanted, "%pS", (void *)at);
			found += wanted;
			cond_resched();
		}
	}
	KUNIT_EXPECT_GT(test, found, JMP32_INSN_SIZE);
}

static struct kunit_case kp_opt_safety_cases[] = {
	KUNIT_CASE(kp_opt_safe),
	KUNIT_CASE(kp_opt_safe_post),
	KUNIT_CASE(kp_opt_patched_by_others),
	KUNIT_CASE(kp_opt_sites_of_kernel),
	KUNIT_CASE(kp_opt_one_search),
	KUNIT_CASE(kp_opt_hidden_address),
	KUNIT_CASE(kp_opt_with_debugger),
	KUNIT_CASE(kp_opt_breakpoint_since),
	{}
};

KP_SUITE(kp_opt_safety, "kprobes_opt_safety", .init = kp_opt_init);
