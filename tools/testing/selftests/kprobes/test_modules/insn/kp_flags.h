/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FLAGS_H
#define KP_FLAGS_H

/* Set the flags to the argument, hit a probe, and return the flags after the hit. */
unsigned long kp_flags_within(unsigned long flags);
unsigned long kp_flags_entry(unsigned long flags);
unsigned long kp_flags_return(unsigned long flags);

/* Where they are probed */
extern char kp_flags_probed[], kp_flags_traced[], kp_flags_returning[];

#endif
