// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: victims, tasks that end inside probed functions.
 *
 * A task starts the victims one by one. Each victim calls three nested functions that have return
 * probes, and exits in the innermost, at once or when it is killed. So the calls never return, and
 * the kernel has to give their instances back when the victim ends. If it does not, calls are soon
 * missed, since the return probes have pools of fixed size. From time to time the return probes are
 * unregistered while the instances of the last victims are still in use.
 *
 * With oops=1, some victims return from a function whose return handler oopses.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/torture.h>

#include "torture.h"

/*
 * The maxactive of the return probes: more than the number of victims that may have exited while
 * their instances have not been given back yet
 */
#define VICTIM_ACTIVE	64
/* Number of victims before the return probes are unregistered and registered again */
#define VICTIM_RENEWED	128

/* How a victim ends */
enum victim_end { VICTIM_EXITS, VICTIM_KILLED, VICTIM_OOPSES };

/**
 * struct victim_probe - a return probe of a function that never returns
 * @rp: the return probe
 * @entries: calls of its entry_handler
 */
struct victim_probe {
	struct kretprobe rp;
	atomic_long_t entries;
};

static struct task_struct *killer;
static struct rnd_state killer_random;
static DECLARE_COMPLETION(victim_inside);
static enum victim_end victim_end;
static unsigned long victims, oopses;
/* Number of victims since the return probes were registered */
static unsigned long probed_victims;
static bool victims_probed;

static noinline void victim_last(void)
{
	if (READ_ONCE(victim_end) == VICTIM_KILLED)
		allow_signal(SIGKILL);
	complete(&victim_inside);
	while (READ_ONCE(victim_end) == VICTIM_KILLED && !fatal_signal_pending(current))
		schedule_timeout_interruptible(HZ);
	kthread_complete_and_exit(NULL, 0);
}

static noinline void victim_middle(void)
{
	victim_last();
	barrier();
}

static noinline void victim_first(void)
{
	victim_middle();
	barrier();
}

/* With oops=1, the return handler of this function oopses. */
static noinline void victim_returns(void)
{
	complete(&victim_inside);
	barrier();
}

static int torture_victim(void *unused)
{
	if (READ_ONCE(victim_end) == VICTIM_OOPSES)
		victim_returns();
	else
		victim_first();
	return 0;
}

static int victim_entered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		atomic_long_inc(&container_of(rp, struct victim_probe, rp)->entries);
	return 0;
}

NOKPROBE_SYMBOL(victim_entered);

static int victim_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	torture_error("a victim has returned");
	return 0;
}

NOKPROBE_SYMBOL(victim_returned);

static int victim_oopses(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	/* Nothing is mapped in the last page. */
	WRITE_ONCE(*(long *)-4096L, 1);
	return 0;
}

NOKPROBE_SYMBOL(victim_oopses);

static struct victim_probe victim_probes[3];
static struct kretprobe *victim_rps[ARRAY_SIZE(victim_probes)];
static struct kretprobe oops_rp = {
	.handler = victim_oopses,
};

static int register_victim_probes(void)
{
	static void (* const functions[])(void) = { victim_first, victim_middle, victim_last };
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(victim_probes); i++) {
		memset(&victim_probes[i], 0, sizeof(victim_probes[i]));
		victim_probes[i].rp.kp.addr = torture_entry(functions[i]);
		victim_probes[i].rp.entry_handler = victim_entered;
		victim_probes[i].rp.handler = victim_returned;
		victim_probes[i].rp.maxactive = VICTIM_ACTIVE;
		victim_probes[i].rp.data_size = i * sizeof(long);
		victim_rps[i] = &victim_probes[i].rp;
	}
	probed_victims = 0;
	err = register_kretprobes(victim_rps, ARRAY_SIZE(victim_rps));
	victims_probed = !err;
	return err;
}

/* Unregister the return probes, and check that no call was missed. */
static void unregister_victim_probes(void)
{
	unsigned long entries, missed, least = torture_exact ? probed_victims : 0;
	unsigned int i;

	unregister_kretprobes(victim_rps, ARRAY_SIZE(victim_rps));
	victims_probed = false;
	for (i = 0; i < ARRAY_SIZE(victim_probes); i++) {
		entries = atomic_long_read(&victim_probes[i].entries);
		missed = victim_probes[i].rp.nmissed + victim_probes[i].rp.kp.nmissed;
		if (entries < least || entries > probed_victims || missed)
			torture_error("victims: %lu calls, %lu entries + %lu missed of function %u",
				      probed_victims, entries, missed, i);
		memset(&victim_probes[i].rp, TORTURE_POISON, sizeof(victim_probes[i].rp));
	}
}

static void check_victim_poison(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(victim_probes); i++)
		if (memchr_inv(&victim_probes[i].rp, TORTURE_POISON, sizeof(victim_probes[i].rp)))
			torture_error("victims: written to after they were unregistered");
}

static void one_victim(void)
{
	u32 random = prandom_u32_state(&killer_random);
	enum victim_end end = random % 2 ? VICTIM_KILLED : VICTIM_EXITS;
	struct task_struct *task;

	/* Only one victim in 1024 oopses, since each oops is 50 lines in the log. */
	if (torture_oops && (victims + oopses) % 1024 == 64)
		end = VICTIM_OOPSES;
	WRITE_ONCE(victim_end, end);
	reinit_completion(&victim_inside);
	task = kthread_create(torture_victim, NULL, "torture_victim");
	if (IS_ERR(task)) {
		torture_error("a victim cannot be started: %ld", PTR_ERR(task));
		return;
	}
	get_task_struct(task);
	wake_up_process(task);
	wait_for_completion(&victim_inside);
	if (end == VICTIM_KILLED)
		send_sig(SIGKILL, task, 1);
	/* Wait until the victim has exited. */
	kthread_stop_put(task);
	if (end == VICTIM_OOPSES) {
		oopses++;
	} else {
		victims++;
		probed_victims += victims_probed;
	}
}

/*
 * Unregister the return probes and register them again. In between, one victim
 * calls the functions without probes.
 */
static bool renew_victim_probes(void)
{
	int err;

	unregister_victim_probes();
	one_victim();
	check_victim_poison();
	err = register_victim_probes();
	if (err && !torture_being_unloaded())
		torture_error("victims: cannot be probed again: %d", err);
	return !err;
}

static int torture_killer(void *unused)
{
	do {
		one_victim();
		if (probed_victims == VICTIM_RENEWED && !renew_victim_probes())
			break;
		torture_hrtimeout_us(1000, 1000, NULL);
		stutter_wait("torture_killer");
	} while (!torture_must_stop());
	torture_kthread_stopping("torture_killer");
	return 0;
}

/**
 * torture_start_victims() - start tasks that end inside probed functions
 * @seed: for the random numbers that decide how each victim ends
 *
 * Return: 0, or an errno. After an error, torture_stop_victims() may be called, but does nothing.
 */
int torture_start_victims(u64 seed)
{
	int err;

	victims = 0;
	oopses = 0;
	prandom_seed_state(&killer_random, seed ^ 0x76696374);
	err = register_victim_probes();
	if (err)
		return err;
	if (torture_oops) {
		oops_rp.kp.addr = torture_entry(victim_returns);
		err = register_kretprobe(&oops_rp);
		if (err)
			goto unregister;
	}
	err = torture_create_kthread(torture_killer, NULL, killer);
	if (!err)
		return 0;
	killer = NULL;
	if (torture_oops)
		unregister_kretprobe(&oops_rp);
unregister:
	unregister_victim_probes();
	return err;
}

/**
 * torture_stop_victims() - start no more victims, and check that no call was missed
 */
void torture_stop_victims(void)
{
	if (!killer)
		return;
	torture_stop_kthread(torture_killer, killer);
	if (!victims)
		torture_error("no task was a victim");
	pr_alert(TORTURE_TYPE TORTURE_FLAG " victims %lu, of handlers that oops %lu\n", victims,
		 oopses);
	if (victims_probed)
		unregister_victim_probes();
	if (torture_oops)
		unregister_kretprobe(&oops_rp);
}
