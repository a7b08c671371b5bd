// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: modules that are loaded and unloaded.
 *
 * A probe does not keep the module that it probes from being unloaded. When text is
 * about to be freed (that of a module, or the init part of a module that has finished
 * loading), every probepoint in it becomes GONE and leaves the table. So a module that is
 * loaded to the same addresses next is probed by its own bytes. The probes are marked as
 * gone until their users unregister them.
 *
 * The symbols of a module can be found before its notifiers have been called. Until then
 * its blacklist is not in force, and ftrace has not prepared its functions. So before the
 * notifier below has been called, no address of the module can be probed.
 *
 * The notifier takes kprobe_mutex, which guards the list of modules. Registration pins the
 * module until its batch has ended, so no probepoint is created in text that the notifier
 * has dealt with.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct coming_module - a module that may be probed although it is not live yet
 * @list: links it on coming_modules
 * @mod: the module
 */
struct coming_module {
	struct list_head list;
	const struct module *mod;
};

static LIST_HEAD(coming_modules);

static int module_comes(const struct module *mod)
{
	struct coming_module *cm = kmalloc(sizeof(*cm), GFP_KERNEL);

	if (!cm)
		return -ENOMEM;
	cm->mod = mod;
	list_add(&cm->list, &coming_modules);
	return 0;
}

static void module_has_come(const struct module *mod)
{
	struct coming_module *cm, *next;

	list_for_each_entry_safe(cm, next, &coming_modules, list) {
		if (cm->mod == mod) {
			list_del(&cm->list);
			kfree(cm);
		}
	}
}

/* Has the notifier below been called for @mod? */
static bool is_ready(const struct module *mod)
{
	struct coming_module *cm;

	if (mod->state != MODULE_STATE_COMING)
		return true;
	list_for_each_entry(cm, &coming_modules, list)
		if (cm->mod == mod)
			return true;
	return false;
}

/**
 * kprobe_module_get() - pin a module that is to be probed
 * @mod: the module
 * @addr: the address to probe
 *
 * Context: kprobe_mutex is held.
 *
 * Return: %KPROBE_WHY_NONE if the module is pinned; or the reason why @addr cannot be probed,
 * not yet or no more.
 */
enum kprobe_reason kprobe_module_get(struct module *mod, unsigned long addr)
{
	lockdep_assert_held(&kprobe_mutex);
	/* Init text is freed soon after the module has become live. */
	if (within_module_init(addr, mod) && mod->state != MODULE_STATE_COMING)
		return KPROBE_WHY_MODULE_INIT;
	if (!is_ready(mod))
		return KPROBE_WHY_MODULE_COMES;
	return try_module_get(mod) ? KPROBE_WHY_NONE : KPROBE_WHY_MODULE_GOES;
}

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
		ret = module_comes(mod) ?: kprobe_blacklist_add_module(mod);
		/* This is not called again for a module whose loading it has failed. */
		if (ret)
			module_has_come(mod);
		break;
	case MODULE_STATE_LIVE:
		module_has_come(mod);
		text_goes(mod, MOD_INIT_TEXT);
		break;
	case MODULE_STATE_GOING:
		module_has_come(mod);
		text_goes(mod, MOD_INIT_TEXT);
		text_goes(mod, MOD_TEXT);
		optimizer_module_goes(mod);
		break;
	}
	return notifier_from_errno(ret);
}

/*
 * Called before any other notifier. So notifiers that use probes see them gone, and the
 * blacklist of a module is in force before one of them can probe it.
 */
static struct notifier_block kprobe_module_nb = {
	.notifier_call = kprobe_module_notify,
	.priority = INT_MAX,
};

/**
 * kprobe_modules_init() - register the module notifier
 *
 * Return: 0 or a negative errno.
 */
int __init kprobe_modules_init(void)
{
	return register_module_notifier(&kprobe_module_nb);
}
