// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: targets, the functions that are probed and called.
 *
 * A target's result depends on its argument alone, and is recorded before the first probe. So
 * a register or flag that a hit corrupts shows in the result.
 *
 * Each target has a steady probe and a steady return probe, which stay registered while the reader
 * threads run. Only torture_visited() has none, so that its entry may be without any probe.
 */
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "torture.h"

DEFINE_PER_CPU(struct torture_counts, torture_counts);

struct torture_target torture_targets[TORTURE_MAX_TARGETS];
unsigned int torture_nr_targets;

static noinline unsigned long torture_leaf(unsigned long seed)
{
	return hash_long(seed, 20) + seed;
}

static noinline unsigned long torture_called(unsigned long seed)
{
	return hash_long(seed, 16) - seed;
}

static noinline unsigned long torture_calls(unsigned long seed)
{
	return torture_called(seed) ^ (torture_called(seed + 1) << 3);
}

/* This function's memory access faults, and execution resumes at the exception table's fixup. */
static noinline unsigned long torture_faults(unsigned long seed)
{
	unsigned long value = 0;
	long err;

	/* -4016 is in the range of error pointers, where nothing is mapped. */
	err = copy_from_kernel_nofault(&value, (void *)-4016L, sizeof(value));
	return seed + value - err;
}

unsigned long torture_seed(unsigned int i)
{
	return hash_long(i + 1, BITS_PER_LONG);
}

/**
 * torture_call() - call a target, and check its result
 * @target: the target
 * @i: number of the seed to pass to @target
 * @context: the context of the caller
 *
 * Context: any; but if @target sleeps, only a task that may sleep (a wanderer).
 */
void torture_call(struct torture_target *target, unsigned int i, enum torture_context context)
{
	unsigned long result;

	this_cpu_inc(torture_counts.contexts[context]);
	this_cpu_inc(torture_counts.calls[target - torture_targets]);
	result = target->flags & TORTURE_VISITED ? torture_visit(torture_seed(i)) :
		 target->call(torture_seed(i));
	if (unlikely(result != target->expected[i]))
		torture_error("%s(%lx) has returned %lx instead of %lx, context %d", target->name,
			      torture_seed(i), result, target->expected[i], context);
}

/**
 * torture_pick() - choose a target
 * @random: any number
 * @allowed: flags that the target may have
 *
 * Return: the target.
 */
struct torture_target *torture_pick(u32 random, unsigned int allowed)
{
	struct torture_target *target = &torture_targets[random % torture_nr_targets];

	/* The first target has no flags, so it is always allowed. */
	return target->flags & ~allowed ? &torture_targets[0] : target;
}

static int steady_hit(struct kprobe *p, struct pt_regs *regs)
{
	struct torture_target *target = container_of(p, struct torture_target, steady);

	if (this_cpu_inc_return(torture_counts.hits[target - torture_targets]) % 256 == 0)
		torture_check_trace(target->name);
	return 0;
}

NOKPROBE_SYMBOL(steady_hit);

static void steady_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct torture_target *target = container_of(p, struct torture_target, steady);

	this_cpu_inc(torture_counts.posts[target - torture_targets]);
}

NOKPROBE_SYMBOL(steady_post);

/* Count a return. */
int torture_steady_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct torture_target *target = container_of(rp, struct torture_target, steady_return);

	if (rp)
		this_cpu_inc(torture_counts.returned[target - torture_targets]);
	return 0;
}

NOKPROBE_SYMBOL(torture_steady_return);

/**
 * torture_place_addr() - find the address of an instruction that can be probed
 * @target: the target
 * @i: index of the instruction in target->places[]
 *
 * Return: the address.
 */
kprobe_opcode_t *torture_place_addr(struct torture_target *target, unsigned int i)
{
	return (void *)dereference_function_descriptor(target->call) + target->places[i].offset;
}

static int register_steady(struct torture_target *target)
{
	int err;

	if (target->flags & TORTURE_VISITED)
		return 0;
	target->steady.addr = torture_place_addr(target, 0);
	target->steady.pre_handler = steady_hit;
	if ((target - torture_targets) % 2)
		target->steady.post_handler = steady_post;
	err = register_kprobe(&target->steady);
	if (err)
		return err;
	target->steady_return.kp.addr = torture_place_addr(target, 0);
	target->steady_return.handler = torture_steady_return;
	if (target->flags & TORTURE_SLEEPS)
		torture_prepare_wanderers(target);
	err = register_kretprobe(&target->steady_return);
	if (err)
		unregister_kprobe(&target->steady);
	return err;
}

static void unregister_steady(struct torture_target *target)
{
	if (target->flags & TORTURE_VISITED)
		return;
	unregister_kretprobe(&target->steady_return);
	unregister_kprobe(&target->steady);
}

/**
 * torture_register_steady() - register the steady probes
 *
 * Return: 0, or the errno of a registration. After an error, no steady probe is registered.
 */
int torture_register_steady(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < torture_nr_targets; i++) {
		err = register_steady(&torture_targets[i]);
		if (!err)
			continue;
		torture_error("cannot probe %s: %d", torture_targets[i].name, err);
		while (i--)
			unregister_steady(&torture_targets[i]);
		return err;
	}
	return 0;
}

/**
 * torture_unregister_steady() - unregister the steady probes, after the readers have ended
 */
void torture_unregister_steady(void)
{
	unsigned int i;

	for (i = 0; i < torture_nr_targets; i++)
		unregister_steady(&torture_targets[i]);
}

/**
 * torture_check_steady() - compare the hits of the steady probes with the calls of the targets
 *
 * Each call must have hit both probes, or have been counted as missed. With exact=0, there may be
 * fewer hits than calls, but not more. If the probe has a post_handler, each hit must have called
 * it. The readers must have ended before.
 */
void torture_check_steady(void)
{
	unsigned long calls, hits, posts, returns, least, nested = 0;
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu)
		nested += per_cpu(torture_counts, cpu).contexts[TORTURE_HANDLER];
	for (i = 0; i < torture_nr_targets; i++) {
		struct torture_target *target = &torture_targets[i];
		unsigned long missed = target->steady.nmissed;
		unsigned long untold = target->steady_return.nmissed +
				       target->steady_return.kp.nmissed;

		if (target->flags & TORTURE_VISITED)
			continue;
		calls = 0;
		hits = 0;
		posts = 0;
		returns = 0;
		for_each_possible_cpu(cpu) {
			struct torture_counts *counts = per_cpu_ptr(&torture_counts, cpu);

			calls += counts->calls[i];
			hits += counts->hits[i];
			posts += counts->posts[i];
			returns += counts->returned[i];
		}
		pr_alert(TORTURE_TYPE "-torture: %s: %lu calls, %lu hits + %lu missed, %lu returns + %lu missed\n",
			 target->name, calls, hits, missed, returns, untold);
		/*
		 * Handlers call the first target. While another tracer is attached to that target,
		 * ftrace's own recursion check may drop the hits of these calls before kprobes can
		 * count them. So there may be up to @nested fewer hits.
		 */
		least = calls;
		if (!torture_exact)
			least = 0;
		else if (!i)
			least -= nested;
		if (hits + missed < least || hits + missed > calls)
			torture_error("%s: the hits are not the calls", target->name);
		if (returns + untold < least || returns + untold > calls)
			torture_error("%s: the returns are not the calls", target->name);
		if (target->steady.post_handler && posts != hits)
			torture_error("%s: %lu calls of the post_handler", target->name, posts);
		/*
		 * Only wanderers call a target that sleeps, and its steady return probe has an
		 * instance for each of them, so no call may be missed. Do not check with rethook:
		 * objpool_pop() searches one CPU's nodes after another's, and does not find a node
		 * that is given back to a CPU after its turn.
		 */
		if (target->flags & TORTURE_SLEEPS && target->steady_return.nmissed &&
		    !IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
			torture_error("%s: returns were missed", target->name);
		if (!calls)
			torture_error("%s: never called", target->name);
	}
}

static atomic_t trial_hits;

static int trial_hit(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&trial_hits);
	return 0;
}

NOKPROBE_SYMBOL(trial_hit);

/* If @target can be probed at @offset, fill in the next of target->places, and return true. */
static bool try_place(struct torture_target *target, unsigned int offset)
{
	struct torture_place *place = &target->places[target->nr_places];
	struct kprobe trial = {
		.pre_handler = trial_hit,
	};
	unsigned int i;

	place->offset = offset;
	trial.addr = torture_place_addr(target, target->nr_places);
	if (register_kprobe(&trial))
		return false;
	place->always = true;
	for (i = 0; i < TORTURE_SEEDS; i++) {
		atomic_set(&trial_hits, 0);
		if (target->call(torture_seed(i)) != target->expected[i])
			torture_error("%s+%u: wrong with one probe", target->name, offset);
		if (!atomic_read(&trial_hits))
			place->always = false;
	}
	unregister_kprobe(&trial);
	return true;
}

static int add_target(const char *name, unsigned long (*call)(unsigned long), unsigned int size,
		      unsigned int flags)
{
	struct torture_target *target = &torture_targets[torture_nr_targets];
	unsigned int i;

	target->name = name;
	target->call = call;
	target->size = size;
	target->flags = flags;
	size = max(size, 16U);
	target->text = kmemdup(dereference_function_descriptor(call), size, GFP_KERNEL);
	if (!target->text)
		return -ENOMEM;
	torture_nr_targets++;
	for (i = 0; i < TORTURE_SEEDS; i++)
		target->expected[i] = call(torture_seed(i));
	/* If the entry is a landing pad (endbr, bti), kprobes puts a probe of offset 0 after it. */
	for (i = 0; i <= target->size && target->nr_places < TORTURE_MAX_PLACES; i++)
		target->nr_places += try_place(target, i);
	if (target->nr_places && target->places[0].always)
		return 0;
	torture_error("%s cannot be probed", name);
	return -EINVAL;
}

/**
 * torture_find_targets() - record where the targets can be probed, and what they return
 *
 * Return: 0, or an errno.
 */
int torture_find_targets(void)
{
	return add_target("torture_leaf", torture_leaf, 0, 0) ?:
	       add_target("torture_calls", torture_calls, 0, 0) ?:
	       add_target("torture_faults", torture_faults, 0, 0) ?:
#ifdef CONFIG_X86
	       add_target("torture_x86_registers", torture_x86_registers,
			  torture_x86_registers_size, 0) ?:
	       add_target("torture_x86_fault", torture_x86_fault, torture_x86_fault_size, 0) ?:
	       add_target("torture_x86_load", torture_x86_load, torture_x86_load_size, 0) ?:
#endif
	       add_target("torture_visited", torture_visited, 0, TORTURE_VISITED) ?:
	       add_target("torture_sleeps", torture_sleeps, 0, TORTURE_SLEEPS);
}

/**
 * torture_check_text() - check that the text of all targets is the original
 *
 * All probes must have been unregistered before.
 */
void torture_check_text(void)
{
	unsigned int i;

	for (i = 0; i < torture_nr_targets; i++) {
		struct torture_target *target = &torture_targets[i];

		if (memcmp(target->text, dereference_function_descriptor(target->call),
			   max(target->size, 16U)))
			torture_error("%s: the text is not what it was", target->name);
	}
}

void torture_free_targets(void)
{
	while (torture_nr_targets)
		kfree(torture_targets[--torture_nr_targets].text);
}
