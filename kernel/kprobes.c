// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the calls that users make.
 *
 * Here a probe is checked, its address is worked out and it is put into a
 * batch; what becomes of batches is in kernel/kprobes/probepoint.c. All calls
 * take kprobe_mutex, and may sleep.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "kprobes/internal.h"

/* Guards all probes and probepoints, see internal.h. */
DEFINE_MUTEX(kprobe_mutex);

/* The kernel's init text is about to be freed. Guarded by kprobe_mutex. */
static bool init_text_is_going;

/*
 * The RCU grace period after which no handler can run that a probe had when it
 * was last disabled or unregistered. Guarded by kprobe_mutex.
 */
static unsigned long handlers_gone;

/**
 * kprobe_lookup_name() - find the address of a function
 * @name: name of the function, or "module:function"
 * @offset: not looked at here; for architectures with more than one entry
 *
 * Return: the address, or NULL if there is no such function.
 */
__weak
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

/**
 * arch_adjust_kprobe_addr() - put a probe where it belongs
 * @func: start of the function
 * @offset: how far from it the probe is asked for, in bytes
 * @is_entry: where to say whether that counts as the function's entry
 *
 * For architectures where a function begins with what must not be patched.
 *
 * Return: the address to probe.
 */
__weak
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long func, unsigned long offset, bool *is_entry)
{
	*is_entry = offset == 0;
	return (kprobe_opcode_t *)(func + offset);
}

/* Not a function, but where all text begins; perf counts from there. */
static bool is_start_of_text(const char *sym)
{
	return !strcmp(sym, "_text") || !strcmp(sym, "_stext");
}

/*
 * Turn a symbol and an offset, or an address and an offset, into the address
 * to probe.
 */
static kprobe_opcode_t *
find_address(kprobe_opcode_t *addr, const char *sym, unsigned long offset, bool *is_entry)
{
	unsigned long size, base, within;

	if (!addr == !sym)
		return ERR_PTR(-EINVAL);
	if (sym) {
		addr = kprobe_lookup_name(sym, offset);
		if (!addr)
			return ERR_PTR(-ENOENT);
	}
	base = (unsigned long)addr;
	if (base + offset < base)
		return ERR_PTR(-EINVAL);
	if (!kallsyms_lookup_size_offset(base + offset, &size, &within))
		return ERR_PTR(-EINVAL);
	/*
	 * The symbol that is meant does not reach that far. The start of
	 * another is no mistake; users of kprobe events count up to it.
	 */
	if (sym && within && within < offset && !is_start_of_text(sym))
		return ERR_PTR(-EINVAL);
	return arch_adjust_kprobe_addr(base + offset - within, within,
				       is_entry);
}

/**
 * kprobe_on_func_entry() - tell whether a place is the entry of a function
 * @addr: address, or NULL if @sym is given
 * @sym: name of a function, or NULL if @addr is given
 * @offset: offset in bytes from it
 *
 * Context: sleeps.
 *
 * Return: 0 if it is; -EINVAL if it is not, or there is no such place;
 * -ENOENT if there is no function @sym.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset)
{
	bool is_entry;

	addr = find_address(addr, sym, offset, &is_entry);
	if (!IS_ERR(addr))
		return is_entry ? 0 : -EINVAL;
	return PTR_ERR(addr);
}

/* Where the probe is to go, whether or not it has been registered before. */
static kprobe_opcode_t *probe_address(const struct kprobe *p, bool *is_entry)
{
	kprobe_opcode_t *addr = p->addr;
	unsigned long offset = p->offset;

	if (addr && addr == p->resolved) {
		/* A symbol is looked up again, for it may have moved. */
		if (p->symbol_name)
			addr = NULL;
		/* With another offset, the user has set the address, too. */
		else if (offset == p->resolved_offset)
			offset = 0;
	}
	return find_address(addr, p->symbol_name, offset, is_entry);
}

/*
 * Is the text at @addr ours to patch, or ftrace's to patch for us? Pins the
 * module that it is in, if any.
 */
static int check_address(unsigned long addr, struct module **module, bool *on_ftrace)
{
	struct module *mod = NULL;
	int err = -EINVAL;

	*module = NULL;
	*on_ftrace = false;
	if (kprobe_patched_text_init())
		return -ENOMEM;
	/* Jump labels must not come or go while we look. */
	jump_label_lock();
	preempt_disable();
	if (init_text_is_going && is_kernel_inittext(addr))
		goto out;
	if (!core_kernel_text(addr)) {
		mod = __module_text_address(addr);
		if (!mod)
			goto out;
	}
	if (within_kprobe_blacklist(addr) || kprobe_is_patched_text(addr, mod))
		goto out;
	if (ftrace_text_reserved((void *)addr, (void *)addr)) {
		err = kprobe_ftrace_check(addr);
		if (err)
			goto out;
		*on_ftrace = true;
	}
	if (mod) {
		err = -ENOENT;
		if (!kprobe_module_get(mod, addr))
			goto out;
		*module = mod;
	}
	err = 0;
out:
	preempt_enable();
	jump_label_unlock();
	return err;
}

/* Put one probe into a batch; on failure @p is as it was. */
static int attach_probe(struct kprobe *p, struct list_head *changes)
{
	struct kprobe before = *p;
	struct module *module;
	bool is_entry, on_ftrace;
	int err;

	if (p->point)
		return -EINVAL;
	p->addr = probe_address(p, &is_entry);
	err = PTR_ERR_OR_ZERO(p->addr);
	if (!err)
		err = kretprobe_check(p, (unsigned long)p->addr, is_entry);
	if (!err)
		err = check_address((unsigned long)p->addr, &module, &on_ftrace);
	if (err)
		goto restore;

	p->resolved = p->addr;
	p->resolved_offset = p->offset;
	p->flags = (before.flags & KPROBE_FLAG_DISABLED) |
		   (is_entry ? KPROBE_FLAG_ON_FUNC_ENTRY : 0) |
		   (on_ftrace ? KPROBE_FLAG_FTRACE : 0);
	err = probepoint_attach(p, module, changes);
	if (!err) {
		p->nmissed = 0;
		return 0;
	}
	module_put(module);
restore:
	p->addr = before.addr;
	p->resolved = before.resolved;
	p->flags = before.flags;
	return err;
}

/* Undo attach_probe() in a batch that failed later. */
static void undo_attach(struct kprobe *p, struct list_head *changes)
{
	probepoint_detach(p, changes);
	if (p->symbol_name) {
		p->addr = NULL;
		p->resolved = NULL;
	}
	p->flags = kprobe_has_flag(p, KPROBE_FLAG_DISABLED) ? KPROBE_FLAG_DISABLED : 0;
}

/**
 * register_kprobes() - set many probes at once
 * @kps: the probes
 * @num: how many there are
 *
 * The text is patched for all of them together. If one can't be set, none is.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or what register_kprobe() would return for the first probe that
 * can't be set; -EINVAL if @kps is NULL or @num is not positive.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	LIST_HEAD(changes);
	int done, err = 0;

	if (!kps || num <= 0)
		return -EINVAL;

	guard(mutex)(&kprobe_mutex);
	for (done = 0; done < num; done++) {
		err = kps[done] ? attach_probe(kps[done], &changes) : -EINVAL;
		if (err)
			goto undo;
	}
	err = probepoints_stage(&changes);
	if (err)
		goto undo;
	probepoints_commit(&changes);
	return 0;
undo:
	while (done--)
		undo_attach(kps[done], &changes);
	probepoints_abort(&changes);
	return err;
}
EXPORT_SYMBOL_GPL(register_kprobes);

/**
 * register_kprobe() - set a probe
 * @p: the probe; see &struct kprobe for what its user fills in
 *
 * When this returns 0, every execution of the probed instruction, on any CPU,
 * calls the handlers, unless %KPROBE_FLAG_DISABLED is set or
 * debugfs kprobes/enabled is 0.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or with nothing left behind
 *
 * * -EBUSY: the function has been patched by somebody who changes where it
 *   goes on, a live patch, and so may @p; or ftrace, which the address belongs
 *   to, is switched off
 * * -ENODEV: the address belongs to ftrace, which has failed
 * * -EINVAL: both an address and a symbol are given, or neither is; the offset
 *   is beyond the end of the symbol; the address is not kernel text, is
 *   blacklisted, or belongs to a jump label, a static call, an alternative, a
 *   BUG() or a breakpoint, or to what the architecture must find unchanged; the
 *   probe is registered already
 * * -ENOENT: there is no such symbol, or its module is just being unloaded, or
 *   has not come that far
 * * -EILSEQ: the address is not the start of an instruction
 * * -EOPNOTSUPP: the instruction can't be run from elsewhere
 * * -ENOMEM: out of memory
 */
int register_kprobe(struct kprobe *p)
{
	return register_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/*
 * Flags that describe the probed address. Handlers that still run when their probe
 * is unregistered look at them, bpf_get_func_ip() for one, so they stay until the
 * probe is registered again.
 */
#define ADDRESS_FLAGS	(KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY)

/* Commit a batch after which some probes are not to be called any more. */
static void commit_removal(struct list_head *changes)
{
	probepoints_commit(changes);
	/* Hits that began before may still call the handlers. */
	handlers_gone = get_state_synchronize_rcu();
}

/**
 * unregister_kprobes() - remove many probes at once
 * @kps: the probes; of those that are not registered the addr is set to NULL
 * @num: how many there are
 *
 * The text is patched for all of them together, and the wait for handlers
 * that are running is one for all.
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
			 * Another caller may have detached this probe a moment ago, and
			 * be waiting for handlers that still read its addr.
			 */
			cond_synchronize_rcu_expedited(handlers_gone);
			kps[i]->addr = NULL;
		}
		for (i = 0; i < num; i++) {
			struct kprobe *p = kps[i];

			if (!p || !p->point)
				continue;
			probepoint_detach(p, &changes);
			p->flags &= ADDRESS_FLAGS;
			detached = true;
		}
		if (!detached)
			return;
		commit_removal(&changes);
		gone = handlers_gone;
	}
	cond_synchronize_rcu_expedited(gone);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

/**
 * unregister_kprobe() - remove a probe
 * @p: the probe; if it is not registered its addr is set to NULL
 *
 * When this returns no handler of @p is running, and none will be called any
 * more.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_kprobe(struct kprobe *p)
{
	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

/**
 * disable_kprobe() - stop calling the handlers of a probe
 * @kp: a registered probe
 *
 * When this returns no handler of @kp is running.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, also if it was disabled already; -EINVAL if @kp is not
 * registered.
 */
int disable_kprobe(struct kprobe *kp)
{
	unsigned long gone;
	LIST_HEAD(changes);

	scoped_guard(mutex, &kprobe_mutex) {
		if (!kp || !kp->point)
			return -EINVAL;
		if (!kprobe_has_flag(kp, KPROBE_FLAG_DISABLED)) {
			kp->flags |= KPROBE_FLAG_DISABLED;
			probepoint_touch(kp->point, &changes);
			commit_removal(&changes);
		}
		gone = handlers_gone;
	}
	/* It may have been disabled by another caller, who is waiting, too. */
	cond_synchronize_rcu_expedited(gone);
	return 0;
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/**
 * enable_kprobe() - call the handlers of a probe again
 * @kp: a registered probe
 *
 * While debugfs kprobes/enabled is 0 this takes effect when it is 1 again.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, also if it was enabled already; -EINVAL if @kp is not registered
 * or the probed code is gone; -ENOMEM if out of memory.
 */
int enable_kprobe(struct kprobe *kp)
{
	LIST_HEAD(changes);
	int err;

	guard(mutex)(&kprobe_mutex);
	if (!kp || !kp->point || kprobe_gone(kp))
		return -EINVAL;
	if (!kprobe_has_flag(kp, KPROBE_FLAG_DISABLED))
		return 0;
	kp->flags ^= KPROBE_FLAG_DISABLED;
	probepoint_touch(kp->point, &changes);
	err = probepoints_stage(&changes);
	if (!err) {
		probepoints_commit(&changes);
		return 0;
	}
	kp->flags ^= KPROBE_FLAG_DISABLED;
	probepoints_abort(&changes);
	return err;
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/**
 * kprobe_free_init_mem() - the kernel's init text is about to be freed
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void kprobe_free_init_mem(void)
{
	guard(mutex)(&kprobe_mutex);
	init_text_is_going = true;
	probepoints_kill((unsigned long)__init_begin, (unsigned long)__init_end);
	kprobe_blacklist_del_range((unsigned long)__init_begin,
				   (unsigned long)__init_end);
}

/**
 * dump_kprobe() - print what a probe is, before the kernel gives up on it
 * @kp: what get_kprobe() gave
 *
 * May be called in any context.
 */
void __kprobes dump_kprobe(struct kprobe *kp)
{
	pr_err("kprobes: probe on %pS, opcode %#lx\n", kp->addr, (unsigned long)kp->opcode);
}

/**
 * kprobe_exceptions_notify() - look at exceptions on their way
 * @nb: not used
 * @event: what happened, a DIE_ number
 * @args: a &struct die_args
 *
 * For architectures that reach probes through the die notifier.
 *
 * Return: a NOTIFY_ number.
 */
__weak
int kprobe_exceptions_notify(struct notifier_block *nb, unsigned long event, void *args)
{
	return NOTIFY_DONE;
}

/* Ahead of whoever else looks at breakpoints. */
static struct notifier_block die_nb = {
	.notifier_call = kprobe_exceptions_notify,
	.priority = INT_MAX,
};

static int __init init_kprobes(void)
{
	int err;

	scoped_guard(mutex, &kprobe_mutex)
		err = kprobe_blacklist_init();
	/* Without a blacklist the kernel can be brought down; say it. */
	if (err)
		pr_err("kprobes: incomplete blacklist (%d), take care what you probe\n", err);

	kretprobes_init();
	return arch_init_kprobes() ?: register_die_notifier(&die_nb) ?:
	       kprobe_modules_init();
}
early_initcall(init_kprobes);
