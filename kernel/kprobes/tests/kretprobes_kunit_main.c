// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for return probes: refusals, handlers, contexts, and calls in flight */

#include <linux/module.h>
#include <linux/preempt.h>
#include "kp_jumps.h"
#include "kp_regs.h"
#include "kretprobes_kunit.h"

static bool spare;
module_param(spare, bool, 0400);
MODULE_PARM_DESC(spare, "leave out cases that a kernel without our kprobes would die of");

/* Some probes cannot have a jump. */
#define KP_RET_PATIENCE_MS	500

void kp_ret_may_be_fatal(struct kunit *test)
{
	if (spare)
		kunit_skip(test, "left out by spare=1");
}

int kp_ret_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_rp *probe = to_kp_rp(ri);

	/* It may be being unregistered. */
	if (!probe)
		return 1;
	atomic_inc(&probe->entries);
	probe->entry_rp = get_kretprobe(ri);
	probe->entry_retaddr = get_kretprobe_retaddr(ri);
	probe->arg = kp_argument(regs, 0);
	probe->preemptible |= preemptible();
	probe->instance = ri;
	return 0;
}

NOKPROBE_SYMBOL(kp_ret_entry);

int kp_ret_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_rp *probe = to_kp_rp(ri);

	if (!probe)
		return 0;
	atomic_inc(&probe->returns);
	probe->return_rp = get_kretprobe(ri);
	probe->retaddr = get_kretprobe_retaddr(ri);
	probe->value = regs_return_value(regs);
	probe->preemptible |= preemptible();
	return 0;
}

NOKPROBE_SYMBOL(kp_ret_return);

struct kp_rp *kp_rp_new(struct kunit *test, void *addr)
{
	struct kp_rp *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->rp.kp.addr = kp_entry(addr);
	probe->rp.entry_handler = kp_ret_entry;
	probe->rp.handler = kp_ret_return;
	return probe;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_rp_unregister_action, unregister_kretprobe, struct kretprobe *);

int kp_rp_register(struct kunit *test, struct kp_rp *probe)
{
	int ret = register_kretprobe(&probe->rp);

	if (ret)
		return ret;
	if (jumps && !kprobe_disabled(&probe->rp.kp))
		kp_wait_for_jump(&probe->rp.kp, KP_RET_PATIENCE_MS);
	return kunit_add_action_or_reset(test, kp_rp_unregister_action, &probe->rp);
}

void kp_rp_unregister(struct kunit *test, struct kp_rp *probe)
{
	kunit_release_action(test, kp_rp_unregister_action, &probe->rp);
}

kunit_test_suites(&kp_ret_errno_suite, &kp_ret_calls_suite, &kp_ret_contexts_suite,
		  &kp_ret_lifecycle_suite, &kp_ret_values_suite);

MODULE_DESCRIPTION("KUnit suites for return probes");
MODULE_LICENSE("GPL");
