// SPDX-License-Identifier: GPL-2.0
/*
 * What QEMU 7.2 does wrong as an s390. vmtest-init.sh loads this module first, on s390 only.
 *
 * It takes the lowest 32 MiB of the memory that modules and slots come from. The kernel places
 * that memory 2 GiB below itself. Instructions with a relative operand (lgrl, stgrl, clgrl...)
 * reach 4 GiB, but QEMU computes the operand's address with 32 bits. If the copy of such an
 * instruction is more than 2 GiB below its operand, the copy faults. While this module is loaded,
 * the kernel places no copy there.
 *
 * And it finds out whether a branch is taken that is single-stepped. QEMU goes on behind the
 * branch, on any kernel. It is parameters/loses_branches in sysfs.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sizes.h>

static char kp_low_memory[SZ_32M];

static bool loses_branches;
module_param(loses_branches, bool, 0444);
MODULE_PARM_DESC(loses_branches, "a branch that is single-stepped is not taken");

/* Return: 1, if the branch is not taken. */
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

MODULE_DESCRIPTION("knows what QEMU does wrong as an s390");
MODULE_LICENSE("GPL");
