// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: probes, return probes, an fprobe and a tracer (the clients) are attached to a
 * function and detached in random order, while a thread on each CPU calls the function.
 *
 * After each change the threads stop, then each makes a fixed number of calls. Each attached
 * client must have counted exactly these, the others none.
 *
 * With the same parameter seed, the order is the same.
 */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched.h>

static unsigned int seed;
module_param(seed, uint, 0400);
MODULE_PARM_DESC(seed, "of the order; 0: another one each time");

static unsigned int steps = 40;
module_param(steps, uint, 0400);
MODULE_PARM_DESC(steps, "how often a client is attached or detached");

#define KP_CALLS	50

noinline unsigned long kp_attach_target(unsigned long arg);
noinline unsigned long kp_attach_target(unsigned long arg)
{
	barrier();
	return arg + 1;
}

/* @ret: counts returns, or calls of a post_handler. @returns: @ret is used */
struct kp_client {
	const char *name;
	int (*attach)(struct kp_client *client);
	void (*detach)(struct kp_client *client);
	bool returns;
	bool there;
	atomic_t entry;
	atomic_t ret;
	int entry_before;
	int ret_before;
	union {
		struct kprobe kp;
		struct kretprobe rp;
		struct fprobe fp;
		struct ftrace_ops ops;
	};
};

static int kp_pre(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&container_of(kp, struct kp_client, kp)->entry);
	return 0;
}

static void kp_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&container_of(kp, struct kp_client, kp)->ret);
}

static int kp_attach_kprobe(struct kp_client *client)
{
	memset(&client->kp, 0, sizeof(client->kp));
	client->kp.addr = (kprobe_opcode_t *)kp_attach_target;
	client->kp.pre_handler = kp_pre;
	client->kp.post_handler = client->returns ? kp_post : NULL;
	return register_kprobe(&client->kp);
}

static void kp_detach_kprobe(struct kp_client *client)
{
	unregister_kprobe(&client->kp);
}

#ifdef CONFIG_KRETPROBES
/* get_kretprobe() returns NULL once the return probe is being unregistered. */
static int kp_ret_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		atomic_inc(&container_of(rp, struct kp_client, rp)->entry);
	return 0;
}

static int kp_ret(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		atomic_inc(&container_of(rp, struct kp_client, rp)->ret);
	return 0;
}

static int kp_attach_kretprobe(struct kp_client *client)
{
	memset(&client->rp, 0, sizeof(client->rp));
	client->rp.kp.addr = (kprobe_opcode_t *)kp_attach_target;
	client->rp.entry_handler = kp_ret_entry;
	client->rp.handler = kp_ret;
	client->rp.maxactive = 2 * num_possible_cpus();
	return register_kretprobe(&client->rp);
}

static void kp_detach_kretprobe(struct kp_client *client)
{
	unregister_kretprobe(&client->rp);
}
#endif

#ifdef CONFIG_FPROBE
static int kp_fprobe_entry(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			   struct pt_regs *regs, void *data)
{
	atomic_inc(&container_of(fp, struct kp_client, fp)->entry);
	return 0;
}

static void kp_fprobe_exit(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			   struct pt_regs *regs, void *data)
{
	atomic_inc(&container_of(fp, struct kp_client, fp)->ret);
}

static int kp_attach_fprobe(struct kp_client *client)
{
	memset(&client->fp, 0, sizeof(client->fp));
	client->fp.entry_handler = kp_fprobe_entry;
	client->fp.exit_handler = kp_fprobe_exit;
	return register_fprobe(&client->fp, "kp_attach_target", NULL);
}

static void kp_detach_fprobe(struct kp_client *client)
{
	unregister_fprobe(&client->fp);
}
#endif

#ifdef CONFIG_FUNCTION_TRACER
static void notrace kp_tracer(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			      struct ftrace_regs *fregs)
{
	atomic_inc(&container_of(ops, struct kp_client, ops)->entry);
}

static int kp_attach_tracer(struct kp_client *client)
{
	char name[] = "kp_attach_target";
	int ret;

	memset(&client->ops, 0, sizeof(client->ops));
	client->ops.func = kp_tracer;
	ret = ftrace_set_filter(&client->ops, name, strlen(name), 1);
	return ret ?: register_ftrace_function(&client->ops);
}

static void kp_detach_tracer(struct kp_client *client)
{
	unregister_ftrace_function(&client->ops);
	ftrace_free_filter(&client->ops);
}
#endif

#define KP_KPROBE(n, p)							\
	{ .name = n, .attach = kp_attach_kprobe, .detach = kp_detach_kprobe, .returns = p }

static struct kp_client kp_clients[] = {
	KP_KPROBE("kprobe", false),
	KP_KPROBE("another kprobe", false),
	KP_KPROBE("kprobe with post_handler", true),
	KP_KPROBE("another kprobe with post_handler", true),
#ifdef CONFIG_KRETPROBES
	{ .name = "kretprobe", .attach = kp_attach_kretprobe, .detach = kp_detach_kretprobe,
	  .returns = true },
	{ .name = "another kretprobe", .attach = kp_attach_kretprobe,
	  .detach = kp_detach_kretprobe, .returns = true },
#endif
#ifdef CONFIG_FPROBE
	{ .name = "fprobe", .attach = kp_attach_fprobe, .detach = kp_detach_fprobe,
	  .returns = true },
#endif
#ifdef CONFIG_FUNCTION_TRACER
	{ .name = "tracer", .attach = kp_attach_tracer, .detach = kp_detach_tracer },
#endif
};

/* A thread makes @calls calls and clears @calls; while kp_free is set, it calls all the time. */
struct kp_caller {
	struct task_struct *task;
	unsigned int calls;
	unsigned int wrong;
	struct completion done;
};

static struct kp_caller kp_caller[8];
static unsigned int kp_callers;
static bool kp_free;

static void kp_call(struct kp_caller *caller)
{
	unsigned long arg = (unsigned long)caller;

	if (kp_attach_target(arg) != arg + 1)
		caller->wrong++;
}

static int kp_thread(void *data)
{
	struct kp_caller *caller = data;
	unsigned int calls;

	while (!kthread_should_stop()) {
		/* Pairs with kp_count(): the calls meet all clients that were attached before. */
		calls = smp_load_acquire(&caller->calls);
		if (calls) {
			while (calls--)
				kp_call(caller);
			WRITE_ONCE(caller->calls, 0);
			complete(&caller->done);
		} else if (READ_ONCE(kp_free)) {
			for (calls = 0; calls < 100; calls++)
				kp_call(caller);
		}
		/*
		 * Detaching from ftrace waits, with ftrace_lock held, for a quiescent state
		 * of this task.
		 */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* Have each thread make @n calls. */
static void kp_count(unsigned int n)
{
	unsigned int i;

	WRITE_ONCE(kp_free, false);
	for (i = 0; i < kp_callers; i++) {
		/*
		 * Pairs with kp_thread(): the calls meet all clients that were attached
		 * before.
		 */
		smp_store_release(&kp_caller[i].calls, n);
	}
	for (i = 0; i < kp_callers; i++)
		wait_for_completion(&kp_caller[i].done);
}

static void kp_note(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_clients); i++) {
		kp_clients[i].entry_before = atomic_read(&kp_clients[i].entry);
		kp_clients[i].ret_before = atomic_read(&kp_clients[i].ret);
	}
}

static void kp_expect(struct kunit *test, unsigned int step, int calls)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_clients); i++) {
		struct kp_client *client = &kp_clients[i];

		KUNIT_ASSERT_EQ_MSG(test, atomic_read(&client->entry) - client->entry_before,
				    client->there ? calls : 0, "%s in step %u of seed %u",
				    client->name, step, seed);
		KUNIT_ASSERT_EQ_MSG(test, atomic_read(&client->ret) - client->ret_before,
				    client->there && client->returns ? calls : 0,
				    "%s in step %u of seed %u", client->name, step, seed);
	}
}

static void kp_everybody_leaves(void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kp_clients); i++) {
		if (kp_clients[i].there)
			kp_clients[i].detach(&kp_clients[i]);
		kp_clients[i].there = false;
	}
	for (i = 0; i < kp_callers; i++)
		kthread_stop(kp_caller[i].task);
	kp_callers = 0;
}

static void kp_attach_order_all(struct kunit *test)
{
	struct task_struct *task;
	struct rnd_state random;
	unsigned int step;
	int cpu;

	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_everybody_leaves, NULL), 0);
	for_each_online_cpu(cpu) {
		if (kp_callers == ARRAY_SIZE(kp_caller))
			break;
		init_completion(&kp_caller[kp_callers].done);
		task = kthread_create_on_cpu(kp_thread, &kp_caller[kp_callers], cpu,
					     "kp_attach_order/%u");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		kp_caller[kp_callers++].task = task;
		wake_up_process(task);
	}

	seed = seed ?: get_random_u32() % 100000;
	prandom_seed_state(&random, seed);
	for (step = 0; step < steps; step++) {
		struct kp_client *client;

		client = &kp_clients[prandom_u32_state(&random) % ARRAY_SIZE(kp_clients)];
		WRITE_ONCE(kp_free, true);
		if (client->there)
			client->detach(client);
		else
			KUNIT_ASSERT_EQ_MSG(test, client->attach(client), 0, "%s", client->name);
		client->there = !client->there;

		/* Stop the threads: each has left its loop when it makes this call. */
		kp_count(1);
		kp_note();
		kp_count(KP_CALLS);
		kp_expect(test, step, KP_CALLS * kp_callers);
	}
	for (step = 0; step < kp_callers; step++)
		KUNIT_EXPECT_EQ(test, kp_caller[step].wrong, 0);
	kunit_info(test, "seed %u: %u changes among %zu, %d calls seen by one\n", seed, steps,
		   ARRAY_SIZE(kp_clients), atomic_read(&kp_clients[0].entry));
}

static struct kunit_case kp_attach_order_cases[] = {
	KUNIT_CASE_SLOW(kp_attach_order_all),
	{}
};

static struct kunit_suite kp_attach_order_suite = {
	.name = "kprobes_attach_order",
	.test_cases = kp_attach_order_cases,
};

kunit_test_suite(kp_attach_order_suite);

MODULE_DESCRIPTION("KUnit suite for all tracers that can be at the entry of a function");
MODULE_LICENSE("GPL");
