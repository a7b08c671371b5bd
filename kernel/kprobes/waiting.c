// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: probes that wait for a module.
 *
 * A probe with %KPROBE_FLAG_WAIT whose symbol_name names a module may be registered while that
 * module is not loaded. The core then attaches the probe to kprobe_waiting, a pseudo-probepoint
 * without an address, whose state is always PROBEPOINT_GONE. kprobe_waiting is neither in the tree
 * nor in the hash table of probepoints, so no hit finds it. The notifier below registers the probe
 * when the module is loaded. Before the text of the module is freed, probepoint_kill() lets the
 * probe wait again.
 *
 * kprobe_mutex guards the probes of kprobe_waiting.
 */
#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/* The number of probes to register before kprobe_mutex is released */
#define WAITING_BATCH	64U

struct probepoint kprobe_waiting = {
	.state = PROBEPOINT_GONE,
	.probes = LIST_HEAD_INIT(kprobe_waiting.probes),
};

/* Copy the name of the module from a symbol_name MODULE:SYMBOL. Return: true if it names one. */
static bool waiting_module_name(const struct kprobe *p, char name[MODULE_NAME_LEN])
{
	const char *colon = p->symbol_name ? strchr(p->symbol_name, ':') : NULL;
	size_t len = colon ? colon - p->symbol_name : 0;

	if (!len || len >= MODULE_NAME_LEN)
		return false;
	memcpy(name, p->symbol_name, len);
	name[len] = '\0';
	return true;
}

/*
 * May a probe that cannot be registered now, because of @why, wait for its module?
 *
 * It may if the module is not loaded, or is being loaded or unloaded. Loading a module calls
 * kprobe_waiting_notify(), which waits for kprobe_mutex and so finds the probe. It may not if the
 * module is already loaded: then the module lacks the symbol.
 */
bool kprobe_should_wait(const struct kprobe *p, enum kprobe_reason why)
{
	char name[MODULE_NAME_LEN];
	struct module *mod;

	lockdep_assert_held(&kprobe_mutex);
	if (!kprobe_has_flag(p, KPROBE_FLAG_WAIT) || !waiting_module_name(p, name))
		return false;
	switch (why) {
	case KPROBE_REASON_MODULE_COMING:
	case KPROBE_REASON_MODULE_INIT:
	case KPROBE_REASON_MODULE_GOING:
		return true;
	case KPROBE_REASON_NO_SYMBOL:
	/* In these two cases, the symbol was found, but the module was unloaded after that. */
	case KPROBE_REASON_NO_FUNCTION:
	case KPROBE_REASON_NO_TEXT: {
		guard(preempt)();
		mod = find_module(name);
		return !mod || !kprobe_module_ready(mod);
	}
	default:
		return false;
	}
}

/*
 * Add a probe, which is on no list, to the probes that wait for their module. Do not clear its
 * addr: a handler that was called before the text was freed may still read it.
 */
void kprobe_waiting_add(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);
	list_add_tail(&p->list, &kprobe_waiting.probes);
	p->point = &kprobe_waiting;
	p->by_symbol = true;
	p->given = p->addr;
	p->flags &= KPROBE_USER_FLAGS;
}

/* Undo kprobe_waiting_add(). */
void kprobe_waiting_del(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);
	list_del_init(&p->list);
	p->point = NULL;
}

/*
 * Register probes that waited. If that fails, they continue to wait, and
 * kprobe.refusal has the reason.
 */
static int waiting_register(struct kprobe **kps, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		kprobe_waiting_del(kps[i]);
	err = kprobes_register_locked(kps, nr, true);
	for (i = 0; i < nr && err; i++)
		if (!kps[i]->point)
			kprobe_waiting_add(kps[i]);
	return err;
}

static bool waiting_is_for(const struct kprobe *p, const struct module *mod)
{
	char name[MODULE_NAME_LEN];

	return waiting_module_name(p, name) && !strcmp(name, mod->name);
}

/*
 * Register the first @max probes that wait for a module: in one batch, or, if that fails, one by
 * one, so that the others are registered if one is refused. Refused probes are moved to the end of
 * the list. Return: the number of probes.
 */
static unsigned int waiting_register_first(const struct module *mod, unsigned int max)
{
	/* Guarded by kprobe_mutex */
	static struct kprobe *kps[WAITING_BATCH];
	unsigned int nr = 0, i;
	struct kprobe *p;

	list_for_each_entry(p, &kprobe_waiting.probes, list) {
		if (nr == min(max, WAITING_BATCH))
			break;
		if (waiting_is_for(p, mod))
			kps[nr++] = p;
		cond_resched();
	}
	if (!nr || !waiting_register(kps, nr) || nr == 1)
		return nr;
	for (i = 0; i < nr; i++) {
		waiting_register(&kps[i], 1);
		cond_resched();
	}
	return nr;
}

static int kprobe_waiting_notify(struct notifier_block *nb, unsigned long state, void *data)
{
	const struct module *mod = data;
	unsigned int left = 0, nr;
	struct kprobe *p;

	if (state != MODULE_STATE_COMING)
		return NOTIFY_OK;
	scoped_guard(mutex, &kprobe_mutex) {
		list_for_each_entry(p, &kprobe_waiting.probes, list) {
			left += waiting_is_for(p, mod);
			cond_resched();
		}
	}
	/*
	 * While kprobe_mutex is released, other callers may unregister probes. Then @left is too
	 * high, and some refused probes, at the end of the list, are tried again.
	 */
	for (; left; left -= nr) {
		scoped_guard(mutex, &kprobe_mutex)
			nr = waiting_register_first(mod, left);
		if (!nr)
			break;
		cond_resched();
	}
	return NOTIFY_OK;
}

/*
 * Called after all other notifiers: the notifiers of jump labels and static calls have patched the
 * text, and none can refuse the module any more. The module's init function has not run yet.
 */
static struct notifier_block kprobe_waiting_nb = {
	.notifier_call = kprobe_waiting_notify,
	.priority = INT_MIN,
};

/* Register the module notifier. Return: 0 or a negative errno. */
int __init kprobe_waiting_init(void)
{
	return register_module_notifier(&kprobe_waiting_nb);
}
