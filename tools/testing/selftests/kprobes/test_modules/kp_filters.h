/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FILTERS_H
#define KP_FILTERS_H

#define KF_TARGETS	24

#ifndef __ASSEMBLY__

/* Each returns its argument plus one. */
extern long (*const kf_targets[KF_TARGETS])(long arg);

/* Called at the entry of a function, it returns to the function. */
void kf_direct(void);

#endif
#endif
