// SPDX-License-Identifier: GPL-2.0
/* Functions to probe, in a file of their own so that the compiler cannot inline or clone them */

#include "jprobes_kunit.h"

noinline notrace long kp_jp_body(KP_JP_PARAMS)
{
	return a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 9 * a9 +
	       10 * a10 + 11 * a11 + 12 * a12 + 13 * a13 + 14 * a14;
}

noinline long kp_jp_traced(KP_JP_PARAMS)
{
	long ret = kp_jp_body(KP_JP_LIST);

	barrier();
	return ret;
}

asmlinkage noinline long kp_jp_on_stack(KP_JP_PARAMS)
{
	long ret = kp_jp_body(KP_JP_LIST);

	barrier();
	return ret;
}

KP_PLUS(, long, kp_jp_other, 1)
