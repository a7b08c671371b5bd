// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the functions that users call.
 *
 * They find the address of a probe and check it, see kprobes/place.c. Then they put its probepoint
 * on a batch, a list of probepoints that change together, see kprobes/batch.c. All of them take
 * kprobe_mutex, and may sleep.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "kprobes/internal.h"

/*
 * Record and log why the registration of @p, or NULL if the caller gave none, is refused. Return:
 * @err.
 */
int kprobe_refused(struct kprobe *p, enum kprobe_reason why, int err)
{
	const char *text = *kprobe_reason_text(why);
	char number[16];

	if (!IS_ENABLED(CONFIG_KPROBES_EXPLAIN)) {
		snprintf(number, sizeof(number), "reason %d", why);
		text = number;
	}
	if (p)
		p->refusal = why;
	if (!p)
		pr_debug("kprobes: refused: %s (%d)\n", text, err);
	else if (p->symbol_name)
		pr_debug("kprobes: %s+0x%x refused: %s (%d)\n", p->symbol_name, p->offset, text,
			 err);
	else
		/* While @p is registered, addr includes the offset. */
		pr_debug("kprobes: %pS refused: %s (%d)\n",
			 (void *)p->addr + (p->point ? 0 : p->offset), text, err);
	return err;
}

/*
 * Set the fields that users may read while a probe is registered. No hit calls @p yet. @again: @p
 * has waited for its module, and keeps its counters.
 */
static void kprobe_registered(struct kprobe *p, bool again)
{
	const struct kprobe *at = &p->point->kp;

	if (!again) {
		p->nmissed = 0;
		p->nmissed_disabled = 0;
	}
	if (kprobe_is_waiting(p))
		return;
	p->given = kprobe_given(p);
	p->by_symbol = !p->given;
	p->addr = at->addr;
	if (p->by_symbol)
		p->given = p->addr;
	p->opcode = at->opcode;
	p->entry_size = at->entry_size;
	p->flags |= at->flags & KPROBE_ADDRESS_FLAGS;
	p->refusal = KPROBE_REASON_NONE;
}

/*
 * Attach a probe to its probepoint, and put the probepoint on the batch @changes. If the module of
 * the probe is not loaded, let the probe wait for it. @again: the probe has waited, and its module
 * is being loaded: do not let it wait again, but return an error. Return: 0 or an errno.
 */
static int kprobe_attach(struct kprobe *p, bool again, struct list_head *changes)
{
	struct kprobe_place place;
	enum kprobe_reason why;
	int err;

	if (p->point)
		return kprobe_refused(p, KPROBE_REASON_REGISTERED, -EINVAL);
	if (!again)
		init_llist_node(&p->request);
	why = kprobe_find_place(p, &place, false);
	if (!again && kprobe_should_wait(p, why)) {
		kprobe_waiting_add(p);
		p->refusal = why;
		return 0;
	}
	if (why)
		return kprobe_refused(p, why, kprobe_reason_errno(why));
	err = probepoint_attach(p, &place, changes, &why);
	if (err) {
		module_put(place.module);
		return kprobe_refused(p, why, err);
	}
	/* Clear the flags of an earlier registration. */
	p->flags &= KPROBE_USER_FLAGS;
	return 0;
}

/*
 * Record why the staging of a batch failed: out of memory, or refused by ftrace. At least one probe
 * is not waiting for its module, or else there would have been nothing to stage. So the loop finds
 * a probe for the log message.
 */
static void kprobe_batch_refused(struct kprobe **kps, int num, int err)
{
	enum kprobe_reason why = KPROBE_REASON_NO_MEMORY;
	int i, culprit = -1;

	if (err != -ENOMEM)
		why = kprobe_ftrace_reason(err);
	for (i = 0; i < num; i++) {
		if (kprobe_is_waiting(kps[i]))
			continue;
		kps[i]->refusal = why;
		if (culprit < 0 || (!kprobe_ftrace(&kps[culprit]->point->kp) &&
				    kprobe_ftrace(&kps[i]->point->kp)))
			culprit = i;
	}
	/* Ftrace does not say which address it refused: log the first ftrace-based probe. */
	kprobe_refused(kps[culprit], why, err);
}

/* Detach a probe from its probepoint, or end its wait for a module. */
static void kprobe_detach(struct kprobe *p, struct list_head *changes)
{
	if (kprobe_is_waiting(p))
		kprobe_waiting_del(p);
	else
		probepoint_detach(p, changes);
}

/*
 * Register @num probes, more than 0. @again: they have waited for a module, which is being loaded:
 * keep their counters. Return: as register_kprobes().
 */
int kprobes_register_locked(struct kprobe **kps, int num, bool again)
{
	LIST_HEAD(changes);
	int done, err = 0;

	lockdep_assert_held(&kprobe_mutex);
	for (done = 0; done < num; done++) {
		if (kps[done])
			err = kprobe_attach(kps[done], again, &changes);
		else
			err = kprobe_refused(NULL, KPROBE_REASON_NO_PROBE, -EINVAL);
		if (err)
			goto undo;
		cond_resched();
	}
	err = probepoints_stage(&changes);
	if (err) {
		kprobe_batch_refused(kps, num, err);
		goto undo;
	}
	for (done = 0; done < num; done++)
		kprobe_registered(kps[done], again);
	arch_begin_kprobes();
	probepoints_commit(&changes);
	return 0;
undo:
	while (done--) {
		kprobe_detach(kps[done], &changes);
		cond_resched();
	}
	probepoints_abort(&changes);
	return err;
}

/**
 * register_kprobes() - register several probes
 * @kps: the probes
 * @num: number of probes
 *
 * On x86, one synchronisation of all CPUs arms the whole batch. If one probe cannot be
 * registered, none is.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or what register_kprobe() would return for the first probe that cannot be
 * registered. %-EINVAL also if @kps or one of its members is NULL, if @num is not
 * positive, or if a probe is in the array twice.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	if (!kps || num <= 0)
		return kprobe_refused(NULL, KPROBE_REASON_NO_PROBE, -EINVAL);

	guard(mutex)(&kprobe_mutex);
	return kprobes_register_locked(kps, num, false);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/**
 * register_kprobe() - register a probe
 * @p: the probe; see &struct kprobe for the fields that the user sets
 *
 * When this returns 0, every execution of the probed instruction, on any CPU, calls the
 * handlers or is counted in nmissed, unless %KPROBE_FLAG_DISABLED is set or debugfs
 * kprobes/enabled is 0. After an error, a debug message and debugfs kprobes/explain have the
 * reason.
 *
 * If symbol_name is "module:function", the module is not loaded, and flags has %KPROBE_FLAG_WAIT,
 * @p waits: it is registered, and hits begin before the init function of the module is called.
 * When the module is unloaded, @p waits for it again, and %KPROBE_FLAG_GONE is not set. While @p
 * waits, its addr means nothing. It continues to wait if the address is refused when the module
 * is loaded; a debug message has the reason.
 *
 * With %KPROBE_FLAG_EVENT, @p is refused where kprobe events are: in notrace functions, if several
 * symbols of the module have the name, and if the kernel is locked down.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return:
 * * 0 - the probe is registered
 * * %-EINVAL - @p is NULL, or is registered already; both an address and a symbol are
 *   given, or neither is; the offset is beyond the end of the symbol; the address is in
 *   no text of the kernel or of a module, or is blacklisted; the kernel patches the
 *   instruction or keeps its address in a table (jump labels, static calls, alternatives
 *   for SMP, BUG()); the instruction exists to trap; or other code must find it unchanged
 * * %-EILSEQ - no instruction begins at the address, which may be inside ftrace's bytes;
 *   or the decoder does not know an instruction between the start of the function and
 *   the address
 * * %-EOPNOTSUPP - the instruction can neither be executed out of line nor be emulated; or @p has a
 *   handler that the kernel does not call
 * * %-ENOENT - there is no such symbol; or the address is in a module that is being
 *   unloaded, or whose notifiers have not been called yet, or in the init part of a
 *   module that has finished loading
 * * %-EPERM - flags has %KPROBE_FLAG_EVENT, and the kernel is locked down
 * * %-EBUSY - the address belongs to ftrace, and ftrace is disabled; or @p has a
 *   post_handler, and another user of ftrace may redirect the function, as a live patch
 *   does
 * * %-ENODEV - the address belongs to ftrace, which has failed
 * * %-EAGAIN - @p has a post_handler, and BPF is changing what it calls at the function
 * * %-ENOMEM - out of memory
 */
int register_kprobe(struct kprobe *p)
{
	return register_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/*
 * Reset what the kernel has changed to what the user gave, so that the structure can be registered
 * again. The caller has waited for running handlers, which may read addr. If the user gave a
 * symbol, addr is kept, since users read it after unregistration.
 */
static void kprobe_restore_unregistered(struct kprobe **kps, int num)
{
	int i;

	guard(mutex)(&kprobe_mutex);
	kprobe_disable_requested();
	for (i = 0; i < num; i++) {
		if (!kps[i] || kps[i]->point)
			continue;
		kprobe_restore_handlers(kps[i]);
		if (kps[i]->addr && !kps[i]->by_symbol)
			kps[i]->addr = kps[i]->given;
	}
}

/**
 * unregister_kprobes() - unregister several probes
 * @kps: the probes. A member may be NULL. If a probe is not registered, its addr is set to NULL, as
 *	a sign to the caller.
 * @num: number of probes
 *
 * The whole batch costs one wait for running handlers. On x86, one synchronisation of all CPUs
 * removes all its breakpoints.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	bool detached = false;
	unsigned long gone;
	LIST_HEAD(changes);
	int i;

	if (!kps || num <= 0)
		return;

	scoped_guard(mutex, &kprobe_mutex) {
		for (i = 0; i < num; i++) {
			if (!kps[i] || kps[i]->point)
				continue;
			/*
			 * Another caller may have just detached this probe. Its handlers may still
			 * run, and read addr: wait for them before addr is cleared.
			 */
			cond_synchronize_rcu_expedited(kprobe_handlers_gone);
			kprobe_disable_requested();
			kprobe_restore_handlers(kps[i]);
			kps[i]->addr = NULL;
		}
		for (i = 0; i < num; i++) {
			struct kprobe *p = kps[i];

			if (!p || !p->point)
				continue;
			kprobe_detach(p, &changes);
			p->flags &= KPROBE_ADDRESS_FLAGS;
			detached = true;
			cond_resched();
		}
		if (!detached)
			return;
		kprobe_commit_removal(&changes);
		gone = kprobe_handlers_gone;
	}
	cond_synchronize_rcu_expedited(gone);
	kprobe_restore_unregistered(kps, num);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

/**
 * unregister_kprobe() - unregister a probe
 * @p: the probe; if it is not registered, its addr is set to NULL
 *
 * When this returns, no handler of @p is running and none is called any more, even if
 * another caller has just unregistered @p.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_kprobe(struct kprobe *p)
{
	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

/*
 * Are all of these probes registered and, if @text is true, has the text of none
 * of them been freed?
 */
static bool kprobes_registered(struct kprobe **kps, int num, bool text)
{
	int i;

	if (!kps || num <= 0)
		return false;
	for (i = 0; i < num; i++)
		if (!kps[i] || !kps[i]->point || (text && kprobe_gone(kps[i])))
			return false;
	return true;
}

/**
 * disable_kprobes() - stop calling the handlers of several probes
 * @kps: registered probes
 * @num: number of probes
 *
 * As disable_kprobe() for each of them, but the whole batch costs one wait for running handlers,
 * and on x86 one synchronisation of all CPUs.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or what disable_kprobe() returns for one of them; then none has changed. %-EINVAL
 * also if @kps is NULL or @num is not positive.
 */
int disable_kprobes(struct kprobe **kps, int num)
{
	bool changed = false;
	unsigned long gone;
	LIST_HEAD(changes);
	int i;

	scoped_guard(mutex, &kprobe_mutex) {
		if (!kprobes_registered(kps, num, false))
			return -EINVAL;
		for (i = 0; i < num; i++) {
			if (kprobe_has_flag(kps[i], KPROBE_FLAG_DISABLED))
				continue;
			kprobe_set_disabled(kps[i], true, &changes);
			changed = true;
			cond_resched();
		}
		if (changed)
			kprobe_commit_removal(&changes);
		gone = kprobe_handlers_gone;
	}
	/* Wait even if another caller has disabled them: handlers may still be running. */
	cond_synchronize_rcu_expedited(gone);
	return 0;
}
EXPORT_SYMBOL_GPL(disable_kprobes);

/**
 * disable_kprobe() - stop calling the handlers of a probe
 * @kp: a registered probe
 *
 * When this returns 0, no handler of @kp is running, and none is called before
 * enable_kprobe(). If @kp belongs to a return probe, this applies only to entries of the function:
 * calls that are already tracked still call the return probe's handler when they return.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, also if @kp was disabled already or its text has been freed; %-EINVAL if @kp is
 * NULL or is not registered.
 */
int disable_kprobe(struct kprobe *kp)
{
	return disable_kprobes(&kp, 1);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobes() - call the handlers of several probes again
 * @kps: registered probes
 * @num: number of probes
 *
 * As enable_kprobe() for each of them, but on x86 one synchronisation of all CPUs arms the whole
 * batch. If one cannot be enabled, all that were disabled stay disabled.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or what enable_kprobe() returns for one of them. %-EINVAL also if @kps is NULL or
 * @num is not positive.
 */
int enable_kprobes(struct kprobe **kps, int num)
{
	LIST_HEAD(changes);
	int i, err;

	guard(mutex)(&kprobe_mutex);
	kprobe_disable_requested();
	if (!kprobes_registered(kps, num, true))
		return -EINVAL;
	for (i = 0; i < num; i++)
		kps[i]->enabling = kprobe_has_flag(kps[i], KPROBE_FLAG_DISABLED);
	kprobes_restart(kps, num);
	for (i = 0; i < num; i++) {
		if (!kps[i]->enabling)
			continue;
		kprobe_set_disabled(kps[i], false, &changes);
		cond_resched();
	}
	err = probepoints_stage(&changes);
	if (!err)
		probepoints_commit(&changes);
	for (i = 0; i < num; i++) {
		if (err && kps[i]->enabling)
			kps[i]->flags |= KPROBE_FLAG_DISABLED;
		kps[i]->enabling = false;
	}
	if (err) {
		kprobe_batch_refused(kps, num, err);
		probepoints_abort(&changes);
	}
	return err;
}
EXPORT_SYMBOL_GPL(enable_kprobes);

/**
 * enable_kprobe() - call the handlers of a probe again
 * @kp: a registered probe
 *
 * While debugfs kprobes/enabled is 0, hits do not call @kp, although it is enabled.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, also if @kp was enabled already; %-EINVAL if @kp is NULL or is not registered,
 * or its text has been freed; %-EBUSY, %-ENODEV and %-ENOMEM as register_kprobe().
 */
int enable_kprobe(struct kprobe *kp)
{
	return enable_kprobes(&kp, 1);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

static int __init init_kprobes(void)
{
	kprobe_blacklist_init();
	kretprobes_init();
	return arch_init_kprobes() ?: kprobe_legacy_init() ?: kprobe_modules_init() ?:
	       kprobe_waiting_init();
}
early_initcall(init_kprobes);
