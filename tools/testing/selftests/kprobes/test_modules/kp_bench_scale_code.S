/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kp_bench_scale probes: functions of KP_SCALE_ROW places each. A place has as many
 * instructions as a jump overlaps, so all places can have a jump at the same time.
 */

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "kp_bench_scale.h"
#include "kp_inc.h"

	.text

.macro kp_scale_row nr
SYM_FUNC_START(kp_scale_row_\nr)
	.rept	KP_SCALE_ROW * KP_SCALE_INSNS
	KP_INC_EAX
	.endr
	RET
SYM_FUNC_END(kp_scale_row_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR kp_scale_row_\nr
	.popsection
.endm

	.pushsection .rodata, "a"
	_ASM_ALIGN
SYM_DATA_START(kp_scale_rows)
	.popsection
	.altmacro
	.set	nr, 0
	.rept	KP_SCALE_ROWS
	kp_scale_row %nr
	.set	nr, nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(kp_scale_rows)
	.popsection

/* Functions of one place, one for each CPU. */
.macro kp_scale_one nr
SYM_FUNC_START(kp_scale_one_\nr)
	.rept	KP_SCALE_INSNS
	KP_INC_EAX
	.endr
	RET
SYM_FUNC_END(kp_scale_one_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR kp_scale_one_\nr
	.popsection
.endm

	.pushsection .rodata, "a"
	_ASM_ALIGN
SYM_DATA_START(kp_scale_ones)
	.popsection
	.altmacro
	.set	nr, 0
	.rept	KP_SCALE_CPUS
	kp_scale_one %nr
	.set	nr, nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(kp_scale_ones)
	.popsection
