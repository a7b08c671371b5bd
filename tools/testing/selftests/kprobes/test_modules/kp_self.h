/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_SELF_H
#define KP_SELF_H

#include <kunit/test.h>
#include <linux/kprobes.h>

typedef void (*kp_self_wait_t)(void);

/* For breakpoints and jumps: ftrace has nothing at its entry. */
int kp_self_target(int arg);

extern struct kunit_suite kp_self_guard_suite;

#endif
