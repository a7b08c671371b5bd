/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TORTURE_H
#define _KERNEL_KPROBES_TORTURE_H
/*
 * Types and functions that the parts of kprobe_torture share.
 */

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/types.h>
#ifdef CONFIG_PPC64
#include <asm/code-patching.h>
#endif

#define TORTURE_TYPE		"kprobe"
/* Number of different arguments of each target */
#define TORTURE_SEEDS		16
#define TORTURE_MAX_TARGETS	8
#define TORTURE_MAX_PLACES	128
#define TORTURE_MAX_SYMBOLS	8
/* The test fills unregistered probes with this byte. The kernel must not use them any more. */
#define TORTURE_POISON		0x5a

/* Flags of a target. SLEEPS: only wanderers call the target; VISITED: only visitors probe it */
#define TORTURE_SLEEPS		BIT(0)
#define TORTURE_VISITED		BIT(1)

/**
 * enum torture_context - the context that calls a target
 * @TORTURE_TASK: a task, or a callback of CPU hotplug
 * @TORTURE_SOFTIRQ: a tasklet
 * @TORTURE_HARDIRQ: a timer
 * @TORTURE_NMI: an NMI that a CPU has sent to itself
 * @TORTURE_HANDLER: a handler of a probe
 * @TORTURE_CONTEXTS: number of contexts
 */
enum torture_context {
	TORTURE_TASK,
	TORTURE_SOFTIRQ,
	TORTURE_HARDIRQ,
	TORTURE_NMI,
	TORTURE_HANDLER,
	TORTURE_CONTEXTS,
};

/**
 * struct torture_place - an instruction of a target that can be probed
 * @offset: its offset in the target
 * @always: every call of the target executes it
 */
struct torture_place {
	unsigned int offset;
	bool always;
};

/**
 * struct torture_target - a function that is probed and called
 * @name: for messages
 * @call: the function. Its result depends on its argument alone.
 * @size: the highest offset where the test tries to probe it; 0: only the entry is probed
 * @flags: TORTURE_SLEEPS, TORTURE_VISITED, or 0
 * @text: its bytes before the first probe
 * @places: the instructions that can be probed
 * @nr_places: number of @places
 * @expected: results for all seeds, without probes
 * @steady: a probe at the first of @places, registered while the readers run. In every second
 *	target it has a post_handler. It is not registered if only visitors probe the target.
 * @steady_return: a return probe, registered at the same time as @steady
 */
struct torture_target {
	const char *name;
	unsigned long (*call)(unsigned long seed);
	unsigned int size;
	unsigned int flags;
	u8 *text;
	struct torture_place places[TORTURE_MAX_PLACES];
	unsigned int nr_places;
	unsigned long expected[TORTURE_SEEDS];
	struct kprobe steady;
	struct kretprobe steady_return;
};

/**
 * struct torture_counts - counters of one CPU
 * @contexts: calls from each context
 * @calls: calls of each target
 * @hits: hits of each target's steady probe
 * @posts: calls of the post_handler of each target's steady probe
 * @returned: returns that the steady return probe of each target has seen
 */
struct torture_counts {
	unsigned long contexts[TORTURE_CONTEXTS];
	unsigned long calls[TORTURE_MAX_TARGETS];
	unsigned long hits[TORTURE_MAX_TARGETS];
	unsigned long posts[TORTURE_MAX_TARGETS];
	unsigned long returned[TORTURE_MAX_TARGETS];
};

DECLARE_PER_CPU(struct torture_counts, torture_counts);

extern struct torture_target torture_targets[TORTURE_MAX_TARGETS];
extern unsigned int torture_nr_targets;

/* main.c */
extern bool torture_traces;
extern bool torture_exact;
extern bool torture_nomem;
extern bool torture_oops;
extern char *torture_symbols[TORTURE_MAX_SYMBOLS];
extern int torture_nr_symbols;
__printf(1, 2) void torture_error(const char *fmt, ...);
void torture_error_at(unsigned long addr);

/* targets.c */
unsigned long torture_seed(unsigned int i);
int torture_find_targets(void);
int torture_register_steady(void);
void torture_unregister_steady(void);
void torture_check_steady(void);
void torture_check_text(void);
void torture_free_targets(void);
kprobe_opcode_t *torture_place_addr(struct torture_target *target, unsigned int i);
void torture_call(struct torture_target *target, unsigned int i, enum torture_context context);
struct torture_target *torture_pick(u32 random, unsigned int allowed);
int torture_steady_return(struct kretprobe_instance *ri, struct pt_regs *regs);

/* Return: a CPU that is online, and may go offline as soon as this returns. */
static inline int torture_any_cpu(void)
{
	guard(preempt)();
	return cpumask_any_distribute(cpu_online_mask);
}

/*
 * Return the first address that all callers of @function execute. On powerpc, callers in the same
 * module skip the first two instructions, which set r2: return the address after these.
 */
static inline kprobe_opcode_t *torture_entry(void *function)
{
#ifdef CONFIG_PPC64
	return (kprobe_opcode_t *)ppc_function_entry(function);
#else
	return function;
#endif
}

/* readers.c */
extern atomic_t torture_detaching;
int torture_start_readers(u64 seed);
void torture_stop_readers(void);
int torture_start_hotplug(void);
void torture_stop_hotplug(void);
void torture_check_trace(const char *where);

/* visitors.c */
unsigned long torture_visited(unsigned long seed);
unsigned long torture_visit(unsigned long seed);
int torture_start_visitors(u64 seed);
void torture_stop_visitors(void);

/* wanderers.c */
unsigned long torture_sleeps(unsigned long seed);
void torture_prepare_wanderers(struct torture_target *target);
int torture_start_wanderers(u64 seed);
void torture_stop_wanderers(void);

/* writers.c */
bool torture_being_unloaded(void);
int torture_start_writers(unsigned int nr, u64 seed);
void torture_stop_writers(void);
void torture_free_writers(void);
void torture_print_writers(char *buf, size_t size);

/* victims.c */
int torture_start_victims(u64 seed);
void torture_stop_victims(void);

/* busy.c */
int torture_start_busy(u64 seed);
void torture_stop_busy(void);
void torture_request_growth(void);

/* x86.c, x86_targets.S; on other architectures, no targets in assembly and no NMIs */
#ifdef CONFIG_X86
unsigned long torture_x86_registers(unsigned long seed);
unsigned long torture_x86_fault(unsigned long seed);
unsigned long torture_x86_load(unsigned long seed);
extern const unsigned int torture_x86_registers_size, torture_x86_fault_size;
extern const unsigned int torture_x86_load_size;
void torture_allow_loads(bool allow);
bool torture_can_unwind(const char *function);
int torture_start_nmi(void (*call)(void));
void torture_stop_nmi(void);
void torture_send_nmi(void);
#else
static inline bool torture_can_unwind(const char *function)
{
	/*
	 * s390 unwinds by back chains. If a function was interrupted before it had stored its back
	 * chain, the trace may end there.
	 */
	if (IS_ENABLED(CONFIG_S390) && (in_hardirq() || in_serving_softirq()))
		return false;
	/*
	 * The table-driven unwinder of arm does not look up the return addresses that return probes
	 * have replaced, so its traces may end at the trampoline.
	 */
	return !IS_ENABLED(CONFIG_ARM_UNWIND) || strcmp(function, "__kretprobe_trampoline");
}

static inline void torture_allow_loads(bool allow) { }
static inline int torture_start_nmi(void (*call)(void)) { return 0; }
static inline void torture_stop_nmi(void) { }
static inline void torture_send_nmi(void) { }
#endif

#endif /* _KERNEL_KPROBES_TORTURE_H */
