/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FAULTS_H
#define KP_FAULTS_H

/* Functions with instructions that fault or trap, for C and assembly */

#define KP_GOOD_VALUE	0x600d

#ifndef __ASSEMBLY__

#include "kp_probe.h"
#include "kp_switch.h"

/*
 * Functions that access memory with a fix-up, and the offsets, from the start of the function, of
 * their instructions that may fault.
 * If the access succeeds, load returns what it read, store returns 0, and add returns the old
 * value; otherwise they return -EFAULT. move returns the number of bytes that it has not moved.
 */
#define KP_ACCESS(name, args...)	\
	long name(args);		\
	extern const u32 name##_insn

KP_ACCESS(kp_user_load, const void __user *from);
KP_ACCESS(kp_user_store, void __user *to, long value);
KP_ACCESS(kp_user_add, void __user *to, long value);
KP_ACCESS(kp_user_move, void __user *to, const void *from, long bytes);
KP_ACCESS(kp_kernel_load, const void *from);
/* The offset from the start of kp_kernel_load() to its RET */
extern const u32 kp_kernel_load_end;
/* kp_kernel_call() calls the function to which *@to points, kp_kernel_jump() jumps to it. */
KP_ACCESS(kp_kernel_call, void (*const *to)(void));
KP_ACCESS(kp_kernel_jump, void (*const *to)(void));
/* Returns KP_GOOD_VALUE. */
void kp_called(void);

/* The saved register that has the first argument of these functions */
static inline unsigned long *kp_first_arg(struct pt_regs *regs)
{
	return IS_ENABLED(CONFIG_X86_64) ? &regs->di : &regs->ax;
}

/*
 * kp_watched_store() stores @value with one instruction. kp_watched_store_insn: the offsets of this
 * instruction and of the next one.
 */
void kp_watched_store(long *to, long value);
extern const u32 kp_watched_store_insn[2];

/* Each returns its argument plus one. kp_foreign_int3() executes an int3 of no probe. */
KP_ACCESS(kp_plain, long arg);
long kp_foreign_int3(long arg);
/* Offsets of a nop and an add before the int3, of the int3, and of a sub after it */
enum { KP_FOREIGN_NOP, KP_FOREIGN_BEFORE, KP_FOREIGN_INT3, KP_FOREIGN_AFTER, KP_FOREIGN_NR };
extern const u32 kp_foreign_int3_insn[KP_FOREIGN_NR];

/* Nothing is mapped in the last page. */
#define KP_BAD		((void *)-4096L)

static inline void *kp_load_addr(void)
{
	return (void *)kp_kernel_load + kp_kernel_load_insn;
}

/* Module parameter: after registering a probe, wait until it is optimised, if it can be. */
extern bool kp_faults_opt;

static inline void kp_faults_register(struct kunit *test, struct kp_probe *probe)
{
	kp_register(test, probe);
	if (kp_faults_opt)
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
}

extern struct kunit_suite kp_int3_suite, kp_paging_suite, kp_steps_suite;

#endif
#endif
