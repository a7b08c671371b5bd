// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: what probes do to the text they are on. One byte becomes the
 * breakpoint while a probe is armed there, or the nop that ftrace keeps becomes a
 * call; nothing else changes, and in the end all is as it was.
 */

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

/* The instruction that ftrace keeps at the entries of functions. */
#ifdef CONFIG_X86
#include <asm/nops.h>
#define KP_NOP		BYTES_NOP5
#else
#define KP_NOP		0
#endif

/* Some text around the probed function, its neighbours too. */
#define KP_WINDOW 256

struct kp_patch {
	u8 *start;
	u8 before[KP_WINDOW];
	u8 now[KP_WINDOW];
};

/* Never to be called: what is of interest is its text. */
noinline int kp_patch_target(int arg);
noinline int kp_patch_target(int arg)
{
	barrier();
	return arg + 1;
}

/* Ftrace has nothing at its entry. */
noinline notrace int kp_patch_plain(int arg);
noinline notrace int kp_patch_plain(int arg)
{
	barrier();
	return arg + 1;
}

static int kp_patch_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static void kp_patch_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_patch_unregister, unregister_kprobe, struct kprobe *);

static struct kprobe *kp_patch_new(struct kunit *test, void *addr)
{
	struct kprobe *kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, kp);
	kp->addr = addr;
	kp->pre_handler = kp_patch_pre;
	return kp;
}

static void kp_patch_register(struct kunit *test, struct kprobe *kp)
{
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_patch_unregister, kp), 0);
}

static void kp_patch_read(struct kunit *test, const struct kp_patch *text, u8 *to)
{
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(to, text->start, KP_WINDOW), 0);
}

/* The window starts with @addr, where nothing is probed yet. */
static struct kp_patch *kp_patch_save(struct kunit *test, void *addr)
{
	struct kp_patch *text = kunit_kzalloc(test, sizeof(*text), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	text->start = addr;
	kp_patch_read(test, text, text->before);
	return text;
}

/* How many bytes differ from what was saved; the last such byte's offset in @where. */
static int kp_patch_changed(struct kunit *test, struct kp_patch *text, int *where)
{
	int i, changed = 0;

	kp_patch_read(test, text, text->now);
	for (i = 0; i < KP_WINDOW; i++) {
		if (text->now[i] == text->before[i])
			continue;
		changed++;
		if (where)
			*where = i;
	}
	return changed;
}

/* Ftrace's call is there, and nothing else; kp->opcode is of the nop that was. */
static void kp_patch_expect_called(struct kunit *test, struct kp_patch *text, struct kprobe *kp)
{
	static const u8 nop[] = { KP_NOP };
	int at = (u8 *)kp->addr - text->start;
	int where = -1;

	KUNIT_EXPECT_GE(test, kp_patch_changed(test, text, &where), 1);
	KUNIT_EXPECT_LT(test, where, at + (int)sizeof(nop));
	KUNIT_EXPECT_MEMEQ(test, text->before, text->now, at);
	KUNIT_EXPECT_MEMEQ(test, text->before + at, nop, sizeof(nop));
	KUNIT_EXPECT_EQ(test, text->now[at], 0xe8);
	KUNIT_EXPECT_EQ(test, (u8)kp->opcode, nop[0]);
}

/* Exactly the breakpoint of @kp is there, and kp->opcode remembers what it hides. */
static void kp_patch_expect_armed(struct kunit *test, struct kp_patch *text, struct kprobe *kp)
{
	int where = -1;

	if (!IS_ENABLED(CONFIG_X86)) {
		KUNIT_EXPECT_GE(test, kp_patch_changed(test, text, &where), 1);
		return;
	}
	if (kprobe_ftrace(kp)) {
		kp_patch_expect_called(test, text, kp);
		return;
	}
	KUNIT_EXPECT_EQ(test, kp_patch_changed(test, text, &where), 1);
	KUNIT_ASSERT_EQ(test, where, (u8 *)kp->addr - text->start);
	KUNIT_EXPECT_EQ(test, text->now[where], 0xcc);
	KUNIT_EXPECT_EQ(test, (u8)kp->opcode, text->before[where]);
}

static void kp_patch_expect_same(struct kunit *test, struct kp_patch *text)
{
	KUNIT_EXPECT_EQ(test, kp_patch_changed(test, text, NULL), 0);
}

static void kp_patch_one_probe(struct kunit *test)
{
	struct kprobe *kp = kp_patch_new(test, kp_patch_target);
	struct kp_patch *text = kp_patch_save(test, kp_patch_target);
	int post, i;

	for (post = 0; post < 2; post++) {
		kp->post_handler = post ? kp_patch_post : NULL;
		for (i = 0; i < 3; i++) {
			kp_patch_register(test, kp);
			kp_patch_expect_armed(test, text, kp);
			kunit_release_action(test, kp_patch_unregister, kp);
			kp_patch_expect_same(test, text);
		}
	}
}

static void kp_patch_disabled(struct kunit *test)
{
	struct kprobe *kp = kp_patch_new(test, kp_patch_target);
	struct kp_patch *text = kp_patch_save(test, kp_patch_target);

	kp->flags = KPROBE_FLAG_DISABLED;
	kp_patch_register(test, kp);
	kp_patch_expect_same(test, text);
	KUNIT_EXPECT_EQ(test, enable_kprobe(kp), 0);
	kp_patch_expect_armed(test, text, kp);
	KUNIT_EXPECT_EQ(test, disable_kprobe(kp), 0);
	kp_patch_expect_same(test, text);
	KUNIT_EXPECT_EQ(test, enable_kprobe(kp), 0);
	kunit_release_action(test, kp_patch_unregister, kp);
	kp_patch_expect_same(test, text);
}

/* What is there stays until the last enabled probe has gone. */
static void kp_patch_colocated(struct kunit *test)
{
	struct kprobe *first = kp_patch_new(test, kp_patch_target);
	struct kprobe *second = kp_patch_new(test, kp_patch_target);
	struct kp_patch *text = kp_patch_save(test, kp_patch_target);

	kp_patch_register(test, first);
	kp_patch_register(test, second);
	kp_patch_expect_armed(test, text, first);
	kp_patch_expect_armed(test, text, second);
	KUNIT_EXPECT_EQ(test, disable_kprobe(first), 0);
	kp_patch_expect_armed(test, text, second);
	KUNIT_EXPECT_EQ(test, disable_kprobe(second), 0);
	kp_patch_expect_same(test, text);
	KUNIT_EXPECT_EQ(test, enable_kprobe(first), 0);
	kp_patch_expect_armed(test, text, first);
	kunit_release_action(test, kp_patch_unregister, second);
	kp_patch_expect_armed(test, text, first);
	kunit_release_action(test, kp_patch_unregister, first);
	kp_patch_expect_same(test, text);
}

/* Functions of the kernel: some small, some large, none of them called by the handlers. */
static void kp_patch_kernel(struct kunit *test)
{
	static const char *const names[] = {
		"kernel_clone", "schedule_timeout", "vsnprintf", "kmem_cache_create_usercopy",
		"wake_up_process", "path_openat", "sha256_update", "__kmalloc_cache_noprof",
	};
	struct kp_patch *text;
	struct kprobe *kp;
	int i, probed = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		/* Where it is, and that it may be probed, is known from a probe that is off. */
		kp = kp_patch_new(test, NULL);
		kp->symbol_name = names[i];
		kp->flags = KPROBE_FLAG_DISABLED;
		if (register_kprobe(kp) == -ENOENT)
			continue;
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_patch_unregister, kp), 0);
		text = kp_patch_save(test, kp->addr);
		KUNIT_EXPECT_EQ(test, enable_kprobe(kp), 0);
		kp_patch_expect_armed(test, text, kp);
		kunit_release_action(test, kp_patch_unregister, kp);
		kp_patch_expect_same(test, text);
		probed++;
	}
	KUNIT_EXPECT_GE(test, probed, 4);
}

/* Where no ftrace is: an instruction that is the same whatever the kernel's options. */
static void kp_patch_inside(struct kunit *test)
{
	struct kprobe *kp = kp_patch_new(test, kp_patch_plain);
	struct kp_patch *text = kp_patch_save(test, kp_patch_plain);
	int i;

	for (i = 0; i < 3; i++) {
		kp_patch_register(test, kp);
		KUNIT_EXPECT_FALSE(test, kprobe_ftrace(kp));
		kp_patch_expect_armed(test, text, kp);
		KUNIT_EXPECT_EQ(test, kp_patch_plain(1), 2);
		kunit_release_action(test, kp_patch_unregister, kp);
		kp_patch_expect_same(test, text);
	}
}

static struct kunit_case kp_patch_cases[] = {
	KUNIT_CASE(kp_patch_inside),
	KUNIT_CASE(kp_patch_one_probe),
	KUNIT_CASE(kp_patch_disabled),
	KUNIT_CASE(kp_patch_colocated),
	KUNIT_CASE(kp_patch_kernel),
	{}
};

static struct kunit_suite kp_patch_suite = {
	.name = "kprobes_patching",
	.test_cases = kp_patch_cases,
};

kunit_test_suite(kp_patch_suite);

MODULE_DESCRIPTION("KUnit suite for what kprobes do to text");
MODULE_LICENSE("GPL");
