/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FLAGS_H
#define KP_FLAGS_H

/* What the suite of flags probes: functions that return what their argument became. */
unsigned long kp_flags_within(unsigned long flags);
unsigned long kp_flags_entry(unsigned long flags);
unsigned long kp_flags_return(unsigned long flags);

/* And where in them. */
extern char kp_flags_probed[], kp_flags_traced[], kp_flags_returning[];

#endif
