/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBE_REASON_H
#define _LINUX_KPROBE_REASON_H
/*
 * Kernel probes: the reasons why a probe is refused, why an instruction is executed in a
 * certain way, and why a probepoint is not optimised. The core and the architectures pass them as
 * numbers. kprobe_reason_list.h has their names and texts.
 */

enum kprobe_reason {
	KPROBE_REASON_NONE,
#define KPROBE_REFUSAL(name, err, text)	KPROBE_REASON_##name,
#define KPROBE_EXECUTION(name, text)	KPROBE_REASON_##name,
#define KPROBE_JUMP(name, text)		KPROBE_REASON_##name,
#include <linux/kprobe_reason_list.h>
	NR_KPROBE_REASONS,
};

int kprobe_reason_errno(enum kprobe_reason why);
const char *kprobe_reason_kind(enum kprobe_reason why);
const char *const *kprobe_reason_text(enum kprobe_reason why);

#endif /* _LINUX_KPROBE_REASON_H */
