// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: writers, which change probes while the readers call.
 *
 * Each writer has probes of its own, and a sequence of random numbers that decides what it does
 * with them. It checks that its probes are hit if they are enabled, and only then.
 */
#include <linux/atomic.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/torture.h>

#include "torture.h"

#define WRITER_PROBES	24
#define WRITER_BATCH	8
#define DATA_MAGIC	0x6b70726f62657321ULL

enum probe_kind { PROBE_FREE, PROBE_PLAIN, PROBE_RETURN };

/**
 * struct torture_probe - a probe that a writer changes
 * @kp: the probe, if @kind is PROBE_PLAIN
 * @rp: the return probe, if @kind is PROBE_RETURN
 * @kind: which of the two is registered; PROBE_FREE if none is
 * @target: the target that is probed
 * @place: index of the probed instruction in the places of @target
 * @symbol: if not NULL, a function of another module that is probed instead of @target
 * @silent: it is disabled or unregistered: no handler may run
 * @poisoned: @kp and @rp were unregistered, and have been poisoned since
 * @nested: its handler calls a target
 * @hits: calls of its handlers
 */
struct torture_probe {
	struct kprobe kp;
	struct kretprobe rp;
	enum probe_kind kind;
	struct torture_target *target;
	unsigned int place;
	const char *symbol;
	bool silent;
	bool poisoned;
	bool nested;
	atomic_long_t hits;
};

/* Counters of a writer */
enum change {
	CHANGE_REGISTER,
	CHANGE_UNREGISTER,
	CHANGE_ENABLE,
	CHANGE_DISABLE,
	CHANGE_BATCH,
	CHANGE_REFUSED,
	CHANGE_NOMEM,
	CHANGE_GONE,
	CHANGES,
};

static const char * const change_names[CHANGES] = {
	"registered", "unregistered", "enabled", "disabled", "batches", "refused", "no memory",
	"no module",
};

/**
 * struct writer - a task that changes probes
 * @task: the task
 * @random: the sequence of its random numbers
 * @probes: its probes
 * @done: what it has done
 */
struct writer {
	struct task_struct *task;
	struct rnd_state random;
	struct torture_probe *probes;
	unsigned long done[CHANGES];
};

static struct writer *writers;
static unsigned int nr_writers;

static const char *probed_name(struct torture_probe *probe)
{
	return probe->symbol ?: probe->target->name;
}

NOKPROBE_SYMBOL(probed_name);

static void note_hit(struct torture_probe *probe, const char *handler)
{
	if (READ_ONCE(probe->silent))
		torture_error("%s of a probe of %s that is not registered or not enabled", handler,
			      probed_name(probe));
	atomic_long_inc(&probe->hits);
}

static int changing_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct torture_probe *probe = container_of(p, struct torture_probe, kp);

	note_hit(probe, "pre_handler");
	if (probe->nested)
		torture_call(&torture_targets[0], 0, TORTURE_HANDLER);
	return 0;
}

NOKPROBE_SYMBOL(changing_pre);

static void changing_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	note_hit(container_of(p, struct torture_probe, kp), "post_handler");
}

NOKPROBE_SYMBOL(changing_post);

static int changing_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(u64 *)ri->data = DATA_MAGIC;
	return 0;
}

NOKPROBE_SYMBOL(changing_entry);

static int changing_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct torture_probe *probe;

	/* @rp is NULL if the return probe was unregistered during the call. */
	if (!rp)
		return 0;
	probe = container_of(rp, struct torture_probe, rp);
	if (rp->data_size && *(u64 *)ri->data != DATA_MAGIC)
		torture_error("data of a return from %s is %llx", probed_name(probe),
			      *(u64 *)ri->data);
	atomic_long_inc(&probe->hits);
	if (probe->nested)
		torture_call(&torture_targets[0], 1, TORTURE_HANDLER);
	return 0;
}

NOKPROBE_SYMBOL(changing_return);

static unsigned long probe_count(struct torture_probe *probe)
{
	unsigned long missed = READ_ONCE(probe->kp.nmissed);

	if (probe->kind == PROBE_RETURN)
		missed = READ_ONCE(probe->rp.nmissed) + READ_ONCE(probe->rp.kp.nmissed);
	return atomic_long_read(&probe->hits) + missed;
}

/*
 * Check that a call hits an enabled probe. Do not check with exact=0. Do not check a probe in
 * another module, in a target that only wanderers call, or at an instruction that not every call
 * executes.
 */
static void check_hit(struct torture_probe *probe)
{
	unsigned long before = probe_count(probe);

	if (probe->silent || probe->symbol || probe->target->flags || !torture_exact ||
	    !probe->target->places[probe->place].always)
		return;
	torture_call(probe->target, 2, TORTURE_TASK);
	if (probe_count(probe) == before)
		torture_error("a call of %s does not hit the probe at +%u", probe->target->name,
			      probe->target->places[probe->place].offset);
}

static void set_location(struct torture_probe *probe, struct kprobe *kp)
{
	if (probe->symbol)
		kp->symbol_name = probe->symbol;
	else
		kp->addr = torture_place_addr(probe->target, probe->place);
}

/*
 * The probe has been unregistered, so its owner may free it: poison it, to notice if kprobes still
 * reads or writes it.
 */
static void retire_probe(struct torture_probe *probe)
{
	WRITE_ONCE(probe->silent, true);
	memset(&probe->kp, TORTURE_POISON, sizeof(probe->kp));
	memset(&probe->rp, TORTURE_POISON, sizeof(probe->rp));
	probe->poisoned = true;
	probe->kind = PROBE_FREE;
}

static void check_retired(struct torture_probe *probe)
{
	if (probe->poisoned && (memchr_inv(&probe->kp, TORTURE_POISON, sizeof(probe->kp)) ||
				memchr_inv(&probe->rp, TORTURE_POISON, sizeof(probe->rp))))
		torture_error("a probe of %s was written to after it was unregistered",
			      probed_name(probe));
	probe->poisoned = false;
}

static void init_probe(struct writer *writer, struct torture_probe *probe)
{
	u32 random = prandom_u32_state(&writer->random);

	check_retired(probe);
	probe->target = torture_pick(random >> 16, TORTURE_SLEEPS);
	probe->place = (random >> 8) % 256 % probe->target->nr_places;
	probe->nested = random % 8 == 0;
	atomic_long_set(&probe->hits, 0);
	probe->symbol = NULL;
	if (torture_nr_symbols && random % 4 == 1)
		probe->symbol = torture_symbols[(random >> 8) % torture_nr_symbols];
	memset(&probe->kp, 0, sizeof(probe->kp));
	set_location(probe, &probe->kp);
	probe->kp.pre_handler = changing_pre;
	if (random & BIT(3))
		probe->kp.post_handler = changing_post;
	if (random & BIT(4) && random & BIT(5))
		probe->kp.flags = KPROBE_FLAG_DISABLED;
	probe->silent = kprobe_disabled(&probe->kp);
}

static void init_return_probe(struct writer *writer, struct torture_probe *probe)
{
	u32 random = prandom_u32_state(&writer->random);

	init_probe(writer, probe);
	probe->place = 0;
	probe->silent = false;
	memset(&probe->rp, 0, sizeof(probe->rp));
	set_location(probe, &probe->rp.kp);
	probe->rp.handler = changing_return;
	if (random & BIT(0)) {
		probe->rp.entry_handler = changing_entry;
		probe->rp.data_size = sizeof(u64);
	}
	if (random & BIT(1))
		probe->rp.maxactive = 1 + (random >> 8) % 8;
}

/* Is this module being unloaded? Then its functions cannot be probed any more. */
bool torture_being_unloaded(void)
{
#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
	/* The count is negative once the last reference is released, before the state changes. */
	return module_refcount(THIS_MODULE) < 0 ||
	       READ_ONCE(THIS_MODULE->state) == MODULE_STATE_GOING;
#else
	return false;
#endif
}

/* May a change fail with @err because the probed module is being loaded or unloaded? */
static bool is_errno_of_module(int err)
{
	return err == -ENOENT || err == -EINVAL;
}

/* Count a registration, and check its errno. Return true if it has succeeded. */
static bool note_registered(struct writer *writer, int err, bool by_symbol)
{
	if (!err) {
		writer->done[CHANGE_REGISTER]++;
		return true;
	}
	if (by_symbol && is_errno_of_module(err)) {
		writer->done[CHANGE_GONE]++;
		return false;
	}
	writer->done[CHANGE_NOMEM]++;
	if (!(err == -ENOMEM && torture_nomem) && !(err == -ENOENT && torture_being_unloaded()))
		torture_error("a registration has returned %d", err);
	return false;
}

static void register_one(struct writer *writer, struct torture_probe *probe)
{
	bool is_return = prandom_u32_state(&writer->random) % 3 == 0;

	if (is_return)
		init_return_probe(writer, probe);
	else
		init_probe(writer, probe);
	if (!note_registered(writer, is_return ? register_kretprobe(&probe->rp) :
			     register_kprobe(&probe->kp), probe->symbol))
		return;
	probe->kind = is_return ? PROBE_RETURN : PROBE_PLAIN;
	check_hit(probe);
}

static void unregister_one(struct writer *writer, struct torture_probe *probe)
{
	if (probe->kind == PROBE_RETURN)
		unregister_kretprobe(&probe->rp);
	else
		unregister_kprobe(&probe->kp);
	retire_probe(probe);
	writer->done[CHANGE_UNREGISTER]++;
}

static void switch_one(struct writer *writer, struct torture_probe *probe)
{
	bool is_return = probe->kind == PROBE_RETURN;
	bool enable = is_return ? kprobe_disabled(&probe->rp.kp) : kprobe_disabled(&probe->kp);
	int err;

	if (enable) {
		WRITE_ONCE(probe->silent, false);
		err = is_return ? enable_kretprobe(&probe->rp) : enable_kprobe(&probe->kp);
		writer->done[CHANGE_ENABLE]++;
		if (!err)
			check_hit(probe);
		else
			WRITE_ONCE(probe->silent, true);
	} else {
		err = is_return ? disable_kretprobe(&probe->rp) : disable_kprobe(&probe->kp);
		if (!err)
			WRITE_ONCE(probe->silent, true);
		writer->done[CHANGE_DISABLE]++;
	}
	if (err && probe->symbol && is_errno_of_module(err))
		writer->done[CHANGE_GONE]++;
	else if (err && (err != -ENOMEM || !torture_nomem))
		torture_error("%s has returned %d", enable ? "enabling" : "disabling", err);
}

static unsigned int collect(struct writer *writer, enum probe_kind kind,
			    struct torture_probe *found[WRITER_BATCH])
{
	unsigned int i, nr = 0;

	for (i = 0; i < WRITER_PROBES && nr < WRITER_BATCH; i++)
		if (writer->probes[i].kind == kind)
			found[nr++] = &writer->probes[i];
	return nr;
}

static void register_batch(struct writer *writer)
{
	struct torture_probe *probe[WRITER_BATCH];
	struct kprobe *kps[WRITER_BATCH];
	unsigned int i, nr = collect(writer, PROBE_FREE, probe);
	bool by_symbol = false;

	if (!nr)
		return;
	for (i = 0; i < nr; i++) {
		init_probe(writer, probe[i]);
		by_symbol |= !!probe[i]->symbol;
		kps[i] = &probe[i]->kp;
	}
	writer->done[CHANGE_BATCH]++;
	if (!note_registered(writer, register_kprobes(kps, nr), by_symbol))
		return;
	for (i = 0; i < nr; i++) {
		probe[i]->kind = PROBE_PLAIN;
		check_hit(probe[i]);
	}
}

static void unregister_batch(struct writer *writer)
{
	struct torture_probe *probe[WRITER_BATCH];
	struct kprobe *kps[WRITER_BATCH];
	unsigned int i, nr = collect(writer, PROBE_PLAIN, probe);

	if (!nr)
		return;
	for (i = 0; i < nr; i++)
		kps[i] = &probe[i]->kp;
	unregister_kprobes(kps, nr);
	writer->done[CHANGE_BATCH]++;
	for (i = 0; i < nr; i++)
		retire_probe(probe[i]);
}

/* Register a probe that must be refused. */
static void register_refused(struct writer *writer, u32 random)
{
	struct kprobe kp = {
		.pre_handler = changing_pre,
	};
	int err;

	switch (random % 4) {
	case 0:
		break;
	case 1:
		kp.addr = (void *)torture_targets[0].call;
		kp.symbol_name = "torture_leaf";
		break;
	case 2:
		kp.symbol_name = "torture_has_no_such_function";
		break;
	default:
		kp.addr = (void *)changing_pre;
	}
	err = register_kprobe(&kp);
	writer->done[CHANGE_REFUSED]++;
	if (!err) {
		torture_error("what must be refused was registered");
		unregister_kprobe(&kp);
	} else if (err != -EINVAL && err != -ENOENT && (err != -ENOMEM || !torture_nomem)) {
		torture_error("what must be refused was refused with %d", err);
	}
}

static void change_something(struct writer *writer)
{
	u32 random = prandom_u32_state(&writer->random);
	struct torture_probe *probe = &writer->probes[(random >> 8) % WRITER_PROBES];

	switch (random % 16) {
	case 0:
		register_batch(writer);
		break;
	case 1:
		unregister_batch(writer);
		break;
	case 2:
		register_refused(writer, random >> 16);
		break;
	case 3:
		/* Changes of other probes at the same address must not have affected @probe. */
		if (probe->kind != PROBE_FREE)
			check_hit(probe);
		break;
	default:
		if (probe->kind == PROBE_FREE)
			register_one(writer, probe);
		else if (random & BIT(4))
			unregister_one(writer, probe);
		else
			switch_one(writer, probe);
	}
}

static int torture_writer(void *arg)
{
	struct writer *writer = arg;
	unsigned int i;

	do {
		change_something(writer);
		cond_resched_tasks_rcu_qs();
		/* From time to time, give the optimiser the time to write jumps. */
		if (prandom_u32_state(&writer->random) % 64 == 0)
			schedule_timeout_interruptible(HZ / 10);
		stutter_wait("torture_writer");
	} while (!torture_must_stop());
	for (i = 0; i < WRITER_PROBES; i++)
		if (writer->probes[i].kind != PROBE_FREE)
			unregister_one(writer, &writer->probes[i]);
	torture_kthread_stopping("torture_writer");
	return 0;
}

/**
 * torture_start_writers() - start tasks that change probes
 * @nr: number of tasks
 * @seed: for their random numbers
 *
 * Return: 0, or an errno. torture_stop_writers() must be called in both cases.
 */
int torture_start_writers(unsigned int nr, u64 seed)
{
	unsigned int i;
	int err = 0;

	writers = kcalloc(nr, sizeof(*writers), GFP_KERNEL);
	if (!writers)
		return -ENOMEM;
	nr_writers = nr;
	for (i = 0; i < nr && !err; i++) {
		prandom_seed_state(&writers[i].random, seed + i);
		writers[i].probes = kcalloc(WRITER_PROBES, sizeof(*writers[i].probes), GFP_KERNEL);
		err = writers[i].probes ? torture_create_kthread(torture_writer, &writers[i],
								 writers[i].task) : -ENOMEM;
	}
	return err;
}

/**
 * torture_stop_writers() - stop the writers, each of which unregisters its probes before it ends
 */
void torture_stop_writers(void)
{
	unsigned int i;

	for (i = 0; i < nr_writers; i++)
		torture_stop_kthread(torture_writer, writers[i].task);
}

/**
 * torture_free_writers() - free the writers and their probes
 *
 * The caller has stopped the writers, so no handler of their probes runs any more.
 */
void torture_free_writers(void)
{
	unsigned int i, j;

	for (i = 0; i < nr_writers; i++) {
		for (j = 0; writers[i].probes && j < WRITER_PROBES; j++)
			check_retired(&writers[i].probes[j]);
		kfree(writers[i].probes);
	}
	nr_writers = 0;
	kfree(writers);
	writers = NULL;
}

/**
 * torture_print_writers() - print the counters of the writers
 * @buf: where to print it
 * @size: size of @buf
 */
void torture_print_writers(char *buf, size_t size)
{
	unsigned long sum;
	unsigned int i, c;
	size_t len = 0;

	for (c = 0; c < CHANGES; c++) {
		sum = 0;
		for (i = 0; i < nr_writers; i++)
			sum += READ_ONCE(writers[i].done[c]);
		len += scnprintf(buf + len, size - len, " %s %lu", change_names[c], sum);
	}
}
