/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions that kp_unwind probes, and that are never executed */

#include <linux/linkage.h>
#include <asm/nospec-branch.h>
#include "kp_unwind.h"

	.text

SYM_FUNC_START(kp_unwind_nops)
	.rept	KP_UNWIND_NOPS
	.byte	0x0f, 0x1f, 0x40, 0x00	/* nopl of 4 bytes */
	.endr
	RET
SYM_FUNC_END(kp_unwind_nops)
