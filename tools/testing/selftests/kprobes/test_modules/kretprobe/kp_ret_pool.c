// SPDX-License-Identifier: GPL-2.0
/*
 * A return probe on a function in which any number of tasks sleep, for kretprobe-pool.sh, which
 * measures the memory that this takes. Parameters:
 *
 * - registered: 1 registers it, with maxactive and data_size, 0 unregisters it
 * - sleepers: this number of tasks are asleep when the write returns, each in depth + 1 calls of
 *   the function. With at_once, they start together, after all have been created.
 * - walk: 1 searches for all instances of a sleeper as an unwinder does, and fails if one is not
 *   found, or if the cursor between two searches is an instance; 0 continues that search for a
 *   task without instances
 * - calls: a write of N makes N calls that do not sleep
 * - dying: 1: each CPU that goes offline makes depth + 1 nested calls that do not sleep, after it
 *   has run its last irq_work; 0: none does
 * - busy: N: CPU N makes depth + 1 nested calls that do not sleep, and runs no other task from then
 *   on; sleepers do not begin there. 0: that CPU runs other tasks again.
 * - worker_probed: 1 registers a return probe, with data_size, on the function that queues the
 *   worker of the pool, 0 unregisters it
 * - raised: how often that function was called from hard interrupts since then
 * - more: a write of N registers N more return probes on the function, with maxactive and
 *   data_size; a write of 0 unregisters them
 * - entries, returns, nmissed: calls of the handlers, and missed calls, since the registration
 * - wrong: calls that returned a wrong value, since the module was loaded
 * - error: result of the last registration
 */

#include <linux/nmi.h>
#include "kp_symbol.h"

static int maxactive, error;
static ulong data_size;
static unsigned int depth, registered, sleepers;
static bool at_once;
static atomic_t entries, returns, wrong;

module_param(maxactive, int, 0600);
module_param(data_size, ulong, 0600);
module_param(depth, uint, 0600);
module_param(at_once, bool, 0600);
module_param(error, int, 0400);

/* Serialises writes to the parameters that KP_PARAM() defines */
static DEFINE_MUTEX(kp_pool_mutex);

struct kp_sleeper {
	struct list_head list;
	struct task_struct *task;
	long id;
};

static LIST_HEAD(kp_sleepers);
static DECLARE_WAIT_QUEUE_HEAD(kp_pool_wake);
static bool kp_pool_awake;
static atomic_t asleep, back;

static noinline long kp_pool_sleep(long arg, unsigned int deeper)
{
	if (deeper) {
		arg = kp_pool_sleep(arg, deeper - 1);
		/* The barrier keeps this from becoming a tail call. */
		barrier();
		return arg;
	}
	if (arg >= 0) {
		atomic_inc(&asleep);
		wait_event_idle(kp_pool_wake, READ_ONCE(kp_pool_awake));
	}
	return arg + 1;
}

static int kp_pool_thread(void *data)
{
	long id = (long)data;

	if (kp_pool_sleep(id, depth) != id + 1)
		atomic_inc(&wrong);
	atomic_inc(&back);
	wait_event_idle(kp_pool_wake, kthread_should_stop());
	return 0;
}

static int kp_pool_wait_for(atomic_t *counter)
{
	return kp_poll(atomic_read(counter) >= sleepers, 240 * MSEC_PER_SEC) ? 0 : -ETIMEDOUT;
}

static unsigned int busy;

/* Let a new task run on any CPU but the busy one. */
static int kp_pool_not_on_busy(struct task_struct *task)
{
	cpumask_var_t mask;
	int ret;

	if (!busy)
		return 0;
	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	cpumask_andnot(mask, cpu_online_mask, cpumask_of(busy));
	ret = set_cpus_allowed_ptr(task, mask);
	free_cpumask_var(mask);
	return ret;
}

static int kp_pool_add_sleeper(void)
{
	struct kp_sleeper *s = kmalloc(sizeof(*s), GFP_KERNEL);
	int ret;

	if (!s)
		return -ENOMEM;
	s->task = kthread_create(kp_pool_thread, (void *)(long)sleepers, "kp_pool/%u", sleepers);
	if (IS_ERR(s->task)) {
		ret = PTR_ERR(s->task);
		kfree(s);
		return ret;
	}
	ret = kp_pool_not_on_busy(s->task);
	list_add(&s->list, &kp_sleepers);
	sleepers++;
	if (!at_once)
		wake_up_process(s->task);
	return ret;
}

static int kp_pool_end(void)
{
	struct kp_sleeper *s, *next;
	int ret;

	WRITE_ONCE(kp_pool_awake, true);
	wake_up_all(&kp_pool_wake);
	ret = kp_pool_wait_for(&back);
	if (ret)
		return ret;
	list_for_each_entry_safe(s, next, &kp_sleepers, list) {
		kthread_stop(s->task);
		kfree(s);
	}
	INIT_LIST_HEAD(&kp_sleepers);
	sleepers = 0;
	kp_pool_awake = false;
	atomic_set(&asleep, 0);
	atomic_set(&back, 0);
	return 0;
}

/*
 * A parameter that does something: a write of N calls @set(N). @get: what a read shows; NULL: the
 * parameter cannot be read
 */
struct kp_param {
	int (*set)(unsigned int n);
	const unsigned int *get;
};

static int kp_param_set(const char *val, const struct kernel_param *param)
{
	const struct kp_param *p = param->arg;
	unsigned int n;
	int ret = kstrtouint(val, 0, &n);

	if (ret)
		return ret;
	guard(mutex)(&kp_pool_mutex);
	return p->set(n);
}

static int kp_param_get(char *buf, const struct kernel_param *param)
{
	const struct kp_param *p = param->arg;

	return p->get ? sysfs_emit(buf, "%u\n", *p->get) : -EACCES;
}

static const struct kernel_param_ops kp_param_ops = { .set = kp_param_set, .get = kp_param_get };

#define KP_PARAM(name, function, read)					\
	static struct kp_param kp_param_##name = { function, read };	\
	module_param_cb(name, &kp_param_ops, &kp_param_##name, 0600)

static int kp_sleepers_set(unsigned int wanted)
{
	struct kp_sleeper *s;
	int ret = 0;

	if (wanted < sleepers)
		ret = kp_pool_end();
	while (!ret && sleepers < wanted)
		ret = kp_pool_add_sleeper();
	/*
	 * With at_once, this starts the new tasks together, as preemption is disabled. Tasks that
	 * were asleep sleep again at once.
	 */
	scoped_guard(preempt)
		list_for_each_entry(s, &kp_sleepers, list)
			wake_up_process(s->task);
	return ret ?: kp_pool_wait_for(&asleep);
}

KP_PARAM(sleepers, kp_sleepers_set, &sleepers);

/* The task that keeps a CPU busy, or NULL */
static struct task_struct *kp_busy_task;

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
static int kp_walk(unsigned int first)
{
	return -EOPNOTSUPP;
}
#else
static unsigned long (*kp_find_ret_addr)(struct task_struct *task, void *frame,
					 struct llist_node **at);
static struct llist_node *kp_walk_at;

static __nocfi int kp_walk_sleeper(struct task_struct *task)
{
	struct llist_node *node = READ_ONCE(task->kretprobe_instances.first);
	struct kretprobe_instance *ri;
	unsigned int found = 0;

	kp_walk_at = NULL;
	for (; node; node = node->next, found++) {
		ri = container_of(node, struct kretprobe_instance, llist);
		if (kp_find_ret_addr(task, ri->fp, &kp_walk_at) != (unsigned long)ri->ret_addr)
			return -ENOENT;
		if (kp_walk_at == node)
			return -EBUSY;
	}
	return found == depth + 1 ? 0 : -ENODATA;
}

static __nocfi int kp_walk(unsigned int first)
{
	kp_find_ret_addr = kp_find_ret_addr ?: kp_own_function(kretprobe_find_ret_addr);
	if (!kp_find_ret_addr)
		return -EOPNOTSUPP;
	/*
	 * No instance has the frame &first, or the task is running: the search must find nothing.
	 */
	if (!first)
		return kp_find_ret_addr(current, &first, &kp_walk_at) ? -EEXIST : 0;
	if (kp_busy_task)
		return kp_find_ret_addr(kp_busy_task, &first, &kp_walk_at) ? -EEXIST : 0;
	if (list_empty(&kp_sleepers))
		return -ESRCH;
	return kp_walk_sleeper(list_first_entry(&kp_sleepers, struct kp_sleeper, list)->task);
}
#endif

KP_PARAM(walk, kp_walk, NULL);

KP_RETURN_HANDLER(__kprobes, kp_pool_entry, atomic_inc(&entries))

KP_RETURN_HANDLER(__kprobes, kp_pool_return, atomic_inc(&returns))

static struct kretprobe kp_pool_probe;

static int kp_registered_set(unsigned int on)
{
	if (on == registered)
		return 0;
	if (!on) {
		unregister_kretprobe(&kp_pool_probe);
		registered = 0;
		return 0;
	}
	kp_pool_probe = (struct kretprobe) {
		.kp.addr = (void *)kp_pool_sleep,
		.entry_handler = kp_pool_entry,
		.handler = kp_pool_return,
		.maxactive = maxactive,
		.data_size = data_size,
	};
	atomic_set(&entries, 0);
	atomic_set(&returns, 0);
	error = register_kretprobe(&kp_pool_probe);
	registered = !error;
	return error;
}

KP_PARAM(registered, kp_registered_set, &registered);

static int kp_calls_set(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (kp_pool_sleep(-2, depth) != -1)
			atomic_inc(&wrong);
		/* Give workers that these calls wake time to run. */
		if (i % 16 == 0)
			usleep_range(50, 100);
	}
	return 0;
}

KP_PARAM(calls, kp_calls_set, NULL);

static enum { KP_BUSY_BEGINS, KP_BUSY, KP_BUSY_ENDS } kp_busy_state;

/* Let no other task run here. Interrupts are on, and grace periods end as if other tasks ran. */
static int kp_busy_thread(void *unused)
{
	scoped_guard(preempt) {
		if (kp_pool_sleep(-2, depth) != -1)
			atomic_inc(&wrong);
		WRITE_ONCE(kp_busy_state, KP_BUSY);
		while (READ_ONCE(kp_busy_state) == KP_BUSY) {
			cpu_relax();
			rcu_momentary_eqs();
			touch_softlockup_watchdog();
		}
	}
	wait_event_idle(kp_pool_wake, kthread_should_stop());
	return 0;
}

static int kp_busy_set(unsigned int cpu)
{
	if (kp_busy_task) {
		WRITE_ONCE(kp_busy_state, KP_BUSY_ENDS);
		kthread_stop(kp_busy_task);
		kp_busy_task = NULL;
		busy = 0;
	}
	if (!cpu)
		return 0;
	if (!cpu_online(cpu))
		return -EINVAL;
	kp_busy_state = KP_BUSY_BEGINS;
	kp_busy_task = kthread_create_on_cpu(kp_busy_thread, NULL, cpu, "kp_busy/%u");
	if (IS_ERR(kp_busy_task))
		return PTR_ERR(xchg(&kp_busy_task, NULL));
	busy = cpu;
	wake_up_process(kp_busy_task);
	return kp_poll(READ_ONCE(kp_busy_state) == KP_BUSY, 60 * MSEC_PER_SEC) ? 0 : -ETIMEDOUT;
}

KP_PARAM(busy, kp_busy_set, &busy);

/*
 * Only MIPS uses this CPU hotplug state, so it is free here. A CPU that goes offline reaches it
 * after CPUHP_AP_SMPCFD_DYING, in which the CPU runs its irq_works for the last time.
 */
#define KP_DYING	CPUHP_AP_IRQ_MIPS_GIC_STARTING

static unsigned int dying;

static int kp_dying_cpu(unsigned int cpu)
{
	if (kp_pool_sleep(-2, depth) != -1)
		atomic_inc(&wrong);
	return 0;
}

static int kp_dying_set(unsigned int on)
{
	int ret = 0;

	if (on && !dying)
		ret = cpuhp_setup_state_nocalls(KP_DYING, "kp_ret_pool:dying", NULL, kp_dying_cpu);
	else if (!on && dying)
		cpuhp_remove_state_nocalls(KP_DYING);
	dying = on && !ret;
	return ret;
}

KP_PARAM(dying, kp_dying_set, &dying);

/*
 * A return probe on a function that is called in the interrupt that a hit raises. If hits of this
 * probe raised the interrupt again, the CPU would never leave it. To end that when it happens, a
 * probe at the same address skips the call before the return probe is hit.
 */

#define KP_RAISED_MAX	1000

static atomic_t raised;
static unsigned int worker_probed;

static noinline bool kp_pool_not_queued(void)
{
	barrier();
	return false;
}

static int __kprobes kp_pool_raised(struct kprobe *p, struct pt_regs *regs)
{
	if (!in_hardirq() || atomic_inc_return(&raised) <= KP_RAISED_MAX)
		return 0;
	instruction_pointer_set(regs, (unsigned long)kp_pool_not_queued);
	return 1;
}

static struct kprobe kp_pool_breaker;
static struct kretprobe kp_pool_queue_probe;

static int kp_worker_probed_set(unsigned int on)
{
	int ret;

	if (on == worker_probed)
		return 0;
	if (!on) {
		unregister_kretprobe(&kp_pool_queue_probe);
		unregister_kprobe(&kp_pool_breaker);
		worker_probed = 0;
		return 0;
	}
	atomic_set(&raised, 0);
	kp_pool_breaker = (struct kprobe) {
		.symbol_name = "queue_work_on",
		.pre_handler = kp_pool_raised,
	};
	kp_pool_queue_probe = (struct kretprobe) {
		.kp.symbol_name = "queue_work_on",
		.data_size = data_size,
	};
	ret = register_kretprobe(&kp_pool_queue_probe);
	if (ret)
		return ret;
	/* Registered last, so its handler runs first */
	ret = register_kprobe(&kp_pool_breaker);
	if (ret)
		unregister_kretprobe(&kp_pool_queue_probe);
	worker_probed = !ret;
	return ret;
}

KP_PARAM(worker_probed, kp_worker_probed_set, &worker_probed);
module_param_named(raised, raised.counter, int, 0400);

static struct kretprobe *kp_more;
static struct kretprobe **kp_more_ptr;
static unsigned int kp_more_nr;

static int kp_more_set(unsigned int nr)
{
	unsigned int i;
	int ret = -ENOMEM;

	if (kp_more_nr)
		unregister_kretprobes(kp_more_ptr, kp_more_nr);
	kvfree(kp_more_ptr);
	kvfree(kp_more);
	kp_more_nr = 0;
	kp_more = nr ? kvcalloc(nr, sizeof(*kp_more), GFP_KERNEL) : NULL;
	kp_more_ptr = nr ? kvcalloc(nr, sizeof(*kp_more_ptr), GFP_KERNEL) : NULL;
	if (!nr)
		return 0;
	if (kp_more && kp_more_ptr) {
		for (i = 0; i < nr; i++) {
			kp_more[i].kp.addr = (void *)kp_pool_sleep;
			kp_more[i].handler = kp_pool_return;
			kp_more[i].maxactive = maxactive;
			kp_more[i].data_size = data_size;
			kp_more_ptr[i] = &kp_more[i];
		}
		ret = register_kretprobes(kp_more_ptr, nr);
	}
	if (!ret)
		kp_more_nr = nr;
	return ret;
}

KP_PARAM(more, kp_more_set, NULL);

module_param_named(nmissed, kp_pool_probe.nmissed, int, 0400);
module_param_named(entries, entries.counter, int, 0400);
module_param_named(returns, returns.counter, int, 0400);
module_param_named(wrong, wrong.counter, int, 0400);

static void __exit kp_pool_exit(void)
{
	kp_pool_end();
	kp_more_set(0);
	kp_dying_set(0);
	kp_busy_set(0);
	kp_worker_probed_set(0);
	kp_registered_set(0);
}
module_exit(kp_pool_exit);

MODULE_DESCRIPTION("Return probe on a function in which tasks sleep");
MODULE_LICENSE("GPL");
