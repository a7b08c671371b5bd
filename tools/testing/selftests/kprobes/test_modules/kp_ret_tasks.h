/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_RET_TASKS_H
#define KP_RET_TASKS_H

/* What the suites of kp_ret_tasks share: a crowd of threads that sleep in a function. */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/kprobes.h>

/* Return probe with counters of what its handlers saw; the rest is its owner's. */
struct kp_crowd_probe {
	struct kretprobe rp;
	atomic_t entries;
	atomic_t returns;
	atomic_t wrong;
	atomic_t interrupted;
	bool gone;		/* unregistered: no handler may run any more */
};

struct kp_crowd_probe *kp_crowd_probe_new(struct kunit *test, void *addr);
int kp_crowd_register(struct kunit *test, struct kp_crowd_probe *probe);
void kp_crowd_unregister(struct kunit *test, struct kp_crowd_probe *probe);

/* @nr threads, which wait to be told to go to sleep in kp_crowd_sleep(). */
void kp_crowd_start(struct kunit *test, unsigned int nr);
void kp_crowd_stop(struct kunit *test);
/* All of them fall asleep there; all of them wake up, and are back. */
void kp_crowd_to_sleep(struct kunit *test);
void kp_crowd_wake(struct kunit *test);
/* All of them are sent a signal, which ends their sleep. */
void kp_crowd_signal(struct kunit *test);
/* The number of wrong results since the crowd was started. */
unsigned int kp_crowd_wrong(void);

/* Sleeps till the crowd is woken. Returns @arg plus one, or -ERESTARTSYS for a signal. */
long kp_crowd_sleep(long arg);

extern struct kunit_suite kp_ret_sleep_suite;
extern struct kunit_suite kp_ret_death_suite;

#endif
