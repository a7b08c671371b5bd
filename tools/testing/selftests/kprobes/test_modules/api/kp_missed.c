// SPDX-License-Identifier: GPL-2.0
/*
 * Probes that miss hits and calls: api-debugfs.sh compares their counters with kprobes/missed.
 * Parameters:
 *
 * - run: the name of a case, which registers a probe of kp_missed_target() and calls the function;
 *   or "end", which unregisters it
 * - nmissed: the sum of the probe's counters
 */

#include <linux/probepoint.h>
#include "kp_handlers.h"
#include "kp_regs.h"
#include "kp_symbol.h"

static struct {
	struct kretprobe probe;
	struct kprobe outer, leaver;
	unsigned long retaddr;
} kp;

static noinline long kp_missed_target(long depth)
{
	long ret = depth ? kp_missed_target(depth - 1) : 0;

	barrier();
	return ret + 1;
}

static noinline void kp_missed_caller(void)
{
	kp_missed_target(0);
	barrier();
}

static noinline int kp_missed_exits(void *done)
{
	kthread_complete_and_exit(done, 0);
}

KP_PRE_HANDLER(__kprobes, kp_missed_pre)

/* A pre_handler that calls the probed function: a nested hit */
KP_PRE_HANDLER(__kprobes, kp_missed_call, kp_missed_target(2))
KP_RETURN_HANDLER(__kprobes, kp_missed_entry, kp.retaddr = get_kretprobe_retaddr(ri))
KP_RETURN_HANDLER(__kprobes, kp_missed_return)

static int kp_missed_register(kprobe_pre_handler_t pre)
{
	kp.probe.kp.addr = kp_entry(kp_missed_target);
	kp.probe.kp.pre_handler = pre;
	return pre ? register_kprobe(&kp.probe.kp) : register_kretprobe(&kp.probe);
}

static void kp_missed_end(void)
{
	unregister_kprobe(&kp.leaver);
	unregister_kprobe(&kp.outer);
	if (kp.probe.handler)
		unregister_kretprobe(&kp.probe);
	else
		unregister_kprobe(&kp.probe.kp);
	memset(&kp, 0, sizeof(kp));
}

static int kp_missed_hit_outer(void)
{
	int ret;

	kp.outer.addr = kp_entry(kp_missed_caller);
	kp.outer.pre_handler = kp_missed_call;
	/* An event at the function, which has this flag, too, must see the nested hits. */
	kp.outer.flags = KPROBE_FLAG_NEST;
	ret = register_kprobe(&kp.outer);
	if (!ret)
		kp_missed_caller();
	return ret;
}

/*
 * The handler of a probe on kp_missed_caller() calls the probed function, which must be counted as
 * missed. Then kp_missed_caller() itself calls the function, which is a hit.
 */
static int kp_missed_nested(void)
{
	return kp_missed_register(kp_missed_pre) ?: kp_missed_hit_outer();
}

#ifdef CONFIG_KPROBES_DISABLE_SELF
KP_PRE_HANDLER(__kprobes, kp_missed_once, kprobe_disable_self(p))

static int kp_missed_ended(void)
{
	int ret = kp_missed_register(kp_missed_once);

	/*
	 * Hold the mutex, so that the worker does not
	 * disable the probe before all hits are counted.
	 */
	guard(mutex)(&kprobe_mutex);
	if (!ret)
		kp_missed_target(99);
	return ret;
}
#endif

/* kp_missed_hit_outer() makes 3 nested hits. Of 5 recursive calls, 4 find no free instance. */
static int kp_missed_limited(void)
{
	int ret;

	kp.probe.handler = kp_missed_return;
	kp.probe.maxactive = 1;
	ret = kp_missed_register(NULL) ?: kp_missed_hit_outer();
	if (!ret)
		kp_missed_target(4);
	return ret;
}

static int kp_missed_exit(void)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	int ret;

	kp.probe.handler = kp_missed_return;
	kp.probe.kp.addr = kp_entry(kp_missed_exits);
	ret = register_kretprobe(&kp.probe);
	if (ret)
		return ret;
	task = kthread_create(kp_missed_exits, &done, "kp_missed");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wake_up_process(task);
	/* The kernel gives the instance back when it frees the task, soon after this. */
	wait_for_completion(&done);
	return 0;
}

#ifdef CONFIG_X86
/* At the entry of kp_missed_target(): resume in its caller without a return. */
static int kp_missed_leave(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = kp.retaddr;
	regs->sp += sizeof(long);
	return 1;
}

static noinline void kp_missed_calls_caller(void)
{
	kp_missed_caller();
	barrier();
}

static int kp_missed_left(void)
{
	struct kretprobe around = { .kp.addr = kp_entry(kp_missed_caller) };
	int ret;

	kp.leaver.addr = kp_entry(kp_missed_target);
	kp.leaver.pre_handler = kp_missed_leave;
	kp.probe.handler = kp_missed_return;
	kp.probe.entry_handler = kp_missed_entry;
	/* The return probe is registered after the kprobe, so its handler runs first. */
	ret = register_kprobe(&kp.leaver) ?: kp_missed_register(NULL) ?:
	      register_kretprobe(&around);
	if (ret)
		return ret;
	kp_missed_calls_caller();
	unregister_kretprobe(&around);
	return 0;
}
#else
static int kp_missed_left(void)
{
	return -EOPNOTSUPP;
}
#endif

static int kp_missed_run(const char *name, const struct kernel_param *param)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} cases[] = {
		{ "nested", kp_missed_nested },
#ifdef CONFIG_KPROBES_DISABLE_SELF
		{ "ended", kp_missed_ended },
#endif
		{ "limited", kp_missed_limited },
		{ "exit", kp_missed_exit },
		{ "left", kp_missed_left },
	};
	int i;

	kp_missed_end();
	if (sysfs_streq(name, "end"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (sysfs_streq(name, cases[i].name))
			return cases[i].run();
	return -EINVAL;
}

module_param_call(run, kp_missed_run, NULL, NULL, 0200);

static int kp_missed_nmissed(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%lu\n", kp.probe.kp.nmissed + kp.probe.nmissed);
}

module_param_call(nmissed, NULL, kp_missed_nmissed, NULL, 0400);

module_exit(kp_missed_end);

MODULE_DESCRIPTION("probes that miss hits");
MODULE_LICENSE("GPL");
