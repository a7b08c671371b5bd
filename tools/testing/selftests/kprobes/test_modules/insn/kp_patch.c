// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: what probes change in the kernel's text. An armed probe may replace one byte with a
 * breakpoint, or ftrace's nop with a call, and nothing else. Unregistration must restore the
 * original text.
 */

#include "kp_probe.h"

/* What ftrace leaves at the entry of an untraced function; 0 where no test compares it */
#ifdef CONFIG_X86
#include <asm/nops.h>
#define KP_NOP		BYTES_NOP5
#else
#define KP_NOP		0
#endif

/* Bytes of text to compare */
#define KP_WINDOW 256

struct kp_patch {
	u8 *start;
	u8 before[KP_WINDOW];
	u8 now[KP_WINDOW];
};

/* Never called */
KP_PLUS(, int, kp_patch_target, 1)
KP_PLUS(notrace, int, kp_patch_plain, 1)

static void kp_patch_read(struct kunit *test, const struct kp_patch *text, u8 *to)
{
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(to, text->start, KP_WINDOW), 0);
}

/* Save the text from @addr on, in which no probe may be armed yet. */
static struct kp_patch *kp_patch_save(struct kunit *test, void *addr)
{
	struct kp_patch *text = kp_zalloc(test, sizeof(*text));

	text->start = addr;
	kp_patch_read(test, text, text->before);
	return text;
}

/* Count the changed bytes; @where: the offset of the last one. */
static int kp_patch_changed(struct kunit *test, struct kp_patch *text, int *where)
{
	int i, changed = 0;

	*where = -1;
	kp_patch_read(test, text, text->now);
	for (i = 0; i < KP_WINDOW; i++) {
		if (text->now[i] == text->before[i])
			continue;
		changed++;
		*where = i;
	}
	return changed;
}

static void kp_patch_expect_same(struct kunit *test, struct kp_patch *text)
{
	int where;

	KUNIT_EXPECT_EQ(test, kp_patch_changed(test, text, &where), 0);
}

/*
 * Check that the breakpoint of @kp, or ftrace's call, is the only change of the text, and that
 * kp->opcode is the original byte at kp->addr.
 */
static void kp_patch_expect_armed(struct kunit *test, struct kp_patch *text, struct kprobe *kp)
{
	static const u8 nop[] = { KP_NOP };
	int at = (u8 *)kp->addr - text->start;
	int where, changed = kp_patch_changed(test, text, &where);

	if (!IS_ENABLED(CONFIG_X86)) {
		KUNIT_EXPECT_GE(test, changed, 1);
		return;
	}
	KUNIT_EXPECT_EQ(test, (u8)kp->opcode, text->before[at]);
	if (kprobe_ftrace(kp)) {
		KUNIT_EXPECT_GE(test, changed, 1);
		KUNIT_EXPECT_LT(test, where, at + (int)sizeof(nop));
		KUNIT_EXPECT_MEMEQ(test, text->before, text->now, at);
		KUNIT_EXPECT_MEMEQ(test, text->before + at, nop, sizeof(nop));
		KUNIT_EXPECT_EQ(test, text->now[at], 0xe8);
	} else {
		KUNIT_EXPECT_EQ(test, changed, 1);
		KUNIT_ASSERT_EQ(test, where, at);
		KUNIT_EXPECT_EQ(test, text->now[at], 0xcc);
	}
}

static void kp_patch_repeat(struct kunit *test, struct kp_probe *probe, struct kp_patch *text)
{
	int i;

	for (i = 0; i < 3; i++) {
		kp_register(test, probe);
		kp_patch_expect_armed(test, text, &probe->kp);
		kp_unregister(test, probe);
		kp_patch_expect_same(test, text);
	}
}

static void kp_patch_one_probe(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_patch_target);
	struct kp_patch *text = kp_patch_save(test, kp_patch_target);

	kp_patch_repeat(test, probe, text);
	probe->kp.post_handler = kp_count_post;
	kp_patch_repeat(test, probe, text);
}

static void kp_patch_disabled(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_patch_target);
	struct kp_patch *text = kp_patch_save(test, kp_patch_target);

	probe->kp.flags = KPROBE_FLAG_DISABLED;
	kp_register(test, probe);
	kp_patch_expect_same(test, text);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	kp_patch_expect_armed(test, text, &probe->kp);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	kp_patch_expect_same(test, text);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	kp_unregister(test, probe);
	kp_patch_expect_same(test, text);
}

/* The breakpoint stays until the last enabled probe is disabled or unregistered. */
static void kp_patch_colocated(struct kunit *test)
{
	struct kp_probe *first = kp_new(test, kp_patch_target);
	struct kp_probe *second = kp_new(test, kp_patch_target);
	struct kp_patch *text = kp_patch_save(test, kp_patch_target);

	kp_register(test, first);
	kp_register(test, second);
	kp_patch_expect_armed(test, text, &first->kp);
	kp_patch_expect_armed(test, text, &second->kp);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&first->kp), 0);
	kp_patch_expect_armed(test, text, &second->kp);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&second->kp), 0);
	kp_patch_expect_same(test, text);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&first->kp), 0);
	kp_patch_expect_armed(test, text, &first->kp);
	kp_unregister(test, second);
	kp_patch_expect_armed(test, text, &first->kp);
	kp_unregister(test, first);
	kp_patch_expect_same(test, text);
}

/* Small and large functions of the kernel, none called by the handlers */
static void kp_patch_kernel(struct kunit *test)
{
	static const char *const names[] = {
		"kernel_clone", "schedule_timeout", "vsnprintf", "kmem_cache_create_usercopy",
		"wake_up_process", "path_openat", "sha256_update", "__kmalloc_cache_noprof",
	};
	struct kp_probe *probe;
	struct kp_patch *text;
	int i, probed = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		/*
		 * Register the probe disabled, to learn its address, and whether it can be probed.
		 */
		probe = kp_new(test, NULL);
		probe->kp.symbol_name = names[i];
		probe->kp.flags = KPROBE_FLAG_DISABLED;
		if (register_kprobe(&probe->kp) == -ENOENT)
			continue;
		kp_at_end(test, kp_kprobe_gone, &probe->kp);
		text = kp_patch_save(test, probe->kp.addr);
		KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
		kp_patch_expect_armed(test, text, &probe->kp);
		kp_unregister(test, probe);
		kp_patch_expect_same(test, text);
		probed++;
	}
	KUNIT_EXPECT_GE(test, probed, 4);
}

/* This function has no call of ftrace, so its probe must be hit by a breakpoint. */
static void kp_patch_inside(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_patch_plain);
	struct kp_patch *text = kp_patch_save(test, kp_patch_plain);

	kp_patch_repeat(test, probe, text);
	kp_register(test, probe);
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&probe->kp));
	KUNIT_EXPECT_EQ(test, kp_patch_plain(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

static struct kunit_case kp_patch_cases[] = {
	KUNIT_CASE(kp_patch_inside),
	KUNIT_CASE(kp_patch_one_probe),
	KUNIT_CASE(kp_patch_disabled),
	KUNIT_CASE(kp_patch_colocated),
	KUNIT_CASE(kp_patch_kernel),
	{}
};

KP_ONLY_SUITE(kp_patch, "kprobes_patching", "KUnit suite for what kprobes do to text");
