/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_UNWIND_H
#define KP_UNWIND_H

/* Instructions to be probed, all of one size, and how many there are. */
#define KP_UNWIND_NOPS	512
#define KP_UNWIND_NOP	4

#ifndef __ASSEMBLY__
void kp_unwind_nops(void);
#endif

#endif
