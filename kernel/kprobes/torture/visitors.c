// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: visitors, which attach to one function and detach from it.
 *
 * A visitor is a task that attaches a probe, a return probe, an fprobe or a tracer to
 * torture_visited(), and detaches it again. There are no other probes, so the number of probes and
 * tracers at the function's entry changes between 0 and VISITORS, in any order.
 *
 * Each visitor announces how often its handlers have to run in a call of the function: not at all,
 * a certain number of times, or any number while the visitor attaches or detaches. Each call reads
 * what all visitors have announced when it begins, counts how often their handlers run, and
 * compares.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/torture.h>

#include "torture.h"

#define VISITORS	3
/* Value of visitor.wanted: the visitor's handlers may run any number of times. */
#define VISIT_ANY	(-1)

struct visitor;

/**
 * struct visitor_kind - what a visitor can be
 * @name: for messages
 * @handlers: number of its handlers, each of which has to run once in a call
 * @limited: it is a return probe with maxactive, large enough for all calls at the same time
 * @attach: register it; it is disabled if @flags is KPROBE_FLAG_DISABLED
 * @detach: unregister it
 * @enable: enable it; NULL: it cannot be disabled
 * @disable: disable it
 * @missed: return the number of calls that it has counted as missed; NULL: it misses none
 */
struct visitor_kind {
	const char *name;
	int handlers;
	bool limited;
	int (*attach)(struct visitor *visitor, u32 flags);
	void (*detach)(struct visitor *visitor);
	int (*enable)(struct visitor *visitor);
	int (*disable)(struct visitor *visitor);
	unsigned long (*missed)(struct visitor *visitor);
};

/**
 * struct visitor - a task that attaches to torture_visited()
 * @task: the task
 * @random: the sequence of its random numbers
 * @kind: what it is attached as
 * @wanted: how often handlers have to run in a call that begins now, or VISIT_ANY
 * @lacking: number of calls in which the visitor's handlers ran too few times
 * @visits: how often it has attached
 * @as: the object that is registered; poisoned while none is
 */
struct visitor {
	struct task_struct *task;
	struct rnd_state random;
	const struct visitor_kind *kind;
	int wanted;
	atomic_long_t lacking;
	unsigned long visits;
	union {
		struct kprobe kp;
		struct kretprobe rp;
#ifdef CONFIG_FPROBE
		struct fprobe fp;
#endif
#ifdef CONFIG_FUNCTION_TRACER
		struct ftrace_ops ops;
#endif
	} as;
};

/**
 * struct visit - a call of torture_visited()
 * @wanted: how often the handlers of each visitor have to run
 * @ran: how often they have run
 */
struct visit {
	int wanted[VISITORS];
	int ran[VISITORS];
};

static struct visitor visitors[VISITORS] = {
	[0 ... VISITORS - 1] = { .wanted = VISIT_ANY },
};

/* The innermost call of torture_visited() on this CPU */
static DEFINE_PER_CPU(struct visit *, visiting);
/* Number of times that a call had to run the handlers of a visitor */
static DEFINE_PER_CPU(unsigned long, visits_checked);
static bool started;

noinline unsigned long torture_visited(unsigned long seed)
{
	return hash_long(seed, 24) ^ seed;
}

/**
 * torture_visit() - call torture_visited(), and check how often handlers run
 * @seed: its argument
 *
 * Context: any.
 *
 * Return: its result.
 */
unsigned long torture_visit(unsigned long seed)
{
	struct visit visit = {}, *interrupted;
	unsigned long result;
	unsigned int i;

	/*
	 * With preemption disabled, this is a read-side critical section of RCU: visitor_wants()
	 * waits for its end.
	 */
	preempt_disable();
	for (i = 0; i < VISITORS; i++) {
		/*
		 * Pairs with smp_store_release() in visitor_wants(): what the visitor has changed
		 * before it stored @wanted happens before this call.
		 */
		visit.wanted[i] = smp_load_acquire(&visitors[i].wanted);
		if (visit.wanted[i] > 0)
			this_cpu_inc(visits_checked);
	}
	interrupted = this_cpu_read(visiting);
	this_cpu_write(visiting, &visit);
	barrier();
	result = torture_visited(seed);
	barrier();
	this_cpu_write(visiting, interrupted);
	for (i = 0; i < VISITORS; i++) {
		if (visit.wanted[i] == VISIT_ANY || visit.ran[i] == visit.wanted[i])
			continue;
		if (visit.ran[i] < visit.wanted[i])
			atomic_long_inc(&visitors[i].lacking);
		else
			torture_error("visitor %u, %s: %d handlers have run, not %d", i,
				      READ_ONCE(visitors[i].kind)->name, visit.ran[i],
				      visit.wanted[i]);
	}
	preempt_enable();
	return result;
}

static void handler_runs(struct visitor *visitor)
{
	this_cpu_read(visiting)->ran[visitor - visitors]++;
}

NOKPROBE_SYMBOL(handler_runs);

static int visitor_pre(struct kprobe *p, struct pt_regs *regs)
{
	handler_runs(container_of(p, struct visitor, as.kp));
	return 0;
}

NOKPROBE_SYMBOL(visitor_pre);

static void visitor_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	handler_runs(container_of(p, struct visitor, as.kp));
}

NOKPROBE_SYMBOL(visitor_post);

static int attach_kprobe(struct visitor *visitor, u32 flags)
{
	visitor->as.kp.addr = torture_entry(torture_visited);
	visitor->as.kp.flags = flags;
	visitor->as.kp.pre_handler = visitor_pre;
	if (visitor->kind->handlers > 1)
		visitor->as.kp.post_handler = visitor_post;
	return register_kprobe(&visitor->as.kp);
}

/* Wrappers of unregister_@type(), enable_@type() and disable_@type() for visitor->as.@member */
#define VISITING(type, member)							\
static void detach_##type(struct visitor *visitor)				\
{										\
	unregister_##type(&visitor->as.member);					\
}										\
static int enable_visiting_##type(struct visitor *visitor)			\
{										\
	return enable_##type(&visitor->as.member);				\
}										\
static int disable_visiting_##type(struct visitor *visitor)			\
{										\
	return disable_##type(&visitor->as.member);				\
}

VISITING(kprobe, kp)
VISITING(kretprobe, rp)

static unsigned long missed_by_kprobe(struct visitor *visitor)
{
	return READ_ONCE(visitor->as.kp.nmissed);
}

/* This is both the entry_handler and the handler of a return probe. */
static int visitor_returns(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	/* @rp is NULL if the return probe was unregistered during the call. */
	if (rp)
		handler_runs(container_of(rp, struct visitor, as.rp));
	return 0;
}

NOKPROBE_SYMBOL(visitor_returns);

static int attach_kretprobe(struct visitor *visitor, u32 flags)
{
	visitor->as.rp.kp.addr = torture_entry(torture_visited);
	visitor->as.rp.kp.flags = flags;
	visitor->as.rp.entry_handler = visitor_returns;
	visitor->as.rp.handler = visitor_returns;
	/* Each context that calls the function has at most one call in flight on each CPU. */
	if (visitor->kind->limited)
		visitor->as.rp.maxactive = TORTURE_CONTEXTS * num_possible_cpus();
	return register_kretprobe(&visitor->as.rp);
}

static unsigned long missed_by_kretprobe(struct visitor *visitor)
{
	return READ_ONCE(visitor->as.rp.nmissed) + READ_ONCE(visitor->as.rp.kp.nmissed);
}

#ifdef CONFIG_FPROBE
static int visitor_fprobe_entry(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
				struct pt_regs *regs, void *data)
{
	handler_runs(container_of(fp, struct visitor, as.fp));
	return 0;
}

static void visitor_fprobe_exit(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
				struct pt_regs *regs, void *data)
{
	handler_runs(container_of(fp, struct visitor, as.fp));
}

static int attach_fprobe(struct visitor *visitor, u32 flags)
{
	visitor->as.fp.entry_handler = visitor_fprobe_entry;
	visitor->as.fp.exit_handler = visitor_fprobe_exit;
	return register_fprobe(&visitor->as.fp, "torture_visited", NULL);
}

static void detach_fprobe(struct visitor *visitor)
{
	atomic_inc(&torture_detaching);
	unregister_fprobe(&visitor->as.fp);
	atomic_dec(&torture_detaching);
}

static unsigned long missed_by_fprobe(struct visitor *visitor)
{
	return READ_ONCE(visitor->as.fp.nmissed);
}
#endif

#ifdef CONFIG_FUNCTION_TRACER
static void notrace visitor_trace(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	handler_runs(container_of(ops, struct visitor, as.ops));
}

static int attach_tracer(struct visitor *visitor, u32 flags)
{
	char name[] = "torture_visited";
	int err;

	visitor->as.ops.func = visitor_trace;
	err = ftrace_set_filter(&visitor->as.ops, name, strlen(name), 1);
	return err ?: register_ftrace_function(&visitor->as.ops);
}

static void detach_tracer(struct visitor *visitor)
{
	atomic_inc(&torture_detaching);
	unregister_ftrace_function(&visitor->as.ops);
	atomic_dec(&torture_detaching);
	ftrace_free_filter(&visitor->as.ops);
}
#endif

#define VISITOR(type, n, h, l)							\
	{									\
		.name = n, .handlers = h, .limited = l,				\
		.attach = attach_##type, .detach = detach_##type,		\
		.enable = enable_visiting_##type,				\
		.disable = disable_visiting_##type, .missed = missed_by_##type,	\
	}

static const struct visitor_kind kinds[] = {
	VISITOR(kprobe, "probe", 1, false),
	VISITOR(kprobe, "probe with post_handler", 2, false),
	VISITOR(kretprobe, "return probe", 2, false),
	VISITOR(kretprobe, "return probe with maxactive", 2, true),
#ifdef CONFIG_FPROBE
	{
		.name = "fprobe", .handlers = 2, .attach = attach_fprobe, .detach = detach_fprobe,
		.missed = missed_by_fprobe,
	},
#endif
#ifdef CONFIG_FUNCTION_TRACER
	{ .name = "tracer", .handlers = 1, .attach = attach_tracer, .detach = detach_tracer },
#endif
};

/*
 * For a few milliseconds, let each call that begins check that the handlers of @visitor run @wanted
 * times.
 */
static void visitor_wants(struct visitor *visitor, int wanted)
{
	/*
	 * Pairs with smp_load_acquire() in torture_visit(): what the visitor has changed happens
	 * before the calls that read this value.
	 */
	smp_store_release(&visitor->wanted, wanted);
	torture_hrtimeout_us(2000, 1000, NULL);
	WRITE_ONCE(visitor->wanted, VISIT_ANY);
	/* Wait until the calls that have read @wanted have ended. */
	synchronize_rcu_expedited();
}

/*
 * @err is what a change has returned. Report an error, unless this module is being unloaded. Return
 * true if the change has succeeded.
 */
static bool visitor_can(struct visitor *visitor, int err)
{
	if (err && !torture_being_unloaded())
		torture_error("visitor, %s: a change has returned %d", visitor->kind->name, err);
	return !err;
}

/* It is an error if a call ran too few handlers, unless the call was counted as missed. */
static void check_lacking(struct visitor *visitor)
{
	const struct visitor_kind *kind = visitor->kind;
	unsigned long missed = kind->missed ? kind->missed(visitor) : 0;
	unsigned long lacking = atomic_long_xchg(&visitor->lacking, 0);

	if (torture_exact && lacking > missed)
		torture_error("visitor, %s: %lu calls have not run all handlers, %lu missed",
			      kind->name, lacking, missed);
	/*
	 * A limited visitor has enough instances, so no call may be missed. Do not check with
	 * rethook: objpool_pop() searches one CPU's nodes after another's, and does not find a node
	 * that is given back to a CPU after its turn.
	 */
	if (kind->limited && READ_ONCE(visitor->as.rp.nmissed) &&
	    !IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		torture_error("visitor, %s: %d calls were missed", kind->name,
			      visitor->as.rp.nmissed);
}

static void visit_once(struct visitor *visitor)
{
	u32 random = prandom_u32_state(&visitor->random);
	const struct visitor_kind *kind = &kinds[(random >> 8) % ARRAY_SIZE(kinds)];
	bool disabled = kind->enable && random & BIT(0);

	WRITE_ONCE(visitor->kind, kind);
	memset(&visitor->as, 0, sizeof(visitor->as));
	if (!visitor_can(visitor, kind->attach(visitor, disabled ? KPROBE_FLAG_DISABLED : 0)))
		return;
	if (disabled) {
		visitor_wants(visitor, 0);
		disabled = !visitor_can(visitor, kind->enable(visitor));
	}
	if (!disabled)
		visitor_wants(visitor, kind->handlers);
	check_lacking(visitor);
	if (kind->disable && random & BIT(1) && visitor_can(visitor, kind->disable(visitor)))
		visitor_wants(visitor, 0);
	kind->detach(visitor);
	/* The owner of a detached probe may free it: poison it, to notice if it is still used. */
	memset(&visitor->as, TORTURE_POISON, sizeof(visitor->as));
	visitor_wants(visitor, 0);
	if (memchr_inv(&visitor->as, TORTURE_POISON, sizeof(visitor->as)))
		torture_error("visitor, %s: written to after it was unregistered", kind->name);
	visitor->visits++;
}

static int torture_visitor(void *arg)
{
	do {
		visit_once(arg);
		stutter_wait("torture_visitor");
	} while (!torture_must_stop());
	torture_kthread_stopping("torture_visitor");
	return 0;
}

/**
 * torture_start_visitors() - start tasks that attach to torture_visited()
 * @seed: for their random numbers
 *
 * Return: 0, or an errno. torture_stop_visitors() must be called in both cases.
 */
int torture_start_visitors(u64 seed)
{
	unsigned int i;
	int err = 0;

	started = true;
	for (i = 0; i < VISITORS && !err; i++) {
		prandom_seed_state(&visitors[i].random, (seed ^ 0x76697369) + i);
		err = torture_create_kthread(torture_visitor, &visitors[i], visitors[i].task);
	}
	return err;
}

/**
 * torture_stop_visitors() - stop the visitors, after each has detached its probe or tracer
 */
void torture_stop_visitors(void)
{
	unsigned long visits = 0, checked = 0;
	unsigned int i;
	int cpu;

	if (!started)
		return;
	for (i = 0; i < VISITORS; i++) {
		torture_stop_kthread(torture_visitor, visitors[i].task);
		visits += visitors[i].visits;
	}
	for_each_possible_cpu(cpu)
		checked += per_cpu(visits_checked, cpu);
	if (!checked)
		torture_error("no call was checked for visitors");
	pr_alert(TORTURE_TYPE TORTURE_FLAG " visits %lu, %lu checked in calls\n", visits, checked);
}
