/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_INTERNAL_H
#define _KERNEL_KPROBES_INTERNAL_H
/*
 * What the parts of kprobes call of each other; nothing here is for users or
 * for architectures.
 */

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>

/*
 * Guards everything that changes probes and probepoints.  Outermost of our
 * locks: jump_label_lock(), text_mutex and the slot mutex nest inside it.
 */
extern struct mutex kprobe_mutex;

/**
 * enum probepoint_state - how a probepoint is reached
 * @PROBEPOINT_DISARMED: not at all, the text is as it was
 * @PROBEPOINT_ARMED: by a breakpoint
 * @PROBEPOINT_QUEUED: by a breakpoint; a jump is going to take its place, and
 *	hits pass by the bytes that it will take already
 * @PROBEPOINT_OPTIMIZED: by a jump
 * @PROBEPOINT_FTRACE: by a call that ftrace has put there
 * @PROBEPOINT_GONE: never again, the text has been unloaded or freed
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
 * struct dying_slot - a slot that was replaced by another
 * @list: links it among those that wait for a grace period
 * @slot: the slot
 */
struct dying_slot {
	struct list_head list;
	kprobe_opcode_t *slot;
};

/**
 * struct probepoint_jump - what the optimiser knows of a probepoint
 * @work: links those that it is to look at
 * @leave: links those that lose their jump or their detour
 * @checked: whether the text allows a jump has been found out
 * @post: the detour calls post_handlers
 * @reach: bytes that the instructions under the jump take, if there can be one
 * @refusal: why there can be none, or NULL
 * @failure: why there was none the last time it was tried, or NULL
 * @serial: which probepoint it is, of those that there were
 * @grave: what the detour is retired with
 */
struct probepoint_jump {
	struct list_head work;
	struct list_head leave;
	bool checked;
	bool post;
	unsigned int reach;
	const char *refusal;
	const char *failure;
	u64 serial;
	struct dying_slot *grave;
};

/**
 * struct probepoint - one probed address
 * @kp: what architectures and get_kprobe() see. Its handlers are the
 *	dispatchers; its post_handler and fault_handler are NULL while no
 *	probe in its set has one.
 * @next_set: what @kp's set becomes when @staged is acted upon
 * @staged: a batch is about to replace the set
 * @published: hits may find it
 * @removed: the architecture has freed what it held for @kp
 * @dead: no probe is attached any more, to be freed
 * @going: its text is about to be freed, and no probe is to be called any more
 * @filters: those of ftrace.c that its address is in
 * @state: how it is reached
 * @probes: every attached probe, disabled ones too
 * @node: orders all probepoints by address, gone ones too
 * @change: links the probepoints that one batch changes
 * @grave: links those that wait for a grace period to lose their slot
 * @rcu: frees it; unwinders find it by its slots, see kprobe_of_insn_slot()
 * @module: module pinned while a batch is under way, or NULL
 * @jump: what the optimiser knows of it
 *
 * Everything but what a hit reads, which is in @kp, is guarded by kprobe_mutex.
 */
struct probepoint {
	struct kprobe kp;
	struct probe_set *next_set;
	bool staged;
	bool published;
	bool removed;
	bool dead;
	bool going;
	u8 filters;
	enum probepoint_state state;
	struct list_head probes;
	struct rb_node node;
	struct list_head change;
	struct list_head grave;
	struct rcu_head rcu;
	struct module *module;
#ifdef CONFIG_OPTPROBES
	struct probepoint_jump jump;
#endif
};

/* probepoint.c */
extern bool kprobes_all_disarmed;
int probepoint_attach(struct kprobe *p, struct module *module,
		      struct list_head *changes);
void probepoint_detach(struct kprobe *p, struct list_head *changes);
void probepoint_touch(struct probepoint *pp, struct list_head *changes);
int probepoints_stage(struct list_head *changes);
void probepoints_commit(struct list_head *changes);
void probepoints_abort(struct list_head *changes);
void probepoints_kill(unsigned long start, unsigned long end);
int probepoints_arm_all(bool arm);
struct probepoint *probepoint_from(unsigned long addr);
struct probepoint *probepoint_before(unsigned long addr);
bool probepoint_next_has_post(const struct probepoint *pp);
bool probepoint_wants_arming(const struct probepoint *pp);
void probepoint_retire_slot(struct dying_slot *ds);

static inline struct probepoint *probepoint_next(struct probepoint *pp)
{
	return rb_entry_safe(rb_next(&pp->node), struct probepoint, node);
}

static inline struct probepoint *probepoint_prev(struct probepoint *pp)
{
	return rb_entry_safe(rb_prev(&pp->node), struct probepoint, node);
}

/* optimizer.c */
#ifdef CONFIG_OPTPROBES
void optimizer_init_point(struct probepoint *pp);
void optimizer_make_way(struct list_head *changes);
void optimizer_make_form(struct list_head *changes);
void optimizer_changed(struct probepoint *pp);
void optimizer_forget(struct probepoint *pp);
void optimizer_settle(void);
static inline void optimizer_module_goes(const struct module *mod)
{
	arch_kprobe_module_goes(mod);
}

const char *optimizer_verdict(struct probepoint *pp, const char **why);
#else
static inline void optimizer_init_point(struct probepoint *pp) { }
static inline void optimizer_make_way(struct list_head *changes) { }
static inline void optimizer_make_form(struct list_head *changes) { }
static inline void optimizer_changed(struct probepoint *pp) { }
static inline void optimizer_forget(struct probepoint *pp) { }
static inline void optimizer_settle(void) { }
static inline void optimizer_module_goes(const struct module *mod) { }
#endif

/* ftrace.c */
#ifdef CONFIG_KPROBES_ON_FTRACE
int kprobe_ftrace_check(unsigned long addr);
int kprobe_ftrace_arm(struct list_head *changes);
int kprobe_ftrace_arm_most(struct list_head *changes);
void kprobe_ftrace_disarm(struct list_head *changes);
void kprobe_ftrace_forget(struct probepoint *pp);
#else
static inline int kprobe_ftrace_check(unsigned long addr) { return -EINVAL; }
static inline int arch_prepare_kprobe_ftrace(struct kprobe *p) { return -EINVAL; }
static inline int kprobe_ftrace_arm(struct list_head *changes) { return 0; }
static inline int kprobe_ftrace_arm_most(struct list_head *changes) { return 0; }
static inline void kprobe_ftrace_disarm(struct list_head *changes) { }
static inline void kprobe_ftrace_forget(struct probepoint *pp) { }
#endif

/* table.c */
int probepoint_table_reserve(unsigned int nr);
void probepoint_table_add(struct probepoint *pp);
void probepoint_table_del(struct probepoint *pp);

#ifdef CONFIG_KRETPROBES

/* Guards which return probes are registered; nests outside kprobe_mutex. */
extern struct mutex kretprobe_mutex;

/* kretprobe.c */
int kretprobe_check(const struct kprobe *p, unsigned long addr, bool is_entry);
void kretprobes_init(void);

/* retcall.c, or rethook.c */
bool is_kretprobe(const struct kprobe *p);
int kretprobe_claim(struct kretprobe *rp);
bool kretprobe_stop(struct kretprobe *rp);
void kretprobe_release(struct kretprobe *rp);

#else /* !CONFIG_KRETPROBES */

static inline bool is_kretprobe(const struct kprobe *p) { return false; }
static inline void kretprobes_init(void) { }

static inline
int kretprobe_check(const struct kprobe *p, unsigned long addr, bool is_entry)
{
	return 0;
}

#endif

/* pool.c */
struct seq_file;

struct kretprobe_instance * __kprobes kretprobe_pool_take(struct kretprobe_pool *pool);
void kretprobe_pool_give(struct kretprobe_instance *ri);
struct kretprobe_pool *kretprobe_pool_share(size_t data_size);
struct kretprobe_pool *kretprobe_pool_create(unsigned int nr, size_t data_size);
struct kretprobe_instance * __percpu *kretprobe_pool_cache(struct kretprobe_pool *pool);
void kretprobe_pool_put(struct kretprobe_pool *pool);
bool kretprobe_pool_drop(struct kretprobe_pool *pool);
bool kretprobe_pool_drain(struct kretprobe_pool *pool);
void kretprobe_pools_replace_dead(struct kretprobe_anchor *by);
void kretprobe_pools_show(struct seq_file *m);

/* patched.c */
int kprobe_patched_text_init(void);
bool kprobe_is_patched_text(unsigned long addr, const struct module *mod);

/* What the linker gathers there of the kernel itself. */
struct bug_entry;
struct static_call_site;

extern struct bug_entry __start___bug_table[], __stop___bug_table[];
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];

/* Where the linker gathers what NOKPROBE_SYMBOL() names. */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

/* blacklist.c */
int kprobe_blacklist_init(void);

void kprobe_blacklist_del_range(unsigned long start, unsigned long end);

#ifdef CONFIG_MODULES
int kprobe_blacklist_add_module(struct module *mod);
bool kprobe_module_get(struct module *mod, unsigned long addr);
int kprobe_modules_init(void);
#else
static inline bool kprobe_module_get(struct module *mod, unsigned long addr) { return false; }
static inline int kprobe_modules_init(void) { return 0; }
#endif

/**
 * struct kprobe_range - text that must not be probed
 * @start: its first address
 * @end: the first address after it
 * @reach: the highest @end of this range and all before it
 */
struct kprobe_range {
	unsigned long start;
	unsigned long end;
	unsigned long reach;
};

/**
 * struct kprobe_blacklist - all such ranges, sorted by their start
 * @rcu: frees the list when nobody searches it
 * @nr: number of @range
 * @range: the ranges
 */
struct kprobe_blacklist {
	struct rcu_head rcu;
	unsigned int nr;
	struct kprobe_range range[] __counted_by(nr);
};

const struct kprobe_blacklist *kprobe_blacklist_get(void);

#endif /* _KERNEL_KPROBES_INTERNAL_H */
