// SPDX-License-Identifier: GPL-2.0
/*
 * What clients of kprobes are tried on: functions whose number of calls, arguments,
 * results and callers are known.
 *
 * Writing N to the parameter `calls` calls kp_cl_outer() with 0 to N - 1; it calls
 * kp_cl_middle(), and that calls kp_cl_inner(). `tagged` does the same with KP_CL_TAG
 * every time, for clients that have to tell these calls from those of the threads that
 * `load` says how many of there are to be. `many` calls each of the thousand functions
 * kp_many_000 to kp_many_999 N times.
 *
 * `failable` calls functions whose result may be replaced; the numbers of those that
 * gave their own result and another are in `kept` and `replaced`, the last other one in
 * `result`.
 *
 * Builds for any kernel's probes.
 */

#include <linux/delay.h>
#include <linux/error-injection.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>

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

/* Has an entry that is ftrace's, the second has none, but instructions to put a jump over. */
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

#define MANY_1(n)							\
	noinline int kp_many_##n(int arg);				\
	noinline int kp_many_##n(int arg)				\
	{								\
		barrier();						\
		return arg + 1;						\
	}
#define MANY_10(n)							\
	MANY_1(n##0) MANY_1(n##1) MANY_1(n##2) MANY_1(n##3) MANY_1(n##4) \
	MANY_1(n##5) MANY_1(n##6) MANY_1(n##7) MANY_1(n##8) MANY_1(n##9)
#define MANY_100(n)							\
	MANY_10(n##0) MANY_10(n##1) MANY_10(n##2) MANY_10(n##3) MANY_10(n##4) \
	MANY_10(n##5) MANY_10(n##6) MANY_10(n##7) MANY_10(n##8) MANY_10(n##9)
MANY_100(0) MANY_100(1) MANY_100(2) MANY_100(3) MANY_100(4)
MANY_100(5) MANY_100(6) MANY_100(7) MANY_100(8) MANY_100(9)

#define NAME_1(n)	kp_many_##n,
#define NAME_10(n)							\
	NAME_1(n##0) NAME_1(n##1) NAME_1(n##2) NAME_1(n##3) NAME_1(n##4) \
	NAME_1(n##5) NAME_1(n##6) NAME_1(n##7) NAME_1(n##8) NAME_1(n##9)
#define NAME_100(n)							\
	NAME_10(n##0) NAME_10(n##1) NAME_10(n##2) NAME_10(n##3) NAME_10(n##4) \
	NAME_10(n##5) NAME_10(n##6) NAME_10(n##7) NAME_10(n##8) NAME_10(n##9)

static int (*const many[])(int) = {
	NAME_100(0) NAME_100(1) NAME_100(2) NAME_100(3) NAME_100(4)
	NAME_100(5) NAME_100(6) NAME_100(7) NAME_100(8) NAME_100(9)
};

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

static int calls_set(const char *val, const struct kernel_param *param)
{
	int calls, ret = kstrtoint(val, 0, &calls);

	return ret ?: call_outer(calls, false);
}

static const struct kernel_param_ops calls_ops = {
	.set = calls_set,
};

module_param_cb(calls, &calls_ops, NULL, 0200);

static int tagged_set(const char *val, const struct kernel_param *param)
{
	int calls, ret = kstrtoint(val, 0, &calls);

	return ret ?: call_outer(calls, true);
}

static const struct kernel_param_ops tagged_ops = {
	.set = tagged_set,
};

module_param_cb(tagged, &tagged_ops, NULL, 0200);

static int many_set(const char *val, const struct kernel_param *param)
{
	int calls, i, j, ret = kstrtoint(val, 0, &calls);

	if (ret)
		return ret;
	for (i = 0; i < calls; i++) {
		for (j = 0; j < ARRAY_SIZE(many); j++) {
			if (many[j](j) != j + 1)
				return -EIO;
		}
		cond_resched();
	}
	return 0;
}

static const struct kernel_param_ops many_ops = {
	.set = many_set,
};

module_param_cb(many, &many_ops, NULL, 0200);

static int kept, replaced, result;
module_param(kept, int, 0444);
module_param(replaced, int, 0444);
module_param(result, int, 0444);

static int fail_calls(const char *val, int (*function)(int))
{
	int calls, i, got, ret = kstrtoint(val, 0, &calls);

	if (ret)
		return ret;
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

static int failable_set(const char *val, const struct kernel_param *param)
{
	return fail_calls(val, kp_cl_failable);
}

static const struct kernel_param_ops failable_ops = {
	.set = failable_set,
};

module_param_cb(failable, &failable_ops, NULL, 0200);

static int plain_set(const char *val, const struct kernel_param *param)
{
	return fail_calls(val, kp_cl_failable_plain);
}

static const struct kernel_param_ops plain_ops = {
	.set = plain_set,
};

module_param_cb(failable_plain, &plain_ops, NULL, 0200);

/* Guarded by the parameters' lock, which every write to one has. */
static struct task_struct *loaders[KP_CL_LOADERS];
static atomic_t wrong = ATOMIC_INIT(0);

static int loader(void *unused)
{
	int i = 0;

	while (!kthread_should_stop()) {
		if (call_outer(50, false))
			atomic_inc(&wrong);
		/* Lets the others have their turn on a guest's few processors. */
		if (!(++i % 8))
			usleep_range(100, 200);
	}
	return 0;
}

static void set_loaders(int wanted)
{
	int i;

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
}

static int load_set(const char *val, const struct kernel_param *param)
{
	int wanted, ret = kstrtoint(val, 0, &wanted);

	if (ret)
		return ret;
	if (wanted < 0 || wanted > KP_CL_LOADERS)
		return -EINVAL;
	set_loaders(wanted);
	return 0;
}

/* How many calls of the threads had a wrong result. */
static int load_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&wrong));
}

static const struct kernel_param_ops load_ops = {
	.set = load_set,
	.get = load_get,
};

module_param_cb(load, &load_ops, NULL, 0600);

static int __init kp_clients_init(void)
{
	return 0;
}

static void __exit kp_clients_exit(void)
{
	set_loaders(0);
}

module_init(kp_clients_init);
module_exit(kp_clients_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("what the clients of kprobes are tried on");
