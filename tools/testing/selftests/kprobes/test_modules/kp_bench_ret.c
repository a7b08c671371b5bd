// SPDX-License-Identifier: GPL-2.0
/*
 * What a return probe costs, by the way in which the function's entry is probed.
 *
 * debugfs kp_bench/returns	  a call that is followed, less what it costs without; the
 *				  entry has a breakpoint, or belongs to ftrace
 * debugfs kp_bench/jump_returns  the same with an entry that is reached by a jump
 */

#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <asm/ibt.h>
#include "kp_bench.h"

#define KP_JUMP_OPCODE		0xe9
/* A measurement waits at most so long until a jump is written. */
#define KP_JUMP_PATIENCE	(10 * HZ)

#define KP_RET_MAXACTIVE	16
#define KP_RET_DATA		16

static struct kretprobe kp_measured;
static unsigned long kp_entries, kp_returns;

/* The only work of the handlers. */
static int kp_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_entries++;
	return 0;
}

static int kp_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_returns++;
	return 0;
}

/* One that is compiled has a place for ftrace, where the kernel has function tracing. */
static noinline void kp_bench_traced(void)
{
	barrier();
}

/* Of @p, which is registered. */
static bool kp_reached_by(struct kprobe *p, enum kp_bench_entry entry)
{
	unsigned long end = jiffies + KP_JUMP_PATIENCE;

	if (entry != KP_BENCH_JUMP)
		return kprobe_ftrace(p) == (entry == KP_BENCH_FTRACE);
	while (READ_ONCE(*p->addr) != KP_JUMP_OPCODE) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/* The parts of a return probe beside its handler */
enum kp_ret_form {
	KP_RET_PLAIN,
	/* an entry_handler */
	KP_RET_BOTH,
	/* maxactive */
	KP_RET_LIMIT,
	/* all of that, and data */
	KP_RET_ALL,
};

static const char * const kp_ret_form_name[] = { "", "_both", "_limit", "_all" };

/* A line: what it is of, instructions (as a range where they differ), traps. */
static int kp_followed_as(struct seq_file *m, const char *name, void (*fn)(void),
			  enum kp_bench_entry entry, enum kp_ret_form form)
{
	bool both = form == KP_RET_BOTH || form == KP_RET_ALL;
	struct kretprobe *rp = &kp_measured;
	struct kp_cost bare, call;
	unsigned int traps;
	int err;

	err = kp_bench_wait_original((void *)fn + ENDBR_INSN_SIZE);
	if (err)
		return err;
	bare = kp_bench_calls(fn);
	memset(rp, 0, sizeof(*rp));
	rp->kp.addr = (void *)fn;
	rp->handler = kp_return;
	if (both)
		rp->entry_handler = kp_entry;
	if (form == KP_RET_LIMIT || form == KP_RET_ALL)
		rp->maxactive = KP_RET_MAXACTIVE;
	if (form == KP_RET_ALL)
		rp->data_size = KP_RET_DATA;
	err = register_kretprobe(rp);
	if (err)
		return err;
	if (!kp_reached_by(&rp->kp, entry)) {
		/* A figure that can't be had is no failure. */
		unregister_kretprobe(rp);
		return 0;
	}
	kp_entries = 0;
	kp_returns = 0;
	call = kp_bench_calls(fn);
	traps = kp_bench_count_traps(fn);
	unregister_kretprobe(rp);

	/* kp_bench_calls() calls once more, and so does kp_bench_count_traps(). */
	if (kp_returns != KP_BENCH_CALLS + 2 || kp_entries != (both ? KP_BENCH_CALLS + 2 : 0)) {
		pr_err("kp_bench: %s: %lu entries, %lu returns for %d calls\n", name, kp_entries,
		       kp_returns, KP_BENCH_CALLS + 2);
		return -EIO;
	}

	seq_printf(m, "%s%s %llu", name, kp_ret_form_name[form], call.least - bare.least);
	if (call.most != call.least)
		seq_printf(m, "-%llu", call.most - bare.least);
	seq_printf(m, "(%u)\n", traps);
	return 0;
}

static int kp_followed(struct seq_file *m, const char *name, void (*fn)(void),
		       enum kp_bench_entry entry)
{
	enum kp_ret_form form;
	int err = 0;

	for (form = KP_RET_PLAIN; form <= KP_RET_ALL && !err; form++)
		err = kp_followed_as(m, name, fn, entry, form);
	return err;
}

static int kp_bench_returns_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	return kp_followed(m, "ret_boost", kp_bench_add, KP_BENCH_BREAKPOINT) ?:
	       kp_followed(m, "ret_push", kp_bench_push, KP_BENCH_BREAKPOINT) ?:
	       kp_followed(m, "ret_ftrace", kp_bench_traced, KP_BENCH_FTRACE);
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_returns);

static int kp_bench_jump_returns_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	return kp_followed(m, "ret_jump", kp_bench_long, KP_BENCH_JUMP);
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_jump_returns);

void kp_bench_create_ret(struct dentry *dir)
{
	debugfs_create_file("returns", 0400, dir, NULL, &kp_bench_returns_fops);
	debugfs_create_file("jump_returns", 0400, dir, NULL, &kp_bench_jump_returns_fops);
}
