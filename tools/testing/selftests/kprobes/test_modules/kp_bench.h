/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_BENCH_H
#define KP_BENCH_H

/* Functions to be probed beside those that are measured, and places in each. */
#define KP_BENCH_ROWS	100
#define KP_BENCH_ROW	100
/* Functions in C, to be probed at their entries. */
#define KP_BENCH_ENTRIES	1000

/* How many calls are measured for one figure. */
#define KP_BENCH_CALLS	1000

#ifndef __ASSEMBLY__

#include <linux/mutex.h>
#include <linux/types.h>

struct dentry;

/* What the calls of one measurement cost at least, and at most. */
struct kp_cost {
	u64 least;
	u64 most;
};

/* Called once more than counts; and once, for its traps. */
struct kp_cost kp_bench_calls(void (*fn)(void));
unsigned int kp_bench_count_traps(void (*fn)(void));

/* Wait until the jump of an earlier probe is gone. Return: 0, or -ETIMEDOUT. */
int kp_bench_wait_original(void *addr);

/* One reader at a time. */
extern struct mutex kp_bench_mutex;

/* The way to a probe at the entry of a function. */
enum kp_bench_entry { KP_BENCH_BREAKPOINT, KP_BENCH_JUMP, KP_BENCH_FTRACE };

void kp_bench_create_ret(struct dentry *dir);
void kp_bench_create_unused(struct dentry *dir);

long kp_bench_called(long one, long two);
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
