// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a return probe while it is loaded. Parameters choose the function and show
 * counts. Unloading frees the handlers, even while tasks are in the function.
 *
 * Writing N to the parameter ended starts N kernel threads, one at a time, and lets each end.
 */

#include <linux/sched/task.h>
#include "kp_test.h"

static char *symbol = "kp_home_sleep";
module_param(symbol, charp, 0400);
MODULE_PARM_DESC(symbol, "the function");

KP_MODULE_PARAM(int, maxactive, 0, "how many calls at once are tracked, 0 for no limit");

static atomic_t kp_guest_entries, kp_guest_returns, kp_guest_wrong;

module_param_named(entries, kp_guest_entries.counter, int, 0400);
module_param_named(returns, kp_guest_returns.counter, int, 0400);
module_param_named(wrong, kp_guest_wrong.counter, int, 0400);

static struct kretprobe kp_guest;

/* Out-of-tree modules find the return probe like this. */
static __kprobes struct kretprobe *kp_guest_probe(struct kretprobe_instance *ri)
{
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	return get_kretprobe(ri);
#else
	return rcu_access_pointer(ri->rph->rp);
#endif
}

struct kp_guest_data {
	struct task_struct *task;
};

static int __kprobes kp_guest_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_guest_data *data = (void *)ri->data;

	data->task = current;
	if (kp_guest_probe(ri) != &kp_guest)
		atomic_inc(&kp_guest_wrong);
	atomic_inc(&kp_guest_entries);
	return 0;
}

static int __kprobes kp_guest_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_guest_data *data = (void *)ri->data;

	if (data->task != current || kp_guest_probe(ri) != &kp_guest)
		atomic_inc(&kp_guest_wrong);
	atomic_inc(&kp_guest_returns);
	return 0;
}

static struct kretprobe kp_guest = {
	.entry_handler = kp_guest_entry,
	.handler = kp_guest_return,
	.data_size = sizeof(struct kp_guest_data),
};

/* Wait for all pending RCU callbacks: they free the instances of tasks that have ended. */
static int kp_guest_barrier(const char *value, const struct kernel_param *param)
{
	rcu_barrier();
	return 0;
}

module_param_call(barrier, kp_guest_barrier, NULL, NULL, 0200);
module_param_named(nmissed, kp_guest.nmissed, int, 0400);

static int kp_guest_thread(void *unused)
{
	return 0;
}

/*
 * Each thread is bound to this CPU, and runs before this task does. So when kthread_stop() returns,
 * the CPU has switched away from the thread for the last time.
 */
static int kp_guest_end(unsigned int nr)
{
	unsigned int cpu = raw_smp_processor_id(), i;

	for (i = 0; i < nr; i++) {
		struct task_struct *task = kthread_create_on_cpu(kp_guest_thread, NULL, cpu,
								 "kp_guest/%u");

		if (IS_ERR(task))
			return PTR_ERR(task);
		sched_set_fifo(task);
		get_task_struct(task);
		wake_up_process(task);
		kthread_stop_put(task);
	}
	return 0;
}

static int kp_guest_ended(const char *value, const struct kernel_param *param)
{
	cpumask_var_t mask;
	unsigned int nr;
	int ret = kstrtouint(value, 0, &nr);

	if (ret)
		return ret;
	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	cpumask_copy(mask, current->cpus_ptr);
	ret = set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id())) ?:
	      kp_guest_end(nr);
	set_cpus_allowed_ptr(current, mask);
	free_cpumask_var(mask);
	return ret;
}

module_param_call(ended, kp_guest_ended, NULL, NULL, 0200);

static int __init kp_guest_init(void)
{
	kp_guest.kp.symbol_name = symbol;
	kp_guest.maxactive = maxactive;
	return register_kretprobe(&kp_guest);
}

static void __exit kp_guest_exit(void)
{
	unregister_kretprobe(&kp_guest);
}

KP_MODULE("A return probe on a function of the kernel or of another module",
	  kp_guest_init, kp_guest_exit);
