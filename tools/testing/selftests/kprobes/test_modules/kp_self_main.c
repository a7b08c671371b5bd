// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suites: probes on the functions of kprobes itself, as tracers and intrusion
 * detectors set them, while these functions register and unregister other probes.
 *
 * Writing to the parameter `wait` calls wait_for_kprobe_optimizer().
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include "kp_regs.h"
#include "kp_self.h"
#include "kp_symbol.h"

noinline notrace int kp_self_target(int arg)
{
	barrier();
	return 3 * arg + 1;
}

static int kp_self_pre(struct kprobe *kp, struct pt_regs *regs);
NOKPROBE_SYMBOL(kp_self_pre);

static int kp_self_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

/* What the case calls, each of them once. */
static const char *const kp_self_names[] = {
	"register_kprobe", "disable_kprobe", "enable_kprobe", "unregister_kprobe",
	"register_kprobes", "unregister_kprobes",
	"register_kretprobe", "disable_kretprobe", "enable_kretprobe", "unregister_kretprobe",
	"register_kretprobes", "unregister_kretprobes",
};

#define KP_SELF_NR	ARRAY_SIZE(kp_self_names)

struct kp_self_probe {
	struct kprobe kp;
	struct kretprobe rp;
	atomic_t hits;
	atomic_t returns;
	bool kp_set;
	bool rp_set;
};

static int kp_self_count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&container_of(kp, struct kp_self_probe, kp)->hits);
	return 0;
}

NOKPROBE_SYMBOL(kp_self_count_hit);

static int kp_self_count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	/* NULL once the return probe is being unregistered. */
	if (rp)
		atomic_inc(&container_of(rp, struct kp_self_probe, rp)->returns);
	return 0;
}

NOKPROBE_SYMBOL(kp_self_count_return);

static void kp_self_remove(void *data)
{
	struct kp_self_probe *probes = data;
	unsigned int i;

	for (i = 0; i < KP_SELF_NR; i++) {
		if (probes[i].kp_set)
			unregister_kprobe(&probes[i].kp);
		if (probes[i].rp_set)
			unregister_kretprobe(&probes[i].rp);
	}
}

static struct kp_self_probe *kp_self_watch(struct kunit *test)
{
	struct kp_self_probe *probes, *each;
	unsigned int i;

	probes = kunit_kcalloc(test, KP_SELF_NR, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, kp_self_remove, probes), 0);
	for (i = 0; i < KP_SELF_NR; i++) {
		each = &probes[i];
		each->kp.symbol_name = kp_self_names[i];
		each->kp.pre_handler = kp_self_count_hit;
		each->rp.kp.symbol_name = kp_self_names[i];
		each->rp.handler = kp_self_count_return;
		each->kp_set = !register_kprobe(&each->kp);
		each->rp_set = !register_kretprobe(&each->rp);
		KUNIT_EXPECT_TRUE_MSG(test, each->kp_set, "%s", kp_self_names[i]);
		KUNIT_EXPECT_TRUE_MSG(test, each->rp_set, "return of %s", kp_self_names[i]);
	}
	return probes;
}

/* Call each function of kp_self_names[] once. */
static void kp_self_call_all(struct kunit *test)
{
	struct kprobe kp = { .addr = (void *)kp_self_target, .pre_handler = kp_self_pre };
	struct kprobe *kps[] = { &kp };
	struct kretprobe rp = { .kp.addr = (void *)kp_self_target };
	struct kretprobe *rps[] = { &rp };

	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&kp), 0);
	KUNIT_EXPECT_EQ(test, kp_self_target(2), 7);
	unregister_kprobe(&kp);
	memset(&kp, 0, sizeof(kp));
	kp.addr = kp_entry(kp_self_target);
	kp.pre_handler = kp_self_pre;
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 1), 0);
	unregister_kprobes(kps, 1);

	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, kp_self_target(3), 10);
	unregister_kretprobe(&rp);
	memset(&rp, 0, sizeof(rp));
	rp.kp.addr = kp_entry(kp_self_target);
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 1), 0);
	unregister_kretprobes(rps, 1);
}

/* Some of these functions call others of them, so they may be hit more than once. */
static void kp_self_watched(struct kunit *test)
{
	struct kp_self_probe *probes = kp_self_watch(test);
	int hits[KP_SELF_NR], returns[KP_SELF_NR];
	unsigned int i;

	for (i = 0; i < KP_SELF_NR; i++) {
		hits[i] = atomic_read(&probes[i].hits);
		returns[i] = atomic_read(&probes[i].returns);
	}
	kp_self_call_all(test);
	for (i = 0; i < KP_SELF_NR; i++) {
		hits[i] = atomic_read(&probes[i].hits) - hits[i];
		returns[i] = atomic_read(&probes[i].returns) - returns[i];
		KUNIT_EXPECT_GE_MSG(test, hits[i], 1, "%s", kp_self_names[i]);
		KUNIT_EXPECT_EQ_MSG(test, hits[i], returns[i], "%s", kp_self_names[i]);
		KUNIT_EXPECT_EQ_MSG(test, probes[i].kp.nmissed, 0, "%s", kp_self_names[i]);
		KUNIT_EXPECT_EQ_MSG(test, probes[i].rp.nmissed, 0, "%s", kp_self_names[i]);
	}
}

static struct kunit_case kp_self_cases[] = {
	KUNIT_CASE(kp_self_watched),
	{}
};

static struct kunit_suite kp_self_suite = {
	.name = "kprobes_self",
	.test_cases = kp_self_cases,
};

kunit_test_suites(&kp_self_suite, &kp_self_guard_suite);

static int wait_set(const char *val, const struct kernel_param *param)
{
	kp_self_wait_t wait = kp_find_symbol("wait_for_kprobe_optimizer");

	if (!wait)
		return -ENOENT;
	wait();
	return 0;
}

static const struct kernel_param_ops wait_ops = {
	.set = wait_set,
};

module_param_cb(wait, &wait_ops, NULL, 0200);

MODULE_DESCRIPTION("KUnit suites for probes on kprobes itself");
MODULE_LICENSE("GPL");
