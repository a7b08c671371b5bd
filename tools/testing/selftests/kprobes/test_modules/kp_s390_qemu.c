// SPDX-License-Identifier: GPL-2.0
/*
 * Works around two bugs of QEMU 7.2. vmtest-init.sh loads this module before the tests, on s390.
 *
 * Relative operands, as of lgrl, reach 4 GiB, but QEMU computes the address with 32 bits.
 * Modules and slots are up to 2 GiB below the kernel: a copy in the lowest part would fault,
 * so this module occupies the lowest 32 MiB.
 *
 * When a branch is single-stepped, QEMU does not take it, whatever the kernel does. The parameter
 * loses_branches tells whether this QEMU does so: then tests that single-step branches are skipped.
 */
#include <linux/sizes.h>
#include "kp_test.h"

static char kp_low_memory[SZ_32M];

static bool loses_branches;
module_param(loses_branches, bool, 0444);
MODULE_PARM_DESC(loses_branches, "a branch that is single-stepped is not taken");

/* Return: 1 if the branch is not taken */
static noinline __noclone long kp_branch(void)
{
	long ret;

	asm volatile("	lghi	%0,0\n"
		     "kp_branch_insn:\n"
		     "	j	0f\n"
		     "	lghi	%0,1\n"
		     "0:\n"
		     : "=d" (ret));
	return ret;
}

static int __init kp_s390_qemu_init(void)
{
	struct kprobe kp = { .symbol_name = "kp_branch_insn" };
	int err;

	/* Without this store the compiler drops the array. */
	WRITE_ONCE(kp_low_memory[0], 1);

	err = register_kprobe(&kp);
	if (err)
		return err;
	loses_branches = kp_branch();
	unregister_kprobe(&kp);
	return 0;
}

static void __exit kp_s390_qemu_exit(void)
{
}

module_init(kp_s390_qemu_init);
module_exit(kp_s390_qemu_exit);

MODULE_DESCRIPTION("Works around bugs of QEMU's s390, for tests of kprobes");
MODULE_LICENSE("GPL");
