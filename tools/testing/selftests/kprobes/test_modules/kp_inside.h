/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INSIDE_H
#define KP_INSIDE_H

/* Functions in assembly, with instructions at +0 and +3. */
long kp_inside_plain(long arg);
long kp_inside_other(long arg);

#endif
