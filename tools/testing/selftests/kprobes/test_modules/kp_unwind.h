/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_UNWIND_H
#define KP_UNWIND_H

/* Number and size of the instructions to probe */
#define KP_UNWIND_NOPS	512
#define KP_UNWIND_NOP	4

#ifndef __ASSEMBLY__
void kp_unwind_nops(void);
#endif

#endif
