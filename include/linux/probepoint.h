/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes: probed addresses, for the core and the architectures.
 *
 * A user registers a struct kprobe, see linux/kprobes.h. The core attaches it to the
 * probepoint of its address. A probepoint owns the patched text, the out-of-line copy of the
 * instruction, and the state. Several probes may be attached to it.
 *
 * An architecture whose hooks take a struct probepoint defines __ARCH_WANT_PROBEPOINT in its
 * asm/kprobes.h, and struct arch_probepoint in its asm/probepoint.h. The hooks of other
 * architectures take the struct kprobe that the probepoint embeds, see
 * kernel/kprobes/legacy_hooks.c.
 */
#ifndef _LINUX_PROBEPOINT_H
#define _LINUX_PROBEPOINT_H

#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#ifdef __ARCH_WANT_PROBEPOINT
#include <asm/probepoint.h>
#else
struct arch_probepoint { };
#endif

struct module;
struct mutex;
struct probepoint;

/*
 * Guards all changes of probes and probepoints. Architectures may assert that it is held; only
 * the core takes it. Lock order: kretprobe_mutex, kprobe_mutex, then jump_label_lock(),
 * cpus_read_lock(), text_mutex and slot_mutex.
 */
extern struct mutex kprobe_mutex;

/**
 * struct probe_set - the enabled probes of a probepoint
 * @rcu: frees the set when no hit walks it any more
 * @post_probe: the first argument of @post_handler
 * @post_handler: the post_handler of the only probe that has one; otherwise a dispatcher that
 *	calls all post_handlers
 * @post: index in @probes of the second list
 * @all: index in @probes of the third list
 * @probes: three lists, each ended by NULL, the newest registration first: the probes with a
 *	pre_handler, the probes with a post_handler, and all probes
 *
 * In a published set, nothing but @post_handler may change. The core replaces the set when a probe
 * is registered, unregistered, enabled or disabled, and when the text is freed.
 */
struct probe_set {
	struct rcu_head rcu;
	struct kprobe *post_probe;
	kprobe_post_handler_t post_handler;
	unsigned int post;
	unsigned int all;
	struct kprobe *probes[];
};

/**
 * enum probepoint_state - what is in the text at the probed address
 * @PROBEPOINT_DISARMED: the original; there are no hits
 * @PROBEPOINT_ARMED: a breakpoint
 * @PROBEPOINT_QUEUED: a breakpoint, whose hits are redirected to the detour buffer. The jump
 *	is written when no task can be in the instructions that it overwrites any more.
 * @PROBEPOINT_OPTIMIZED: a jump to the detour buffer
 * @PROBEPOINT_FTRACE: a call of ftrace
 * @PROBEPOINT_GONE: the text has been unloaded or freed; there are no hits any more
 *
 * See probepoint_set_state() for the transitions.
 */
enum probepoint_state {
	PROBEPOINT_DISARMED,
	PROBEPOINT_ARMED,
	PROBEPOINT_QUEUED,
	PROBEPOINT_OPTIMIZED,
	PROBEPOINT_FTRACE,
	PROBEPOINT_GONE,
};

/**
 * struct kprobe_deferred - memory to be freed after a tasks-RCU and an RCU grace period
 * @list: links the memory that waits for the same grace periods
 * @free: frees it; called with kprobe_mutex held
 *
 * See kprobe_defer_free().
 */
struct kprobe_deferred {
	struct list_head list;
	void (*free)(struct kprobe_deferred *deferred);
};

/**
 * struct probepoint_jump - the optimiser's data on a probepoint
 * @work: links the probepoints that the worker is to process
 * @leave: links the probepoints that are being unoptimised
 * @checked: the safety check is complete
 * @post: the detour buffer calls post_handlers
 * @dcr_size: size in bytes of the instructions that the jump overwrites (the DCR); valid if the
 *	safety check has passed
 * @refusal: the reason why the safety check has failed, or %KPROBE_REASON_NONE
 * @failure: the reason why the last attempt to optimise has failed, or %KPROBE_REASON_NONE
 * @deferred_slot: passed to kprobe_defer_free_slot() to free the detour buffer. It is allocated
 *	before the detour buffer, so that freeing the buffer cannot fail.
 */
struct probepoint_jump {
	struct list_head work;
	struct list_head leave;
	bool checked;
	bool post;
	unsigned int dcr_size;
	enum kprobe_reason refusal;
	enum kprobe_reason failure;
	struct deferred_slot *deferred_slot;
};

#if defined(CONFIG_OPTPROBES) && !defined(KPROBE_DCR_MAX)
#define KPROBE_DCR_MAX	MAX_OPTIMIZED_LENGTH
#endif

/**
 * struct probepoint - one probed address
 * @addr: the probed address
 * @set: the enabled probes, which a hit calls
 * @first: the probe whose pre_handler a hit calls. If exactly one probe has a pre_handler, it is
 *	that probe; otherwise @kp, whose pre_handler is a dispatcher. It is also @kp if the
 *	probepoint is ftrace-based and a probe has a post_handler.
 * @has_post: a probe in @set has a post_handler
 * @has_fault: a probe in @set has a fault_handler
 * @redirected: a pre_handler has returned non-zero, see probepoint_note_redirect()
 * @state: what is in the text
 * @arch: the architecture's data on the instruction
 * @kp: stands for the probepoint where a struct kprobe is needed: for get_kprobe(), and for the
 *	hooks of architectures that do not take a struct probepoint. Its handlers are dispatchers of
 *	the core. A handler other than the pre_handler is NULL until a probe has such a handler;
 *	then it stays set.
 * @op: @kp and the data of the jump hooks, if the hooks do not take a struct probepoint
 * @next_set: replaces @set when the batch is committed, if @staged
 * @staged: a batch has prepared @next_set
 * @published: the probepoint is in the table, so that hits find it
 * @removed: arch_remove_probepoint() has been called
 * @dead: the last probe has been detached; to be freed
 * @text_going: the text is about to be freed: call no more probes
 * @deferred_queued: @deferred has been passed to kprobe_defer_free()
 * @filters: the filters of kernel/kprobes/ftrace.c that the address is in
 * @why: if the architecture refuses the address, the reason. If it accepts the address, but does
 *	not execute the instruction as the opcode alone would suggest, the reason for that.
 *	Otherwise %KPROBE_REASON_NONE.
 * @nr_slots: number of slots and detour buffers whose owner is the probepoint. An unwinder may
 *	find the probepoint by an address in one of them. Guarded by slot_mutex.
 * @serial: generation number: tells the probepoint from later ones at the same address
 * @probes: every attached probe, including disabled ones
 * @node: orders all probepoints by address, including GONE ones
 * @change: links the probepoints of a batch
 * @unreleased: links the probepoints that have no probes any more, but are still in a filter
 * @deferred: frees the slot, and the probepoint if it is @dead
 * @rcu: frees the probepoint when no unwinder reads it any more
 * @module: the module that a batch has pinned, or NULL
 * @jump: the optimiser's data
 *
 * A hit reads the members before @next_set except @state, with preemption disabled. All other
 * accesses, except to @nr_slots, need kprobe_mutex. The order of the members leaves few holes: on
 * 64-bit x86, the struct fits into kmalloc()'s size class of 512 bytes.
 */
struct probepoint {
	kprobe_opcode_t *addr;
	struct probe_set __rcu *set;
	struct kprobe *first;
	bool has_post;
	bool has_fault;
	bool redirected;
	enum probepoint_state state;
	struct arch_probepoint arch;
	union {
		struct kprobe kp;
#if defined(CONFIG_OPTPROBES) && !defined(__ARCH_WANT_PROBEPOINT)
		struct optimized_kprobe op;
#endif
	};
	struct probe_set *next_set;
	bool staged;
	bool published;
	bool removed;
	bool dead;
	bool text_going;
	bool deferred_queued;
	u8 filters;
	enum kprobe_reason why;
	unsigned int nr_slots;
	u64 serial;
	struct list_head probes;
	struct rb_node node;
	struct list_head change;
	struct list_head unreleased;
	struct kprobe_deferred deferred;
	struct rcu_head rcu;
	struct module *module;
#ifdef CONFIG_OPTPROBES
	struct probepoint_jump jump;
#endif
};

/**
 * struct probepoint_table - hash table of probepoints by address; replaced before it is more than
 *	half full
 * @rcu: frees the table when no reader searches it any more
 * @mask: number of entries, a power of two, minus 1
 * @shift: number of bits by which a hash is shifted right to get an index
 * @used: number of entries that are not NULL, including the marks that replace removed probepoints
 * @live: number of entries that are probepoints
 * @entry: the probepoints, each at the index of its hash or after it
 *
 * See kernel/kprobes/table.c.
 */
struct probepoint_table {
	struct rcu_head rcu;
	unsigned int mask;
	unsigned int shift;
	unsigned int used;
	unsigned int live;
	struct probepoint *entry[];
};

extern struct probepoint_table __rcu *probepoint_table;

#if BITS_PER_LONG == 64
#define PROBEPOINT_HASH_FACTOR	GOLDEN_RATIO_64
#else
#define PROBEPOINT_HASH_FACTOR	GOLDEN_RATIO_32
#endif

/*
 * Return: the index at which a search for @addr begins. This is hash_long(), except that the shift
 * is not computed from a number of bits, but stored in the table.
 */
static __always_inline
unsigned long probepoint_first_place(const struct probepoint_table *t, const void *addr)
{
	return ((unsigned long)addr * PROBEPOINT_HASH_FACTOR) >> t->shift;
}

/**
 * get_probepoint() - find the probepoint at an address
 * @addr: the probed address
 *
 * Context: any, with preemption disabled or kprobe_mutex held. The probepoint is valid
 * until preemption is enabled or kprobe_mutex released.
 *
 * Return: the probepoint, or NULL if @addr is not probed.
 */
static __always_inline struct probepoint *get_probepoint(void *addr)
{
	/* Pairs with rcu_assign_pointer() in probepoint_table_reserve(). */
	const struct probepoint_table *t = rcu_dereference_raw(probepoint_table);
	unsigned long i = probepoint_first_place(t, addr);

	for (;; i = (i + 1) & t->mask) {
		/* Pairs with smp_store_release() in probepoint_table_put(). */
		struct probepoint *pp = READ_ONCE(t->entry[i]);

		if (!pp || pp->addr == addr)
			return pp;
	}
}

/*
 * Return the probepoint that a handler of @p was called for. While @p is being unregistered, it has
 * left its probepoint, but hits still call it until the probepoint's new set is published. The
 * result is NULL if the hit began before the probepoint was removed. Preemption is disabled.
 */
static __always_inline struct probepoint *kprobe_hit_probepoint(struct kprobe *p)
{
	return READ_ONCE(p->point) ?: get_probepoint(p->addr);
}

/* Return: the probes that a hit calls, valid until preemption is enabled. */
static __always_inline struct probe_set *probepoint_set(struct probepoint *pp)
{
	/* Pairs with rcu_replace_pointer() in probepoint_publish_set(). */
	return rcu_dereference_raw(pp->set);
}

/*
 * Return the probe whose pre_handler a hit calls: the only probe that has a pre_handler; otherwise
 * @pp->kp, whose pre_handler calls all pre_handlers. If the probepoint is ftrace-based and has
 * post_handlers, it is always @pp->kp: the architecture may set a pre_handler of its own in
 * @pp->kp, which also calls the post_handlers. Preemption is disabled.
 */
static __always_inline struct kprobe *probepoint_first(struct probepoint *pp)
{
	/* Pairs with smp_store_release() in probepoint_publish_set(). */
	return READ_ONCE(pp->first);
}

/* Does a hit call several pre_handlers? kprobe_mutex is held. */
static inline bool probepoint_has_multi_pre(const struct probepoint *pp)
{
	const struct probe_set *set = rcu_dereference_protected(pp->set,
								lockdep_is_held(&kprobe_mutex));

	return set->probes[0] && set->probes[1];
}

/* Does a hit call a post_handler? Preemption is disabled, or kprobe_mutex is held. */
static __always_inline bool probepoint_has_post(const struct probepoint *pp)
{
	return READ_ONCE(pp->has_post);
}

/* Does a fault call a fault_handler? Preemption is disabled. */
static __always_inline bool probepoint_has_fault(const struct probepoint *pp)
{
	return IS_ENABLED(CONFIG_KPROBES_FAULT_HANDLER) && READ_ONCE(pp->has_fault);
}

/*
 * Call the post_handlers. @regs: registers after the probed instruction. @running: where to record
 * the probe whose handler runs. Preemption is disabled. Further hits in this context count as
 * missed.
 */
static __always_inline
void probepoint_call_post(struct probepoint *pp, struct pt_regs *regs, struct kprobe **running)
{
	struct probe_set *set = probepoint_set(pp);

	WRITE_ONCE(*running, set->post_probe);
	set->post_handler(set->post_probe, regs, 0);
}

/**
 * struct kprobe_symbol - the symbol that contains an address
 * @start: its address
 * @size: its size; 0 if no symbol contains the address, and then @start and @name are not valid
 * @name: its name
 */
struct kprobe_symbol {
	unsigned long start;
	unsigned long size;
	char name[KSYM_NAME_LEN];
};

struct kprobe_symbol *kprobe_symbol_at(unsigned long addr);
bool kprobe_patches_text(unsigned long start, unsigned long end);
bool kprobe_blacklist_has(unsigned long addr);

bool probepoint_run_fault_handlers(struct probepoint *pp, struct pt_regs *regs, int trapnr);
void probepoint_count_missed(struct probepoint *pp);
bool probepoint_call_nested(struct probepoint *pp, struct pt_regs *regs);

/*
 * Does a probe take part in nested hits: has the user set KPROBE_FLAG_NEST, and no post_handler?
 *
 * If this is true for the probe whose handler runs, a hit in the same context is not missed, but
 * calls the pre_handlers of the other probes for which this is true. So the handlers of such probes
 * must be prepared to be called from any function that another handler calls. A probe with a
 * post_handler never nests: after the instruction, when the post_handler would be called, it is no
 * longer known that the hit was nested.
 */
static __always_inline bool kprobe_nests(const struct kprobe *p)
{
	return (READ_ONCE(p->flags) & KPROBE_FLAG_NEST) && !READ_ONCE(p->post_handler);
}

#ifdef CONFIG_OPTPROBES
void probepoint_note_redirect(struct probepoint *pp);
#else
static inline void probepoint_note_redirect(struct probepoint *pp) { }
#endif

/* Record why the architecture refuses an address. Return: the errno of @why. */
static inline int probepoint_refuse(struct probepoint *pp, enum kprobe_reason why)
{
	pp->why = why;
	return kprobe_reason_errno(why);
}

/**
 * enum kprobe_answer - an answer of debugfs kprobes/explain
 * @KPROBE_NO: no
 * @KPROBE_YES: yes
 * @KPROBE_UNKNOWN: not known before a probe is registered or optimised
 */
enum kprobe_answer {
	KPROBE_NO,
	KPROBE_YES,
	KPROBE_UNKNOWN,
};

/**
 * struct kprobe_exec - how the probed instruction would be executed
 * @how: the word that debugfs kprobes/explain prints; NULL if not known
 * @why: the reason
 */
struct kprobe_exec {
	const char *how;
	enum kprobe_reason why;
};

/**
 * struct kprobe_explanation - the architecture's answers for debugfs kprobes/explain
 * @probed: can a probe be registered?
 * @refusal: the reason, unless @probed is %KPROBE_YES
 * @before: the last instruction boundary before the address. It is 0 if the address is known to be
 *	a boundary, or if no boundary before it is known.
 * @after: the first instruction boundary after the address; 0 in the same cases
 * @length: length of the instruction in bytes, or 0
 * @exec: how the instruction would be executed, without post_handlers and with them
 */
struct kprobe_explanation {
	enum kprobe_answer probed;
	enum kprobe_reason refusal;
	unsigned long before;
	unsigned long after;
	unsigned int length;
	struct kprobe_exec exec[2];
};

#ifdef CONFIG_MODULES
extern unsigned int kprobe_modules_seen;
bool kprobe_module_ready(const struct module *mod);
#endif

/* kernel/kprobes/slots.c provides these to architectures with __ARCH_WANT_KPROBES_INSN_SLOT. */
kprobe_opcode_t *get_insn_slot_for(struct probepoint *pp);
struct probepoint *probepoint_of_insn_slot(unsigned long addr);

/*
 * Hooks that the architecture provides. On architectures without __ARCH_WANT_PROBEPOINT, the core
 * provides them: the hooks inside #ifdef __ARCH_WANT_PROBEPOINT are in kernel/kprobes/legacy.h, the
 * other ones in legacy_hooks.c and legacy_opt.c in the same directory.
 */
int arch_prepare_probepoint(struct probepoint *pp);
#ifdef __ARCH_WANT_PROBEPOINT
void arch_begin_kprobes(void);
void arch_remove_probepoint(struct probepoint *pp);
int arch_reshape_probepoint(struct probepoint *pp, bool post, kprobe_opcode_t **old);
void arch_arm_probepoint(struct probepoint *pp);
void arch_probepoint_armed(struct probepoint *pp);
void arch_disarm_probepoint(struct probepoint *pp);
void arch_explain_probepoint(struct probepoint *pp, struct kprobe_explanation *e);
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
int arch_prepare_probepoint_ftrace(struct probepoint *pp);
#endif

#ifdef CONFIG_OPTPROBES
/**
 * struct kprobe_jump - an address whose safety check is to be done
 * @addr: the probed address
 * @dcr_size: result: size in bytes of the instructions that a jump overwrites (the DCR)
 * @refusal: result: the reason why a jump is not safe, or %KPROBE_REASON_NONE
 * @serial: for the core: &struct probepoint.serial
 */
struct kprobe_jump {
	unsigned long addr;
	unsigned int dcr_size;
	enum kprobe_reason refusal;
	u64 serial;
};

int arch_prepare_detour(struct probepoint *pp, unsigned int dcr_size, bool post);
bool arch_install_jump(struct probepoint *pp);
void arch_sync_jumps(void);
#ifdef __ARCH_WANT_PROBEPOINT
int arch_check_jumps(struct kprobe_jump *jumps, unsigned int nr);
enum kprobe_answer arch_explain_detour(struct probepoint *pp, unsigned int dcr_size, bool post);
kprobe_opcode_t *arch_drop_detour(struct probepoint *pp);
bool arch_match_detour(struct probepoint *pp);
void arch_break_jump(struct probepoint *pp);
void arch_restore_jump(struct probepoint *pp);
void arch_kprobe_module_going(const struct module *mod);
bool arch_jump_covers_next(const struct probepoint *pp);
bool arch_post_is_empty(kprobe_post_handler_t post);
#endif

#endif /* CONFIG_OPTPROBES */

#endif /* _LINUX_PROBEPOINT_H */
