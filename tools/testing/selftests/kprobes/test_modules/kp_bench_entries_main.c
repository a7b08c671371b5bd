// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of which kp_bench probes the entries; a module of their own, since the
 * time to find a symbol grows with the number that a module has.
 */

#include <linux/module.h>

MODULE_DESCRIPTION("Functions to be probed at their entries");
MODULE_LICENSE("GPL");
