/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FTRACE_H
#define KP_FTRACE_H

/* Shared by the files of the suite kprobes_ftrace */

#define KP_FT_MANY	100

#ifndef __ASSEMBLY__

#define KP_KIND			kprobe
#define KP_MEMBER		kp
#define KP_TARGET		kp_ft_target

#include <linux/ftrace.h>
#include "kp_test.h"

/* Each returns its argument plus one; kp_ft_caller() calls kp_ft_target() for it. */
long kp_ft_target(long arg);
long kp_ft_other(long arg);
long kp_ft_wakes(long arg);
long kp_ft_caller(long arg);
extern long (*const kp_ft_many[KP_FT_MANY])(long arg);

long kp_ft_elsewhere(long arg);
void kp_ft_add_thousand(void);

struct kp_probe {
	struct kprobe kp;
	unsigned int pre, post;
	struct pt_regs pre_regs;
	unsigned long pre_return, post_ip;
	bool preemptible, rcu_watching;
};

int kp_ft_pre(struct kprobe *kp, struct pt_regs *regs);
void kp_ft_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

static inline void kp_prepare(struct kp_probe *probe)
{
	probe->kp.pre_handler = kp_ft_pre;
}

static inline void kp_settle(struct kunit *test, struct kprobe *kp)
{
}

static inline unsigned int kp_hits(struct kp_probe *probe)
{
	return probe->pre + probe->post;
}

#define kp_expect_hits(test, probe, hits)	KUNIT_EXPECT_EQ(test, (probe)->pre, hits)

#include "kp_kind.h"

/* Is there a nop at the probed address, as if ftrace calls nothing from the function? */
bool kp_ft_is_nop(const struct kp_probe *probe);

/* Is a second, counting ftrace function attached to all targets? */
extern bool kp_ft_crowd;

/* Redirects execution to another function, as a live patch does. */
extern struct ftrace_ops kp_ft_rival;

/* kp_ftrace_changes.c */
void kp_ft_patched_before(struct kunit *test);
void kp_ft_orders(struct kunit *test);
void kp_ft_batch(struct kunit *test);
void kp_ft_batch_refused(struct kunit *test);
void kp_ft_late_post(struct kunit *test);
void kp_ft_dead(struct kunit *test);

/* kp_ftrace_returns.c */
void kp_ft_return_orders(struct kunit *test);
void kp_ft_return_alone(struct kunit *test);

#endif
#endif
