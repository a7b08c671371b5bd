// SPDX-License-Identifier: GPL-2.0
/*
 * Measures what a probe costs, in units of the time-stamp counter. Under QEMU's -icount
 * shift=0 these are instructions. A file has one figure to a line, and bench.sh makes a
 * table of the figures.
 *
 * debugfs kp_bench/hits	a hit, less what the same call costs without
 * debugfs kp_bench/jumps	a hit of an optimised probe
 * debugfs kp_bench/call	a call of kp_bench_called(), for probes that users set
 * debugfs kp_bench/changes	registering and unregistering
 * debugfs kp_bench/optimizing	how long it takes until probes are optimised
 *
 * kp_bench_ret.c has files for return probes, and kp_bench_unused.c one for a kernel in which
 * no probe has been registered yet.
 *
 * A task that reads a file takes the measurements. No other user should have probes meanwhile.
 */

#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <asm/desc.h>
#include <asm/hardirq.h>
#include <asm/ibt.h>
#include <asm/msr.h>
#include <asm/trapnr.h>
#include "kp_bench.h"

#define KP_OTHERS	(KP_BENCH_ROWS * KP_BENCH_ROW)
/* Probes on one address */
#define KP_COLOCATED	16
#define KP_BATCH	1000
/* Of each instruction in a row but the ENDBR. */
#define KP_INSN_SIZE	2
/* As many instructions as a jump covers, so that each of its size can have one. */
#define KP_JUMP_INSNS	3
#define KP_JUMP_OPCODE	0xe9
/* A measurement waits at most so long until a jump is written, or removed. */
#define KP_JUMP_PATIENCE	(10 * HZ)

/* One reader at a time: all that follows is there once. */
DEFINE_MUTEX(kp_bench_mutex);

static struct kprobe kp_measured;
static struct kprobe *kp_others;
static struct kprobe **kp_other;
/* What calling a row costs when nothing in it is probed. */
static u64 kp_bare[KP_BENCH_ROWS];

/* The only work of the handlers. */
static unsigned long kp_hits, kp_posts;

static int kp_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp_hits++;
	return 0;
}

static void kp_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp_posts++;
}

/* Without interrupts, so that there is nothing to measure but the call. */
static noinline u64 kp_call(void (*fn)(void))
{
	unsigned long flags;
	u64 start, end;

	local_irq_save(flags);
	start = rdtsc();
	fn();
	end = rdtsc();
	local_irq_restore(flags);
	return end - start;
}

struct kp_cost kp_bench_calls(void (*fn)(void))
{
	struct kp_cost cost = { .least = U64_MAX };
	int i;

	/* The first call may find more to do than the others. */
	kp_call(fn);
	for (i = 0; i < KP_BENCH_CALLS; i++) {
		u64 one = kp_call(fn);

		cost.least = min(cost.least, one);
		cost.most = max(cost.most, one);
	}
	return cost;
}

/*
 * Counting traps: an IDT that leads to the kernel's handlers by way of ours.
 */

static gate_desc kp_idt[IDT_ENTRIES] __page_aligned_bss;
unsigned int kp_bench_traps;
unsigned long kp_bench_real_debug, kp_bench_real_int3;

static unsigned long kp_redirect(int vector, void (*to)(void))
{
	gate_desc *gate = &kp_idt[vector];
	unsigned long real = gate_offset(gate), addr = (unsigned long)to;

	gate->offset_low = (u16)addr;
	gate->offset_middle = (u16)(addr >> 16);
#ifdef CONFIG_X86_64
	gate->offset_high = (u32)(addr >> 32);
#endif
	return real;
}

unsigned int kp_bench_count_traps(void (*fn)(void))
{
	struct desc_ptr ours = { .size = sizeof(kp_idt) - 1, .address = (unsigned long)kp_idt };
	struct desc_ptr idt;
	unsigned long flags;

	local_irq_save(flags);
	store_idt(&idt);
	memcpy(kp_idt, (void *)idt.address, idt.size + 1);
	kp_bench_real_debug = kp_redirect(X86_TRAP_DB, kp_bench_debug);
	kp_bench_real_int3 = kp_redirect(X86_TRAP_BP, kp_bench_int3);
	kp_bench_traps = 0;
	load_idt(&ours);
	fn();
	load_idt(&idt);
	local_irq_restore(flags);
	return kp_bench_traps;
}

/*
 * Timing changes.
 */

/* Interrupts that CPUs sent to have something called elsewhere. */
static unsigned int kp_ipis(void)
{
	unsigned int sum = 0;
#ifdef CONFIG_SMP
	int cpu;

	for_each_online_cpu(cpu)
		sum += per_cpu(irq_stat, cpu).irq_call_count;
#endif
	return sum;
}

static u64 kp_start;
static unsigned int kp_ipis_before;

static void kp_begin(void)
{
	kp_ipis_before = kp_ipis();
	kp_start = rdtsc();
}

/* A line: what it is of, time, interrupts. */
static void kp_end(struct seq_file *m, const char *name)
{
	u64 end = rdtsc();

	seq_printf(m, "%s %llu(%u)\n", name, end - kp_start, kp_ipis() - kp_ipis_before);
	cond_resched();
}

/*
 * debugfs kp_bench/hits
 */

/* Not every kernel lets a probe be used again without. */
static void kp_init(struct kprobe *p, void *addr, bool post)
{
	memset(p, 0, sizeof(*p));
	p->addr = addr;
	p->pre_handler = kp_pre;
	p->post_handler = post ? kp_post : NULL;
}

static void *kp_first_insn(void (*fn)(void))
{
	return (void *)fn + ENDBR_INSN_SIZE;
}

static bool kp_some_without_jump(struct kprobe **probes, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (READ_ONCE(*probes[i]->addr) != KP_JUMP_OPCODE)
			return true;
	return false;
}

/* Wait until jumps are where the probes are; not every kernel says it in flags. */
static int kp_wait_jumps(struct kprobe **probes, int nr)
{
	unsigned long end = jiffies + KP_JUMP_PATIENCE;

	while (kp_some_without_jump(probes, nr)) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		usleep_range(100, 200);
	}
	return 0;
}

/* Not every kernel removes the jump of a probe as soon as that is unregistered. */
int kp_bench_wait_original(void *addr)
{
	unsigned long end = jiffies + KP_JUMP_PATIENCE;

	while (READ_ONCE(*(u8 *)addr) == KP_JUMP_OPCODE) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		usleep_range(100, 200);
	}
	return 0;
}

/* A line: what it is of, instructions (as a range where they differ), traps. */
static int kp_hit_as(struct seq_file *m, const char *name, void (*fn)(void), bool post,
		     bool jump)
{
	struct kprobe *p = &kp_measured;
	struct kp_cost bare, hit;
	unsigned int traps;
	int err;

	kp_init(p, kp_first_insn(fn), post);
	err = kp_bench_wait_original(p->addr);
	if (err)
		return err;
	bare = kp_bench_calls(fn);
	err = register_kprobe(p);
	if (err)
		return err;
	if (jump && kp_wait_jumps(&p, 1)) {
		/* A figure that can't be had is no failure. */
		unregister_kprobe(p);
		return 0;
	}
	kp_hits = 0;
	kp_posts = 0;
	hit = kp_bench_calls(fn);
	traps = kp_bench_count_traps(fn);
	unregister_kprobe(p);

	/* kp_bench_calls() calls once more, and so does kp_bench_count_traps(). */
	if (kp_hits != KP_BENCH_CALLS + 2 || kp_posts != (post ? KP_BENCH_CALLS + 2 : 0)) {
		pr_err("kp_bench: %s: %lu hits, %lu post_handlers for %d calls\n", name, kp_hits,
		       kp_posts, KP_BENCH_CALLS + 2);
		return -EIO;
	}

	seq_printf(m, "%s %llu", name, hit.least - bare.least);
	if (hit.most != hit.least)
		seq_printf(m, "-%llu", hit.most - bare.least);
	seq_printf(m, "(%u)\n", traps);
	return 0;
}

static int kp_hit(struct seq_file *m, const char *name, void (*fn)(void), bool post)
{
	return kp_hit_as(m, name, fn, post, false);
}

/* A line: what it is of and the number of probes, instructions. */
static int kp_hit_several(struct seq_file *m, const char *name, void (*fn)(void), int nr,
			  bool jump)
{
	struct kp_cost bare, hit;
	int i, err;

	for (i = 0; i < nr; i++)
		kp_init(kp_other[i], kp_first_insn(fn), false);
	err = kp_bench_wait_original(kp_first_insn(fn));
	if (err)
		return err;
	bare = kp_bench_calls(fn);
	err = register_kprobes(kp_other, nr);
	if (err)
		return err;
	if (jump && kp_wait_jumps(kp_other, nr)) {
		unregister_kprobes(kp_other, nr);
		return 0;
	}
	kp_hits = 0;
	hit = kp_bench_calls(fn);
	unregister_kprobes(kp_other, nr);
	if (kp_hits != (KP_BENCH_CALLS + 1) * nr)
		return -EIO;
	seq_printf(m, "%s_%d %llu(%d)\n", name, nr, hit.least - bare.least, !jump);
	return 0;
}

static int kp_hits_of_several(struct seq_file *m, const char *name, void (*fn)(void), bool jump)
{
	int nr, err = 0;

	for (nr = 2; nr <= KP_COLOCATED && !err; nr *= nr)
		err = kp_hit_several(m, name, fn, nr, jump);
	return err;
}

static void kp_init_other(int i)
{
	void *row = kp_first_insn(kp_bench_rows[i / KP_BENCH_ROW]);

	kp_init(kp_other[i], row + i % KP_BENCH_ROW * KP_INSN_SIZE, false);
}

static int kp_register_others(int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		kp_init_other(i);
	return register_kprobes(kp_other + from, to - from);
}

/* With many probes, the cost of one may depend on where it is: see all of them. */
static int kp_hits_of_others(struct seq_file *m)
{
	u64 sum = 0;
	u32 tenths;
	int i;

	kp_hits = 0;
	for (i = 0; i < KP_BENCH_ROWS; i++)
		sum += kp_call(kp_bench_rows[i]) - kp_bare[i];
	if (kp_hits != KP_OTHERS)
		return -EIO;
	sum = div_u64_rem(div_u64(sum * 10, KP_OTHERS), 10, &tenths);
	seq_printf(m, "pre_boost_each %llu.%u\n", sum, tenths);
	return 0;
}

static int kp_hits_among_others(struct seq_file *m)
{
	int i, err;

	for (i = 0; i < KP_BENCH_ROWS; i++) {
		kp_call(kp_bench_rows[i]);
		kp_bare[i] = kp_call(kp_bench_rows[i]);
	}

	err = kp_register_others(0, 1);
	if (err)
		return err;
	err = kp_hit(m, "pre_boost_among_1", kp_bench_add, false) ?: kp_register_others(1, 100);
	if (err) {
		unregister_kprobe(kp_other[0]);
		return err;
	}
	err = kp_hit(m, "pre_boost_among_100", kp_bench_add, false) ?:
	      kp_register_others(100, KP_OTHERS - KP_BATCH);
	if (err) {
		unregister_kprobes(kp_other, 100);
		return err;
	}
	kp_begin();
	err = kp_register_others(KP_OTHERS - KP_BATCH, KP_OTHERS);
	if (err) {
		unregister_kprobes(kp_other, KP_OTHERS - KP_BATCH);
		return err;
	}
	kp_end(m, "register_last_batch");
	err = kp_hit(m, "pre_boost_among_10000", kp_bench_add, false) ?:
	      kp_hits_of_others(m);
	unregister_kprobes(kp_other, KP_OTHERS);
	return err;
}

/* Only where ftrace has its call is an entry another thing than the rest. */
static int kp_hits_at_entry(struct seq_file *m)
{
	if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		return 0;
	return kp_hit(m, "pre_ftrace", kp_bench_entries[0], false) ?:
	       kp_hit(m, "post_ftrace", kp_bench_entries[0], true);
}

static int kp_bench_hits_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	return kp_hit(m, "pre_boost", kp_bench_add, false) ?:
	       kp_hit(m, "post_boost", kp_bench_add, true) ?:
	       kp_hit(m, "pre_push", kp_bench_push, false) ?:
	       kp_hit(m, "post_push", kp_bench_push, true) ?:
	       kp_hit(m, "pre_nop", kp_bench_nop, false) ?:
	       kp_hit(m, "post_nop", kp_bench_nop, true) ?:
	       kp_hit(m, "pre_jmp", kp_bench_jmp, false) ?:
	       kp_hit(m, "post_jmp", kp_bench_jmp, true) ?:
	       kp_hit(m, "pre_je", kp_bench_je, false) ?:
	       kp_hit(m, "post_je", kp_bench_je, true) ?:
	       kp_hit(m, "pre_str", kp_bench_str, false) ?:
	       kp_hit(m, "post_str", kp_bench_str, true) ?:
	       kp_hits_at_entry(m) ?:
	       kp_hits_of_several(m, "several_boost", kp_bench_add, false) ?:
	       kp_hits_among_others(m);
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_hits);

static int kp_bench_jumps_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	return kp_hit_as(m, "pre_jump", kp_bench_long, false, true) ?:
	       kp_hit_as(m, "post_jump", kp_bench_long, true, true) ?:
	       kp_hits_of_several(m, "several_jump", kp_bench_long, true);
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_jumps);

/*
 * debugfs kp_bench/call
 */

/* A function in C, whose entry is ftrace's, where the kernel has function tracing. */
noinline long kp_bench_called(long one, long two)
{
	barrier();
	return one + two;
}

static void kp_bench_call(void)
{
	kp_bench_called(1, 2);
}

static int kp_bench_call_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	seq_printf(m, "%llu\n", kp_bench_calls(kp_bench_call).least);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_call);

/*
 * debugfs kp_bench/changes
 */

/* What the probes of a batch are made by: within functions, or at their entries. */
typedef void (*kp_init_t)(int i);

static void kp_init_entry(int i)
{
	kp_init(kp_other[i], kp_first_insn(kp_bench_entries[i]), false);
}

static int kp_singly(struct seq_file *m, kp_init_t init, const char *on, const char *off)
{
	int i, done, err = 0;

	for (i = 0; i < KP_BATCH; i++)
		init(i);
	kp_begin();
	for (done = 0; done < KP_BATCH && !err; done++)
		err = register_kprobe(kp_other[done]);
	if (err) {
		unregister_kprobes(kp_other, done - 1);
		return err;
	}
	kp_end(m, on);

	kp_begin();
	for (i = 0; i < KP_BATCH; i++)
		unregister_kprobe(kp_other[i]);
	kp_end(m, off);
	return 0;
}

static int kp_batch(struct seq_file *m, kp_init_t init, const char *on, const char *off)
{
	int i, err;

	for (i = 0; i < KP_BATCH; i++)
		init(i);
	kp_begin();
	err = register_kprobes(kp_other, KP_BATCH);
	if (err)
		return err;
	kp_end(m, on);

	kp_begin();
	unregister_kprobes(kp_other, KP_BATCH);
	kp_end(m, off);
	return 0;
}

static int kp_bench_changes_show(struct seq_file *m, void *unused)
{
	int err;

	guard(mutex)(&kp_bench_mutex);
	/* Once before, for what only the first time costs. */
	err = kp_register_others(0, KP_BATCH);
	if (err)
		return err;
	unregister_kprobes(kp_other, KP_BATCH);
	err = kp_singly(m, kp_init_other, "register_singly", "unregister_singly") ?:
	      kp_batch(m, kp_init_other, "register_batch", "unregister_batch");
	if (err || !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		return err;
	return kp_singly(m, kp_init_entry, "entries_on_singly", "entries_off_singly") ?:
	       kp_batch(m, kp_init_entry, "entries_on_batch", "entries_off_batch");
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_changes);

/*
 * Measure how long it takes to optimise @nr probes, and to unregister them. None of them is in the
 * DCR of another.
 */
static int kp_optimize(struct seq_file *m, int nr, const char *come, const char *go)
{
	const int per_row = KP_BENCH_ROW / KP_JUMP_INSNS;
	int i, err;

	for (i = 0; i < nr; i++)
		kp_init(kp_other[i], kp_first_insn(kp_bench_rows[i / per_row]) +
			i % per_row * KP_JUMP_INSNS * KP_INSN_SIZE, false);
	kp_begin();
	err = register_kprobes(kp_other, nr);
	if (err)
		return err;
	err = kp_wait_jumps(kp_other, nr);
	if (!err)
		kp_end(m, come);
	kp_begin();
	unregister_kprobes(kp_other, nr);
	if (!err)
		kp_end(m, go);
	return err;
}

static int kp_bench_optimizing_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	return kp_optimize(m, 1, "optimize_one", "unregister_optimized_one") ?:
	       kp_optimize(m, KP_BATCH, "optimize_batch", "unregister_optimized_batch");
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_optimizing);

static struct dentry *kp_dir;

static int __init kp_bench_init(void)
{
	int i;

	kp_others = kvcalloc(KP_OTHERS, sizeof(*kp_others), GFP_KERNEL);
	kp_other = kvcalloc(KP_OTHERS, sizeof(*kp_other), GFP_KERNEL);
	if (!kp_others || !kp_other) {
		kvfree(kp_others);
		kvfree(kp_other);
		return -ENOMEM;
	}
	for (i = 0; i < KP_OTHERS; i++)
		kp_other[i] = &kp_others[i];

	kp_dir = debugfs_create_dir("kp_bench", NULL);
	debugfs_create_file("hits", 0400, kp_dir, NULL, &kp_bench_hits_fops);
	debugfs_create_file("jumps", 0400, kp_dir, NULL, &kp_bench_jumps_fops);
	debugfs_create_file("call", 0400, kp_dir, NULL, &kp_bench_call_fops);
	debugfs_create_file("changes", 0400, kp_dir, NULL, &kp_bench_changes_fops);
	debugfs_create_file("optimizing", 0400, kp_dir, NULL, &kp_bench_optimizing_fops);
	kp_bench_create_ret(kp_dir);
	kp_bench_create_unused(kp_dir);
	return 0;
}
module_init(kp_bench_init);

static void __exit kp_bench_exit(void)
{
	debugfs_remove(kp_dir);
	kvfree(kp_other);
	kvfree(kp_others);
}
module_exit(kp_bench_exit);

MODULE_DESCRIPTION("What a kernel probe costs");
MODULE_LICENSE("GPL");
