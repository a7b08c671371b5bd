// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for jump-optimised probes */

#include "kp_opt_suites.h"

int __kprobes kp_opt_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	return 0;
}

void __kprobes kp_opt_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_opt_probe(kp)->post++;
	to_opt_probe(kp)->post_ip = regs->ip;
}

struct kp_opt_probe *kp_opt_new(struct kunit *test, void *addr, bool post)
{
	struct kp_opt_probe *probe = kp_zalloc(test, sizeof(*probe));

	probe->kp.addr = addr;
	probe->kp.pre_handler = kp_opt_pre;
	if (post)
		probe->kp.post_handler = kp_opt_post;
	return probe;
}

struct kp_opt_probe *kp_opt_jump(struct kunit *test, void *addr, bool post)
{
	return kp_opt_jump_to(test, addr, kp_opt_pre, post ? kp_opt_post : NULL);
}

struct kp_opt_probe *kp_opt_jump_to(struct kunit *test, void *addr, kprobe_pre_handler_t pre,
				    kprobe_post_handler_t post)
{
	struct kp_opt_probe *probe = kp_opt_new(test, addr, false);

	probe->kp.pre_handler = pre;
	probe->kp.post_handler = post;
	kp_opt_add(test, probe);
	kp_opt_becomes_jump(test, probe);
	return probe;
}

void kp_opt_add(struct kunit *test, struct kp_opt_probe *probe)
{
	KUNIT_ASSERT_EQ_MSG(test, register_kprobe(&probe->kp), 0, "probing %pS", probe->kp.addr);
	kp_at_end(test, kp_kprobe_gone, &probe->kp);
	probe->registered = true;
}

void kp_opt_del(struct kunit *test, struct kp_opt_probe *probe)
{
	if (!probe->registered)
		return;
	probe->registered = false;
	kp_kprobe_del(test, &probe->kp);
	/* Some kernels leave flags with which they refuse the next registration. */
	probe->kp.flags = 0;
}

void kp_opt_becomes_jump(struct kunit *test, struct kp_opt_probe *probe)
{
	KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(probe->kp.addr, true), "no jump at %pS",
			      probe->kp.addr);
}

void kp_opt_stays_int3(struct kunit *test, struct kp_opt_probe *probe)
{
	KUNIT_ASSERT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_ASSERT_EQ_MSG(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE, "jump at %pS",
			    probe->kp.addr);
}

/* Call kp_opt_sum(), and expect @pre and @post calls of the handlers so far. */
noinline void kp_opt_sum_hits(struct kunit *test, struct kp_opt_probe *probe, long pre, long post)
{
	void *caller = __builtin_return_address(0);

	KUNIT_EXPECT_EQ_MSG(test, kp_opt_sum(40, 2), 42, "in %pS", caller);
	KUNIT_EXPECT_EQ_MSG(test, probe->pre, pre, "in %pS", caller);
	KUNIT_EXPECT_EQ_MSG(test, probe->post, post, "in %pS", caller);
}

struct kp_opt_probe kp_many[KP_MANY];
static struct kprobe *kp_many_kps[KP_MANY];

int kp_many_register(void)
{
	int i;

	memset(kp_many, 0, sizeof(kp_many));
	for (i = 0; i < KP_MANY; i++) {
		kp_many_kps[i] = &kp_many[i].kp;
		kp_many[i].kp.addr = (kprobe_opcode_t *)kp_opt_many[i];
		kp_many[i].kp.pre_handler = kp_opt_pre;
		kp_many[i].kp.post_handler = i % 4 ? NULL : kp_opt_post;
	}
	return register_kprobes(kp_many_kps, KP_MANY);
}

void kp_many_unregister(void)
{
	unregister_kprobes(kp_many_kps, KP_MANY);
}

int kp_many_jumps(void)
{
	int i, jumps = 0;

	for (i = 0; i < KP_MANY; i++)
		jumps += kp_is_jump(kp_many[i].kp.addr);
	return jumps;
}

int kp_opt_reuse(bool settle)
{
	int ret = kp_many_register();

	if (ret)
		return ret;
	if (settle)
		ret = kp_opt_settle();
	else
		msleep(100);
	kp_many_unregister();
	return ret;
}

void kp_opt_save(struct kunit *test, struct kp_opt_bytes *bytes, void *addr)
{
	bytes->addr = addr;
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(bytes->byte, addr, sizeof(bytes->byte)), 0);
}

void kp_opt_same(struct kunit *test, const struct kp_opt_bytes *bytes, void *except, int size)
{
	struct kp_opt_bytes now;
	int i;

	kp_opt_save(test, &now, bytes->addr);
	if (except) {
		i = except - bytes->addr;
		memcpy(now.byte + i, bytes->byte + i, size);
	}
	for (i = 0; i < sizeof(now.byte); i++)
		KUNIT_EXPECT_EQ_MSG(test, now.byte[i], bytes->byte[i], "at %pS", bytes->addr + i);
}

KP_SUITES("KUnit suites for jump-optimised kprobes",
	  &kp_opt_hits_suite, &kp_opt_diverts_suite, &kp_opt_block_suite,
	  &kp_opt_safety_suite, &kp_opt_preempt_suite, &kp_opt_sleep_suite);
