/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of kretprobes_kunit for a great many return probes, for modules here. */

#include <kretprobes_kunit_many.S>
