// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: let hits request work items.
 *
 * A hit may be in any context, so it cannot queue a work item. It puts a request on a list that
 * all CPUs share, and queues an irq_work on its CPU, which queues the work items of all requests
 * on the list.
 *
 * A CPU that is brought down runs its last irq_work, and after that still executes functions that
 * can be probed. A CPU that is brought up executes such functions before it can take the interrupt
 * of an irq_work. An irq_work that a hit queued at such a time would stay pending, and while it is
 * pending, no irq_work of that CPU raises an interrupt. So a hit on a CPU that is not online leaves
 * the request on the list, and two callbacks of CPU hotplug take it from there:
 *
 *	CPU that is brought down		CPU that brings it down
 *
 *	set_cpu_online(false)
 *	run the last irq_work
 *	hit: add to requests
 *	     cpu_online() is false
 *	report itself dead
 *						wait for the report
 *						kprobe_requests_queue()
 *
 * These interleavings lose no request:
 *
 * - A hit finds its CPU online. Preemption is disabled, so the CPU stays online until the hit has
 *   queued the irq_work, and the CPU runs it, in smpcfd_dying_cpu() at the latest.
 * - Another CPU takes the list before the callback does. Then that CPU queues the work item.
 * - A CPU that is being brought up adds a request. kprobe_requests_queue() runs when it is online,
 *   or, if it is brought down before that, on the CPU that brings it down.
 * - A request is on the list already, because the CPU that added it has not been reported dead yet,
 *   or stays between two states of CPU hotplug. A hit on another CPU finds @pending set and adds
 *   nothing, but still raises the irq_work of its own CPU, which takes the whole list.
 * - The work item is taken from the list while a hit requests it again. The exchanges of @pending
 *   are fully ordered. If the hit finds @pending set, its stores happen before the exchange in
 *   kprobe_requests_queue(), and so before the work item runs. Otherwise it adds the request again.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "internal.h"

static LLIST_HEAD(requests);

static void __kprobes kprobe_requests_queue(void)
{
	struct kprobe_request *r, *next;

	llist_for_each_entry_safe(r, next, llist_del_all(&requests), node) {
		/*
		 * Pairs with xchg() in kprobe_request(). If that has returned 1, so that the hit
		 * added nothing to the list, the work item still sees the stores of that hit.
		 */
		xchg(&r->pending, 0);
		if (r->queue)
			r->queue();
		else
			queue_work(system_unbound_wq, r->work);
	}
}

static void __kprobes kprobe_requests_irq_work(struct irq_work *work)
{
	kprobe_requests_queue();
}

static DEFINE_PER_CPU(struct irq_work, requests_irq_work) =
	IRQ_WORK_INIT_HARD(kprobe_requests_irq_work);

/*
 * Request, in any context, that a work item be queued. It sees what the caller stored before this
 * call.
 */
void __kprobes kprobe_request(struct kprobe_request *r)
{
	guard(preempt_notrace)();
	/* Pairs with xchg() in kprobe_requests_queue(). */
	if (!xchg(&r->pending, 1))
		llist_add(&r->node, &requests);
	if (cpu_online(raw_smp_processor_id()))
		irq_work_queue(this_cpu_ptr(&requests_irq_work));
}

/*
 * Queue the work items of requests that hits left on the list while their CPU was not online. Runs
 * on a CPU that has come online; or, after a CPU has died, on the CPU that brought it down.
 */
static int kprobe_requests_cpu(unsigned int cpu)
{
	kprobe_requests_queue();
	return 0;
}

static int __init kprobe_requests_init(void)
{
	int ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "kprobes:dead",
					    NULL, kprobe_requests_cpu);

	if (ret >= 0)
		ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kprobes:online",
						kprobe_requests_cpu, NULL);
	return min(0, ret);
}
early_initcall(kprobe_requests_init);
