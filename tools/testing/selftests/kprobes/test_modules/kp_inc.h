/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INC_H
#define KP_INC_H

/* inc in two bytes: for 32-bit mode, the assembler would choose the form of one byte. */
.macro KP_INC_EAX
	.byte	0xff, 0xc0
.endm

.macro KP_INC_ECX
	.byte	0xff, 0xc1
.endm

#endif
