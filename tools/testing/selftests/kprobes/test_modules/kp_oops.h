/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_OOPS_H
#define KP_OOPS_H

#ifndef __ASSEMBLY__
/* Returns its argument plus one. */
long kp_oops_target(long arg);
/* The offset of an instruction that can be optimised */
extern const u32 kp_oops_insn;
#endif

#endif
