/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_PROBE_H
#define KP_PROBE_H

/* For KUnit suites: probes whose handlers count, and that are unregistered after a case */

#include "kp_fault_handler.h"
#include "kp_test.h"

struct kp_probe {
	struct kprobe kp;
	/* numbers of calls of the handlers */
	int pre;
	int post;
	int fault;
	/* functions that the handlers call, and what these have returned last */
	long (*in_pre)(void);
	long (*in_post)(void);
	long (*in_fault)(void);
	long pre_result;
	long post_result;
	long fault_result;
	/* last call of the fault_handler */
	struct kprobe *seen;
	int trap;
	unsigned long ip;
	/* last call of the post_handler */
	unsigned long post_ip;
	/*
	 * called by the fault_handler, which returns its result; NULL: the fault_handler returns 0
	 */
	int (*repair)(struct kp_probe *probe, struct pt_regs *regs);
};

static inline struct kp_probe *to_kp_probe(struct kprobe *kp)
{
	return container_of(kp, struct kp_probe, kp);
}

static int __maybe_unused __kprobes kp_count_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_probe *probe = to_kp_probe(kp);

	probe->pre++;
	if (probe->in_pre)
		probe->pre_result = probe->in_pre();
	return 0;
}

static void __maybe_unused __kprobes kp_count_post(struct kprobe *kp, struct pt_regs *regs,
						   unsigned long flags)
{
	struct kp_probe *probe = to_kp_probe(kp);

	probe->post++;
	probe->post_ip = instruction_pointer(regs);
	if (probe->in_post)
		probe->post_result = probe->in_post();
}

static int __maybe_unused __kprobes kp_count_fault(struct kprobe *kp, struct pt_regs *regs,
						   int trapnr)
{
	struct kp_probe *probe = to_kp_probe(kp);

	probe->fault++;
	probe->seen = kp;
	probe->trap = trapnr;
	probe->ip = instruction_pointer(regs);
	if (probe->in_fault)
		probe->fault_result = probe->in_fault();
	return probe->repair ? probe->repair(probe, regs) : 0;
}

/* Make a probe at @addr that has a pre_handler; do not register it. */
static inline struct kp_probe *kp_new(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_zalloc(test, sizeof(*probe));

	probe->kp.addr = addr;
	probe->kp.pre_handler = kp_count_pre;
	return probe;
}

static inline struct kp_probe *kp_new_post(struct kunit *test, void *addr, bool post)
{
	struct kp_probe *probe = kp_new(test, addr);

	probe->kp.post_handler = post ? kp_count_post : NULL;
	return probe;
}

/* Register the probe, until kp_unregister() or the end of the case. */
static inline void kp_register(struct kunit *test, struct kp_probe *probe)
{
	kp_kprobe_add(test, &probe->kp);
}

static inline void kp_unregister(struct kunit *test, struct kp_probe *probe)
{
	kp_kprobe_del(test, &probe->kp);
	/* Some kernels leave flags with which they refuse the next registration. */
	probe->kp.flags = 0;
}

static inline void kp_clear_counts(struct kp_probe *probe)
{
	probe->pre = 0;
	probe->post = 0;
	probe->fault = 0;
}

#define kp_expect_counts(test, probe, wanted_pre, wanted_post, wanted_fault) do {	\
	struct kunit *_test = (test);							\
	const struct kp_probe *_probe = (probe);					\
											\
	KUNIT_EXPECT_EQ(_test, _probe->pre, wanted_pre);				\
	KUNIT_EXPECT_EQ(_test, _probe->post, wanted_post);				\
	KUNIT_EXPECT_EQ(_test, _probe->fault, wanted_fault);				\
} while (0)

#endif
