// SPDX-License-Identifier: GPL-2.0
/* The symbols of kp_target with other code, to be loaded at kp_target's old address */

static noinline int kp_target2_body(int arg)
{
	int digits = 0;

	for (; arg; arg /= 10)
		digits += arg % 10;
	return digits;
}

static noinline int kp_target2_expected(int arg)
{
	return arg / 1000 + arg / 100 % 10 + arg / 10 % 10 + arg % 10;
}

#define KP_TARGET_BODY(arg)	kp_target2_body(arg)
#define KP_TARGET_EXPECTED(arg)	kp_target2_expected(arg)

#include "kp_target.c"
