// SPDX-License-Identifier: GPL-2.0
/*
 * While this module is loaded, each CPU that goes offline queues an irq_work when it is too late
 * for the CPU to run it before it is offline. Parameters:
 *
 * - run_on: a write of N queues another irq_work on CPU N, and fails if that does not run
 * - late: number of irq_works that CPUs queued as they went offline and that have run since. The
 *   module cannot be unloaded before all of them have run.
 */

#include "kp_test.h"

/*
 * Only MIPS uses this CPU hotplug state, so it is free here. A CPU that goes offline reaches it
 * after CPUHP_AP_SMPCFD_DYING, in which the CPU runs its irq_works for the last time.
 */
#define KP_DYING	CPUHP_AP_IRQ_MIPS_GIC_STARTING

static atomic_t late, ran;

module_param_named(late, late.counter, int, 0400);

static void kp_dying_count(struct irq_work *work)
{
	atomic_inc(&late);
	module_put(THIS_MODULE);
}

static void kp_dying_count_run(struct irq_work *work)
{
	atomic_inc(&ran);
}

static DEFINE_PER_CPU(struct irq_work, kp_dying_work);
static DEFINE_PER_CPU(struct irq_work, kp_dying_run);

static int kp_dying_cpu(unsigned int cpu)
{
	if (irq_work_queue(this_cpu_ptr(&kp_dying_work)))
		__module_get(THIS_MODULE);
	return 0;
}

static void kp_dying_queue_run(void *unused)
{
	irq_work_queue(this_cpu_ptr(&kp_dying_run));
}

static int kp_dying_run_on(const char *val, const struct kernel_param *param)
{
	unsigned int cpu;
	int before = atomic_read(&ran);
	int ret = kstrtouint(val, 0, &cpu);

	ret = ret ?: smp_call_function_single(cpu, kp_dying_queue_run, NULL, 1);
	if (ret)
		return ret;
	return kp_poll(atomic_read(&ran) != before, 10 * MSEC_PER_SEC) ? 0 : -ETIMEDOUT;
}

module_param_call(run_on, kp_dying_run_on, NULL, NULL, 0200);

static int __init kp_dying_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		per_cpu(kp_dying_work, cpu) = IRQ_WORK_INIT_HARD(kp_dying_count);
		per_cpu(kp_dying_run, cpu) = IRQ_WORK_INIT_HARD(kp_dying_count_run);
	}
	return cpuhp_setup_state_nocalls(KP_DYING, "kp_dying", NULL, kp_dying_cpu);
}

static void __exit kp_dying_exit(void)
{
	cpuhp_remove_state_nocalls(KP_DYING);
}

KP_MODULE("Queues an irq_work on each CPU that goes offline", kp_dying_init, kp_dying_exit);
