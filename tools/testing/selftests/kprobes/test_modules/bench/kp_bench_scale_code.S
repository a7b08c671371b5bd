/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets of kp_bench_scale. A place has as many instructions as a jump overlaps, so all
 * places of a row can have a jump at the same time.
 */

#include "kp_bench_scale.h"
#include "kp_bench_macros.S"

	.text

kp_rows kp_scale_rows KP_SCALE_ROWS KP_SCALE_ROW*KP_SCALE_INSNS
kp_rows kp_scale_ones KP_SCALE_CPUS KP_SCALE_INSNS
