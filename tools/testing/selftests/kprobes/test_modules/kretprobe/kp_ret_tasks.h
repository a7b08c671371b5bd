/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_RET_TASKS_H
#define KP_RET_TASKS_H

/* Shared by the suites of kp_ret_tasks: a crowd of threads that sleep in a function */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/kprobes.h>

/* Return probe with counters for its handlers. Its owner sets the other fields of @rp. */
struct kp_crowd_probe {
	struct kretprobe rp;
	atomic_t entries;
	atomic_t returns;
	atomic_t wrong;
	atomic_t interrupted;
	bool gone;		/* unregistered: no handler may run */
};

struct kp_crowd_probe *kp_crowd_probe_new(struct kunit *test, void *addr);
int kp_crowd_register(struct kunit *test, struct kp_crowd_probe *probe);
void kp_crowd_unregister(struct kunit *test, struct kp_crowd_probe *probe);

/* Start @nr threads, which wait to be sent to sleep in kp_crowd_sleep(). */
void kp_crowd_start(struct kunit *test, unsigned int nr);
void kp_crowd_stop(struct kunit *test);
/* Send all to sleep, and wait for that; wake all, and wait until they have returned. */
void kp_crowd_to_sleep(struct kunit *test);
void kp_crowd_wake(struct kunit *test);
/* Send a signal to all, which ends their sleep. */
void kp_crowd_signal(struct kunit *test);
unsigned int kp_crowd_wrong(void);

/* Sleeps until the crowd is woken. Returns @arg plus one, or -ERESTARTSYS after a signal. */
long kp_crowd_sleep(long arg);

extern struct kunit_suite kp_ret_sleep_suite;
extern struct kunit_suite kp_ret_death_suite;

#endif
