// SPDX-License-Identifier: GPL-2.0
/*
 * Loading this module shuts ftrace down, as ftrace does after an error. Only a reboot enables
 * ftrace again.
 */

#include "kp_symbol.h"

static int __init kp_kill_ftrace_init(void)
{
	void (*kill)(void);

	kill = kp_find_function("ftrace_kill");
	if (!kill)
		return -ENOENT;
	kill();
	return 0;
}

static void __exit kp_kill_ftrace_exit(void)
{
}

KP_MODULE("Has ftrace give up", kp_kill_ftrace_init, kp_kill_ftrace_exit);
