/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FUZZ_H
#define KP_FUZZ_H

/*
 * Functions whose first bytes are replaced by random instructions. Each is
 *
 *	instruction, and nops		KP_FUZZ_ROOM bytes
 *	jmp kp_insn_done
 *	...
 *	target of branches, at KP_FUZZ_TAKEN: sets kp_insn_way to KP_TAKEN
 *	target of exceptions: sets kp_insn_way to KP_FIXED_UP
 */
#define KP_FUZZ_TARGETS	96
#define KP_FUZZ_SIZE	128
#define KP_FUZZ_ROOM	32
#define KP_FUZZ_TAKEN	64

#ifndef __ASSEMBLY__
void kp_fuzz_text(void);
#endif

#endif
