// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suites for kprobes: refused arguments, batches, the life of a struct kprobe, handlers
 */

#include <linux/module.h>
#include <linux/preempt.h>
#include "kprobes_kunit.h"
#include "kp_jumps.h"
#include "kp_regs.h"
#include "kp_switch.h"

int kp_count_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_probe *probe = to_kp_probe(kp);

	probe->pre++;
	probe->seen = kp;
	probe->pre_ip = instruction_pointer(regs);
	probe->preemptible |= preemptible();
	return 0;
}

NOKPROBE_SYMBOL(kp_count_pre);

void kp_count_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kp_probe *probe = to_kp_probe(kp);

	probe->post++;
	probe->seen = kp;
	probe->post_ip = instruction_pointer(regs);
	probe->preemptible |= preemptible();
}

NOKPROBE_SYMBOL(kp_count_post);

struct kp_probe *kp_new(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->kp.addr = kp_entry(addr);
	probe->kp.pre_handler = kp_count_pre;
	return probe;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_unregister_action, unregister_kprobe, struct kprobe *);

void kp_settle(struct kunit *test, struct kprobe *kp)
{
	if (!jumps || kprobe_disabled(kp))
		return;
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	jumped += kp_without_breakpoint(kp);
}

int kp_register(struct kunit *test, struct kp_probe *probe)
{
	int ret = register_kprobe(&probe->kp);

	if (ret)
		return ret;
	ret = kunit_add_action_or_reset(test, kp_unregister_action, &probe->kp);
	if (!ret)
		kp_settle(test, &probe->kp);
	return ret;
}

int kp_enable(struct kunit *test, struct kprobe *kp)
{
	int ret = enable_kprobe(kp);

	if (!ret)
		kp_settle(test, kp);
	return ret;
}

void kp_unregister(struct kunit *test, struct kp_probe *probe)
{
	kunit_release_action(test, kp_unregister_action, &probe->kp);
}

void kp_expect_refused(struct kunit *test, struct kprobe *kp, int error)
{
	void *addr = kp->addr;
	const char *name = kp->symbol_name;
	u8 before, after;
	bool readable = addr && !copy_from_kernel_nofault(&before, addr, 1);
	int ret = register_kprobe(kp);

	KUNIT_EXPECT_EQ_MSG(test, ret, error, "probing %s %pS + %u", name, addr, kp->offset);
	if (!ret) {
		unregister_kprobe(kp);
		return;
	}
	KUNIT_EXPECT_EQ_MSG(test, enable_kprobe(kp), -EINVAL,
			    "a refused probe can be enabled: %s %pS", name, addr);
	if (readable && !copy_from_kernel_nofault(&after, addr, 1))
		KUNIT_EXPECT_EQ(test, before, after);
}

void kp_expect_unprobed(struct kunit *test, struct kp_probe *probe, long (*target)(long))
{
	unsigned int pre = probe->pre, post = probe->post;

	KUNIT_EXPECT_EQ(test, target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, pre);
	KUNIT_EXPECT_EQ(test, probe->post, post);
}

void kp_bytes_save(struct kunit *test, struct kp_bytes *bytes, void *addr)
{
	bytes->addr = addr;
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(bytes->byte, addr, sizeof(bytes->byte)), 0);
}

void kp_bytes_expect_same(struct kunit *test, const struct kp_bytes *bytes)
{
	struct kp_bytes now;

	kp_bytes_save(test, &now, bytes->addr);
	KUNIT_EXPECT_MEMEQ_MSG(test, now.byte, bytes->byte, sizeof(now.byte),
			       "text changed at %pS", bytes->addr);
}

kunit_test_suites(&kp_errno_suite, &kp_batch_suite, &kp_lifecycle_suite, &kp_handlers_suite);

MODULE_DESCRIPTION("KUnit suites for the kprobes API");
MODULE_LICENSE("GPL");
