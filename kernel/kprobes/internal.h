/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_INTERNAL_H
#define _KERNEL_KPROBES_INTERNAL_H
/*
 * Functions and types of the core, not for users or architectures
 */

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/probepoint.h>

#ifndef __ARCH_WANT_PROBEPOINT
#include "legacy.h"
#endif

/**
 * struct kprobe_range - a range of text
 * @start: its first address
 * @end: the first address after it
 */
struct kprobe_range {
	unsigned long start;
	unsigned long end;
};

/**
 * struct kprobe_place - where a probe is to be
 * @addr: the address to probe; NULL if there is none
 * @entry: the start of the function if @addr counts as its entry, otherwise 0
 * @module: the module that contains @addr, or NULL
 * @on_ftrace: ftrace can put a call at @addr
 * @range: if the place is refused, the range of text that is the reason; its end is 0 if that
 *	range is not known
 */
struct kprobe_place {
	kprobe_opcode_t *addr;
	unsigned long entry;
	struct module *module;
	bool on_ftrace;
	struct kprobe_range range;
};

/**
 * struct kprobe_request - a request, made by hits, to queue a work item
 * @node: links the pending requests
 * @pending: the request is on that list
 * @work: the work item
 * @queue: queues the work item; NULL for system_unbound_wq
 */
struct kprobe_request {
	struct llist_node node;
	int pending;
	struct work_struct *work;
	void (*queue)(void);
};

/* request.c */
void kprobe_request(struct kprobe_request *r);

/* symbol.c */
struct kprobe_symbol *kprobe_look_up(unsigned long addr);

/* place.c */
enum kprobe_reason kprobe_find_place(const struct kprobe *p, struct kprobe_place *place, bool dry);

/*
 * Return: the address that the user of a probe gave; NULL if the user gave a symbol. Each
 * registration looks the symbol up again, since its address may have changed. If addr is no longer
 * what the last look-up has set, the user has set it.
 */
static inline kprobe_opcode_t *kprobe_given(const struct kprobe *p)
{
	return p->symbol_name && p->by_symbol && p->addr == p->given ? NULL : p->addr;
}

/* ../kprobes.c */
int kprobe_refused(struct kprobe *p, enum kprobe_reason why, int err);
int kprobes_register_locked(struct kprobe **kps, int num, bool again);

/* The flags that a user sets */
#define KPROBE_USER_FLAGS	(KPROBE_FLAG_DISABLED | KPROBE_FLAG_WAIT | \
				 KPROBE_FLAG_NO_JUMP | KPROBE_FLAG_EVENT | KPROBE_FLAG_NEST)
/*
 * Flags of the probed address. They stay set after unregistration: handlers that still run
 * read them, for example in bpf_get_func_ip().
 */
#define KPROBE_ADDRESS_FLAGS	(KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY)

/* event.c */
unsigned int kprobe_count_symbols(const char *symbol);
enum kprobe_reason kprobe_event_allowed(const struct kprobe *p);
enum kprobe_reason kprobe_event_check(const struct kprobe *p, unsigned long addr);

/* self_disabled.c */
int kprobe_self_disabled_pre(struct kprobe *p, struct pt_regs *regs);
void kprobe_self_disabled_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

#ifdef CONFIG_KPROBES_DISABLE_SELF

/* disable_self.c */
void kprobe_disable_requested(void);
void kprobes_restart(struct kprobe **kps, int num);

/* self_disabled.c */
void kprobe_check_post(struct probe_set *set);
bool kprobe_save_handlers(struct kprobe *p);
void kprobe_restore_handlers(struct kprobe *p);

/* Has kprobe_disable_self() been called since the probe, which is registered, was enabled? */
static __always_inline bool kprobe_is_self_disabled(const struct kprobe *p)
{
	return READ_ONCE(p->request.next) != &p->request;
}

#else

static inline void kprobe_disable_requested(void) { }
static inline void kprobes_restart(struct kprobe **kps, int num) { }
static inline void kprobe_check_post(struct probe_set *set) { }
static inline bool kprobe_save_handlers(struct kprobe *p) { return true; }
static inline void kprobe_restore_handlers(struct kprobe *p) { }
static inline bool kprobe_is_self_disabled(const struct kprobe *p) { return false; }

#endif /* CONFIG_KPROBES_DISABLE_SELF */

/* Return: the pre_handler that the user has set. */
static __always_inline kprobe_pre_handler_t kprobe_user_pre(const struct kprobe *p)
{
	kprobe_pre_handler_t pre = READ_ONCE(p->pre_handler);

	if (IS_ENABLED(CONFIG_KPROBES_DISABLE_SELF) && pre == kprobe_self_disabled_pre)
		return READ_ONCE(p->saved_pre);
	return pre;
}

/* Return: the post_handler that the user has set. */
static __always_inline kprobe_post_handler_t kprobe_user_post(const struct kprobe *p)
{
	kprobe_post_handler_t post = READ_ONCE(p->post_handler);

	if (IS_ENABLED(CONFIG_KPROBES_DISABLE_SELF) && post == kprobe_self_disabled_post)
		return READ_ONCE(p->saved_post);
	return post;
}

/* fault_handler.c */
#ifdef CONFIG_KPROBES_FAULT_HANDLER
void probepoint_publish_fault(struct probepoint *pp, const struct probe_set *set);
#else
static inline
void probepoint_publish_fault(struct probepoint *pp, const struct probe_set *set)
{
}
#endif

/*
 * Does the kernel call all handlers that @p has? Return: %KPROBE_REASON_NONE, or why not.
 */
static inline enum kprobe_reason kprobe_check_handlers(const struct kprobe *p)
{
	return p->fault_handler && !IS_ENABLED(CONFIG_KPROBES_FAULT_HANDLER) ?
		KPROBE_REASON_NO_FAULT_HANDLERS : KPROBE_REASON_NONE;
}

/* probepoint.c */
extern bool kprobes_all_disarmed;
void probepoint_set_state(struct probepoint *pp, enum probepoint_state state);
int probepoint_attach(struct kprobe *p, const struct kprobe_place *place,
		      struct list_head *changes, enum kprobe_reason *why);
void probepoint_detach(struct kprobe *p, struct list_head *changes);
struct probepoint *probepoint_find_live(kprobe_opcode_t *addr);
struct probepoint *probepoint_lower_bound(unsigned long addr);
struct probepoint *probepoint_last_below(unsigned long addr);
bool probepoint_should_arm(struct probepoint *pp);
void batch_add_probepoint(struct probepoint *pp, struct list_head *changes);
void probepoint_free(struct probepoint *pp);
void probepoint_kill(struct probepoint *pp);

/*
 * Is @pp the return trampoline, which some architectures implement as a
 * probepoint? It must stay armed: a tracked call may return at any time.
 */
static inline bool probepoint_is_return_trampoline(struct probepoint *pp)
{
#ifdef __ARCH_WANT_PROBEPOINT
	return false;
#else
	return arch_trampoline_kprobe(&pp->kp);
#endif
}

static inline struct probepoint *probepoint_next(struct probepoint *pp)
{
	return rb_entry_safe(rb_next(&pp->node), struct probepoint, node);
}

static inline struct probepoint *probepoint_prev(struct probepoint *pp)
{
	return rb_entry_safe(rb_prev(&pp->node), struct probepoint, node);
}

#define for_each_probepoint(pp) \
	for (pp = probepoint_lower_bound(0); pp; pp = probepoint_next(pp))

/* set.c */
void probepoint_init_set(struct probepoint *pp);
bool probepoint_set_is_empty(const struct probepoint *pp);
int probepoint_stage_set(struct probepoint *pp, gfp_t gfp);
void probepoint_unstage_set(struct probepoint *pp);
void probepoint_publish_set(struct probepoint *pp);
bool probepoint_next_has_post(const struct probepoint *pp);

/**
 * struct deferred_slot - a slot to be freed
 * @deferred: frees the slot
 * @slot: the slot, which new hits do not enter any more
 */
struct deferred_slot {
	struct kprobe_deferred deferred;
	kprobe_opcode_t *slot;
};

/* deferred.c */
void kprobe_defer_free(struct kprobe_deferred *deferred,
		       void (*free)(struct kprobe_deferred *deferred));

/* slots.c */
void kprobe_defer_free_slot(struct deferred_slot *ds);

/* batch.c */
extern unsigned long kprobe_handlers_gone;
void kprobe_set_disabled(struct kprobe *p, bool disabled, struct list_head *changes);
int probepoints_stage(struct list_head *changes);
void probepoints_commit(struct list_head *changes);
void kprobe_commit_removal(struct list_head *changes);
void probepoints_abort(struct list_head *changes);
void probepoints_kill(unsigned long start, unsigned long end);
int probepoints_arm_all(bool arm);

/* optimizer.c */

/**
 * struct jump_question - a question: would a probepoint be optimised?
 * @list: links the questions that are passed to optimizer_explain()
 * @pp: the probepoint, which was passed to arch_explain_probepoint() before
 * @nr: number of answers wanted: 2, or 1 for the first one only
 * @answer: result: the answers, without post_handlers and with them
 * @why: result: the reasons, for answers other than %KPROBE_YES
 */
struct jump_question {
	struct list_head list;
	struct probepoint *pp;
	unsigned int nr;
	enum kprobe_answer answer[2];
	enum kprobe_reason why[2];
};

#ifdef CONFIG_OPTPROBES
void optimizer_init_point(struct probepoint *pp);
void optimizer_unoptimize_conflicts(struct list_head *changes);
void optimizer_match_detours(struct list_head *changes);
void optimizer_unoptimize_for_post(struct list_head *changes);
void optimizer_changed(struct probepoint *pp);
void optimizer_remove(struct probepoint *pp);
void optimizer_wait_idle(void);
static inline void optimizer_module_going(const struct module *mod)
{
	arch_kprobe_module_going(mod);
}

const char *optimizer_status(struct probepoint *pp, enum kprobe_reason *why);
int optimizer_explain(struct list_head *questions);
#else
static inline void optimizer_init_point(struct probepoint *pp) { }
static inline void optimizer_unoptimize_conflicts(struct list_head *changes) { }
static inline void optimizer_match_detours(struct list_head *changes) { }
static inline void optimizer_unoptimize_for_post(struct list_head *changes) { }
static inline void optimizer_changed(struct probepoint *pp) { }
static inline void optimizer_remove(struct probepoint *pp) { }
static inline void optimizer_wait_idle(void) { }
static inline void optimizer_module_going(const struct module *mod) { }

static inline int optimizer_explain(struct list_head *questions)
{
	struct jump_question *q;

	list_for_each_entry(q, questions, list)
		for (unsigned int post = 0; post < q->nr; post++) {
			q->answer[post] = KPROBE_NO;
			q->why[post] = KPROBE_REASON_JUMP_NEVER;
		}
	return 0;
}
#endif

/* legacy_opt.c */
#if defined(CONFIG_OPTPROBES) && !defined(__ARCH_WANT_PROBEPOINT)
int kprobe_get_optinsn_kallsym(unsigned int nth, unsigned long *addr, char *type, char *name);
#else
static inline
int kprobe_get_optinsn_kallsym(unsigned int nth, unsigned long *addr, char *type, char *name)
{
	return -ERANGE;
}
#endif

/* ftrace.c */
#ifdef CONFIG_KPROBES_ON_FTRACE
enum kprobe_reason kprobe_ftrace_check(struct kprobe_place *place);
enum kprobe_reason kprobe_ftrace_state(void);
enum kprobe_reason kprobe_ftrace_reason(int err);
int kprobe_ftrace_arm(struct list_head *changes);
int kprobe_ftrace_arm_most(struct list_head *changes);
void kprobe_ftrace_disarm(struct list_head *changes);
void kprobe_ftrace_discard(struct probepoint *pp);
#else
static inline enum kprobe_reason kprobe_ftrace_check(struct kprobe_place *place)
{
	return ftrace_text_reserved(place->addr, place->addr) ? KPROBE_REASON_FTRACE_PATCHES :
								KPROBE_REASON_NONE;
}

static inline enum kprobe_reason kprobe_ftrace_state(void) { return KPROBE_REASON_NONE; }

static inline enum kprobe_reason kprobe_ftrace_reason(int err)
{
	return KPROBE_REASON_FTRACE_REFUSES;
}

static inline int arch_prepare_probepoint_ftrace(struct probepoint *pp) { return -EINVAL; }
static inline int kprobe_ftrace_arm(struct list_head *changes) { return 0; }
static inline int kprobe_ftrace_arm_most(struct list_head *changes) { return 0; }
static inline void kprobe_ftrace_disarm(struct list_head *changes) { }
static inline void kprobe_ftrace_discard(struct probepoint *pp) { }
#endif

/* legacy_hooks.c */
#ifndef __ARCH_WANT_PROBEPOINT
int kprobe_legacy_init(void);
#else
static inline int kprobe_legacy_init(void) { return 0; }
#endif

/* table.c */
int probepoint_table_reserve(unsigned int nr);
void probepoint_table_add(struct probepoint *pp);
void probepoint_table_del(struct probepoint *pp);

#ifdef CONFIG_KRETPROBES

/*
 * Replace the instance in this CPU's part of a pool's cache, see kretprobe_pool_cache(). Return the
 * old one. Preemption is disabled. @ri may be NULL, and so may the old instance.
 *
 * An NMI may exchange the instance at any time. Most architectures implement this_cpu_xchg() with
 * several instructions, between which an NMI may occur: on these, use an atomic xchg().
 */
static __always_inline struct kretprobe_instance *
kretprobe_cache_xchg(struct kretprobe_instance * __percpu *cache, struct kretprobe_instance *ri)
{
#ifdef KPROBE_PERCPU_OPS_NMI_SAFE
	return this_cpu_xchg(*cache, ri);
#else
	return xchg(raw_cpu_ptr(cache), ri);
#endif
}

/* As kretprobe_cache_xchg(), but only if the instance is @old. Return: true if it was. */
static __always_inline bool
kretprobe_cache_try_cmpxchg(struct kretprobe_instance * __percpu *cache,
			    struct kretprobe_instance *old, struct kretprobe_instance *ri)
{
#ifdef KPROBE_PERCPU_OPS_NMI_SAFE
	return this_cpu_try_cmpxchg(*cache, &old, ri);
#else
	return try_cmpxchg(raw_cpu_ptr(cache), &old, ri);
#endif
}

/* Guards the setup and teardown of return probes. kprobe_mutex nests inside it. */
extern struct mutex kretprobe_mutex;

/* kretprobe.c */
enum kprobe_reason kretprobe_check(unsigned long entry);
void kretprobes_init(void);

/* retcall.c or rethook.c */
bool is_kretprobe(const struct kprobe *p);
bool kretprobe_is_simple(const struct kprobe *p);
unsigned int kretprobe_unreturned(const struct kretprobe *rp);
int kretprobe_setup(struct kretprobe *rp);
bool kretprobe_deactivate(struct kretprobe *rp);
void kretprobe_teardown(struct kretprobe *rp);

#ifndef CONFIG_KRETPROBE_ON_RETHOOK
/*
 * The pre_handler of return probes without data. For such a return probe, a trampoline of the
 * architecture may do the work of this function instead of calling it: on x86,
 * kprobe_ftrace_return_trampoline does.
 */
int kretprobe_entry(struct kprobe *p, struct pt_regs *regs);
void kretprobe_end_newer(struct llist_node *older);
#endif

#else /* !CONFIG_KRETPROBES */

static inline bool is_kretprobe(const struct kprobe *p) { return false; }
static inline bool kretprobe_is_simple(const struct kprobe *p) { return false; }
static inline unsigned int kretprobe_unreturned(const struct kretprobe *rp) { return 0; }

static inline void kretprobes_init(void) { }

static inline enum kprobe_reason kretprobe_check(unsigned long entry) { return KPROBE_REASON_NONE; }

#endif

#ifdef CONFIG_JPROBES

/* jprobe.c */
bool is_jprobe(const struct kprobe *p);

#else

static inline bool is_jprobe(const struct kprobe *p) { return false; }

#endif

/* Minimum size of the private data in an instance, in bytes, if a return probe has such data */
#define KRETPROBE_DATA_MIN	((size_t)16)

/* pool.c and pool_shared.c */
struct seq_file;

struct kretprobe_instance * __kprobes kretprobe_pool_take(struct kretprobe_pool *pool);
void kretprobe_pool_give(struct kretprobe_instance *ri);
struct kretprobe_pool *kretprobe_pool_share(size_t data_size);
void kretprobe_pool_unshare(struct kretprobe_pool *pool);
struct kretprobe_pool *kretprobe_pool_create(unsigned int nr, size_t data_size);
struct kretprobe_instance * __percpu *kretprobe_pool_cache(struct kretprobe_pool *pool);
void kretprobe_pool_free(struct kretprobe_pool *pool);
bool kretprobe_pool_drop(struct kretprobe_pool *pool);
bool kretprobe_pool_drain(struct kretprobe_pool *pool);
void kretprobe_pools_replace_dead(struct kretprobe_holder *by);
int kretprobe_pools_show(struct seq_file *m, void *v);

/* text_sites.c */
int kprobe_text_sites_init(void);
enum kprobe_reason kprobe_reserved_site(unsigned long addr, const struct module *mod,
					struct kprobe_range *where);

/* Tables of the kernel image, made by the linker */
#ifdef CONFIG_GENERIC_BUG
struct bug_entry;
extern struct bug_entry __start___bug_table[], __stop___bug_table[];
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
struct static_call_site;
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];
#endif

/* The functions that NOKPROBE_SYMBOL() names */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

/* blacklist.c */
void kprobe_blacklist_init(void);
bool kprobe_blacklist_refuses(unsigned long addr, struct kprobe_range *range);
bool kprobe_blacklist_next(struct kprobe_range *range);
void kprobe_blacklist_del_range(unsigned long start, unsigned long end);

#ifdef CONFIG_MODULES
int kprobe_blacklist_add_module(struct module *mod);
enum kprobe_reason kprobe_module_check(const struct module *mod, unsigned long addr);
int kprobe_modules_init(void);

/* waiting.c */
extern struct probepoint kprobe_waiting;
bool kprobe_should_wait(const struct kprobe *p, enum kprobe_reason why);
void kprobe_waiting_add(struct kprobe *p);
void kprobe_waiting_del(struct kprobe *p);
int kprobe_waiting_init(void);

/* Does a registered probe wait for its module? */
static inline bool kprobe_is_waiting(const struct kprobe *p)
{
	return READ_ONCE(p->point) == &kprobe_waiting;
}
#else
static inline
enum kprobe_reason kprobe_module_check(const struct module *mod, unsigned long addr)
{
	return KPROBE_REASON_NO_TEXT;
}

static inline int kprobe_modules_init(void) { return 0; }
static inline bool kprobe_should_wait(const struct kprobe *p, enum kprobe_reason why)
{
	return false;
}

static inline void kprobe_waiting_add(struct kprobe *p) { }
static inline void kprobe_waiting_del(struct kprobe *p) { }
static inline int kprobe_waiting_init(void) { return 0; }
static inline bool kprobe_is_waiting(const struct kprobe *p) { return false; }
#endif

/* explain.c */
extern const struct file_operations kprobe_explain_fops;

#endif /* _KERNEL_KPROBES_INTERNAL_H */
