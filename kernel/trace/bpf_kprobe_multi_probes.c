// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF: probes of kprobe.multi links, for addresses that are no entries of functions, and for
 * symbols whose module is not loaded yet.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "bpf_kprobe_multi.h"

/*
 * How many probes to register, or to enable or unregister, before kprobe_mutex is released, for its
 * other users. To enable and to unregister is faster, but each batch lets ftrace copy its filter,
 * which has the functions of all earlier batches; and unregistering waits for a grace period.
 */
#define KPROBE_MULTI_BATCH	256U
#define KPROBE_MULTI_CHANGE	2048U

/**
 * bpf_kprobe_multi_unregister_probes() - stop calling the program of a link at probes
 * @link: the link
 *
 * Context: sleeps until no program is running any more.
 */
void bpf_kprobe_multi_unregister_probes(struct bpf_kprobe_multi_link *link)
{
	u32 n;

	while (link->probes_cnt) {
		n = min(link->probes_cnt, KPROBE_MULTI_CHANGE);
		link->probes_cnt -= n;
		unregister_kprobes(link->kps + link->probes_cnt, n);
		cond_resched();
	}
}

/**
 * bpf_kprobe_multi_probes_missed() - count the hits of probes that called no program
 * @link: the link
 *
 * Hits at which another program was running are not included.
 *
 * Context: sleeps.
 *
 * Return: their number.
 */
u64 bpf_kprobe_multi_probes_missed(const struct bpf_kprobe_multi_link *link)
{
	u64 missed = 0;
	u32 i;

	for (i = 0; i < link->probes_cnt; i++) {
		missed += READ_ONCE(link->probes[i].kp.nmissed);
		cond_resched();
	}
	return missed;
}

/*
 * Is @addr an entry, or does it need a probe? ftrace accepts each byte of its call, and the start
 * of a function; of a notrace function it refuses the start. If it needs a probe in a
 * function that ftrace does not know, set @untraced.
 */
static bool kprobe_multi_is_entry(unsigned long addr, bool *untraced)
{
	unsigned long size, offset;

	if (ftrace_location_range(addr, addr))
		return true;
	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	if (!offset)
		return true;
	if (!ftrace_location_range(addr - offset, addr - offset + size - 1))
		*untraced = true;
	return false;
}

static int __kprobes kprobe_multi_hit_probe(struct kprobe *kp, struct pt_regs *regs)
{
	struct bpf_kprobe_multi_probe *probe = container_of(kp, struct bpf_kprobe_multi_probe, kp);

	bpf_kprobe_multi_run(probe->link, 0, regs, false, probe);
	return 0;
}

/* May probes call the program of @link? */
static int kprobe_multi_check_probes(const struct bpf_kprobe_multi_link *link)
{
	const struct bpf_prog *prog = link->link.prog;
	const char *why;

	if ((link->flags & BPF_F_KPROBE_MULTI_RETURN) || is_kprobe_session(prog))
		why = "probes do not follow calls to their return";
	/* At an entry the return address is on top of the stack, and nowhere else. */
	else if (prog->kprobe_override)
		why = "only at an entry a program may override the return value";
	else
		return security_locked_down(LOCKDOWN_KPROBES);
	pr_debug("kprobe.multi: probes refused: %s (%d)\n", why, -EINVAL);
	return -EINVAL;
}

static int kprobe_multi_alloc_probes(struct bpf_kprobe_multi_link *link, u32 cnt)
{
	link->probes = kvcalloc(cnt, sizeof(*link->probes), GFP_KERNEL_ACCOUNT);
	link->kps = kvcalloc(cnt, sizeof(*link->kps), GFP_KERNEL_ACCOUNT);
	return link->probes && link->kps ? 0 : -ENOMEM;
}

/* Add probe number @n to a link. Its address or symbol is set by the caller. */
static struct kprobe *kprobe_multi_add_probe(struct bpf_kprobe_multi_link *link, u32 n, u64 cookie)
{
	struct bpf_kprobe_multi_probe *probe = &link->probes[n];

	probe->link = link;
	probe->cookie = cookie;
	probe->kp.pre_handler = kprobe_multi_hit_probe;
	probe->kp.flags = KPROBE_FLAG_NEST | KPROBE_FLAG_DISABLED;
	link->kps[n] = &probe->kp;
	return &probe->kp;
}

/*
 * Enable all probes of a link. Until it returns, some may be enabled, and their hits run the
 * program.
 */
static int kprobe_multi_enable(struct bpf_kprobe_multi_link *link)
{
	u32 done, batch;
	int err = 0;

	for (done = 0; !err && done < link->probes_cnt; done += batch) {
		batch = min(link->probes_cnt - done, KPROBE_MULTI_CHANGE);
		err = fatal_signal_pending(current) ? -EINTR :
		      enable_kprobes(link->kps + done, batch);
		cond_resched();
	}
	return err;
}

/*
 * Register the first @n probes, or none. They are disabled until all are registered, so that the
 * rest is not slowed down by hits of the first ones. If the task is being killed, they are
 * unregistered.
 */
static int kprobe_multi_register(struct bpf_kprobe_multi_link *link, u32 n)
{
	u32 batch;
	int err = 0;

	while (!err && link->probes_cnt < n) {
		batch = min(n - link->probes_cnt, KPROBE_MULTI_BATCH);
		err = fatal_signal_pending(current) ? -EINTR :
		      register_kprobes(link->kps + link->probes_cnt, batch);
		if (!err)
			link->probes_cnt += batch;
		cond_resched();
	}
	err = err ?: kprobe_multi_enable(link);
	if (err)
		bpf_kprobe_multi_unregister_probes(link);
	return err;
}

/*
 * Register the probes of a link. @ips: sorted addresses, which are no entries. @untraced: some are
 * in functions that ftrace does not know; if none is, do not search all their symbols again.
 */
static int kprobe_multi_register_probes(struct bpf_kprobe_multi_link *link,
					const unsigned long *ips, u32 cnt, bool untraced)
{
	struct kprobe *kp;
	u32 i, n = 0;
	int err;

	err = kprobe_multi_check_probes(link) ?: kprobe_multi_alloc_probes(link, cnt);
	if (err)
		return err;

	for (i = 0; i < cnt; i++) {
		if (i && ips[i] == ips[i - 1])
			continue;
		kp = kprobe_multi_add_probe(link, n++, bpf_kprobe_multi_find_cookie(link, ips[i]));
		kp->addr = (kprobe_opcode_t *)ips[i];
		/* Programs are refused where perf refuses its kprobes. */
		if (untraced)
			kp->flags |= KPROBE_FLAG_EVENT;
		cond_resched();
	}
	return kprobe_multi_register(link, n);
}

/* Keep the symbols, but not the KSYM_NAME_LEN bytes that copy_user_syms() allocates for each. */
static int kprobe_multi_pack_syms(struct user_syms *us, u32 cnt)
{
	size_t size = 0, len;
	char *buf, *p;
	u32 i;

	for (i = 0; i < cnt; i++)
		size += strlen(us->syms[i]) + 1;
	buf = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	for (p = buf, i = 0; i < cnt; i++, p += len) {
		len = strlen(us->syms[i]) + 1;
		us->syms[i] = memcpy(p, us->syms[i], len);
	}
	kvfree(us->buf);
	us->buf = buf;
	return 0;
}

/*
 * Register a probe for each symbol of a link. The symbols are sorted. When kprobes registers a
 * probe, it counts the symbols of a module that have the name; for other names it is done here,
 * and kprobes gets the addresses of symbols of the kernel, so that it does not search for them.
 */
static int kprobe_multi_register_waiting(struct bpf_kprobe_multi_link *link)
{
	const char **syms = link->us.syms;
	struct kprobe *kp;
	int err, twice;
	u32 i, n = 0;

	err = kprobe_multi_check_probes(link) ?: kprobe_multi_pack_syms(&link->us, link->cnt) ?:
	      kprobe_multi_alloc_probes(link, link->cnt);
	if (err)
		return err;

	for (i = 0; i < link->cnt; i++) {
		if (i && !strcmp(syms[i], syms[n - 1]))
			continue;
		if (link->cookies)
			link->cookies[n] = link->cookies[i];
		syms[n++] = syms[i];
		cond_resched();
	}
	link->cnt = n;
	twice = kprobe_find_symbols(syms, n, link->addrs);
	if (twice < 0)
		return twice;
	if (twice < n) {
		pr_debug("kprobe.multi: %s refused: %s (%d)\n", syms[twice],
			 *kprobe_reason_text(KPROBE_REASON_AMBIGUOUS), -EINVAL);
		return -EINVAL;
	}
	for (i = 0; i < n; i++) {
		kp = kprobe_multi_add_probe(link, i, link->cookies ? link->cookies[i] : 0);
		kp->flags |= KPROBE_FLAG_WAIT | KPROBE_FLAG_EVENT;
		if (link->addrs[i])
			kp->addr = (kprobe_opcode_t *)link->addrs[i];
		else
			kp->symbol_name = syms[i];
		cond_resched();
	}
	return kprobe_multi_register(link, n);
}

/**
 * bpf_kprobe_multi_attach() - begin to call the program of a link at all of its addresses
 * @link: the link
 *
 * If ftrace refuses an address, probes are registered for those that are no entries. They come
 * first, since they are more likely to be refused.
 *
 * Context: sleeps.
 *
 * Return: 0; -EINVAL for an address at which the program cannot be called, or if the link is for
 * returns or a session, or its program overrides return values, and an address needs a probe;
 * -EINTR if the task is being killed; or another errno of register_kprobes() or
 * bpf_kprobe_multi_register(). After an error, the program is not called anywhere.
 */
int bpf_kprobe_multi_attach(struct bpf_kprobe_multi_link *link)
{
	u32 i, entries = 0, inside = link->cnt;
	bool untraced = false;
	unsigned long *ips;
	int err;

	if (link->us.syms)
		return kprobe_multi_register_waiting(link);

	err = bpf_kprobe_multi_register(link, link->addrs, link->cnt);
	if (err != -EINVAL)
		return err;

	/* Entries from the front of @ips, other addresses from its end */
	ips = kvmalloc_array(link->cnt, sizeof(*ips), GFP_KERNEL);
	if (!ips)
		return -ENOMEM;
	for (i = 0; i < link->cnt; i++) {
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			goto out;
		}
		if (kprobe_multi_is_entry(link->addrs[i], &untraced))
			ips[entries++] = link->addrs[i];
		else
			ips[--inside] = link->addrs[i];
		cond_resched();
	}
	if (inside == link->cnt)
		goto out;
	sort(ips + inside, link->cnt - inside, sizeof(*ips), bpf_kprobe_multi_addrs_cmp, NULL);
	err = kprobe_multi_register_probes(link, ips + inside, link->cnt - inside, untraced);
	if (!err && entries) {
		err = bpf_kprobe_multi_register(link, ips, entries);
		if (err)
			bpf_kprobe_multi_unregister_probes(link);
	}
out:
	kvfree(ips);
	return err;
}
