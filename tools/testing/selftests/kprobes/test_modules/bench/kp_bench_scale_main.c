// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of a probe as the number of probes, or of CPUs that hit them, grows; see
 * kp_bench_main.c.
 *
 * kp_bench_scale/grow	with up to @probes others: a hit, registering and unregistering
 * kp_bench_scale/hold	1 registers @probes probes, 0 unregisters them
 * kp_bench_scale/jumps	number of these probes that have a jump
 * kp_bench_scale/now	the time-stamp counter
 * kp_bench_scale/cpus	a hit and a return while 1 to 16 CPUs hit one probe, or one each
 */

#include <asm/ibt.h>
#include <asm/msr.h>
#include <asm/text-patching.h>
#include "kp_bench.h"

#define KP_PROBES	(KP_SCALE_ROWS * KP_SCALE_ROW)
#define KP_PLACE_SIZE	(KP_SCALE_INSNS * 2)
#define KP_CALLS	1000
/* Registrations for one figure */
#define KP_SINGLY	20

KP_MODULE_PARAM(int, probes, KP_PROBES, "number of probes to register at most");

static DEFINE_MUTEX(kp_scale_mutex);
static struct kprobe **kp_ptr;
static bool kp_held;

static DEFINE_PER_CPU_ALIGNED(unsigned long, kp_hits);

KP_PRE_HANDLER(, kp_pre, __this_cpu_inc(kp_hits))

KP_RETURN_HANDLER(, kp_return, __this_cpu_inc(kp_hits))

static void kp_init(struct kprobe *p, void *addr)
{
	memset(p, 0, sizeof(*p));
	p->addr = addr;
	p->pre_handler = kp_pre;
}

static int kp_register(int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		kp_init(kp_ptr[i], (void *)kp_scale_rows[i / KP_SCALE_ROW] + ENDBR_INSN_SIZE +
			i % KP_SCALE_ROW * KP_PLACE_SIZE);
	return from == to ? 0 : register_kprobes(kp_ptr + from, to - from);
}

static u64 kp_time_call(void (*fn)(void))
{
	u64 least = U64_MAX;
	int i;

	for (i = 0; i < KP_CALLS; i++)
		least = min(least, kp_call(fn));
	return least;
}

static int kp_measure_one(struct seq_file *m, int others)
{
	u64 bare, hit, on = 0, off = 0, start;
	struct kprobe p;
	int i, err;

	bare = kp_time_call(kp_scale_ones[0]);
	for (i = 0; i < KP_SINGLY; i++) {
		kp_init(&p, (void *)kp_scale_ones[0] + ENDBR_INSN_SIZE);
		start = rdtsc();
		err = register_kprobe(&p);
		if (err)
			return err;
		on += rdtsc() - start;
		hit = kp_time_call(kp_scale_ones[0]);
		start = rdtsc();
		unregister_kprobe(&p);
		off += rdtsc() - start;
		cond_resched();
	}
	seq_printf(m, "grow_hit_%d %llu(1)\n", others, hit - bare);
	seq_printf(m, "grow_on_%d %llu(0)\n", others, div_u64(on, KP_SINGLY));
	seq_printf(m, "grow_off_%d %llu(0)\n", others, div_u64(off, KP_SINGLY));
	return 0;
}

static int kp_grow_show(struct seq_file *m, void *unused)
{
	static const int steps[] = { 0, 1000, 10000, 20000, 50000 };
	unsigned long before = global_zone_page_state(NR_FREE_PAGES);
	int i, err = 0, nr = 0;
	u64 start;

	guard(mutex)(&kp_scale_mutex);
	if (kp_held)
		return -EBUSY;
	for (i = 0; i < ARRAY_SIZE(steps) && steps[i] <= probes && !err; i++) {
		start = rdtsc();
		err = kp_register(nr, steps[i]);
		if (err)
			break;
		if (i)
			seq_printf(m, "grow_batch_%d %llu(0)\n", steps[i],
				   div_u64(rdtsc() - start, steps[i] - nr));
		nr = steps[i];
		err = kp_measure_one(m, nr);
	}
	if (nr) {
		seq_printf(m, "grow_bytes %lu(0)\n",
			   (before - global_zone_page_state(NR_FREE_PAGES)) * PAGE_SIZE / nr);
		start = rdtsc();
		unregister_kprobes(kp_ptr, nr);
		seq_printf(m, "grow_batch_off %llu(0)\n", div_u64(rdtsc() - start, nr));
	}
	return err;
}
DEFINE_SHOW_ATTRIBUTE(kp_grow);

static int kp_hold_set(void *data, u64 val)
{
	int err;

	guard(mutex)(&kp_scale_mutex);
	if (!!val == kp_held)
		return 0;
	if (!val) {
		unregister_kprobes(kp_ptr, probes);
		kp_held = false;
		return 0;
	}
	err = kp_register(0, probes);
	kp_held = !err;
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(kp_hold_fops, NULL, kp_hold_set, "%llu\n");

static int kp_jumps_get(void *data, u64 *val)
{
	int i;

	guard(mutex)(&kp_scale_mutex);
	*val = 0;
	for (i = 0; kp_held && i < probes; i++)
		*val += READ_ONCE(*(u8 *)kp_ptr[i]->addr) == JMP32_INSN_OPCODE;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(kp_jumps_fops, kp_jumps_get, NULL, "%llu\n");

static int kp_now_get(void *data, u64 *val)
{
	*val = rdtsc();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(kp_now_fops, kp_now_get, NULL, "%llu\n");

static struct {
	void (*fn[KP_SCALE_CPUS])(void);
	atomic_t ready, running;
	bool go;
	u64 end;
	struct completion done;
} kp_run;

static int kp_caller(void *data)
{
	void (*fn)(void) = kp_run.fn[(long)data];
	int i;

	atomic_inc(&kp_run.ready);
	/* Pairs with the release in kp_time_calls(). */
	while (!smp_load_acquire(&kp_run.go))
		cond_resched();
	for (i = 0; i < KP_CALLS; i++)
		fn();
	if (atomic_dec_and_test(&kp_run.running)) {
		kp_run.end = rdtsc();
		complete(&kp_run.done);
	}
	return 0;
}

/* Measure KP_CALLS calls on each of @nr CPUs at the same time. @cost: instructions of a call */
static int kp_time_calls(int nr, u64 *cost)
{
	struct task_struct *task[KP_SCALE_CPUS];
	int i, cpu = -1;
	u64 start;

	atomic_set(&kp_run.ready, 0);
	atomic_set(&kp_run.running, nr);
	kp_run.go = false;
	init_completion(&kp_run.done);
	for (i = 0; i < nr; i++) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		task[i] = kthread_create(kp_caller, (void *)(long)i, "kp_scale/%d", i);
		if (IS_ERR(task[i])) {
			int err = PTR_ERR(task[i]);

			while (i--)
				kthread_stop(task[i]);
			return err;
		}
		kthread_bind(task[i], cpu);
	}
	for (i = 0; i < nr; i++)
		wake_up_process(task[i]);
	while (atomic_read(&kp_run.ready) < nr)
		cond_resched();
	start = rdtsc();
	/* Pairs with the acquire in kp_caller(). */
	smp_store_release(&kp_run.go, true);
	wait_for_completion(&kp_run.done);
	*cost = div_u64(kp_run.end - start, nr * KP_CALLS);
	return 0;
}

static unsigned long kp_sum_hits(void)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		sum += per_cpu(kp_hits, cpu);
		per_cpu(kp_hits, cpu) = 0;
	}
	return sum;
}

static const struct kp_kind {
	const char *name;
	bool returns, limit, shared;
} kp_kinds[] = {
	{ "pre_one", .shared = true },
	{ "pre_each" },
	{ "ret_one", .returns = true, .shared = true },
	{ "ret_each", .returns = true },
	{ "limit_one", .returns = true, .limit = true, .shared = true },
	{ "limit_each", .returns = true, .limit = true },
};

static int kp_register_kind(struct kretprobe *rp, const struct kp_kind *kind, void *fn)
{
	if (!kind->returns) {
		kp_init(&rp->kp, fn + ENDBR_INSN_SIZE);
		return register_kprobe(&rp->kp);
	}
	memset(rp, 0, sizeof(*rp));
	rp->kp.addr = fn;
	rp->handler = kp_return;
	rp->maxactive = kind->limit ? 2 * KP_SCALE_CPUS : 0;
	return register_kretprobe(rp);
}

/* Print a line: kind, number of CPUs, instructions that the probe adds to a call. */
static int kp_measure_cpus(struct seq_file *m, const struct kp_kind *kind, int nr)
{
	static struct kretprobe rp[KP_SCALE_CPUS];
	int i, set = 0, err, all = kind->shared ? 1 : nr;
	u64 bare, cost;

	for (i = 0; i < nr; i++)
		kp_run.fn[i] = kp_scale_ones[kind->shared ? 0 : i];
	err = kp_time_calls(nr, &bare);
	while (!err && set < all) {
		err = kp_register_kind(&rp[set], kind, (void *)kp_run.fn[set]);
		set += !err;
	}
	kp_sum_hits();
	err = err ?: kp_time_calls(nr, &cost);
	while (set--) {
		if (kind->returns)
			unregister_kretprobe(&rp[set]);
		else
			unregister_kprobe(&rp[set].kp);
	}
	if (err)
		return err;
	if (kp_sum_hits() != nr * KP_CALLS)
		return -EIO;
	seq_printf(m, "cpus_%s_%d %lld(0)\n", kind->name, nr, cost - bare);
	return 0;
}

static int kp_cpus_show(struct seq_file *m, void *unused)
{
	unsigned int nr, i;
	int err = 0;

	guard(mutex)(&kp_scale_mutex);
	for (nr = 1; nr <= min(num_online_cpus(), KP_SCALE_CPUS); nr *= 2)
		for (i = 0; i < ARRAY_SIZE(kp_kinds) && !err; i++)
			err = kp_measure_cpus(m, &kp_kinds[i], nr);
	return err;
}
DEFINE_SHOW_ATTRIBUTE(kp_cpus);

static struct dentry *kp_dir;

static int __init kp_bench_scale_init(void)
{
	probes = clamp(probes, 0, KP_PROBES);
	kp_ptr = kp_alloc_probes(KP_PROBES);
	if (!kp_ptr)
		return -ENOMEM;
	kp_dir = debugfs_create_dir("kp_bench_scale", NULL);
	debugfs_create_file("grow", 0400, kp_dir, NULL, &kp_grow_fops);
	debugfs_create_file("hold", 0200, kp_dir, NULL, &kp_hold_fops);
	debugfs_create_file("jumps", 0400, kp_dir, NULL, &kp_jumps_fops);
	debugfs_create_file("now", 0400, kp_dir, NULL, &kp_now_fops);
	debugfs_create_file("cpus", 0400, kp_dir, NULL, &kp_cpus_fops);
	return 0;
}

static void __exit kp_bench_scale_exit(void)
{
	debugfs_remove(kp_dir);
	kp_hold_set(NULL, 0);
	kvfree(kp_ptr);
}

KP_MODULE("What kernel probes cost as their number and that of CPUs grows",
	  kp_bench_scale_init, kp_bench_scale_exit);
