// SPDX-License-Identifier: GPL-2.0
/*
 * A second function with a name that kp_clients_main.c has as well
 */

#include "kp_clients.h"

static noinline __noclone int kp_cl_twice(int arg)
{
	barrier();
	return arg + 2;
}

int kp_cl_other_twice(int arg)
{
	return kp_cl_twice(arg);
}
