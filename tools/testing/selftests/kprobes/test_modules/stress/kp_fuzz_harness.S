/* SPDX-License-Identifier: GPL-2.0 */
/* The harness of kp_insn, which executes an instruction from a given state */

#include "../insn/kp_insn_harness.S"
