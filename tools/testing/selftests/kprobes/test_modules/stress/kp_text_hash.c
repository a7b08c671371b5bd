// SPDX-License-Identifier: GPL-2.0
/*
 * Each read of the parameter hash hashes the kernel's text, as intrusion detectors do, also while
 * the text is being patched.
 */
#include <linux/jhash.h>
#include "kp_symbol.h"

static u32 kp_hash(const char *from, const char *end, u32 hash)
{
	const char *to;

	for (; from < end; from = to) {
		to = min(from + PAGE_SIZE, end);
		hash = jhash(from, to - from, hash);
		cond_resched();
	}
	return hash;
}

static int kp_hash_get(char *buf, const struct kernel_param *param)
{
	static const char *start, *end;
	/* Leave out the part of s390's text that has addresses of tracers, which change. */
	static const char *tracers_start, *tracers_end;

	if (!start) {
		end = kp_find_symbol("_etext");
		tracers_start = kp_find_symbol("__ftrace_hotpatch_trampolines_start") ?: end;
		tracers_end = kp_find_symbol("__ftrace_hotpatch_trampolines_end") ?: end;
		start = kp_find_symbol("_stext");
	}
	if (!start || !end)
		return -ENOENT;
	return sysfs_emit(buf, "%08x\n",
			  kp_hash(tracers_end, end, kp_hash(start, tracers_start, 0)));
}

module_param_call(hash, NULL, kp_hash_get, NULL, 0400);

MODULE_DESCRIPTION("Hash of the kernel's text, for tests of kprobes");
MODULE_LICENSE("GPL");
