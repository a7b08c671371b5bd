// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the loading of kp_target fail: the module notifier that is called last probes kp_target,
 * then returns an error. The notifiers are then called for GOING, though the module's state is
 * still COMING: kprobes' own first, then kp_watch(), which requests a check whether jumps are safe.
 * That check must not read the module's text any more.
 */

#include <linux/probepoint.h>
#include "kp_symbol.h"

/* In ms; after this time the optimiser has done its safety check. */
#define KP_CHECKED_AFTER	30

static int registered = -1;
module_param(registered, int, 0400);
MODULE_PARM_DESC(registered, "what the registration of the probe has returned");

static int refusal = -1;
module_param(refusal, int, 0400);
MODULE_PARM_DESC(refusal, "1: the safety check has refused the module as one that is going; 0: not");

static struct kprobe kp_probe = { .symbol_name = "kp_target:kp_tgt_plain" };
static unsigned long kp_addr;

static bool kp_is_target(const struct module *mod)
{
	return !strcmp(mod->name, "kp_target");
}

static int kp_refuse(struct notifier_block *nb, unsigned long state, void *mod)
{
	if (!kp_is_target(mod) || state != MODULE_STATE_COMING)
		return NOTIFY_DONE;
	/* Register only once: when a load fails, insmod tries another system call. */
	if (!kp_addr) {
		registered = register_kprobe(&kp_probe);
		kp_addr = (unsigned long)kp_probe.addr;
		msleep(KP_CHECKED_AFTER);
	}
	return notifier_from_errno(-ECANCELED);
}

static int kp_watch(struct notifier_block *nb, unsigned long state, void *mod)
{
	struct kprobe_jump jump = { .addr = kp_addr };

	if (!kp_is_target(mod) || state != MODULE_STATE_GOING || !kp_addr)
		return NOTIFY_DONE;
	if (refusal < 0 && ((struct module *)mod)->state == MODULE_STATE_COMING &&
	    !arch_check_jumps(&jump, 1))
		refusal = jump.refusal == KPROBE_REASON_JUMP_GONE;
	return NOTIFY_OK;
}

static struct notifier_block kp_watch_nb = { .notifier_call = kp_watch, .priority = 10 };
static struct notifier_block kp_refuse_nb = { .notifier_call = kp_refuse, .priority = -10 };

static int __init kp_refuse_init(void)
{
	int ret;

	ret = register_module_notifier(&kp_watch_nb);
	if (ret)
		return ret;
	ret = register_module_notifier(&kp_refuse_nb);
	if (ret)
		unregister_module_notifier(&kp_watch_nb);
	return ret;
}

static void __exit kp_refuse_exit(void)
{
	unregister_module_notifier(&kp_refuse_nb);
	unregister_module_notifier(&kp_watch_nb);
	unregister_kprobe(&kp_probe);
}

module_init(kp_refuse_init);
module_exit(kp_refuse_exit);
MODULE_DESCRIPTION("Lets the loading of a probed module fail");
MODULE_LICENSE("GPL");
