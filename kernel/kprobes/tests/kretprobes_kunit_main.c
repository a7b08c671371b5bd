// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for return probes: refusals, handlers, contexts, and calls in flight */

#include "kp_jumps.h"
#include "kretprobes_kunit.h"

KP_MODULE_PARAM(bool, spare, false,
		"leave out cases that would crash a kernel without our kprobes");

void kp_ret_may_be_fatal(struct kunit *test)
{
	if (spare)
		kunit_skip(test, "left out by spare=1");
}

int kp_ret_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_probe *probe = to_kp_probe(ri);

	if (!probe)
		return 1;
	if (probe->hook[0])
		probe->hook[0]();
	atomic_inc(&probe->entries);
	probe->entry_rp = get_kretprobe(ri);
	probe->entry_retaddr = get_kretprobe_retaddr(ri);
	probe->arg = kp_argument(regs, 0);
	probe->preemptible |= preemptible();
	probe->instance = ri;
	return 0;
}

int kp_ret_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_probe *probe = to_kp_probe(ri);

	if (!probe)
		return 0;
	if (probe->hook[1])
		probe->hook[1]();
	atomic_inc(&probe->returns);
	probe->return_rp = get_kretprobe(ri);
	probe->retaddr = get_kretprobe_retaddr(ri);
	probe->value = regs_return_value(regs);
	probe->preemptible |= preemptible();
	return 0;
}

/* How long to wait for a jump, which some probes cannot have */
#define KP_RET_PATIENCE_MS	500

void kp_ret_settle(struct kunit *test, struct kprobe *kp)
{
	if (jumps && !kprobe_disabled(kp))
		kp_wait_for_jump(kp, KP_RET_PATIENCE_MS);
}

unsigned int kp_ret_kprobe_hits;

int kp_ret_kprobe_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp_ret_kprobe_hits++;
	return 0;
}

void kp_ret_kprobe_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp_ret_kprobe_hits++;
}

KP_SUITES("KUnit suites for return probes",
	  &kp_ret_errno_suite, &kp_ret_calls_suite, &kp_ret_contexts_suite,
	  &kp_ret_lifecycle_suite, &kp_ret_values_suite);
