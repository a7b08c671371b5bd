/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_BENCH_H
#define KP_BENCH_H

/* Functions that are probed next to the measured ones, and instructions in each */
#define KP_BENCH_ROWS	100
#define KP_BENCH_ROW	100
/* Functions in C, probed at their entries */
#define KP_BENCH_ENTRIES	1000

/* The calls that are measured for one figure */
#define KP_BENCH_CALLS	1000

#ifndef __ASSEMBLY__

#include <linux/seq_file.h>

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

void kp_bench_debug(void);
void kp_bench_int3(void);
extern unsigned int kp_bench_traps;
extern unsigned long kp_bench_real_debug, kp_bench_real_int3;

#endif /* !__ASSEMBLY__ */
#endif /* KP_BENCH_H */
