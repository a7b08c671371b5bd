/* SPDX-License-Identifier: GPL-2.0 */
/* An array of functions with ftrace's call at their entries; each returns its argument plus one. */

#include "kp_functions.S"

.macro kp_traced_add_one
	KP_FTRACE_CALL
	lea	1(%_ASM_ARG1), %_ASM_AX
.endm

.macro kp_entries array count
KP_FUNCTIONS \array \count kp_traced_add_one
.endm
