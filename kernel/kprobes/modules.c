// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: loading and unloading of modules.
 *
 * A registered probe does not prevent its module from being unloaded. Before the text of a
 * module, or the init text of a module that has finished loading, is freed, every probepoint
 * in it becomes GONE and leaves the table. A module that is loaded at the same address later
 * gets probepoints of its own. The probes keep %KPROBE_FLAG_GONE until they are unregistered.
 *
 * Kallsyms finds the symbols of a module before the module notifiers are called. Until the
 * notifiers are called, the module's blacklist is not in force, and ftrace has not prepared its
 * functions. So no address of the module can be probed before the notifier below was called.
 *
 * The notifier takes kprobe_mutex, which guards the list of modules. Registration pins the
 * module until the end of the batch, so no probepoint is created after the notifier has removed
 * the probepoints of the text. The safety check does not hold kprobe_mutex, and reads the list
 * under RCU.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct coming_module - a module that may be probed although it is not live yet
 * @list: links it on coming_modules
 * @mod: the module
 * @rcu: frees it when no reader of the list uses it any more
 */
struct coming_module {
	struct list_head list;
	const struct module *mod;
	struct rcu_head rcu;
};

static LIST_HEAD(coming_modules);

/*
 * Number of modules loaded so far. While it does not change, no text is added to the kernel.
 * Guarded by kprobe_mutex.
 */
unsigned int kprobe_modules_seen;

static int kprobe_module_coming(const struct module *mod)
{
	struct coming_module *cm = kmalloc(sizeof(*cm), GFP_KERNEL);

	if (!cm)
		return -ENOMEM;
	cm->mod = mod;
	list_add_rcu(&cm->list, &coming_modules);
	return 0;
}

static void kprobe_module_live(const struct module *mod)
{
	struct coming_module *cm, *next;

	list_for_each_entry_safe(cm, next, &coming_modules, list) {
		if (cm->mod == mod) {
			list_del_rcu(&cm->list);
			kfree_rcu(cm, rcu);
		}
	}
}

/**
 * kprobe_module_ready() - may the text of a module be probed, or searched?
 * @mod: the module
 *
 * The text may be probed from the time when the notifier is called for MODULE_STATE_COMING until it
 * is called for MODULE_STATE_GOING. If loading the module has failed, mod->state may still be
 * MODULE_STATE_COMING after the latter call, so the state alone is not enough.
 *
 * Context: any with preemption disabled, which keeps @mod in memory.
 *
 * Return: true if the text may be probed or searched.
 */
bool kprobe_module_ready(const struct module *mod)
{
	enum module_state state = READ_ONCE(mod->state);
	struct coming_module *cm;

	if (state != MODULE_STATE_COMING)
		return state == MODULE_STATE_LIVE;
	list_for_each_entry_rcu(cm, &coming_modules, list)
		if (cm->mod == mod)
			return true;
	return false;
}

/*
 * Does the state of a module allow a probe at an address in it? Return: KPROBE_REASON_NONE, or the
 * reason why it cannot be probed yet, or any more.
 *
 * As long as kprobe_mutex is held, the text stays: the notifier takes the mutex before the text is
 * freed. Preemption is disabled.
 */
enum kprobe_reason kprobe_module_check(const struct module *mod, unsigned long addr)
{
	lockdep_assert_held(&kprobe_mutex);
	/* Init text is freed soon after the module is live. */
	if (within_module_init(addr, mod) && mod->state != MODULE_STATE_COMING)
		return KPROBE_REASON_MODULE_INIT;
	if (kprobe_module_ready(mod))
		return KPROBE_REASON_NONE;
	/* If the state is not COMING, the module is being unloaded: GOING, and then UNFORMED. */
	return READ_ONCE(mod->state) == MODULE_STATE_COMING ? KPROBE_REASON_MODULE_COMING :
							      KPROBE_REASON_MODULE_GOING;
}

static void kprobe_text_going(const struct module *mod, enum mod_mem_type type)
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
		kprobe_modules_seen++;
		ret = kprobe_module_coming(mod) ?: kprobe_blacklist_add_module(mod);
		if (!ret)
			break;
		/*
		 * After an error here, the notifier is not called for MODULE_STATE_GOING: do now
		 * what it would do then.
		 */
		fallthrough;
	case MODULE_STATE_GOING:
		kprobe_module_live(mod);
		kprobe_text_going(mod, MOD_INIT_TEXT);
		kprobe_text_going(mod, MOD_TEXT);
		optimizer_module_going(mod);
		break;
	case MODULE_STATE_LIVE:
		kprobe_module_live(mod);
		kprobe_text_going(mod, MOD_INIT_TEXT);
		break;
	}
	return notifier_from_errno(ret);
}

/*
 * The priority makes this the first notifier that is called. So the blacklist of a module is in
 * force before other notifiers can probe the module, and the flags of probes are up to date when
 * other notifiers read them.
 */
static struct notifier_block kprobe_module_nb = {
	.notifier_call = kprobe_module_notify,
	.priority = INT_MAX,
};

/* Register the module notifier. Return: 0 or a negative errno. */
int __init kprobe_modules_init(void)
{
	return register_module_notifier(&kprobe_module_nb);
}
