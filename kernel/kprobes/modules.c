// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: modules come and go.
 *
 * A probe does not keep the module it probes from being unloaded. When text
 * is about to be freed (a module's, or the init part of a module that has
 * finished loading) every probepoint in it dies: it leaves the table, so that
 * whatever is loaded there next is probed by its own bytes, and its probes
 * are marked gone until their users unregister them.
 *
 * kprobe_mutex is taken by the notifier. Registration pins the module, so a
 * probepoint can't appear in text that the notifier has been through.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>

#include "internal.h"

static void text_goes(const struct module *mod, enum mod_mem_type type)
{
	unsigned long start = (unsigned long)mod->mem[type].base;
	unsigned long end = start + mod->mem[type].size;

	probepoints_kill(start, end);
	kprobe_blacklist_del_range(start, end);
}

static int kprobe_module_notify(struct notifier_block *nb, unsigned long state,
				void *data)
{
	struct module *mod = data;
	int ret = 0;

	guard(mutex)(&kprobe_mutex);
	switch (state) {
	case MODULE_STATE_COMING:
		ret = kprobe_blacklist_add_module(mod);
		break;
	case MODULE_STATE_LIVE:
		text_goes(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_GOING:
		text_goes(mod, MOD_INIT_TEXT);
		text_goes(mod, MOD_TEXT);
		break;
	}
	return notifier_from_errno(ret);
}

/*
 * Before any notifier that looks at probes, so that it sees them gone; a
 * coming module's blacklist is in force before others can probe it.
 */
static struct notifier_block kprobe_module_nb = {
	.notifier_call = kprobe_module_notify,
	.priority = INT_MAX,
};

/**
 * kprobe_modules_init() - start watching modules
 *
 * Return: 0 or a negative errno.
 */
int __init kprobe_modules_init(void)
{
	return register_module_notifier(&kprobe_module_nb);
}
