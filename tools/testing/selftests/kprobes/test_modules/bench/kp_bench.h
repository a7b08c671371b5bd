/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_BENCH_H
#define KP_BENCH_H

/* Functions with many probed instructions; number of instructions in each */
#define KP_BENCH_ROWS	100
#define KP_BENCH_ROW	100
/* Functions with ftrace's call, probed at their entries */
#define KP_BENCH_ENTRIES	1000

/* For kp_bench_scale: functions; probepoints in each; two-byte instructions for each probepoint */
#define KP_SCALE_ROWS	500
#define KP_SCALE_ROW	100
#define KP_SCALE_INSNS	3
/* Functions with one probepoint, one function for each CPU */
#define KP_SCALE_CPUS	16

/* Calls measured for one figure */
#define KP_BENCH_CALLS	1000

#ifndef __ASSEMBLY__

#include <asm/msr.h>
#include "kp_test.h"

static noinline u64 __maybe_unused kp_call(void (*fn)(void))
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

/* The probes are in the same allocation as the array: kvfree() of the array frees both. */
static inline struct kprobe **kp_alloc_probes(int nr)
{
	struct kprobe **ptr = kvcalloc(nr, sizeof(*ptr) + sizeof(**ptr), GFP_KERNEL);
	int i;

	for (i = 0; ptr && i < nr; i++)
		ptr[i] = (struct kprobe *)(ptr + nr) + i;
	return ptr;
}

int kp_bench_unused(struct seq_file *m);

void kp_bench_add(void);
void kp_bench_long(void);
void kp_bench_push(void);
void kp_bench_nop(void);
void kp_bench_jmp(void);
void kp_bench_je(void);
void kp_bench_str(void);
extern void (*const kp_bench_rows[KP_BENCH_ROWS])(void);
extern void (*const kp_bench_entries[KP_BENCH_ENTRIES])(void);
extern void (*const kp_scale_rows[KP_SCALE_ROWS])(void);
extern void (*const kp_scale_ones[KP_SCALE_CPUS])(void);

void kp_bench_debug(void);
void kp_bench_int3(void);
extern unsigned int kp_bench_traps;
extern unsigned long kp_bench_real_debug, kp_bench_real_int3;

#endif
#endif
