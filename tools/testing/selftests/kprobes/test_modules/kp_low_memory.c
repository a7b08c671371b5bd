// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the lowest 32 MiB of the memory that modules and slots come from.
 *
 * The s390 kernel places that memory 2 GiB below itself. Instructions with a relative operand
 * (lgrl, stgrl, clgrl...) reach 4 GiB, but QEMU 7.2 computes the operand's address with 32 bits.
 * If the copy of such an instruction is more than 2 GiB below its operand, the copy faults. While
 * this module is loaded, the kernel places no copy there. vmtest-init.sh loads it first, on s390
 * only.
 */
#include <linux/module.h>
#include <linux/sizes.h>

static char kp_low_memory[SZ_32M];

static int __init kp_low_memory_init(void)
{
	/* Without this store the compiler drops the array. */
	WRITE_ONCE(kp_low_memory[0], 1);
	return 0;
}

static void __exit kp_low_memory_exit(void)
{
}

module_init(kp_low_memory_init);
module_exit(kp_low_memory_exit);

MODULE_DESCRIPTION("keeps the lowest memory for modules from others");
MODULE_LICENSE("GPL");
