// SPDX-License-Identifier: GPL-2.0
/*
 * A module to be probed, loaded and unloaded. Writing N to its parameter `calls` calls its
 * functions N times. The write fails if a result is wrong.
 *
 * kp_target2 is built from this file, too, so it has the same symbols, but its code is different.
 */

#include <linux/objtool.h>
#include "kp_test.h"

#ifndef KP_TARGET_EXPECTED
#define KP_TARGET_BODY(arg)	((arg) + 1)
#define KP_TARGET_EXPECTED(arg)	((arg) + 1)
#endif

/* Room for a jump */
static __always_inline void kp_target_room(void)
{
	asm volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop" : : : "memory");
}

/* The alignment gives this function the same offset in kp_target and kp_target2. */
noinline int kp_tgt_function(int arg);
noinline int __aligned(1024) kp_tgt_function(int arg)
{
	kp_target_room();
	return KP_TARGET_BODY(arg);
}

noinline int kp_tgt_caller(int arg);
noinline int kp_tgt_caller(int arg)
{
	kp_target_room();
	arg = kp_tgt_function(arg);
	barrier();
	return arg;
}

#ifdef CONFIG_X86
/*
 * The same instructions in every kernel, without ftrace's call: at +0, +3 and +6 (32-bit:
 * +5). A jump at +0 overlaps the first two.
 */
int kp_tgt_plain(int arg);
asm(".pushsection .text, \"ax\"\n\t"
	".globl kp_tgt_plain\n\t"
	".type kp_tgt_plain, @function\n"
	"kp_tgt_plain:\n\t"
	ANNOTATE_NOENDBR "\n\t"
	"lea 1(%" _ASM_ARG1 "), %eax\n\t"
	"test %" _ASM_ARG1 ", %" _ASM_ARG1 "\n\t"
	ASM_RET
	".size kp_tgt_plain, . - kp_tgt_plain\n\t"
	".popsection");
#else
noinline int kp_tgt_plain(int arg);
noinline int kp_tgt_plain(int arg)
{
	kp_target_room();
	return arg + 1;
}
#endif

KP_PLUS(, int, kp_tgt_nokprobe, 1)
NOKPROBE_SYMBOL(kp_tgt_nokprobe);

/* For a probe that reads arguments, some of them on the stack */
noinline __noclone void kp_tgt_arguments(long a, long b, long c, long d, long e, long f,
					 long g, const char *h);
noinline __noclone void kp_tgt_arguments(long a, long b, long c, long d, long e, long f,
					 long g, const char *h)
{
	kp_target_room();
}

noinline int __init kp_tgt_init_function(int arg);
noinline int __init kp_tgt_init_function(int arg)
{
	kp_target_room();
	return arg + 1;
}

static int kp_target_calls_set(const char *val, const struct kernel_param *param)
{
	int calls, i, ret = kstrtoint(val, 0, &calls);

	if (ret)
		return ret;
	for (i = 0; i < calls; i++) {
		kp_tgt_arguments(1, 2, 3, 4, 5, 6, 7, "eighth");
		if (kp_tgt_caller(i) != KP_TARGET_EXPECTED(i) || kp_tgt_plain(i) != i + 1)
			return -EIO;
	}
	return 0;
}

/* Called when the kernel destroys parameters: after the exit function and notifiers for GOING. */
noinline void kp_tgt_at_free(void);
noinline void kp_tgt_at_free(void)
{
	kp_target_room();
	pr_info("kp_target: parameters freed\n");
}

static void kp_target_calls_free(void *arg)
{
	kp_tgt_at_free();
}

static const struct kernel_param_ops kp_target_calls_ops = {
	.set = kp_target_calls_set, .free = kp_target_calls_free,
};

module_param_cb(calls, &kp_target_calls_ops, NULL, 0200);

static int __init kp_target_init(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (kp_tgt_init_function(i) != i + 1)
			return -EIO;
	}
	return kp_tgt_nokprobe(1) == 2 ? 0 : -EIO;
}

static void __exit kp_target_exit(void)
{
}

module_init(kp_target_init);
module_exit(kp_target_exit);

MODULE_DESCRIPTION("target of kprobes in a module");
MODULE_LICENSE("GPL");
