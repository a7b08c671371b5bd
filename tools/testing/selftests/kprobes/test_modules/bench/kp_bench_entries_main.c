// SPDX-License-Identifier: GPL-2.0
/*
 * Functions whose entries kp_bench probes. They are a module of their own, since the time to
 * find a symbol grows with the number of symbols of its module.
 */

#include <linux/module.h>

MODULE_DESCRIPTION("Functions to be probed at their entries");
MODULE_LICENSE("GPL");
