// SPDX-License-Identifier: GPL-2.0
/*
 * Functions with names that other functions have as well
 */

#include "kp_clients.h"

static noinline __noclone int kp_cl_twice(int arg)
{
	barrier();
	return arg + 2;
}

/* Unless it was inlined, kernel/trace/bpf_trace.c has a function with this name. */
static noinline __noclone int symbols_cmp_r(int arg)
{
	barrier();
	return arg;
}

int kp_cl_other_twice(int arg)
{
	return kp_cl_twice(symbols_cmp_r(arg));
}
