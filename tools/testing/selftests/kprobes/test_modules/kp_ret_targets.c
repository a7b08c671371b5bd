// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for the suites of kp_ret to probe, or to try to.
 *
 * They stand in a file of their own so that the compiler, which does not see them
 * where they are called, neither inlines nor clones them.
 */

#include "kp_ret.h"

unsigned long kp_ret_from;

noinline long kp_ret_target(long arg)
{
	kp_ret_from = (unsigned long)__builtin_return_address(0);
	barrier();
	return arg + 1;
}

noinline long kp_ret_other(long arg)
{
	kp_ret_from = (unsigned long)__builtin_return_address(0);
	barrier();
	return arg + 1;
}

noinline long kp_ret_calls(long arg)
{
	arg = kp_ret_target(arg);
	barrier();
	return arg;
}

/* Nothing is left to be done after the call, so the compiler makes it a jump. */
noinline long kp_ret_tail(long arg)
{
	return kp_ret_target(arg);
}

noinline long kp_ret_calls_tail(long arg)
{
	arg = kp_ret_tail(arg);
	barrier();
	return arg;
}

unsigned long kp_ret_calls_from(void)
{
	kp_ret_calls(0);
	return kp_ret_from;
}

unsigned long kp_ret_calls_tail_from(void)
{
	kp_ret_calls_tail(0);
	return kp_ret_from;
}

noinline long kp_ret_nest(long depth)
{
	long ret = depth > 0 ? kp_ret_nest(depth - 1) + 1 : 0;

	barrier();
	return ret;
}

noinline long kp_ret_even(long depth)
{
	long ret = depth > 0 ? kp_ret_odd(depth - 1) + 1 : 0;

	barrier();
	return ret;
}

noinline long kp_ret_odd(long depth)
{
	long ret = depth > 0 ? kp_ret_even(depth - 1) + 1 : 0;

	barrier();
	return ret;
}

noinline long kp_ret_calls_back(void (*fn)(long data), long data)
{
	fn(data);
	barrier();
	return data + 1;
}

noinline long kp_ret_nokprobe(long arg)
{
	barrier();
	return arg + 1;
}

NOKPROBE_SYMBOL(kp_ret_nokprobe);
