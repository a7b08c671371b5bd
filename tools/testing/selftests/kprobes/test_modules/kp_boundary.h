/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_BOUNDARY_H
#define KP_BOUNDARY_H

/* Where the next instruction may begin, for tests that probe one after the other. */

#include <linux/types.h>

/*
 * How many bytes from the instruction at @text to the next place that may be tried. Registration
 * is refused inside of an instruction. On s390 the error is the same as for an instruction that
 * may not be probed; there the first two bits of an instruction say how long it is.
 */
static inline unsigned int kp_next_boundary(const void *text)
{
	if (IS_ENABLED(CONFIG_X86))
		return 1;
	if (IS_ENABLED(CONFIG_RISCV))
		return 2;
	if (IS_ENABLED(CONFIG_S390))
		return ((*(const u8 *)text >> 6) + 1) / 2 * 2 + 2;
	return 4;
}

#endif
