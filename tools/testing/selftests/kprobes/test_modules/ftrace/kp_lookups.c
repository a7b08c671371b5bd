// SPDX-License-Identifier: GPL-2.0
/*
 * Three threads keep looking up ftrace's call in a function of this module, while the script
 * unloads a module that was loaded earlier, which makes ftrace remove that module's records. Each
 * lookup must still find the call: the parameter missed counts the lookups that do not.
 */

#include <linux/kthread.h>

#include "kp_symbol.h"

#define KP_THREADS	3

static int missed;
module_param(missed, int, 0444);

static unsigned long (*kp_locate)(unsigned long start, unsigned long end);
static struct task_struct *kp_threads[KP_THREADS];

static noinline int kp_looked_for(int arg)
{
	barrier();
	return arg;
}

static __nocfi unsigned long kp_look_up(unsigned long size)
{
	unsigned long entry = (unsigned long)kp_looked_for;

	return kp_locate(entry, entry + size - 1);
}

static int kp_look_up_often(void *size)
{
	while (!kthread_should_stop()) {
		for (int i = 0; i < 100; i++)
			missed += !kp_look_up((unsigned long)size);
		cond_resched();
	}
	return 0;
}

static void kp_lookups_exit(void)
{
	for (int i = 0; i < KP_THREADS && kp_threads[i]; i++)
		kthread_stop(kp_threads[i]);
}

/*
 * This function must not be in init text. When that is freed, ftrace moves the records that follow
 * those of init text in the array, and a lookup at that time may miss them.
 */
static int kp_lookups_init(void)
{
	unsigned long offset, size;

	kp_locate = kp_find_function("ftrace_location_range");
	if (!kp_locate || kp_measure(kp_looked_for, &offset, &size) || kp_looked_for(0))
		return -ENOENT;
	if (!kp_look_up(size))
		return -ENXIO;
	for (int i = 0; i < KP_THREADS; i++) {
		struct task_struct *task = kthread_run(kp_look_up_often, (void *)size,
						       "kp_lookups/%d", i);

		if (IS_ERR(task)) {
			kp_lookups_exit();
			return PTR_ERR(task);
		}
		kp_threads[i] = task;
	}
	return 0;
}

KP_MODULE("Looks up a function of ftrace while modules come and go", kp_lookups_init,
	  kp_lookups_exit);
