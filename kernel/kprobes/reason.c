// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the table of reasons, which linux/kprobe_reason_list.h lists.
 */
#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kprobe_reason.h>

/**
 * struct reason - one line of the table
 * @kind: "refusal", "execution" or "jump"
 * @err: the errno of a registration that is refused for this reason; 0 if the reason is no
 *	refusal, or if the errno comes from an architecture or from ftrace
 * @text: the text that users see
 */
struct reason {
	const char *kind;
	int err;
	const char *text;
};

#define KPROBE_REFUSAL(name, err, text)	[name] = { "refusal", (err), (text) },
#define KPROBE_EXECUTION(name, text)	[name] = { "execution", 0, (text) },
#define KPROBE_JUMP(name, text)		[name] = { "jump", 0, (text) },

static const struct reason reasons[NR_KPROBE_REASONS] = {
	[KPROBE_REASON_NONE] = { "", 0, "" },
#include <linux/kprobe_reason_list.h>
};

/**
 * kprobe_reason_errno() - get the errno that belongs to a reason
 * @why: the reason
 *
 * Return: the errno of a registration that is refused for @why; 0 if @why is no refusal, or has
 * no fixed errno.
 */
int kprobe_reason_errno(enum kprobe_reason why)
{
	return reasons[why].err;
}

/* Get the kind of a reason. Return: "refusal", "execution" or "jump". */
const char *kprobe_reason_kind(enum kprobe_reason why)
{
	return reasons[why].kind;
}

/**
 * kprobe_reason_text() - get the text of a reason
 * @why: the reason
 *
 * Return: a pointer to the table's pointer to the text, as tracing_log_err() needs it.
 */
const char *const *kprobe_reason_text(enum kprobe_reason why)
{
	return &reasons[why].text;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_reason_text);
