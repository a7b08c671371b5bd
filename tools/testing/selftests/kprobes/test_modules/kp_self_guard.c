// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: a stand-in for a module that guards the kernel. Such a module finds the
 * functions that it needs by name, by way of a probe on kallsyms_lookup_name(); hooks
 * functions by which tasks gain privileges, or by which the kernel's text or kprobes can be
 * changed, with return probes; waits for the optimiser, and takes a copy of the text. If
 * the text is not the same later, it raises the alarm.
 */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "kp_regs.h"
#include "kp_self.h"
#include "kp_symbol.h"

/* Some of them are there in some configurations only. */
static const char *const kp_guard_hooked[] = {
	"register_kprobe", "register_kprobes", "unregister_kprobe", "unregister_kprobes",
	"register_kretprobe", "register_kretprobes", "unregister_kretprobe",
	"unregister_kretprobes", "enable_kprobe", "disable_kprobe", "wait_for_kprobe_optimizer",
	"kprobe_lookup_name", "kprobe_on_func_entry", "kallsyms_lookup_name",
	"arch_jump_label_transform_apply", "arch_static_call_transform",
	"ftrace_modify_all_code", "wake_up_new_task", "do_exit", "kernel_clone",
	"commit_creds", "override_creds", "revert_creds", "prepare_creds", "set_current_groups",
	"generic_permission", "call_usermodehelper_exec", "begin_new_exec",
	"security_bprm_committed_creds", "security_bprm_committing_creds",
	"security_ptrace_access_check", "cap_task_prctl", "cap_capable", KP_SYSCALL("unshare"),
	KP_SYSCALL("setuid"), KP_SYSCALL("setgid"), KP_SYSCALL("capset"), KP_SYSCALL("execve"),
	KP_SYSCALL("ptrace"), "__queue_work", "lookup_fast", "scm_detach_fds", "load_module",
	"free_module",
};

#define KP_GUARD_NR	ARRAY_SIZE(kp_guard_hooked)
/* As many as such a module has. */
#define KP_GUARD_LEAST	25
/* What a probe changes at most; the functions may be short. */
#define KP_GUARD_TEXT	5

struct kp_guard_hook {
	struct kretprobe rp;
	bool set;
	atomic_t entries;
	atomic_t returns;
	u8 before[KP_GUARD_TEXT];
	u8 hooked[KP_GUARD_TEXT];
};

static struct kp_guard_hook kp_guard_hooks[KP_GUARD_NR];

static int kp_guard_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		atomic_inc(&container_of(rp, struct kp_guard_hook, rp)->entries);
	return 0;
}

NOKPROBE_SYMBOL(kp_guard_entry);

static int kp_guard_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		atomic_inc(&container_of(rp, struct kp_guard_hook, rp)->returns);
	return 0;
}

NOKPROBE_SYMBOL(kp_guard_return);

static void kp_guard_copy(struct kunit *test, struct kp_guard_hook *hook, u8 *to)
{
	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(to, hook->rp.kp.addr, KP_GUARD_TEXT), 0);
}

static void kp_guard_unhook(void *unused)
{
	unsigned int i;

	for (i = 0; i < KP_GUARD_NR; i++) {
		if (kp_guard_hooks[i].set)
			unregister_kretprobe(&kp_guard_hooks[i].rp);
		kp_guard_hooks[i].set = false;
	}
}

static unsigned int kp_guard_hook_all(struct kunit *test)
{
	struct kp_guard_hook *hook;
	unsigned int i, nr = 0;
	struct kprobe kp;
	int ret;

	memset(kp_guard_hooks, 0, sizeof(kp_guard_hooks));
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, kp_guard_unhook, NULL), 0);
	for (i = 0; i < KP_GUARD_NR; i++) {
		hook = &kp_guard_hooks[i];
		/* Where it is, and its text without any probe. */
		memset(&kp, 0, sizeof(kp));
		kp.symbol_name = kp_guard_hooked[i];
		kp.flags = KPROBE_FLAG_DISABLED;
		if (register_kprobe(&kp))
			continue;
		hook->rp.kp.addr = kp.addr;
		unregister_kprobe(&kp);
		kp_guard_copy(test, hook, hook->before);

		hook->rp.kp.addr = NULL;
		hook->rp.kp.symbol_name = kp_guard_hooked[i];
		hook->rp.entry_handler = kp_guard_entry;
		hook->rp.handler = kp_guard_return;
		hook->rp.data_size = 64;
		hook->rp.maxactive = i % 2 ? 40 : 0;
		ret = register_kretprobe(&hook->rp);
		KUNIT_EXPECT_EQ_MSG(test, ret, 0, "hooking %s", kp_guard_hooked[i]);
		hook->set = !ret;
		nr += hook->set;
	}
	return nr;
}

static void kp_guard_call(struct kunit *test)
{
	struct kretprobe rp = { .kp.addr = (void *)kp_self_target };
	struct kprobe kp = { .addr = (void *)kp_self_target };
	struct kprobe *kps[] = { &kp };

	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_EXPECT_EQ(test, kp_self_target(1), 4);
	unregister_kprobe(&kp);
	memset(&kp, 0, sizeof(kp));
	kp.addr = kp_entry(kp_self_target);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 1), 0);
	unregister_kprobes(kps, 1);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, kp_self_target(2), 7);
	unregister_kretprobe(&rp);
}

static struct kp_guard_hook *kp_guard_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < KP_GUARD_NR; i++)
		if (!strcmp(kp_guard_hooked[i], name))
			return &kp_guard_hooks[i];
	return NULL;
}

static void kp_guard_expect_hit(struct kunit *test, const char *name)
{
	struct kp_guard_hook *hook = kp_guard_find(name);

	KUNIT_ASSERT_NOT_NULL(test, hook);
	KUNIT_EXPECT_GE_MSG(test, atomic_read(&hook->returns), 1, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, hook->rp.nmissed, 0, "%s", name);
}

/* Does the text change when it was said to be left alone? */
static void kp_guard_raise_alarm(struct kunit *test)
{
	u8 now[KP_GUARD_TEXT];
	unsigned int i;

	for (i = 0; i < KP_GUARD_NR; i++) {
		struct kp_guard_hook *hook = &kp_guard_hooks[i];

		if (!hook->set)
			continue;
		kp_guard_copy(test, hook, now);
		KUNIT_EXPECT_MEMEQ_MSG(test, now, hook->hooked, sizeof(now),
				       "alarm: %s has changed", kp_guard_hooked[i]);
	}
}

static void kp_guard_no_wait(void)
{
}

/* What waits for the optimiser, if there is one. */
static kp_self_wait_t kp_guard_waiter(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_OPTPROBES))
		return kp_guard_no_wait;
	return kp_symbol(test, "wait_for_kprobe_optimizer");
}

static void kp_guard_hooks_and_waits(struct kunit *test)
{
	kp_self_wait_t wait = kp_guard_waiter(test);
	unsigned int i, nr;

	nr = kp_guard_hook_all(test);
	kunit_info(test, "%u functions hooked\n", nr);
	KUNIT_EXPECT_GE(test, nr, KP_GUARD_LEAST);

	wait();
	for (i = 0; i < KP_GUARD_NR; i++)
		if (kp_guard_hooks[i].set)
			kp_guard_copy(test, &kp_guard_hooks[i], kp_guard_hooks[i].hooked);
	for (i = 0; i < 5; i++) {
		/* Longer than the optimiser takes to begin. */
		msleep(60);
		kp_guard_raise_alarm(test);
	}

	kp_guard_call(test);
	/* This waits for what was just registered, and is hooked itself. */
	wait();
	kp_guard_raise_alarm(test);
	kp_guard_expect_hit(test, "register_kprobe");
	kp_guard_expect_hit(test, "unregister_kprobe");
	kp_guard_expect_hit(test, "register_kprobes");
	kp_guard_expect_hit(test, "unregister_kprobes");
	kp_guard_expect_hit(test, "register_kretprobe");
	kp_guard_expect_hit(test, "unregister_kretprobe");
	/* Elsewhere it is in line, and does nothing. */
	if (IS_ENABLED(CONFIG_OPTPROBES))
		kp_guard_expect_hit(test, "wait_for_kprobe_optimizer");

	for (i = 0; i < KP_GUARD_NR; i++) {
		struct kp_guard_hook *hook = &kp_guard_hooks[i];
		u8 now[KP_GUARD_TEXT];

		if (!hook->set)
			continue;
		unregister_kretprobe(&hook->rp);
		hook->set = false;
		/* Its address is there until it is registered again. */
		kp_guard_copy(test, hook, now);
		KUNIT_EXPECT_MEMEQ_MSG(test, now, hook->before, sizeof(now),
				       "%s is not what it was", kp_guard_hooked[i]);
	}
}

static int kp_guard_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

NOKPROBE_SYMBOL(kp_guard_pre);

#ifdef CONFIG_OPTPROBES
static void kp_guard_unregister(void *kp)
{
	unregister_kprobe(kp);
}

/* What can have a jump has it when the call returns, without any more waiting. */
static void kp_guard_jump_is_there(struct kunit *test)
{
	kp_self_wait_t wait = kp_guard_waiter(test);
	struct kprobe *kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);
	unsigned int i;

	if (IS_ENABLED(CONFIG_PPC64))
		kunit_skip(test, "modules are too far away from detour buffers");
	KUNIT_ASSERT_NOT_NULL(test, kp);
	for (i = 0; i < 5; i++) {
		memset(kp, 0, sizeof(*kp));
		kp->addr = kp_entry(kp_self_target);
		kp->pre_handler = kp_guard_pre;
		KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
		KUNIT_ASSERT_EQ(test, kunit_add_action(test, kp_guard_unregister, kp), 0);
		wait();
		KUNIT_EXPECT_TRUE(test, kprobe_optimized(kp));
		KUNIT_EXPECT_EQ(test, kp_self_target(i), 3 * (int)i + 1);
		kunit_release_action(test, kp_guard_unregister, kp);
	}
	/* With nothing to wait for. */
	wait();
	wait();
}
#endif

static struct kunit_case kp_guard_cases[] = {
	KUNIT_CASE(kp_guard_hooks_and_waits),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(kp_guard_jump_is_there),
#endif
	{}
};

struct kunit_suite kp_self_guard_suite = {
	.name = "kprobes_guard",
	.test_cases = kp_guard_cases,
};
