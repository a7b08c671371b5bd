/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_PARTS_H
#define KP_PARTS_H

/* Include this before a source file of kprobes, to build a copy of that file into the module. */

#include <kunit/visibility.h>
#include "kp_test.h"

/* The kernel's own copy already exports these symbols. */
#undef EXPORT_SYMBOL_IF_KUNIT
#define EXPORT_SYMBOL_IF_KUNIT(...)

extern struct kunit_suite kp_slots_suite, kp_deferred_suite, kp_pools_suite, kp_filters_suite;

#endif
