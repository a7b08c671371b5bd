// SPDX-License-Identifier: GPL-2.0
/* Functions to probe, in a file of their own so that the compiler cannot inline or clone them */

#include <linux/stdarg.h>
#include "kretprobes_kunit.h"

unsigned long kp_ret_from;

#define KP_RET_PLUS_ONE(name)						\
	KP_PLUS_WITH(, long, name, 1,					\
		     kp_ret_from = (unsigned long)__builtin_return_address(0); barrier())

KP_RET_PLUS_ONE(kp_ret_target)
KP_RET_PLUS_ONE(kp_ret_other)
KP_RET_PLUS_ONE(kp_ret_nokprobe)
NOKPROBE_SYMBOL(kp_ret_nokprobe);

KP_CALLER(, kp_ret_calls, long, kp_ret_target(arg))

noinline long kp_ret_tail(long arg)
{
	return kp_ret_target(arg);
}

/*
 * The test case kp_ret_calls_left() in kretprobes_calls_kunit.c calls this. In that case, the
 * pre_handler of a probe on kp_ret_other() redirects execution to the statement after the call, so
 * kp_ret_other() executes no return. The second call is a tail call, so kp_ret_target() returns to
 * the caller of kp_ret_leaves().
 */
noinline long kp_ret_leaves(long arg)
{
	kp_ret_other(arg);
	return kp_ret_target(arg);
}

KP_CALLER(, kp_ret_calls_tail, long, kp_ret_tail(arg))

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

#define KP_RET_NEST(name, next)						\
noinline long name(long depth)						\
{									\
	long ret = depth > 0 ? next(depth - 1) + 1 : 0;			\
									\
	barrier();							\
	return ret;							\
}

KP_RET_NEST(kp_ret_nest, kp_ret_nest)
KP_RET_NEST(kp_ret_even, kp_ret_odd)
KP_RET_NEST(kp_ret_odd, kp_ret_even)

noinline long kp_ret_calls_back(void (*fn)(long data), long data)
{
	fn(data);
	barrier();
	return data + 1;
}

noinline kp_ret_two_t kp_ret_two(unsigned long low, unsigned long high)
{
	barrier();
	return (kp_ret_two_t)high << BITS_PER_LONG | low;
}

noinline struct kp_ret_big kp_ret_big(long arg)
{
	struct kp_ret_big big;
	int i;

	for (i = 0; i < ARRAY_SIZE(big.word); i++)
		big.word[i] = arg * 100 + i;
	return big;
}

asmlinkage noinline struct kp_ret_big kp_ret_big_on_stack(long arg)
{
	struct kp_ret_big big = kp_ret_big(arg);

	barrier();
	return big;
}

noinline long kp_ret_eight(long a, long b, long c, long d, long e, long f, long g, long h)
{
	barrier();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

asmlinkage noinline long kp_ret_on_stack(long a, long b, long c)
{
	barrier();
	return a + 2 * b + 3 * c;
}

noinline long kp_ret_variadic(int nr, ...)
{
	va_list args;
	long sum = 0;

	va_start(args, nr);
	while (nr--)
		sum += va_arg(args, long);
	va_end(args);
	return sum;
}
