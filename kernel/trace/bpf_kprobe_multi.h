/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF: kprobe.multi links. bpf_trace.c creates them, and answers questions about them;
 * bpf_kprobe_multi.c calls their programs at the entries and returns of functions;
 * bpf_kprobe_multi_probes.c registers probes for all other addresses.
 */
#ifndef _BPF_KPROBE_MULTI_H
#define _BPF_KPROBE_MULTI_H

#include <linux/atomic.h>
#include <linux/bpf.h>
#include <linux/bsearch.h>
#include <linux/filter.h>
#include <linux/fprobe.h>
#include <linux/kprobe_multi.h>
#include <linux/kprobes.h>

static inline bool is_kprobe_session(const struct bpf_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_KPROBE &&
	       prog->expected_attach_type == BPF_TRACE_KPROBE_SESSION;
}

struct bpf_session_run_ctx {
	struct bpf_run_ctx run_ctx;
	bool is_return;
	void *data;
};

#ifdef CONFIG_FPROBE

/**
 * struct bpf_kprobe_multi_probe - a probe of a link, for an address that ftrace does not know
 * @kp: the probe
 * @link: the link
 * @cookie: what bpf_get_attach_cookie() returns
 */
struct bpf_kprobe_multi_probe {
	struct kprobe kp;
	struct bpf_kprobe_multi_link *link;
	u64 cookie;
};

struct user_syms {
	const char **syms;
	char *buf;
};

/**
 * struct bpf_kprobe_multi_link - a link of a program with many addresses
 * @link: the part that all links have
 * @km: what reports calls and returns of functions; NULL if all of @addrs have probes
 * @fp: the same for architectures without &struct kprobe_multi
 * @has_entries: @fp is registered
 * @nmissed: number of times that the program was not called, since a program was running on the CPU
 * @probes: probes for addresses that are no entries, or for each symbol of @us; or NULL
 * @kps: pointers to @probes, so that unregister_kprobes() needs no allocation
 * @probes_cnt: number of registered probes
 * @us: symbols that may wait for their module, with %BPF_F_KPROBE_MULTI_WAIT; or none
 * @addrs: what the user gave, sorted. An address that was given several times is in it several
 *	times, but has one probe.
 * @cookies: the cookies of @addrs; or NULL
 * @cnt: number of @addrs
 * @mods_cnt: number of @mods
 * @mods: the modules that have some of @addrs, which cannot be unloaded
 * @flags: the flags that the user gave
 */
struct bpf_kprobe_multi_link {
	struct bpf_link link;
#ifdef CONFIG_KPROBE_MULTI
	struct kprobe_multi *km;
#else
	struct fprobe fp;
	bool has_entries;
#endif
	atomic_long_t nmissed;
	struct bpf_kprobe_multi_probe *probes;
	struct kprobe **kps;
	u32 probes_cnt;
	struct user_syms us;
	unsigned long *addrs;
	u64 *cookies;
	u32 cnt;
	u32 mods_cnt;
	struct module **mods;
	u32 flags;
};

static inline int bpf_kprobe_multi_addrs_cmp(const void *a, const void *b)
{
	const unsigned long *addr_a = a, *addr_b = b;

	return (*addr_a > *addr_b) - (*addr_a < *addr_b);
}

/**
 * bpf_kprobe_multi_find_cookie() - find the cookie of an address
 * @link: the link
 * @ip: one of its addresses
 *
 * Context: any.
 *
 * Return: the cookie; 0 if there is none.
 */
static inline u64
bpf_kprobe_multi_find_cookie(const struct bpf_kprobe_multi_link *link, unsigned long ip)
{
	unsigned long *addr;

	if (!link->cookies)
		return 0;
	addr = bsearch(&ip, link->addrs, link->cnt, sizeof(ip), bpf_kprobe_multi_addrs_cmp);
	return addr ? link->cookies[addr - link->addrs] : 0;
}

struct bpf_kprobe_multi_run_ctx {
	struct bpf_session_run_ctx session_ctx;
	struct bpf_kprobe_multi_link *link;
	unsigned long fentry_ip;
};

/**
 * bpf_kprobe_multi_run() - call the program of a link
 * @link: the link
 * @fentry_ip: the address of the call of ftrace; unused if a probe has been hit
 * @regs: registers
 * @is_return: is the function about to return?
 * @data: data of a session; or the probe, if one has been hit; or NULL
 *
 * If a program already runs on this CPU, the program is not called. That program has caused this
 * hit, or an interrupt has that arrived while it ran.
 *
 * Context: any, with preemption disabled.
 *
 * Return: what the program returns. If it was not called: 1, so that a session is not called when
 * the function returns, either.
 */
static __always_inline int
bpf_kprobe_multi_run(struct bpf_kprobe_multi_link *link, unsigned long fentry_ip,
		     struct pt_regs *regs, bool is_return, void *data)
{
	struct bpf_kprobe_multi_run_ctx run_ctx = {
		.session_ctx = {
			.is_return = is_return,
			.data = data,
		},
		.link = link,
		.fentry_ip = fentry_ip,
	};
	struct bpf_run_ctx *outer;
	int ret = 1;

	if (unlikely(__this_cpu_inc_return(bpf_prog_active) != 1)) {
		bpf_prog_inc_misses_counter(link->link.prog);
		raw_atomic_long_inc(&link->nmissed);
		goto out;
	}

	/* This may be a call of a function of the link, so it must not come before the guard. */
	cant_sleep();

	/* Preemption is disabled, so RCU waits. Only lockdep needs to know of a reader. */
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_lock();
	outer = bpf_set_run_ctx(&run_ctx.session_ctx.run_ctx);
	ret = bpf_prog_run(link->link.prog, regs);
	bpf_reset_run_ctx(outer);
	if (IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		rcu_read_unlock();
out:
	__this_cpu_dec(bpf_prog_active);
	return ret;
}

/**
 * bpf_kprobe_multi_running_probe() - find the probe that has called the running program
 * @run_ctx: the context of the program
 *
 * Return: the probe; NULL if an entry or a return of a function has called it. Only sessions have
 * data then, and a link of a session has no probes.
 */
static inline const struct bpf_kprobe_multi_probe *
bpf_kprobe_multi_running_probe(const struct bpf_kprobe_multi_run_ctx *run_ctx)
{
	return run_ctx->link->probes ? run_ctx->session_ctx.data : NULL;
}

int bpf_kprobe_multi_register(struct bpf_kprobe_multi_link *link, unsigned long *addrs, u32 cnt);
void bpf_kprobe_multi_unregister(struct bpf_kprobe_multi_link *link);
u64 bpf_kprobe_multi_missed(const struct bpf_kprobe_multi_link *link);

#ifdef CONFIG_KPROBES
int bpf_kprobe_multi_attach(struct bpf_kprobe_multi_link *link);
void bpf_kprobe_multi_unregister_probes(struct bpf_kprobe_multi_link *link);
u64 bpf_kprobe_multi_probes_missed(const struct bpf_kprobe_multi_link *link);
#else
static inline int bpf_kprobe_multi_attach(struct bpf_kprobe_multi_link *link)
{
	return link->us.syms ? -EINVAL : bpf_kprobe_multi_register(link, link->addrs, link->cnt);
}

static inline void bpf_kprobe_multi_unregister_probes(struct bpf_kprobe_multi_link *link)
{
}

static inline u64 bpf_kprobe_multi_probes_missed(const struct bpf_kprobe_multi_link *link)
{
	return 0;
}
#endif

#endif /* CONFIG_FPROBE */

#endif /* _BPF_KPROBE_MULTI_H */
