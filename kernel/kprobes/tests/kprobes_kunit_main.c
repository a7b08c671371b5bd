// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for kprobes: refused arguments, batches, the life of a struct kprobe, handlers */

#include "kprobes_kunit.h"
#include "kp_jumps.h"
#include "kp_switch.h"

KP_MODULE_PARAM(bool, traced, false, "another tracer is attached to all functions");

bool kp_traced(void)
{
	return traced;
}

int kp_count_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_probe *probe = to_kp_probe(kp);

	if (probe->hook[0])
		probe->hook[0]();
	probe->pre++;
	probe->seen = kp;
	probe->pre_ip = instruction_pointer(regs);
	probe->preemptible |= preemptible();
	return 0;
}

void kp_count_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kp_probe *probe = to_kp_probe(kp);

	if (probe->hook[1])
		probe->hook[1]();
	probe->post++;
	probe->seen = kp;
	probe->post_ip = instruction_pointer(regs);
	probe->preemptible |= preemptible();
}

void kp_settle(struct kunit *test, struct kprobe *kp)
{
	if (!jumps || kprobe_disabled(kp))
		return;
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	jumped += kp_without_breakpoint(kp);
	/* At kp_target_notrace(), or after its ENDBR, there are nops: optimisation must succeed. */
	if (IS_ENABLED(CONFIG_X86) && (void *)kp->addr - (void *)kp_target_notrace <= 4)
		KUNIT_EXPECT_TRUE(test, kp_without_breakpoint(kp));
}

KP_SUITES("KUnit suites for the kprobes API",
	  &kp_errno_suite, &kp_batch_suite, &kp_lifecycle_suite, &kp_handlers_suite);
