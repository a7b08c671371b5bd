// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the calls that users of return probes make.
 *
 * A return probe is a probe at the entry of a function which sees to it that
 * the return is noticed as well. How that is done is in retcall.c, or in
 * rethook.c for architectures that have rethook for it.
 *
 * kretprobe_mutex guards which return probes are registered, and nests outside
 * kprobe_mutex.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/wait_bit.h>

#include "internal.h"

/* Guards which return probes are registered. */
DEFINE_MUTEX(kretprobe_mutex);

static_assert(offsetof(struct kretprobe, kp) == 0);

static int claim(struct kretprobe *rp)
{
	int err;

	if (rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		return -E2BIG;
	err = kretprobe_claim(rp);
	if (err)
		return err;
	rp->kp.post_handler = NULL;
	rp->nmissed = 0;
	return 0;
}

/**
 * kretprobe_check() - tell whether a probe may be where it is to go
 * @p: any probe; nothing is said against one that is no return probe's
 * @addr: the address
 * @is_entry: that is the entry of a function
 *
 * Return: 0, or -EINVAL.
 */
int kretprobe_check(const struct kprobe *p, unsigned long addr, bool is_entry)
{
	unsigned long size, offset;
	int i;

	if (!is_kretprobe(p))
		return 0;
	if (!is_entry || !kallsyms_lookup_size_offset(addr, &size, &offset))
		return -EINVAL;
	for (i = 0; i < kretprobe_blacklist_size; i++)
		if (kretprobe_blacklist[i].addr == (void *)(addr - offset))
			return -EINVAL;
	return 0;
}

/**
 * register_kretprobes() - set many return probes at once
 * @rps: the return probes
 * @num: how many there are
 *
 * If one can't be set, none is.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or what register_kretprobe() would return for the first one that
 * can't be set; -EINVAL if @rps is NULL or @num is not positive.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	int done, err = 0;

	if (!rps || num <= 0)
		return -EINVAL;
	scoped_guard(mutex, &kretprobe_mutex) {
		for (done = 0; done < num && !err; done += !err)
			err = rps[done] ? claim(rps[done]) : -EINVAL;
	}
	/* Each begins with its probe. */
	err = err ?: register_kprobes((struct kprobe **)rps, num);
	if (!err)
		return 0;

	guard(mutex)(&kretprobe_mutex);
	while (done--) {
		kretprobe_stop(rps[done]);
		kretprobe_release(rps[done]);
	}
	return err;
}
EXPORT_SYMBOL_GPL(register_kretprobes);

/**
 * register_kretprobe() - set a return probe
 * @rp: the return probe; see &struct kretprobe for what its user fills in
 *
 * When this returns 0, every call of the function that begins from now on
 * calls the handlers when it returns, if it is not counted in nmissed.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or with nothing left behind
 *
 * * -EINVAL: what register_kprobe() returns it for; the address is not the
 *   entry of a function; the function must not have return probes; the return
 *   probe is registered already
 * * -E2BIG: data_size is more than %KRETPROBE_MAX_DATA_SIZE
 * * -ENOENT, -EILSEQ, -EOPNOTSUPP: as register_kprobe()
 * * -ENOMEM: out of memory, or maxactive is beyond all bounds
 */
int register_kretprobe(struct kretprobe *rp)
{
	return register_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(register_kretprobe);

/*
 * Is a caller of unregister_kretprobes() waiting for the handlers of @rp? A zeroed
 * list head is one that was never used.
 */
static bool is_leaving(struct kretprobe *rp)
{
	return READ_ONCE(rp->leaving.next) && !list_empty_careful(&rp->leaving);
}

/**
 * unregister_kretprobes() - remove many return probes at once
 * @rps: the return probes; of those that are not registered the addr is set to
 *	NULL
 * @num: how many there are
 *
 * Calls that have not returned yet do not keep this waiting.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	struct kretprobe *rp, *next;
	bool others = false;
	LIST_HEAD(leaving);
	int i;

	if (!rps || num <= 0)
		return;

	scoped_guard(mutex, &kretprobe_mutex)
		for (i = 0; i < num; i++) {
			if (!rps[i])
				continue;
			if (kretprobe_stop(rps[i]))
				list_add_tail(&rps[i]->leaving, &leaving);
			else if (is_leaving(rps[i]))
				others = true;
			else
				rps[i]->kp.addr = NULL;
		}

	if (!list_empty(&leaving)) {
		/* Waits for the handlers that are running, those of returns too. */
		unregister_kprobes((struct kprobe **)rps, num);
		scoped_guard(mutex, &kretprobe_mutex)
			list_for_each_entry_safe(rp, next, &leaving, leaving) {
				kretprobe_release(rp);
				list_del_init_careful(&rp->leaving);
				wake_up_var(rp);
			}
	}

	/*
	 * Another caller may have stopped one of them, and be waiting for its
	 * handlers. It is released when these have ended.
	 */
	for (i = 0; others && i < num; i++)
		if (rps[i])
			wait_var_event(rps[i], !is_leaving(rps[i]));
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);

/**
 * unregister_kretprobe() - remove a return probe
 * @rp: the return probe; if it is not registered its addr is set to NULL
 *
 * When this returns no handler of @rp is running, and none will be called any
 * more. Calls that have not returned yet return as they should.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	unregister_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/**
 * disable_kretprobe() - stop following the calls of a function
 * @rp: a registered return probe
 *
 * Calls that are followed already still have their handler called.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as disable_kprobe(); -EINVAL if @rp is NULL.
 */
int disable_kretprobe(struct kretprobe *rp)
{
	return rp ? disable_kprobe(&rp->kp) : -EINVAL;
}
EXPORT_SYMBOL_GPL(disable_kretprobe);

/**
 * enable_kretprobe() - follow the calls of a function again
 * @rp: a registered return probe
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as enable_kprobe(); -EINVAL if @rp is NULL.
 */
int enable_kretprobe(struct kretprobe *rp)
{
	return rp ? enable_kprobe(&rp->kp) : -EINVAL;
}
EXPORT_SYMBOL_GPL(enable_kretprobe);

/**
 * kretprobes_init() - get ready for return probes
 */
void __init kretprobes_init(void)
{
	int i;

	for (i = 0; i < kretprobe_blacklist_size; i++) {
		const char *name = kretprobe_blacklist[i].name;

		kretprobe_blacklist[i].addr = kprobe_lookup_name(name, 0);
		if (!kretprobe_blacklist[i].addr)
			pr_err("kprobes: no function %s to keep return probes from\n", name);
	}
}
