// SPDX-License-Identifier: GPL-2.0
/*
 * Each read of /sys/kernel/debug/kp_text_hash hashes the kernel's text, as intrusion detectors do,
 * also while the text is being patched.
 */
#include <linux/jhash.h>
#include "kp_symbol.h"

static const char *kp_text_start, *kp_text_end;
/* Leave out the part of s390's text that has addresses of tracers. */
static const char *kp_tracers_start, *kp_tracers_end;
static struct dentry *kp_text_file;

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

static int kp_text_hash_show(struct seq_file *s, void *unused)
{
	u32 hash = kp_hash(kp_text_start, kp_tracers_start, 0);

	seq_printf(s, "%08x\n", kp_hash(kp_tracers_end, kp_text_end, hash));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(kp_text_hash);

static int __init kp_text_hash_init(void)
{
	kp_text_start = kp_find_symbol("_stext");
	kp_text_end = kp_find_symbol("_etext");
	if (!kp_text_start || !kp_text_end)
		return -ENOENT;
	kp_tracers_start = kp_find_symbol("__ftrace_hotpatch_trampolines_start");
	kp_tracers_end = kp_find_symbol("__ftrace_hotpatch_trampolines_end");
	if (!kp_tracers_start || !kp_tracers_end) {
		kp_tracers_start = kp_text_end;
		kp_tracers_end = kp_text_end;
	}
	kp_text_file = debugfs_create_file("kp_text_hash", 0400, NULL, NULL, &kp_text_hash_fops);
	return PTR_ERR_OR_ZERO(kp_text_file);
}

static void __exit kp_text_hash_exit(void)
{
	debugfs_remove(kp_text_file);
}

module_init(kp_text_hash_init);
module_exit(kp_text_hash_exit);

MODULE_DESCRIPTION("Hash of the kernel's text, for tests of kprobes");
MODULE_LICENSE("GPL");
