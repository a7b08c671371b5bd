// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for return probes on functions in which many tasks sleep, or end. */

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "kp_regs.h"
#include "kp_ret_tasks.h"

/*
 * The crowd: in each round, all threads sleep in kp_crowd_sleep() until the round is over.
 * The counters are of the current round.
 */
static struct {
	struct task_struct **task;
	unsigned int nr;
	unsigned int round;		/* the current round */
	unsigned int awake_after;	/* the last round that is over */
	atomic_t asleep;
	atomic_t back;
	atomic_t wrong;
	bool signalled;
	wait_queue_head_t start;
	wait_queue_head_t wake;
} kp_crowd = {
	.start = __WAIT_QUEUE_HEAD_INITIALIZER(kp_crowd.start),
	.wake = __WAIT_QUEUE_HEAD_INITIALIZER(kp_crowd.wake),
};

noinline long kp_crowd_sleep(long arg)
{
	unsigned int round = READ_ONCE(kp_crowd.round);
	int ret;

	atomic_inc(&kp_crowd.asleep);
	ret = wait_event_interruptible(kp_crowd.wake, READ_ONCE(kp_crowd.awake_after) >= round);
	return ret ?: arg + 1;
}

static int kp_crowd_thread(void *data)
{
	long id = (long)data, ret, wanted;
	unsigned int done = 0;

	allow_signal(SIGUSR1);
	for (;;) {
		wait_event_idle(kp_crowd.start,
				READ_ONCE(kp_crowd.round) != done || kthread_should_stop());
		if (kthread_should_stop())
			return 0;
		done++;
		ret = kp_crowd_sleep(id);
		wanted = READ_ONCE(kp_crowd.signalled) ? -ERESTARTSYS : id + 1;
		flush_signals(current);
		if (ret != wanted)
			atomic_inc(&kp_crowd.wrong);
		atomic_inc(&kp_crowd.back);
	}
}

static void kp_crowd_wait_for(struct kunit *test, atomic_t *counter, const char *what)
{
	unsigned long timeout = jiffies + 240 * HZ;

	while (atomic_read(counter) != kp_crowd.nr) {
		usleep_range(1000, 2000);
		if (time_after(jiffies, timeout))
			KUNIT_FAIL_AND_ABORT(test, "%d of %u are %s", atomic_read(counter),
					     kp_crowd.nr, what);
	}
}

static void kp_crowd_end(void *unused)
{
	unsigned int i;

	WRITE_ONCE(kp_crowd.awake_after, UINT_MAX);
	wake_up_all(&kp_crowd.wake);
	for (i = 0; i < kp_crowd.nr; i++) {
		kthread_stop(kp_crowd.task[i]);
		put_task_struct(kp_crowd.task[i]);
	}
	kvfree(kp_crowd.task);
	kp_crowd.task = NULL;
	kp_crowd.nr = 0;
}

void kp_crowd_start(struct kunit *test, unsigned int nr)
{
	struct task_struct *task;
	long i;

	kp_crowd.round = 0;
	kp_crowd.awake_after = 0;
	atomic_set(&kp_crowd.wrong, 0);
	kp_crowd.task = kvcalloc(nr, sizeof(*kp_crowd.task), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, kp_crowd.task);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_crowd_end, NULL), 0);
	for (i = 0; i < nr; i++) {
		task = kthread_create(kp_crowd_thread, (void *)i, "kp_crowd/%ld", i);
		if (IS_ERR(task))
			KUNIT_FAIL_AND_ABORT(test, "thread %ld: %ld", i, PTR_ERR(task));
		get_task_struct(task);
		kp_crowd.task[kp_crowd.nr++] = task;
		wake_up_process(task);
	}
}

void kp_crowd_stop(struct kunit *test)
{
	kunit_release_action(test, kp_crowd_end, NULL);
}

void kp_crowd_to_sleep(struct kunit *test)
{
	atomic_set(&kp_crowd.asleep, 0);
	atomic_set(&kp_crowd.back, 0);
	kp_crowd.signalled = false;
	WRITE_ONCE(kp_crowd.round, kp_crowd.round + 1);
	wake_up_all(&kp_crowd.start);
	kp_crowd_wait_for(test, &kp_crowd.asleep, "asleep");
}

void kp_crowd_wake(struct kunit *test)
{
	WRITE_ONCE(kp_crowd.awake_after, kp_crowd.round);
	wake_up_all(&kp_crowd.wake);
	kp_crowd_wait_for(test, &kp_crowd.back, "back");
}

void kp_crowd_signal(struct kunit *test)
{
	unsigned int i;

	kp_crowd.signalled = true;
	for (i = 0; i < kp_crowd.nr; i++)
		send_sig(SIGUSR1, kp_crowd.task[i], 1);
	kp_crowd_wait_for(test, &kp_crowd.back, "back");
	WRITE_ONCE(kp_crowd.awake_after, kp_crowd.round);
}

unsigned int kp_crowd_wrong(void)
{
	return atomic_read(&kp_crowd.wrong);
}

/* With data_size, a return must find what the entry has stored in the data. */
struct kp_crowd_data {
	long arg;
	struct task_struct *task;
};

static struct kp_crowd_probe *kp_crowd_probe_of(struct kretprobe_instance *ri)
{
	struct kretprobe *rp = get_kretprobe(ri);

	return rp ? container_of(rp, struct kp_crowd_probe, rp) : NULL;
}

static int kp_crowd_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_of(ri);
	struct kp_crowd_data *data = (void *)ri->data;

	if (!probe)
		return 1;
	atomic_inc(&probe->entries);
	if (probe->gone)
		atomic_inc(&probe->wrong);
	if (probe->rp.data_size) {
		data->arg = kp_argument(regs, 0);
		data->task = current;
	}
	return 0;
}

NOKPROBE_SYMBOL(kp_crowd_entry);

static int kp_crowd_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_of(ri);
	struct kp_crowd_data *data = (void *)ri->data;
	long value = regs_return_value(regs);

	if (!probe)
		return 0;
	atomic_inc(&probe->returns);
	if (probe->gone)
		atomic_inc(&probe->wrong);
	if (value == -ERESTARTSYS)
		atomic_inc(&probe->interrupted);
	else if (probe->rp.data_size && data->arg + 1 != value)
		atomic_inc(&probe->wrong);
	if (probe->rp.data_size && data->task != current)
		atomic_inc(&probe->wrong);
	return 0;
}

NOKPROBE_SYMBOL(kp_crowd_return);

struct kp_crowd_probe *kp_crowd_probe_new(struct kunit *test, void *addr)
{
	struct kp_crowd_probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->rp.kp.addr = kp_entry(addr);
	probe->rp.entry_handler = kp_crowd_entry;
	probe->rp.handler = kp_crowd_return;
	probe->rp.data_size = sizeof(struct kp_crowd_data);
	return probe;
}

static void kp_crowd_unregister_action(void *data)
{
	struct kp_crowd_probe *probe = data;

	unregister_kretprobe(&probe->rp);
	probe->gone = true;
}

int kp_crowd_register(struct kunit *test, struct kp_crowd_probe *probe)
{
	int ret = register_kretprobe(&probe->rp);

	if (ret)
		return ret;
	return kunit_add_action_or_reset(test, kp_crowd_unregister_action, probe);
}

void kp_crowd_unregister(struct kunit *test, struct kp_crowd_probe *probe)
{
	kunit_release_action(test, kp_crowd_unregister_action, probe);
}

kunit_test_suites(&kp_ret_sleep_suite, &kp_ret_death_suite);

MODULE_DESCRIPTION("KUnit suites for return probes on functions that sleep, or do not return");
MODULE_LICENSE("GPL");
