/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of kretprobes_kunit for many return probes */

#include <kretprobes_kunit_many.S>
