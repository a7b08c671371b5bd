// SPDX-License-Identifier: GPL-2.0
/*
 * Functions with a known number of calls, and with known arguments, results and callers, for
 * tests of clients of kprobes. Writing N to a parameter calls them:
 *
 * - calls: kp_cl_outer(0) to kp_cl_outer(N - 1); it calls kp_cl_middle(), which calls kp_cl_inner()
 * - tagged: the same, but with KP_CL_TAG each time, unlike the calls of the threads of `load`
 * - contexts: kp_cl_outer(), N times with interrupts on, with interrupts off, in a softirq and in
 *   a hard interrupt; on x86 also in an NMI
 * - idle: kp_cl_outer(), N times while RCU does not watch the CPU; on x86 only
 * - load: N threads make such calls; reading it prints how many of their results were wrong
 * - many: each of kp_many_000() to kp_many_999(), N times
 * - failable, failable_plain: a function whose result may be replaced. Of these calls, `kept` have
 *   their own result and `replaced` another; `result` is the last replacement.
 * - twice: both functions that have the name kp_cl_twice, N times
 *
 * The module uses nothing that only this implementation of kprobes has.
 */

#include <linux/context_tracking.h>
#include <linux/error-injection.h>
#include "kp_clients.h"
#ifdef CONFIG_X86_LOCAL_APIC
#include "kp_nmi.h"
#endif

#define KP_CL_TAG	7777777
#define KP_CL_LOADERS	4

noinline int kp_cl_inner(int arg);
noinline int kp_cl_inner(int arg)
{
	barrier();
	return 3 * arg + 1;
}

noinline int kp_cl_middle(int arg);
noinline int kp_cl_middle(int arg)
{
	int ret = kp_cl_inner(arg);

	barrier();
	return ret + 1;
}

noinline int kp_cl_outer(int arg);
noinline int kp_cl_outer(int arg)
{
	int ret = kp_cl_middle(arg);

	barrier();
	return ret + 1;
}

/*
 * This function has ftrace's call at its entry. kp_cl_failable_plain() has none, and has room for a
 * jump.
 */
noinline int kp_cl_failable(int arg);
noinline int kp_cl_failable(int arg)
{
	barrier();
	return arg;
}
ALLOW_ERROR_INJECTION(kp_cl_failable, ERRNO);

static int kp_cl_zero;

noinline notrace int kp_cl_failable_plain(int arg);
noinline notrace int kp_cl_failable_plain(int arg)
{
	return READ_ONCE(kp_cl_zero) + arg;
}
ALLOW_ERROR_INJECTION(kp_cl_failable_plain, ERRNO);

/* MANY_100(X, n): X(n00) to X(n99) */
#define MANY_10(X, n)								\
	X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define MANY_100(X, n)								\
	MANY_10(X, n##0) MANY_10(X, n##1) MANY_10(X, n##2) MANY_10(X, n##3) MANY_10(X, n##4) \
	MANY_10(X, n##5) MANY_10(X, n##6) MANY_10(X, n##7) MANY_10(X, n##8) MANY_10(X, n##9)
#define MANY(X)									\
	MANY_100(X, 0) MANY_100(X, 1) MANY_100(X, 2) MANY_100(X, 3) MANY_100(X, 4) \
	MANY_100(X, 5) MANY_100(X, 6) MANY_100(X, 7) MANY_100(X, 8) MANY_100(X, 9)

#define MANY_FUNCTION(n)							\
	noinline int kp_many_##n(int arg);					\
	noinline int kp_many_##n(int arg)					\
	{									\
		barrier();							\
		return arg + 1;							\
	}
MANY(MANY_FUNCTION)

#define MANY_NAME(n)	kp_many_##n,
static int (*const many[])(int) = { MANY(MANY_NAME) };

static int call_outer(int calls, bool tagged)
{
	int i, arg;

	for (i = 0; i < calls; i++) {
		arg = tagged ? KP_CL_TAG : i;
		if (kp_cl_outer(arg) != 3 * arg + 3)
			return -EIO;
		cond_resched();
	}
	return 0;
}

static int set_calls(int calls)
{
	return call_outer(calls, false);
}

static int set_tagged(int calls)
{
	return call_outer(calls, true);
}

static int set_many(int calls)
{
	int i, j;

	for (i = 0; i < calls; i++) {
		for (j = 0; j < ARRAY_SIZE(many); j++) {
			if (many[j](j) != j + 1)
				return -EIO;
		}
		cond_resched();
	}
	return 0;
}

static int in_context_wrong;

static void call_in_context(void)
{
	in_context_wrong += kp_cl_outer(1) != 6;
}

static void call_in_irq(struct irq_work *work)
{
	call_in_context();
}

static void call_in_softirq(struct tasklet_struct *tasklet)
{
	call_in_context();
}

#ifdef CONFIG_X86_LOCAL_APIC
static int call_by_nmi(void)
{
	int ret = kp_nmi_start(call_in_context);

	if (ret)
		return ret;
	kp_nmi_send();
	kp_nmi_stop(NULL);
	return 0;
}
#else
static int call_by_nmi(void)
{
	return 0;
}
#endif

/* In all these contexts, the current task is the one that writes the parameter. */
static int call_in_contexts(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(call_in_irq);
	struct tasklet_struct tasklet;
	unsigned long flags;

	call_in_context();
	local_irq_save(flags);
	call_in_context();
	local_irq_restore(flags);

	tasklet_setup(&tasklet, call_in_softirq);
	local_bh_disable();
	tasklet_schedule(&tasklet);
	local_bh_enable();
	tasklet_kill(&tasklet);

	irq_work_queue(&work);
	irq_work_sync(&work);
	/*
	 * With lockdep, send no NMI: a BPF program that changes a hash map in an NMI makes lockdep
	 * report an error and turn off.
	 */
	return IS_ENABLED(CONFIG_PROVE_LOCKING) ? 0 : call_by_nmi();
}

static int set_contexts(int calls)
{
	int i, ret = 0;

	in_context_wrong = 0;
	for (i = 0; i < calls && !ret; i++)
		ret = call_in_contexts();
	return ret ?: in_context_wrong ? -EIO : 0;
}

static int set_idle(int calls)
{
	int i, ret = IS_ENABLED(CONFIG_X86) ? 0 : -EOPNOTSUPP;

	for (i = 0; i < calls && !ret; i++) {
		local_irq_disable();
#ifdef CONFIG_X86
		ct_idle_enter();
#endif
		ret = kp_cl_outer(1) == 6 ? 0 : -EIO;
#ifdef CONFIG_X86
		ct_idle_exit();
#endif
		local_irq_enable();
	}
	return ret;
}

static int kept, replaced, result;
module_param(kept, int, 0444);
module_param(replaced, int, 0444);
module_param(result, int, 0444);

static int call_failable(int calls, int (*function)(int))
{
	int i, got;

	kept = 0;
	replaced = 0;
	result = 0;
	for (i = 0; i < calls; i++) {
		got = function(i);
		if (got == i) {
			kept++;
		} else {
			replaced++;
			result = got;
		}
	}
	return 0;
}

static int set_failable(int calls)
{
	return call_failable(calls, kp_cl_failable);
}

static int set_failable_plain(int calls)
{
	return call_failable(calls, kp_cl_failable_plain);
}

static noinline __noclone int kp_cl_twice(int arg)
{
	barrier();
	return arg + 1;
}

static int set_twice(int calls)
{
	int i;

	for (i = 0; i < calls; i++)
		if (kp_cl_twice(i) != i + 1 || kp_cl_other_twice(i) != i + 2)
			return -EIO;
	return 0;
}

/* A write to a parameter holds kernel_param_lock(), which protects this array. */
static struct task_struct *loaders[KP_CL_LOADERS];
static atomic_t wrong = ATOMIC_INIT(0);

static int loader(void *unused)
{
	int i = 0;

	while (!kthread_should_stop()) {
		if (call_outer(50, false))
			atomic_inc(&wrong);
		/* Leave CPU time for other tasks. */
		if (!(++i % 8))
			usleep_range(100, 200);
	}
	return 0;
}

static int set_load(int wanted)
{
	int i;

	if (wanted < 0 || wanted > KP_CL_LOADERS)
		return -EINVAL;
	for (i = 0; i < KP_CL_LOADERS; i++) {
		if (i < wanted && !loaders[i]) {
			loaders[i] = kthread_run(loader, NULL, "kp_cl_load/%d", i);
			if (IS_ERR(loaders[i]))
				loaders[i] = NULL;
		} else if (i >= wanted && loaders[i]) {
			kthread_stop(loaders[i]);
			loaders[i] = NULL;
		}
	}
	return 0;
}

/* @arg of the parameter is the function to call with the number. */
static int number_set(const char *val, const struct kernel_param *param)
{
	int (*set)(int number) = param->arg;
	int number, ret = kstrtoint(val, 0, &number);

	return ret ?: set(number);
}

static int wrong_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&wrong));
}

static const struct kernel_param_ops number_ops = { .set = number_set };
static const struct kernel_param_ops load_ops = { .set = number_set, .get = wrong_get };

module_param_cb(calls, &number_ops, set_calls, 0200);
module_param_cb(tagged, &number_ops, set_tagged, 0200);
module_param_cb(contexts, &number_ops, set_contexts, 0200);
module_param_cb(many, &number_ops, set_many, 0200);
module_param_cb(idle, &number_ops, set_idle, 0200);
module_param_cb(failable, &number_ops, set_failable, 0200);
module_param_cb(failable_plain, &number_ops, set_failable_plain, 0200);
module_param_cb(twice, &number_ops, set_twice, 0200);
module_param_cb(load, &load_ops, set_load, 0600);

static void __exit kp_clients_exit(void)
{
	set_load(0);
}

module_exit(kp_clients_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("what the clients of kprobes are tried on");
