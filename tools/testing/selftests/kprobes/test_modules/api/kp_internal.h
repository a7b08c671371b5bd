/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INTERNAL_H
#define KP_INTERNAL_H

/* instructions at +0 and +3 */
long kp_internal_plain(long arg);
long kp_internal_other(long arg);
long kp_internal_area1(long arg);
long kp_internal_area2(long arg);
long kp_internal_area3(long arg);
/* each instruction has one byte */
void kp_internal_nops(void);

#endif
