/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets of kp_bench_scale. A place has as many instructions as a jump overlaps, so all
 * places of a row can have a jump at the same time.
 */

#include "kp_bench.h"
#include "kp_functions.S"
#include "kp_inc.h"

.macro kp_scale_place
	.rept	KP_SCALE_INSNS
	KP_INC_EAX
	.endr
.endm

.macro kp_scale_row
	.rept	KP_SCALE_ROW
	kp_scale_place
	.endr
.endm

KP_FUNCTIONS kp_scale_rows KP_SCALE_ROWS kp_scale_row
KP_FUNCTIONS kp_scale_ones KP_SCALE_CPUS kp_scale_place
