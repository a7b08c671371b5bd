// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the reasons why a probe is refused, why its instruction is executed in a certain
 * way, and why it is not optimised. linux/kprobe_reason_list.h lists them.
 */
#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kprobe_reason.h>

/**
 * struct reason - one line of the table
 * @err: the errno of a registration that is refused for this reason; 0 if the reason is no
 *	refusal, or if the errno comes from an architecture or from ftrace
 * @kind: "refusal", "execution" or "jump"
 * @text: the text that users see
 */
struct reason {
	int err;
#ifdef CONFIG_KPROBES_EXPLAIN
	const char *kind;
	const char *text;
#endif
};

#ifdef CONFIG_KPROBES_EXPLAIN
#define REASON(name, err, kind, text)	[name] = { (err), (kind), (text) },
#else
#define REASON(name, err, ...)	[name] = { (err) },
#endif
#define KPROBE_REFUSAL(name, err, text)	REASON(KPROBE_REASON_##name, err, "refusal", text)
#define KPROBE_EXECUTION(name, text)	REASON(KPROBE_REASON_##name, 0, "execution", text)
#define KPROBE_JUMP(name, text)		REASON(KPROBE_REASON_##name, 0, "jump", text)

static const struct reason reasons[NR_KPROBE_REASONS] = {
	REASON(KPROBE_REASON_NONE, 0, "", "")
#include <linux/kprobe_reason_list.h>
};

/*
 * Return: the errno of a registration that is refused for this reason; 0 if the reason is no
 * refusal, or has no fixed errno.
 */
int kprobe_reason_errno(enum kprobe_reason why)
{
	return reasons[why].err;
}

#ifdef CONFIG_KPROBES_EXPLAIN

/* Get the kind of a reason. Return: "refusal", "execution" or "jump". */
const char *kprobe_reason_kind(enum kprobe_reason why)
{
	return reasons[why].kind;
}

/* Return: a pointer to the table's pointer to the text, as tracing_log_err() needs it. */
const char *const *kprobe_reason_text(enum kprobe_reason why)
{
	return &reasons[why].text;
}

#else

/*
 * Without CONFIG_KPROBES_EXPLAIN, the kernel has no texts of reasons. Return the same text for each
 * reason, and "" for KPROBE_REASON_NONE.
 */
const char *const *kprobe_reason_text(enum kprobe_reason why)
{
	static const char *const texts[] = { "", "no text, see CONFIG_KPROBES_EXPLAIN" };

	return &texts[!!why];
}

#endif /* CONFIG_KPROBES_EXPLAIN */
EXPORT_SYMBOL_IF_KUNIT(kprobe_reason_text);
