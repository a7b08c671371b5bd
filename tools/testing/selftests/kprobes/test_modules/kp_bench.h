/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_BENCH_H
#define KP_BENCH_H

/* Functions to be probed beside those that are measured, and places in each. */
#define KP_BENCH_ROWS	100
#define KP_BENCH_ROW	100

#ifndef __ASSEMBLY__

void kp_bench_add(void);
void kp_bench_long(void);
void kp_bench_push(void);
void kp_bench_nop(void);
void kp_bench_jmp(void);
void kp_bench_je(void);
void kp_bench_str(void);
extern void (*const kp_bench_rows[KP_BENCH_ROWS])(void);

void kp_bench_debug(void);
void kp_bench_int3(void);
extern unsigned int kp_bench_traps;
extern unsigned long kp_bench_real_debug, kp_bench_real_int3;

#endif /* !__ASSEMBLY__ */
#endif /* KP_BENCH_H */
