// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF: call the programs of kprobe.multi links at the entries and returns of functions.
 *
 * Where there is struct kprobe_multi, ftrace calls a function of this file directly. Other
 * architectures use fprobe.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/slab.h>

#include "bpf_kprobe_multi.h"

#ifdef CONFIG_KPROBE_MULTI

static void kprobe_multi_entry(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	struct kprobe_multi *km = container_of(ops, struct kprobe_multi, ops);
	struct pt_regs *regs = ftrace_get_regs(fregs);
	struct bpf_kprobe_multi_link *link = kprobe_multi_enter(km, regs);

	if (unlikely(!link))
		return;
	bpf_kprobe_multi_run(link, ip, regs, false, NULL);
	kprobe_multi_leave();
}

/* A return probe here would record the call of this function before the one that it tracks. */
static void __kprobes
kprobe_multi_session_entry(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kprobe_multi *km = container_of(ops, struct kprobe_multi, ops);
	struct pt_regs *regs = ftrace_get_regs(fregs);
	struct bpf_kprobe_multi_link *link = kprobe_multi_enter(km, regs);
	struct kretprobe_instance *ri;

	if (unlikely(!link))
		return;
	ri = kprobe_multi_track(km, ip, regs);
	if (likely(ri)) {
		if (bpf_kprobe_multi_run(link, ip, regs, false, &kprobe_multi_call(ri)->data))
			kprobe_multi_cancel(ri);
		else
			kprobe_multi_commit(ri);
	}
	kprobe_multi_leave();
}

static int __kprobes kprobe_multi_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kprobe_multi_call *call = kprobe_multi_call(ri);
	struct bpf_kprobe_multi_link *link = kprobe_multi_returned();

	if (likely(link))
		bpf_kprobe_multi_run(link, call->ip, regs, true, &call->data);
	return 0;
}

/**
 * bpf_kprobe_multi_register() - begin to call the program of a link
 * @link: the link
 * @addrs: entries of functions, or the addresses of ftrace's calls in them
 * @cnt: number of @addrs
 *
 * Context: sleeps.
 *
 * Return: 0, or an errno of register_kprobe_multi() or register_fprobe_ips(), which also say what
 * other addresses fail with.
 */
int bpf_kprobe_multi_register(struct bpf_kprobe_multi_link *link, unsigned long *addrs, u32 cnt)
{
	bool session = is_kprobe_session(link->link.prog);
	bool returns = link->flags & BPF_F_KPROBE_MULTI_RETURN;
	struct kprobe_multi *km;
	int err;

	km = kzalloc(sizeof(*km), GFP_KERNEL_ACCOUNT);
	if (!km)
		return -ENOMEM;
	km->client = link;
	if (!returns)
		km->ops.func = session ? kprobe_multi_session_entry : kprobe_multi_entry;
	if (session || returns)
		km->rp.handler = kprobe_multi_return;
	err = register_kprobe_multi(km, addrs, cnt);
	if (!err)
		link->km = km;
	return err;
}

/**
 * bpf_kprobe_multi_unregister() - stop calling the program of a link at entries and returns
 * @link: the link
 *
 * Does nothing if bpf_kprobe_multi_register() has not succeeded. Programs that are running may go
 * on until an RCU grace period has passed.
 *
 * Context: sleeps.
 */
void bpf_kprobe_multi_unregister(struct bpf_kprobe_multi_link *link)
{
	if (link->km)
		unregister_kprobe_multi(link->km);
}

/**
 * bpf_kprobe_multi_missed() - count the entries and returns at which a program was not called
 * @link: the link
 *
 * Return: their number.
 */
u64 bpf_kprobe_multi_missed(const struct bpf_kprobe_multi_link *link)
{
	return atomic_long_read(&link->nmissed) + (link->km ? kprobe_multi_missed(link->km) : 0);
}

#else /* !CONFIG_KPROBE_MULTI */

static int kprobe_multi_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			      struct pt_regs *regs, void *data)
{
	struct bpf_kprobe_multi_link *link = container_of(fp, struct bpf_kprobe_multi_link, fp);
	int ret = bpf_kprobe_multi_run(link, ip, regs, false, data);

	return is_kprobe_session(link->link.prog) ? ret : 0;
}

static void kprobe_multi_return(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
				struct pt_regs *regs, void *data)
{
	struct bpf_kprobe_multi_link *link = container_of(fp, struct bpf_kprobe_multi_link, fp);

	bpf_kprobe_multi_run(link, ip, regs, true, data);
}

int bpf_kprobe_multi_register(struct bpf_kprobe_multi_link *link, unsigned long *addrs, u32 cnt)
{
	bool session = is_kprobe_session(link->link.prog);
	bool returns = link->flags & BPF_F_KPROBE_MULTI_RETURN;
	int err;

	if (!returns)
		link->fp.entry_handler = kprobe_multi_entry;
	if (returns || session)
		link->fp.exit_handler = kprobe_multi_return;
	if (session)
		link->fp.entry_data_size = sizeof(u64);
	err = register_fprobe_ips(&link->fp, addrs, cnt);
	link->has_entries = !err;
	return err;
}

void bpf_kprobe_multi_unregister(struct bpf_kprobe_multi_link *link)
{
	if (link->has_entries)
		unregister_fprobe(&link->fp);
}

u64 bpf_kprobe_multi_missed(const struct bpf_kprobe_multi_link *link)
{
	return atomic_long_read(&link->nmissed) + link->fp.nmissed;
}

#endif /* CONFIG_KPROBE_MULTI */
