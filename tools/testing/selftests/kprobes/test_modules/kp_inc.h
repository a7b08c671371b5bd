/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INC_H
#define KP_INC_H

/*
 * For assembly: inc in two bytes, in 32-bit mode too, where the assembler takes the form of
 * one byte.
 */
.macro KP_INC_EAX
	.byte	0xff, 0xc0
.endm

.macro KP_INC_ECX
	.byte	0xff, 0xc1
.endm

#endif
