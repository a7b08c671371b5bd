/* SPDX-License-Identifier: GPL-2.0 */
/* The functions that kretprobes_kunit has for many return probes */

#include <kretprobes_kunit_many.S>
