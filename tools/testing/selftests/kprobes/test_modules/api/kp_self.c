// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suites: tracers and intrusion detectors may probe functions of kprobes itself. The suites
 * do so, and register and unregister other probes through these functions.
 *
 * Writing to the parameter `wait` calls wait_for_kprobe_optimizer().
 */

#include "kp_handlers.h"
#include "kp_regs.h"
#include "kp_symbol.h"

/* A probe on x86 changes at most 5 bytes; some functions have no more. */
#define KP_TEXT		5

typedef void (*kp_self_wait_t)(void);

struct kp_hook {
	const char *name;
	struct kprobe kp;
	struct kretprobe rp;
	bool kp_set;
	bool rp_set;
	atomic_t hits;
	atomic_t returns;
	u8 before[KP_TEXT];
	u8 hooked[KP_TEXT];
};

static struct kp_hook kp_hooks[64];
static unsigned int kp_nr;

/* A target of breakpoints and jumps: ftrace has no call at its entry. */
static noinline notrace int kp_self_target(int arg)
{
	barrier();
	return 3 * arg + 1;
}

KP_PRE_HANDLER(__kprobes, kp_self_pre)
KP_PRE_HANDLER(__kprobes, kp_self_hit, atomic_inc(&container_of(p, struct kp_hook, kp)->hits))
KP_RETURN_HANDLER(__kprobes, kp_self_enter)

static int __kprobes kp_self_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	/* NULL once the return probe is being unregistered */
	if (rp)
		atomic_inc(&container_of(rp, struct kp_hook, rp)->returns);
	return 0;
}

static void kp_unhook(void *unused)
{
	struct kp_hook *hook;

	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		if (hook->kp_set)
			unregister_kprobe(&hook->kp);
		if (hook->rp_set)
			unregister_kretprobe(&hook->rp);
		hook->kp_set = false;
		hook->rp_set = false;
	}
}

static void kp_hook_names(struct kunit *test, const char *const *names, unsigned int nr)
{
	unsigned int i;

	memset(kp_hooks, 0, sizeof(kp_hooks));
	KUNIT_ASSERT_LE(test, nr, ARRAY_SIZE(kp_hooks));
	kp_nr = nr;
	for (i = 0; i < nr; i++) {
		kp_hooks[i].name = names[i];
		kp_hooks[i].kp.symbol_name = names[i];
		kp_hooks[i].rp.kp.symbol_name = names[i];
		kp_hooks[i].rp.handler = kp_self_return;
	}
	kp_at_end(test, kp_unhook, NULL);
}

static const char *const kp_self_names[] = {
	"register_kprobe", "disable_kprobe", "enable_kprobe", "unregister_kprobe",
	"register_kprobes", "unregister_kprobes",
	"register_kretprobe", "disable_kretprobe", "enable_kretprobe", "unregister_kretprobe",
	"register_kretprobes", "unregister_kretprobes",
};

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
	kp = (struct kprobe) { .addr = kp_entry(kp_self_target), .pre_handler = kp_self_pre };
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 1), 0);
	unregister_kprobes(kps, 1);

	KUNIT_EXPECT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, kp_self_target(3), 10);
	unregister_kretprobe(&rp);
	rp = (struct kretprobe) { .kp.addr = kp_entry(kp_self_target) };
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 1), 0);
	unregister_kretprobes(rps, 1);
}

/* Probe each function and its return. The functions call each other, so hits may exceed calls. */
static void kp_self_watched(struct kunit *test)
{
	struct kp_hook *hook;

	kp_hook_names(test, kp_self_names, ARRAY_SIZE(kp_self_names));
	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		hook->kp.pre_handler = kp_self_hit;
		hook->kp_set = !register_kprobe(&hook->kp);
		hook->rp_set = !register_kretprobe(&hook->rp);
		KUNIT_EXPECT_TRUE_MSG(test, hook->kp_set, "%s", hook->name);
		KUNIT_EXPECT_TRUE_MSG(test, hook->rp_set, "return of %s", hook->name);
	}
	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		atomic_set(&hook->hits, 0);
		atomic_set(&hook->returns, 0);
	}
	kp_self_call_all(test);
	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		int hit = atomic_read(&hook->hits);

		KUNIT_EXPECT_GE_MSG(test, hit, 1, "%s", hook->name);
		KUNIT_EXPECT_EQ_MSG(test, hit, atomic_read(&hook->returns), "%s", hook->name);
		KUNIT_EXPECT_EQ_MSG(test, hook->kp.nmissed, 0, "%s", hook->name);
		KUNIT_EXPECT_EQ_MSG(test, hook->rp.nmissed, 0, "%s", hook->name);
	}
}

static struct kunit_case kp_self_cases[] = {
	KUNIT_CASE(kp_self_watched),
	{}
};

static KP_SUITE(kp_self, "kprobes_self");

/*
 * Imitates a security module that guards the kernel. Such a module registers return probes on
 * functions that give privileges, or that can change the kernel's text or kprobes, waits for the
 * optimiser, and copies the text of these functions. It raises an alarm if the text changes later,
 * so kprobes must not change it.
 */

/* Some of these functions exist only in some configurations. */
static const char *const kp_guard_names[] = {
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

/* At least this number of the functions in kp_guard_names[] must exist, and are hooked. */
#define KP_GUARD_LEAST	25

static void kp_guard_expect_text(struct kunit *test, const struct kp_hook *hook, const u8 *text)
{
	u8 now[KP_TEXT];

	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(now, hook->rp.kp.addr, sizeof(now)), 0);
	KUNIT_EXPECT_MEMEQ_MSG(test, now, text, sizeof(now), "alarm: %s has changed", hook->name);
}

static void kp_guard_expect_hooked(struct kunit *test)
{
	struct kp_hook *hook;

	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++)
		if (hook->rp_set)
			kp_guard_expect_text(test, hook, hook->hooked);
}

static unsigned int kp_guard_hook_all(struct kunit *test)
{
	struct kp_hook *hook;
	unsigned int nr = 0;
	int ret;

	kp_hook_names(test, kp_guard_names, ARRAY_SIZE(kp_guard_names));
	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		/* Register it disabled: that finds the address, but leaves the text unchanged. */
		hook->kp.flags = KPROBE_FLAG_DISABLED;
		if (register_kprobe(&hook->kp))
			continue;
		unregister_kprobe(&hook->kp);
		KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(hook->before, hook->kp.addr,
							       KP_TEXT), 0);
		hook->rp.entry_handler = kp_self_enter;
		hook->rp.data_size = 64;
		hook->rp.maxactive = nr % 2 ? 40 : 0;
		ret = register_kretprobe(&hook->rp);
		KUNIT_EXPECT_EQ_MSG(test, ret, 0, "hooking %s", hook->name);
		hook->rp_set = !ret;
		nr += hook->rp_set;
	}
	return nr;
}

static void kp_guard_no_wait(void)
{
}

static kp_self_wait_t kp_guard_waiter(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_OPTPROBES))
		return kp_guard_no_wait;
	return kp_own_function(wait_for_kprobe_optimizer);
}

static void kp_guard_hooks_and_waits(struct kunit *test)
{
	kp_self_wait_t wait = kp_guard_waiter(test);
	struct kp_hook *hook;
	unsigned int i, nr;

	nr = kp_guard_hook_all(test);
	kunit_info(test, "%u functions hooked\n", nr);
	KUNIT_EXPECT_GE(test, nr, KP_GUARD_LEAST);

	wait();
	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++)
		if (hook->rp_set)
			copy_from_kernel_nofault(hook->hooked, hook->rp.kp.addr, KP_TEXT);
	for (i = 0; i < 5; i++) {
		/*
		 * Sleep longer than the optimiser's delay:
		 * text that is changed late must be seen, too.
		 */
		msleep(60);
		kp_guard_expect_hooked(test);
	}

	kp_self_call_all(test);
	/*
	 * Wait until the optimiser is done with the probes of kp_self_call_all(). wait() is one of
	 * the hooked functions itself, so this call also hits its hook.
	 */
	wait();
	kp_guard_expect_hooked(test);
	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		/*
		 * Check only the functions that this test has called: register_k*(),
		 * unregister_k*() and wait_for_kprobe_optimizer(). Without CONFIG_OPTPROBES, the
		 * last of these is an empty inline function, and cannot be hooked.
		 */
		if (!strstr(hook->name, "register_k") &&
		    (strcmp(hook->name, "wait_for_kprobe_optimizer") ||
		     !IS_ENABLED(CONFIG_OPTPROBES)))
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, hook->rp_set, "%s", hook->name);
		KUNIT_EXPECT_GE_MSG(test, atomic_read(&hook->returns), 1, "%s", hook->name);
		KUNIT_EXPECT_EQ_MSG(test, hook->rp.nmissed, 0, "%s", hook->name);
	}

	for (hook = kp_hooks; hook < kp_hooks + kp_nr; hook++) {
		if (!hook->rp_set)
			continue;
		unregister_kretprobe(&hook->rp);
		hook->rp_set = false;
		kp_guard_expect_text(test, hook, hook->before);
	}
}

#ifdef CONFIG_OPTPROBES
/* When wait_for_kprobe_optimizer() returns, a probe that can be optimised has its jump. */
static void kp_guard_jump_is_there(struct kunit *test)
{
	kp_self_wait_t wait = kp_guard_waiter(test);
	struct kprobe *kp = kp_zalloc(test, sizeof(*kp));
	unsigned int i;

	if (IS_ENABLED(CONFIG_PPC64))
		kunit_skip(test, "modules are too far away from detour buffers");
	for (i = 0; i < 5; i++) {
		memset(kp, 0, sizeof(*kp));
		kp->addr = kp_entry(kp_self_target);
		kp->pre_handler = kp_self_pre;
		kp_kprobe_add(test, kp);
		wait();
		KUNIT_EXPECT_TRUE(test, kprobe_optimized(kp));
		KUNIT_EXPECT_EQ(test, kp_self_target(i), 3 * (int)i + 1);
		kp_kprobe_del(test, kp);
	}
	/* The function must also return if there is nothing to wait for. */
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

static KP_SUITE(kp_guard, "kprobes_guard");

kunit_test_suites(&kp_self_suite, &kp_guard_suite);

static int wait_set(const char *val, const struct kernel_param *param)
{
	kp_self_wait_t wait = kp_own_function(wait_for_kprobe_optimizer);

	if (!wait)
		return -ENOENT;
	wait();
	return 0;
}

module_param_call(wait, wait_set, NULL, NULL, 0200);

MODULE_DESCRIPTION("KUnit suites for probes on kprobes itself");
MODULE_LICENSE("GPL");
