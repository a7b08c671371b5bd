// SPDX-License-Identifier: GPL-2.0
/*
 * The chain of functions whose stack is tested, and functions that save and compare traces of it.
 *
 * Each function of the chain is called from one place only, so that the return addresses in all
 * traces are the same.
 */

#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <asm/unwind.h>
#include "kp_jumps.h"
#include "kp_ret_stacks.h"

/* How long to wait for a jump: some probepoints never get one. */
#define KP_RS_PATIENCE_MS	1000

struct kp_trace kp_rs_callee;
bool kp_rs_save;
bool kp_rs_dump;
bool kp_rs_untraced;
bool kp_rs_tailed;
bool kp_rs_interrupted;
unsigned int kp_rs_times = 1;

/* stack_trace_save_regs() is not exported to modules. */
void __kprobes kp_save_regs(struct kp_trace *trace, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long addr;

	trace->entry[0] = regs->ip;
	trace->nr = 1;
	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (!addr || trace->nr == KP_DEPTH)
			break;
		trace->entry[trace->nr++] = addr;
	}
}

static noinline void kp_rs_saves(void)
{
	if (kp_rs_save)
		kp_save(&kp_rs_callee);
	if (kp_rs_dump)
		dump_stack();
	barrier();
}

KP_PLUS_WITH(, long, kp_rs_probed, 1, kp_rs_saves(); barrier())
KP_PLUS_WITH(notrace, long, kp_rs_probed_untraced, 1, kp_rs_saves(); barrier())

/* A tail call, which the compiler makes a jump */
noinline long kp_rs_tail(long arg)
{
	return kp_rs_probed(arg);
}

#ifdef CONFIG_X86_64
static void kp_rs_interrupt(struct irq_work *work)
{
}

static DEFINE_IRQ_WORK(kp_rs_work, kp_rs_interrupt);

/* Interrupts stay disabled: the caller enables them. */
noinline long kp_rs_raise(long arg)
{
	kp_rs_saves();
	local_irq_disable();
	irq_work_queue(&kp_rs_work);
	return arg + 1;
}
#else
long kp_rs_probed_aligned(long arg)
{
	return 0;
}
#endif

KP_CALLER(static, kp_rs_inner, long, kp_rs_untraced ? kp_rs_probed_untraced(arg) :
				     kp_rs_interrupted ? kp_rs_probed_aligned(arg) :
				     kp_rs_tailed ? kp_rs_tail(arg) : kp_rs_probed(arg))
KP_CALLER(static, kp_rs_outer, long, kp_rs_inner(arg))

noinline long kp_rs_loop(long arg)
{
	unsigned int done = 0;
	long sum = 0;

	do {
		sum += kp_rs_outer(arg);
		barrier();
	} while (++done < READ_ONCE(kp_rs_times));
	return sum;
}

const char *kp_rs_name(unsigned long addr, char *name)
{
	sprint_symbol_no_offset(name, addr);
	/* Cut off the module's name. */
	name[strcspn(name, " ")] = '\0';
	return name;
}

unsigned int kp_rs_callers(struct kunit *test)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	for (i = 0; i < kp_rs_callee.nr; i++)
		if (!strcmp(kp_rs_name(kp_rs_callee.entry[i], name), "kp_rs_inner"))
			break;
	/* Without the chain in the trace there is nothing to compare. */
	KUNIT_ASSERT_GT(test, kp_rs_callee.nr, i + 3);
	KUNIT_ASSERT_GT(test, i, 0);
	KUNIT_ASSERT_TRUE(test, strstarts(kp_rs_name(kp_rs_callee.entry[i - 1], name),
					  "kp_rs_probed"));
	KUNIT_ASSERT_STREQ(test, kp_rs_name(kp_rs_callee.entry[i + 1], name), "kp_rs_outer");
	KUNIT_ASSERT_STREQ(test, kp_rs_name(kp_rs_callee.entry[i + 2], name), "kp_rs_loop");
	return kp_rs_callee.nr - i;
}

bool kp_rs_same_end(const struct kp_trace *trace, const struct kp_trace *wanted, unsigned int nr)
{
	return trace->nr >= nr && wanted->nr >= nr &&
	       !memcmp(trace->entry + trace->nr - nr, wanted->entry + wanted->nr - nr,
		       nr * sizeof(trace->entry[0]));
}

void kp_rs_settle(struct kprobe *kp)
{
	if (jumps)
		kp_wait_for_jump(kp, KP_RS_PATIENCE_MS);
}

KP_SUITES("KUnit suites: stack traces under return probes",
	  &kp_rs_frames_suite, &kp_rs_step_suite, &kp_rs_fprobe_suite);
