// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for jprobes: refusals, arguments, contexts, what jprobe_return() undoes */

#include "jprobes_kunit.h"
#include "kp_switch.h"

KP_MODULE_PARAM(bool, opt, false, "wait until probes are jump-optimised, where they can be");

void (*kp_jp_hook)(void);
bool kp_jp_returns;
bool kp_jp_deep;
unsigned int kp_jp_order;

static noinline void kp_jp_return_from_within(void)
{
	jprobe_return();
	barrier();
}

/* Overwrite the flags and all callee-saved registers except bp: kprobes must restore them. */
static __always_inline void kp_jp_clobber(void)
{
#ifdef CONFIG_X86_64
	asm volatile("xor %%ebx, %%ebx; xor %%r12d, %%r12d; xor %%r13d, %%r13d;"
		     "xor %%r14d, %%r14d; xor %%r15d, %%r15d; stc"
		     : : : "rbx", "r12", "r13", "r14", "r15", "cc", "memory");
#else
	asm volatile("xor %%ebx, %%ebx; xor %%esi, %%esi; xor %%edi, %%edi; stc"
		     : : : "ebx", "esi", "edi", "cc", "memory");
#endif
}

/*
 * Record @args, and overwrite the handler's parameters, to which @own points. They are in kprobes'
 * copy of the stack arguments, or in the handler's frame. Return only if kp_jp_returns is set.
 */
static __always_inline void kp_jp_handle(const long *args, long *const *own)
{
	struct kp_probe *jp = kp_jp_running();
	int i;

	jp->calls++;
	memcpy(jp->arg, args, sizeof(jp->arg));
	jp->preemptible |= preemptible();
	jp->irqs_disabled = irqs_disabled();
	jp->order = ++kp_jp_order;
	for (i = 0; i < KP_JP_ARGS; i++)
		WRITE_ONCE(*own[i], -1);
	if (kp_jp_hook)
		kp_jp_hook();
	kp_jp_clobber();
	if (kp_jp_returns)
		return;
	if (kp_jp_deep)
		kp_jp_return_from_within();
	jprobe_return();
	jp->survived++;
}

#define KP_JP_HANDLE() ({								\
	const long args[] = { KP_JP_LIST };						\
	long *const own[] = {								\
		&a1, &a2, &a3, &a4, &a5, &a6, &a7, &a8, &a9, &a10, &a11, &a12, &a13,	\
		&a14,									\
	};										\
											\
	kp_jp_handle(args, own);							\
})

noinline long kp_jp_handler(KP_JP_PARAMS)
{
	KP_JP_HANDLE();
	return -1;
}

asmlinkage noinline long kp_jp_handler_on_stack(KP_JP_PARAMS)
{
	KP_JP_HANDLE();
	return -1;
}

noinline long kp_jp_counts(long arg)
{
	struct kp_probe *probe = kp_jp_running();

	if (probe->hook)
		probe->hook();
	probe->calls++;
	probe->preemptible |= preemptible();
	jprobe_return();
	probe->survived++;
	return -1;
}

void *kp_jp_address(enum kp_jp_target target)
{
	void *const addrs[] = { kp_jp_traced, kp_jp_plain, kp_jp_emulated };

	return addrs[target];
}

noinline long kp_jp_call(enum kp_jp_target target)
{
	long ret;

	if (target == KP_JP_PLAIN)
		ret = KP_JP_CALL(kp_jp_plain);
	else if (target == KP_JP_EMULATED)
		ret = KP_JP_CALL(kp_jp_emulated);
	else
		ret = KP_JP_CALL(kp_jp_traced);
	barrier();
	return ret;
}

long kp_jp_result(void)
{
	long sum = 0, i;

	for (i = 1; i <= KP_JP_ARGS; i++)
		sum += i * KP_JP_ARG(i);
	return sum;
}

struct kp_probe *kp_jp_new(struct kunit *test, void *addr)
{
	struct kp_probe *jp = kp_new(test, addr ?: kp_jp_address(kp_jp_target(test)));

	jp->jp.entry = kp_jp_handler;
	return jp;
}

void kp_jp_wait_for_jumps(struct kunit *test)
{
	if (opt)
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
}

/*
 * With the parameter opt, expect that @kp is optimised, which is possible for all targets, unless
 * @kp is ftrace-based or disabled.
 */
void kp_jp_settle(struct kunit *test, struct kprobe *kp)
{
	kp_jp_wait_for_jumps(test);
	if (opt)
		KUNIT_EXPECT_TRUE(test, kprobe_optimized(kp) || kprobe_ftrace(kp) ||
				  kprobe_disabled(kp));
}

void kp_jp_expect_call(struct kunit *test, struct kp_probe *jp)
{
	int calls = jp->calls, survived = jp->survived, i;

	memset(jp->arg, 0, sizeof(jp->arg));
	KUNIT_EXPECT_EQ(test, kp_jp_call(kp_jp_target(test)), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, calls + 1);
	KUNIT_EXPECT_EQ(test, jp->survived, survived);
	for (i = 0; i < KP_JP_ARGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, jp->arg[i], KP_JP_ARG(i + 1), "argument %d", i + 1);
	KUNIT_EXPECT_FALSE(test, jp->preemptible);
}

const void *kp_jp_next_target(const void *prev, char *desc)
{
	static const enum kp_jp_target targets[] = { KP_JP_TRACED, KP_JP_PLAIN, KP_JP_EMULATED };
	static const char *const names[] = { "traced", "plain", "emulated" };
	const enum kp_jp_target *next = prev ? (const enum kp_jp_target *)prev + 1 : targets;

	if (next == targets + ARRAY_SIZE(targets))
		return NULL;
	strscpy(desc, names[*next], KUNIT_PARAM_DESC_SIZE);
	return next;
}

int kp_jp_init(struct kunit *test)
{
	kp_jp_hook = NULL;
	kp_jp_returns = false;
	kp_jp_deep = false;
	kp_jp_order = 0;
	return 0;
}

KP_SUITES("KUnit suites for jprobes",
	  &kp_jp_errno_suite, &kp_jp_calls_suite, &kp_jp_contexts_suite, &kp_jp_drops_suite);
