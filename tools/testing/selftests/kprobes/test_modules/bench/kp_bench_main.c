// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of a probe in units of the time-stamp counter, which are instructions with
 * QEMU's -icount shift=0. A line of a file in debugfs is a figure; bench.sh prints a table.
 *
 * kp_bench/unused		a page fault, a stack trace, a new process; read it first, since the
 *			other files register probes
 * kp_bench/hits		a hit, less the same call without a probe
 * kp_bench/jumps		a hit of an optimised probe
 * kp_bench/returns		a call with a return probe, less the same call without
 * kp_bench/jump_returns	the same, with an optimised entry
 * kp_bench/counted		hits and calls with a return probe, by performance counters;
 *			for native.sh
 * kp_bench/counted_jumps	the same, with optimised probes
 * kp_bench/call		a call of kp_bench_called(), to which bench.sh attaches BPF and more
 * kp_bench/changes		registering and unregistering
 * kp_bench/optimizing		the time until probes are optimised
 *
 * Reading a file takes the measurement. There must be no other probes then.
 */

#include <linux/perf_event.h>
#include <asm/desc.h>
#include <asm/hardirq.h>
#include <asm/ibt.h>
#include <asm/msr.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>
#include "kp_bench.h"

#define KP_OTHERS	(KP_BENCH_ROWS * KP_BENCH_ROW)
/* Probes on one address */
#define KP_COLOCATED	16
#define KP_BATCH	1000
#define KP_INSN_SIZE	2
/* The instructions of a row that a jump overlaps */
#define KP_JUMP_INSNS	3
#define KP_JUMP_PATIENCE_MS	10000

/* Serialises readers, which share the probes. */
static DEFINE_MUTEX(kp_bench_mutex);

static struct kprobe **kp_other;

/* Numbers of calls: @first of pre_handlers and return handlers, @second of the others */
static struct {
	unsigned long first, second;
} kp_called;

KP_PRE_HANDLER(, kp_pre, kp_called.first++)

KP_POST_HANDLER(, kp_post, kp_called.second++)

KP_RETURN_HANDLER(, kp_return, kp_called.first++)

KP_RETURN_HANDLER(, kp_entry, kp_called.second++)

struct kp_cost {
	u64 least, most;
};

/* Measure KP_BENCH_CALLS calls, after a first one that may cost more. */
static struct kp_cost kp_calls(void (*fn)(void))
{
	struct kp_cost cost = { .least = U64_MAX };
	int i;

	kp_call(fn);
	for (i = 0; i < KP_BENCH_CALLS; i++) {
		u64 one = kp_call(fn);

		cost.least = min(cost.least, one);
		cost.most = max(cost.most, one);
	}
	return cost;
}

/* An IDT whose gates for #DB and #BP count, then jump to the kernel's handlers */
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

/* Return: the number of #DB and #BP of one call. */
static unsigned int kp_count_traps(void (*fn)(void))
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

/* Function-call IPIs that all CPUs have received */
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

static void kp_end(struct seq_file *m, const char *name)
{
	u64 end = rdtsc();

	seq_printf(m, "%s %llu(%u)\n", name, end - kp_start, kp_ipis() - kp_ipis_before);
	cond_resched();
}

/* Clear @p: some kernels refuse what an earlier registration leaves in it. */
static void kp_init(struct kprobe *p, void *addr, bool post)
{
	memset(p, 0, sizeof(*p));
	p->addr = addr;
	p->pre_handler = kp_pre;
	p->post_handler = post ? kp_post : NULL;
}

static void *kp_first_insn(void (*fn)(void))
{
	/* objtool warns of an address after the endbr. */
	OPTIMIZER_HIDE_VAR(fn);
	return (void *)fn + ENDBR_INSN_SIZE;
}

/*
 * Wait until there is a jump at @addr, or, if @wanted is false, until there is none. Read the text,
 * since not every kernel shows jumps in flags.
 */
static int kp_wait_jump(const void *addr, bool wanted)
{
	return kp_poll((READ_ONCE(*(u8 *)addr) == JMP32_INSN_OPCODE) == wanted,
		       KP_JUMP_PATIENCE_MS) ? 0 : -ETIMEDOUT;
}

static int kp_wait_jumps(struct kprobe **probes, int nr)
{
	int i, err = 0;

	for (i = 0; i < nr && !err; i++)
		err = kp_wait_jump(probes[i]->addr, true);
	return err;
}

enum kp_way { KP_BREAKPOINT, KP_JUMP, KP_FTRACE };

/* Do hits of @p arrive by @way? For KP_JUMP, first wait for the jump. */
static bool kp_is_reached_by(struct kprobe *p, enum kp_way way)
{
	if (way == KP_JUMP)
		return !kp_wait_jump(p->addr, true);
	return kprobe_ftrace(p) == (way == KP_FTRACE);
}

#define KP_SECOND	0x1	/* has a post_handler or an entry_handler */
#define KP_RETURN	0x2	/* is a return probe */
#define KP_LIMIT	0x4	/* has a maxactive */
#define KP_DATA		0x8	/* has data */

static int kp_register(struct kretprobe *rp, void (*fn)(void), unsigned int form)
{
	memset(rp, 0, sizeof(*rp));
	if (!(form & KP_RETURN)) {
		kp_init(&rp->kp, kp_first_insn(fn), form & KP_SECOND);
		return register_kprobe(&rp->kp);
	}
	rp->kp.addr = (void *)fn;
	rp->handler = kp_return;
	rp->entry_handler = form & KP_SECOND ? kp_entry : NULL;
	rp->maxactive = form & KP_LIMIT ? 16 : 0;
	rp->data_size = form & KP_DATA ? 16 : 0;
	return register_kretprobe(rp);
}

static void kp_unregister(struct kretprobe *rp, unsigned int form)
{
	if (form & KP_RETURN)
		unregister_kretprobe(rp);
	else
		unregister_kprobe(&rp->kp);
}

/*
 * Register a probe on @fn, and reset the counts of handlers. Return: 1; 0 if its hits would not
 * arrive by @way, and the probe has been unregistered; or an errno.
 */
static int kp_register_reached(struct kretprobe *rp, void (*fn)(void), enum kp_way way,
			       unsigned int form)
{
	int err = kp_register(rp, fn, form);

	if (err)
		return err;
	if (!kp_is_reached_by(&rp->kp, way)) {
		kp_unregister(rp, form);
		return 0;
	}
	kp_called.first = 0;
	kp_called.second = 0;
	return 1;
}

/*
 * Print a line: name, instructions of a hit (a range if they differ), traps. Succeed without
 * a line if hits of @fn do not arrive by @way.
 */
static int kp_measure(struct seq_file *m, const char *name, const char *suffix,
		      void (*fn)(void), enum kp_way way, unsigned int form)
{
	/* kp_calls() makes one extra call, kp_count_traps() another. */
	const unsigned long all = KP_BENCH_CALLS + 2;
	static struct kretprobe rp;
	struct kp_cost bare, hit;
	unsigned int traps;
	int err;

	/* Some kernels remove a jump only after unregister_kprobe() has returned. */
	err = kp_wait_jump(kp_first_insn(fn), false);
	if (err)
		return err;
	bare = kp_calls(fn);
	err = kp_register_reached(&rp, fn, way, form);
	if (err <= 0)
		return err;
	hit = kp_calls(fn);
	traps = kp_count_traps(fn);
	kp_unregister(&rp, form);
	if (kp_called.first != all || kp_called.second != (form & KP_SECOND ? all : 0)) {
		pr_err("kp_bench: %s%s: %lu and %lu handlers for %lu calls\n", name, suffix,
		       kp_called.first, kp_called.second, all);
		return -EIO;
	}
	seq_printf(m, "%s%s %llu", name, suffix, hit.least - bare.least);
	if (hit.most != hit.least)
		seq_printf(m, "-%llu", hit.most - bare.least);
	seq_printf(m, "(%u)\n", traps);
	return 0;
}

static int kp_pre_and_post(struct seq_file *m, const char *name, void (*fn)(void), enum kp_way way)
{
	return kp_measure(m, "pre_", name, fn, way, 0) ?:
	       kp_measure(m, "post_", name, fn, way, KP_SECOND);
}

static int kp_several(struct seq_file *m, const char *name, void (*fn)(void), bool jump)
{
	struct kp_cost bare, hit;
	int i, nr, err;

	for (nr = 2; nr <= KP_COLOCATED; nr *= nr) {
		for (i = 0; i < nr; i++)
			kp_init(kp_other[i], kp_first_insn(fn), false);
		err = kp_wait_jump(kp_first_insn(fn), false);
		if (err)
			return err;
		bare = kp_calls(fn);
		err = register_kprobes(kp_other, nr);
		if (err)
			return err;
		if (!jump || !kp_wait_jumps(kp_other, 1)) {
			kp_called.first = 0;
			hit = kp_calls(fn);
			if (kp_called.first != (KP_BENCH_CALLS + 1) * nr)
				err = -EIO;
			seq_printf(m, "%s_%d %llu(%d)\n", name, nr, hit.least - bare.least, !jump);
		}
		unregister_kprobes(kp_other, nr);
		if (err)
			return err;
	}
	return 0;
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

/* Measure a hit among other probes, then a hit of each of them. */
static int kp_among_others(struct seq_file *m)
{
	static const struct {
		int nr;
		const char *name;
	} steps[] = {
		{ 1, "boost_among_1" }, { 100, "boost_among_100" }, { KP_OTHERS - KP_BATCH, NULL },
		{ KP_OTHERS, "boost_among_10000" },
	};
	static u64 bare[KP_BENCH_ROWS];
	int i, nr = 0, err = 0;
	u64 sum = 0;
	u32 tenths;

	for (i = 0; i < KP_BENCH_ROWS; i++) {
		kp_call(kp_bench_rows[i]);
		bare[i] = kp_call(kp_bench_rows[i]);
	}
	for (i = 0; i < ARRAY_SIZE(steps) && !err; i++) {
		kp_begin();
		err = kp_register_others(nr, steps[i].nr);
		if (err)
			break;
		nr = steps[i].nr;
		if (nr == KP_OTHERS)
			kp_end(m, "register_last_batch");
		if (steps[i].name)
			err = kp_measure(m, "pre_", steps[i].name, kp_bench_add, KP_BREAKPOINT, 0);
	}
	kp_called.first = 0;
	for (i = 0; i < KP_BENCH_ROWS && !err; i++)
		sum += kp_call(kp_bench_rows[i]) - bare[i];
	if (nr)
		unregister_kprobes(kp_other, nr);
	if (err)
		return err;
	if (kp_called.first != KP_OTHERS)
		return -EIO;
	sum = div_u64_rem(div_u64(sum * 10, KP_OTHERS), 10, &tenths);
	seq_printf(m, "pre_boost_each %llu.%u\n", sum, tenths);
	return 0;
}

static int kp_bench_hits(struct seq_file *m)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} insns[] = {
		{ "boost", kp_bench_add }, { "push", kp_bench_push }, { "nop", kp_bench_nop },
		{ "jmp", kp_bench_jmp }, { "je", kp_bench_je }, { "str", kp_bench_str },
	};
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(insns) && !err; i++)
		err = kp_pre_and_post(m, insns[i].name, insns[i].fn, KP_BREAKPOINT);
	return err ?:
	       kp_pre_and_post(m, "ftrace", kp_bench_entries[0], KP_FTRACE) ?:
	       kp_several(m, "several_boost", kp_bench_add, false) ?:
	       kp_among_others(m);
}

static int kp_bench_jumps(struct seq_file *m)
{
	return kp_pre_and_post(m, "jump", kp_bench_long, KP_JUMP) ?:
	       kp_several(m, "several_jump", kp_bench_long, true);
}

/* With function tracing, this function begins with ftrace's call. */
static noinline void kp_bench_traced(void)
{
	barrier();
}

static int kp_returns(struct seq_file *m, const char *name, void (*fn)(void), enum kp_way way)
{
	return kp_measure(m, name, "", fn, way, KP_RETURN) ?:
	       kp_measure(m, name, "_both", fn, way, KP_RETURN | KP_SECOND) ?:
	       kp_measure(m, name, "_limit", fn, way, KP_RETURN | KP_LIMIT) ?:
	       kp_measure(m, name, "_all", fn, way, KP_RETURN | KP_SECOND | KP_LIMIT | KP_DATA);
}

static int kp_bench_returns(struct seq_file *m)
{
	return kp_returns(m, "ret_boost", kp_bench_add, KP_BREAKPOINT) ?:
	       kp_returns(m, "ret_push", kp_bench_push, KP_BREAKPOINT) ?:
	       kp_returns(m, "ret_ftrace", kp_bench_traced, KP_FTRACE);
}

static int kp_bench_jump_returns(struct seq_file *m)
{
	return kp_returns(m, "ret_jump", kp_bench_long, KP_JUMP);
}

/* The processor's counters; NULL where it has none, as in an emulator */
static struct perf_event *kp_cycles, *kp_insns;

/* What KP_BENCH_CALLS calls cost */
struct kp_counts {
	u64 cycles, insns, ns;
};

/* Create a counter for the CPU that the reader is pinned to. */
static struct perf_event *kp_counter(u64 config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = config, .pinned = 1,
	};
	struct perf_event *counter;

	counter = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(), NULL, NULL, NULL);
	return IS_ERR(counter) ? NULL : counter;
}

static void kp_counter_release(struct perf_event *counter)
{
	if (counter)
		perf_event_release_kernel(counter);
}

static u64 kp_counter_read(struct perf_event *counter)
{
	u64 enabled, running;

	return counter ? perf_event_read_value(counter, &enabled, &running) : 0;
}

static struct kp_counts kp_count(void (*fn)(void))
{
	u64 cycles = kp_counter_read(kp_cycles), insns = kp_counter_read(kp_insns), start;
	struct kp_counts counts;
	unsigned long flags;
	int i;

	local_irq_save(flags);
	start = ktime_get_mono_fast_ns();
	for (i = 0; i < KP_BENCH_CALLS; i++)
		fn();
	counts.ns = ktime_get_mono_fast_ns() - start;
	local_irq_restore(flags);
	counts.insns = kp_counter_read(kp_insns) - insns;
	counts.cycles = kp_counter_read(kp_cycles) - cycles;
	return counts;
}

/*
 * Print a line: name, instructions, cycles and nanoseconds of KP_BENCH_CALLS hits, without the
 * calls. Succeed without a line if hits of @fn do not arrive by @way.
 */
static int kp_counted(struct seq_file *m, const char *name, void (*fn)(void), enum kp_way way,
		      unsigned int form)
{
	/* kp_count() makes KP_BENCH_CALLS calls, and kp_calls() one more than that. */
	const unsigned long all = 2 * KP_BENCH_CALLS + 1;
	struct kp_counts bare, hit;
	static struct kretprobe rp;
	int err;

	err = kp_wait_jump(kp_first_insn(fn), false);
	if (err)
		return err;
	/* Warm up the caches and the branch predictors. */
	kp_calls(fn);
	bare = kp_count(fn);
	err = kp_register_reached(&rp, fn, way, form);
	if (err <= 0)
		return err;
	kp_calls(fn);
	hit = kp_count(fn);
	kp_unregister(&rp, form);
	if (kp_called.first != all)
		return -EIO;
	seq_printf(m, "%s %lld %lld %lld\n", name, hit.insns - bare.insns, hit.cycles - bare.cycles,
		   hit.ns - bare.ns);
	cond_resched();
	return 0;
}

static int kp_count_breakpoints(struct seq_file *m)
{
	return kp_counted(m, "pre_boost", kp_bench_add, KP_BREAKPOINT, 0) ?:
	       kp_counted(m, "post_boost", kp_bench_add, KP_BREAKPOINT, KP_SECOND) ?:
	       kp_counted(m, "pre_push", kp_bench_push, KP_BREAKPOINT, 0) ?:
	       kp_counted(m, "pre_ftrace", kp_bench_entries[0], KP_FTRACE, 0) ?:
	       kp_counted(m, "post_ftrace", kp_bench_entries[0], KP_FTRACE, KP_SECOND) ?:
	       kp_counted(m, "ret_boost", kp_bench_add, KP_BREAKPOINT, KP_RETURN) ?:
	       kp_counted(m, "ret_ftrace", kp_bench_traced, KP_FTRACE, KP_RETURN);
}

static int kp_count_jumps(struct seq_file *m)
{
	return kp_counted(m, "pre_jump", kp_bench_long, KP_JUMP, 0) ?:
	       kp_counted(m, "post_jump", kp_bench_long, KP_JUMP, KP_SECOND) ?:
	       kp_counted(m, "ret_jump", kp_bench_long, KP_JUMP, KP_RETURN);
}

static int kp_with_counters(struct seq_file *m, int (*measure)(struct seq_file *m))
{
	int err;

	kp_insns = kp_counter(PERF_COUNT_HW_INSTRUCTIONS);
	kp_cycles = kp_counter(PERF_COUNT_HW_CPU_CYCLES);
	err = measure(m);
	kp_counter_release(kp_cycles);
	kp_counter_release(kp_insns);
	return err;
}

static int kp_bench_counted(struct seq_file *m)
{
	return kp_with_counters(m, kp_count_breakpoints);
}

static int kp_bench_counted_jumps(struct seq_file *m)
{
	return kp_with_counters(m, kp_count_jumps);
}

noinline long kp_bench_called(long one, long two);
noinline long kp_bench_called(long one, long two)
{
	barrier();
	return one + two;
}

static void kp_bench_call_it(void)
{
	kp_bench_called(1, 2);
}

static int kp_bench_call(struct seq_file *m)
{
	seq_printf(m, "%llu\n", kp_calls(kp_bench_call_it).least);
	return 0;
}

static void kp_init_entry(int i)
{
	kp_init(kp_other[i], kp_first_insn(kp_bench_entries[i]), false);
}

/* Register and unregister KP_BATCH probes, in one call or one each. */
static int kp_change(struct seq_file *m, void (*init)(int i), bool batch, const char *on,
		     const char *off)
{
	int i, nr, each = batch ? KP_BATCH : 1;

	for (i = 0; i < KP_BATCH; i++)
		init(i);
	kp_begin();
	for (nr = 0; nr < KP_BATCH; nr += each) {
		int err = register_kprobes(kp_other + nr, each);

		if (err) {
			if (nr)
				unregister_kprobes(kp_other, nr);
			return err;
		}
	}
	kp_end(m, on);
	kp_begin();
	for (nr = 0; nr < KP_BATCH; nr += each)
		unregister_kprobes(kp_other + nr, each);
	kp_end(m, off);
	return 0;
}

static int kp_bench_changes(struct seq_file *m)
{
	int err;

	/* Do not measure the first registration, which costs more than later ones. */
	err = kp_register_others(0, KP_BATCH);
	if (err)
		return err;
	unregister_kprobes(kp_other, KP_BATCH);
	err = kp_change(m, kp_init_other, false, "register_singly", "unregister_singly") ?:
	      kp_change(m, kp_init_other, true, "register_batch", "unregister_batch");
	if (err || !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		return err;
	return kp_change(m, kp_init_entry, false, "entries_on_singly", "entries_off_singly") ?:
	       kp_change(m, kp_init_entry, true, "entries_on_batch", "entries_off_batch");
}

/* Measure the time until @nr probes are optimised. No jump overwrites another probed address. */
static int kp_optimize(struct seq_file *m, int nr, const char *on, const char *off)
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
		kp_end(m, on);
	kp_begin();
	unregister_kprobes(kp_other, nr);
	if (!err)
		kp_end(m, off);
	return err;
}

static int kp_bench_optimizing(struct seq_file *m)
{
	return kp_optimize(m, 1, "optimize_one", "unregister_optimized_one") ?:
	       kp_optimize(m, KP_BATCH, "optimize_batch", "unregister_optimized_batch");
}

static struct kp_file {
	const char *name;
	int (*measure)(struct seq_file *m);
} kp_files[] = {
	{ "unused", kp_bench_unused },
	{ "hits", kp_bench_hits },
	{ "jumps", kp_bench_jumps },
	{ "returns", kp_bench_returns },
	{ "jump_returns", kp_bench_jump_returns },
	{ "counted", kp_bench_counted },
	{ "counted_jumps", kp_bench_counted_jumps },
	{ "call", kp_bench_call },
	{ "changes", kp_bench_changes },
	{ "optimizing", kp_bench_optimizing },
};

static int kp_bench_show(struct seq_file *m, void *unused)
{
	struct kp_file *file = m->private;

	guard(mutex)(&kp_bench_mutex);
	return file->measure(m);
}
DEFINE_SHOW_ATTRIBUTE(kp_bench);

static struct dentry *kp_dir;

static int __init kp_bench_init(void)
{
	int i;

	kp_other = kp_alloc_probes(KP_OTHERS);
	if (!kp_other)
		return -ENOMEM;
	kp_dir = debugfs_create_dir("kp_bench", NULL);
	for (i = 0; i < ARRAY_SIZE(kp_files); i++)
		debugfs_create_file(kp_files[i].name, 0400, kp_dir, &kp_files[i], &kp_bench_fops);
	return 0;
}

static void __exit kp_bench_exit(void)
{
	debugfs_remove(kp_dir);
	kvfree(kp_other);
}

KP_MODULE("What a kernel probe costs", kp_bench_init, kp_bench_exit);
