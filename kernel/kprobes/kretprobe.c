// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: registering and unregistering return probes.
 *
 * A return probe is a probe at the entry of a function. Its pre_handler replaces the return address
 * with that of a trampoline: see retcall.c, or rethook.c for architectures that use rethook.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/sched.h>

#include "internal.h"

/* Guards the setup and teardown of return probes. kprobe_mutex nests inside it. */
DEFINE_MUTEX(kretprobe_mutex);

static_assert(offsetof(struct kretprobe, kp) == 0);

static int kretprobe_prepare(struct kretprobe *rp)
{
	enum kprobe_reason why = KPROBE_REASON_NO_MEMORY;
	int err;

	if (!rp)
		return kprobe_refused(NULL, KPROBE_REASON_NO_PROBE, -EINVAL);
	if (rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		return kprobe_refused(&rp->kp, KPROBE_REASON_RETURN_DATA, -E2BIG);
	err = kretprobe_setup(rp);
	if (err == -EINVAL)
		why = KPROBE_REASON_REGISTERED;
	if (err)
		return kprobe_refused(&rp->kp, why, err);
	rp->kp.post_handler = NULL;
	rp->nmissed = 0;
	return 0;
}

/*
 * Can a return probe be set at an address? @entry: the start of the function if the address is the
 * function's entry, otherwise 0. Return: KPROBE_REASON_NONE, or the reason why not.
 */
enum kprobe_reason kretprobe_check(unsigned long entry)
{
	int i;

	if (!entry)
		return KPROBE_REASON_RETURN_INSIDE;
	for (i = 0; i < kretprobe_blacklist_size; i++)
		if (kretprobe_blacklist[i].addr == (void *)entry)
			return KPROBE_REASON_RETURN_EXCLUDED;
	return KPROBE_REASON_NONE;
}

/* Undo kretprobe_prepare(), which succeeded for all @num return probes in @rps. */
static void kretprobes_teardown(struct kretprobe **rps, int num)
{
	guard(mutex)(&kretprobe_mutex);
	while (num--) {
		kretprobe_deactivate(rps[num]);
		kretprobe_teardown(rps[num]);
	}
}

/**
 * register_kretprobes() - register several return probes
 * @rps: the return probes
 * @num: number of return probes
 *
 * If one cannot be registered, none is. Calls register_kprobes() once.
 *
 * Context: sleeps; takes kretprobe_mutex and kprobe_mutex.
 *
 * Return: 0, or what register_kretprobe() would return for the first return probe that
 * cannot be registered. %-EINVAL also if @rps or one of its members is NULL, if @num is
 * not positive, or if a return probe is in the array twice.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	int done, err = 0;

	if (!rps || num <= 0)
		return kprobe_refused(NULL, KPROBE_REASON_NO_PROBE, -EINVAL);
	scoped_guard(mutex, &kretprobe_mutex) {
		for (done = 0; done < num && !err; done += !err) {
			err = kretprobe_prepare(rps[done]);
			cond_resched();
		}
	}
	/* A struct kretprobe begins with its struct kprobe, so pointers to both are equal. */
	err = err ?: register_kprobes((struct kprobe **)rps, num);
	if (err)
		kretprobes_teardown(rps, done);
	return err;
}
EXPORT_SYMBOL_GPL(register_kretprobes);

/**
 * register_kretprobe() - register a return probe
 * @rp: the return probe; see &struct kretprobe for the fields that the user sets
 *
 * After this has returned 0, every call of the function calls the handlers, or is counted in
 * nmissed or kp.nmissed, unless the return probe is disabled or debugfs kprobes/enabled is 0.
 *
 * It calls register_kprobe() and not register_kprobes(): security agents probe register_kprobe() to
 * see registrations.
 *
 * Context: sleeps; takes kretprobe_mutex and kprobe_mutex.
 *
 * Return:
 * * 0 - the return probe is registered
 * * %-EINVAL - what register_kprobe() returns it for; the address is not the entry of a
 *   function; the function must not have return probes; @rp is registered already
 * * %-E2BIG - data_size is more than %KRETPROBE_MAX_DATA_SIZE
 * * %-EILSEQ, %-EOPNOTSUPP, %-ENOENT, %-EBUSY, %-ENODEV - as register_kprobe()
 * * %-ENOMEM - out of memory, or maxactive is more than a pool can have
 */
int register_kretprobe(struct kretprobe *rp)
{
	int err;

	scoped_guard(mutex, &kretprobe_mutex)
		err = kretprobe_prepare(rp);
	if (err)
		return err;
	err = register_kprobe(&rp->kp);
	if (err)
		kretprobes_teardown(&rp, 1);
	return err;
}
EXPORT_SYMBOL_GPL(register_kretprobe);

/**
 * unregister_kretprobes() - unregister several return probes
 * @rps: the return probes. A member may be NULL. If a return probe is not registered, its addr is
 *	set to NULL, as a sign to the caller.
 * @num: number of return probes
 *
 * It does not wait for calls that have not returned yet.
 *
 * Context: sleeps; takes kretprobe_mutex and kprobe_mutex.
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	int i;

	if (!rps || num <= 0)
		return;

	scoped_guard(mutex, &kretprobe_mutex)
		for (i = 0; i < num; i++)
			if (rps[i])
				kretprobe_deactivate(rps[i]);
	/*
	 * unregister_kprobes() waits for running handlers, at entries and at returns. It does so
	 * even for a return probe that another caller is unregistering. After that, both callers
	 * may tear it down: kretprobe_teardown() does nothing for the second caller.
	 */
	unregister_kprobes((struct kprobe **)rps, num);
	scoped_guard(mutex, &kretprobe_mutex)
		for (i = 0; i < num; i++) {
			if (rps[i])
				kretprobe_teardown(rps[i]);
			cond_resched();
		}
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);

/**
 * unregister_kretprobe() - unregister a return probe
 * @rp: the return probe; if it is not registered, its addr is set to NULL
 *
 * When this returns, no handler of @rp is running and none is called any more, even if another
 * caller is unregistering @rp. Calls that are still under way return without a call of the
 * handler.
 *
 * Context: sleeps; takes kretprobe_mutex and kprobe_mutex.
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	unregister_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/**
 * disable_kretprobe() - stop tracking the calls of a function
 * @rp: a registered return probe
 *
 * Calls that are under way still call the handler when they return.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as disable_kprobe(); %-EINVAL if @rp is NULL.
 */
int disable_kretprobe(struct kretprobe *rp)
{
	return rp ? disable_kprobe(&rp->kp) : -EINVAL;
}
EXPORT_SYMBOL_GPL(disable_kretprobe);

/**
 * enable_kretprobe() - track the calls of a function again
 * @rp: a registered return probe
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as enable_kprobe(); %-EINVAL if @rp is NULL.
 */
int enable_kretprobe(struct kretprobe *rp)
{
	return rp ? enable_kprobe(&rp->kp) : -EINVAL;
}
EXPORT_SYMBOL_GPL(enable_kretprobe);

/**
 * disable_kretprobes() - stop tracking the calls of several functions
 * @rps: registered return probes
 * @num: number of return probes
 *
 * Calls that are under way still call the handlers when they return.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as disable_kprobes().
 */
int disable_kretprobes(struct kretprobe **rps, int num)
{
	/* A struct kretprobe begins with its struct kprobe, so pointers to both are equal. */
	return disable_kprobes((struct kprobe **)rps, num);
}
EXPORT_SYMBOL_GPL(disable_kretprobes);

/**
 * enable_kretprobes() - track the calls of several functions again
 * @rps: registered return probes
 * @num: number of return probes
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as enable_kprobes().
 */
int enable_kretprobes(struct kretprobe **rps, int num)
{
	return enable_kprobes((struct kprobe **)rps, num);
}
EXPORT_SYMBOL_GPL(enable_kretprobes);

/* Look up the functions that must not have return probes, for kretprobe_check(). */
void __init kretprobes_init(void)
{
	int i;

	for (i = 0; i < kretprobe_blacklist_size; i++) {
		const char *name = kretprobe_blacklist[i].name;

		kretprobe_blacklist[i].addr = kprobe_lookup_name(name, 0);
		if (!kretprobe_blacklist[i].addr)
			pr_err("kprobes: no function %s to exclude from return probes\n", name);
	}
}
