/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FILTERS_H
#define KP_FILTERS_H

#define KF_TARGETS	24

#ifndef __ASSEMBLY__

/* Each returns its argument plus one. */
extern long (*const kf_targets[KF_TARGETS])(long arg);

/* Direct trampoline: called by ftrace at the entry of a function, it returns to that function. */
void kf_direct(void);

#endif
#endif
