/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes: call handlers at almost any kernel instruction. A handler may read and change the
 * registers of the CPU. The probed code then continues as it would without the probe.
 *
 * Documentation/trace/kprobes.rst is the manual. Most of this file is for users of probes.
 * Comments say which functions only architectures or other parts of the kernel use. The interface
 * between the core and architectures is in linux/probepoint.h.
 */
#ifndef _LINUX_KPROBES_H
#define _LINUX_KPROBES_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kprobe_reason.h>
#include <linux/linkage.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/rethook.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/ftrace.h>
#include <asm/kprobes.h>

struct kprobe;
struct kretprobe_instance;
struct module;
struct probepoint;
struct pt_regs;
struct task_struct;

#ifndef CONFIG_KPROBES
typedef u8 kprobe_opcode_t;
struct arch_specific_insn {
	int dummy;
};
#endif

/**
 * typedef kprobe_pre_handler_t - called before the probed instruction is executed
 * @p: the probe, as registered
 * @regs: registers of the probed code, which the handler may change. On x86, regs->ip is one
 *	byte past the probed address, as after a breakpoint, even if the probepoint is
 *	optimised or ftrace-based.
 *
 * Context: the context of the probed code, with preemption disabled; must not sleep. On x86, at a
 * breakpoint, interrupts are disabled, too.
 *
 * Return: 0 if the CPU is to execute the instruction; non-zero if the handler has redirected
 * execution: the CPU resumes at the instruction pointer in @regs, and the instruction, the
 * remaining pre_handlers of this hit and all post_handlers are skipped.
 */
typedef int (*kprobe_pre_handler_t)(struct kprobe *p, struct pt_regs *regs);

/**
 * typedef kprobe_post_handler_t - called after the probed instruction was executed
 * @p: the probe, as registered
 * @regs: registers after the instruction; the instruction pointer is the address of the next
 *	instruction
 * @flags: always 0
 *
 * Context: the context of the probed code, with preemption disabled; must not sleep. If the
 * instruction was emulated or single-stepped after a breakpoint, interrupts are disabled, too.
 */
typedef void (*kprobe_post_handler_t)(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

/**
 * typedef kprobe_fault_handler_t - called for an exception before the kernel handles it
 * @p: the probe whose handler or whose instruction raised the exception
 * @regs: registers as at the exception
 * @trapnr: number of the exception, as the architecture counts them
 *
 * A fault_handler is not called for exceptions that it raises itself. On x86 it is not called for
 * #DB and #MC; on other architectures it is called for page faults only. If an out-of-line copy of
 * the instruction raised the exception, the instruction pointer in @regs is the probed address;
 * resuming there executes the instruction again, and is a new hit except on x86.
 *
 * Context: exception, with preemption disabled; on x86 with interrupts disabled, too. Must not
 * sleep.
 *
 * Without CONFIG_KPROBES_FAULT_HANDLER, the registration of a probe with a fault_handler fails with
 * %-EOPNOTSUPP.
 *
 * Return: 0 if the kernel is to handle the exception; non-zero if the handler has done so, and
 * the CPU is to resume at the instruction pointer in @regs.
 */
typedef int (*kprobe_fault_handler_t)(struct kprobe *p, struct pt_regs *regs, int trapnr);

/**
 * typedef kretprobe_handler_t - called when a return-probed function is entered or
 *	returns
 * @ri: record of this call
 * @regs: registers at the entry, or after the return
 *
 * Context: must not sleep. An entry_handler runs in the context of a &kprobe_pre_handler_t, a
 * handler in the context of the probed function, with preemption disabled.
 *
 * Return: as an entry_handler, non-zero if this call is not to be tracked; as a handler,
 * the value is ignored.
 */
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *ri, struct pt_regs *regs);

/**
 * enum kprobe_flag - bits of &struct kprobe.flags
 * @KPROBE_FLAG_GONE: the probed code has been unloaded or freed
 * @KPROBE_FLAG_DISABLED: a hit does not call the handlers
 * @KPROBE_FLAG_OPTIMIZED: a jump leads to the handlers
 * @KPROBE_FLAG_FTRACE: ftrace calls the handlers
 * @KPROBE_FLAG_ON_FUNC_ENTRY: the probe is at the entry of a function
 * @KPROBE_FLAG_WAIT: the user sets it: if the module that symbol_name names is not loaded, wait
 *	for it, see register_kprobe()
 * @KPROBE_FLAG_NO_JUMP: the user sets it: the probepoint keeps its breakpoint, so that the text
 *	after it is not changed
 * @KPROBE_FLAG_EVENT: the user sets it: refuse the probe where kprobe events are refused, see
 *	register_kprobe(). If the probe waits for its module, the check follows when the module is
 *	loaded.
 * @KPROBE_FLAG_NEST: the user sets it: hits that the probe's handlers cause call the handlers of
 *	other probes with this flag, see kprobe_nests()
 */
enum kprobe_flag {
	KPROBE_FLAG_GONE		= BIT(0),
	KPROBE_FLAG_DISABLED		= BIT(1),
	KPROBE_FLAG_OPTIMIZED		= BIT(2),
	KPROBE_FLAG_FTRACE		= BIT(3),
	KPROBE_FLAG_ON_FUNC_ENTRY	= BIT(4),
	KPROBE_FLAG_WAIT		= BIT(5),
	KPROBE_FLAG_NO_JUMP		= BIT(6),
	KPROBE_FLAG_EVENT		= BIT(7),
	KPROBE_FLAG_NEST		= BIT(8),
};

/* Values of kprobe_ctlblk.kprobe_status: the stage of the hit that this CPU handles */
#define KPROBE_HIT_ACTIVE		BIT(0)	/* handlers run */
#define KPROBE_HIT_SS			BIT(1)	/* the copy is single-stepped */
#define KPROBE_REENTER			BIT(2)	/* the copy of a nested hit is single-stepped */
#define KPROBE_HIT_SSDONE		BIT(3)	/* the step has ended */

/**
 * struct kprobe - one probe, as its user registers it
 * @hlist: not used; kept for users that initialise it before the registration
 * @saved_pre: for the kernel: the pre_handler that hits call, or kprobe_disable_self() has replaced
 * @saved_post: for the kernel: the same, the post_handler
 * @list: links the probes of one probepoint. It is all zero, not an empty list, before
 *	the first registration.
 * @nmissed: number of hits for which the handlers were not called: mostly because a handler was
 *	already running in the same context
 * @addr: the address to probe, or NULL if @symbol_name is given. Registration sets it to the
 *	probed address. Unregistration sets it back to what the user gave, or keeps it if a
 *	symbol was given.
 * @symbol_name: name of the function to probe, or "module:function"; NULL if @addr is
 *	given. kprobes/list shows it after the module has been unloaded, so keep it
 *	until the probe is unregistered.
 * @offset: offset of the probe in bytes from @addr or @symbol_name
 * @pre_handler: called before the instruction, or NULL
 * @post_handler: called after the instruction, or NULL
 * @fault_handler: called for exceptions, or NULL
 * @opcode: for the kernel: the opcode that the breakpoint replaces
 * @ainsn: for the kernel: data of the architecture on the instruction. It is used only in the
 *	struct kprobe that stands for a probepoint, not in one that a user registers.
 * @flags: KPROBE_FLAG_*. Registration reads only %KPROBE_FLAG_DISABLED, %KPROBE_FLAG_WAIT,
 *	%KPROBE_FLAG_NO_JUMP, %KPROBE_FLAG_EVENT and %KPROBE_FLAG_NEST; the kernel sets and clears
 *	the others.
 *	Unregistration leaves only %KPROBE_FLAG_FTRACE and %KPROBE_FLAG_ON_FUNC_ENTRY, for
 *	handlers that still run.
 * @by_symbol: for the kernel: @addr is the result of looking @symbol_name up, so that a new
 *	registration looks it up again
 * @enabling: for the kernel: set while enable_kprobes() enables the probe, and may still fail
 * @entry_size: for the kernel: the number of bytes between the start of the function and @addr,
 *	if %KPROBE_FLAG_ON_FUNC_ENTRY is set
 * @point: for the kernel: the probepoint that the probe is attached to, or NULL
 * @given: for the kernel: the @addr that the user gave, which unregistration restores; or what
 *	@symbol_name was found to be
 * @refusal: for the kernel: why the last registration or enable_kprobes() was refused
 * @nmissed_disabled: for the kernel: how many of the @nmissed hits were missed because a handler
 *	had disabled the probe
 * @request: for the kernel: links the probes that have called kprobe_disable_self(). While a
 *	registered probe has not, it points to itself.
 *
 * All fields that the user does not set must be zero before the first registration. The
 * structure must stay in place until the probe has been unregistered; then it may be
 * freed, changed, or registered again.
 */
struct kprobe {
	union {
		struct hlist_node hlist;
		struct {
			kprobe_pre_handler_t saved_pre;
			kprobe_post_handler_t saved_post;
		};
	};
	struct list_head list;
	unsigned long nmissed;
	kprobe_opcode_t *addr;
	const char *symbol_name;
	unsigned int offset;
	kprobe_pre_handler_t pre_handler;
	kprobe_post_handler_t post_handler;
	kprobe_fault_handler_t fault_handler;
	kprobe_opcode_t opcode;
	struct arch_specific_insn ainsn;
	u32 flags;
	bool by_symbol;
	bool enabling;
	u16 entry_size;
	struct probepoint *point;
	kprobe_opcode_t *given;
	enum kprobe_reason refusal;
	u32 nmissed_disabled;
	struct llist_node request;
};

/* Maximum of &struct kretprobe.data_size */
#define KRETPROBE_MAX_DATA_SIZE	4096

/**
 * struct kretprobe - a probe of the returns of a function
 * @kp: the probe at the function's entry. The user sets its address, and leaves its
 *	handlers to the kernel.
 * @handler: called when the function returns, or NULL. It may be set while the return probe
 *	is registered: later returns call the new handler.
 * @entry_handler: called when the function is entered, or NULL; if it returns non-zero,
 *	the call is not tracked. It may be set while the return probe is registered.
 * @maxactive: the number of calls that can be tracked at once. That many instances are
 *	reserved for this return probe. If it is 0 or less, the return probe takes instances
 *	from a pool that return probes share, which grows up to kprobes.return_pool_kib. With
 *	rethook it gets eight for each possible CPU instead. Registration does not change it.
 * @nmissed: number of calls since the registration that were not tracked, because no
 *	instance was free
 * @data_size: bytes of private data in each &struct kretprobe_instance, at most
 *	%KRETPROBE_MAX_DATA_SIZE
 * @rph: for the kernel: the holder that the instances refer to
 * @rh: for the kernel: the rethook that has the instances
 *
 * All fields that the user does not set must be zero before the first registration.
 */
struct kretprobe {
	struct kprobe kp;
	kretprobe_handler_t entry_handler, handler;
	size_t data_size;
	int maxactive, nmissed;
#ifndef CONFIG_KRETPROBE_ON_RETHOOK
	struct kretprobe_holder *rph;
#else
	struct rethook *rh;
#endif
};

/**
 * struct kretprobe_instance - record of one call of a return-probed function
 * @node: for the kernel: rethook's record of the call
 * @llist: for the kernel: links the instances of a task, the newest call first
 * @rph: for the kernel: the holder that points to the return probe
 * @chunk: for the kernel: the chunk that contains the instance
 * @ret_addr: for architectures: the return address. Other code calls
 *	get_kretprobe_retaddr().
 * @fp: for architectures: identifies the call, for example by an address on the stack. The core
 *	sets bit 0 if the call already had an instance. If @fp is an address on the stack, the core
 *	sets bit 1 if another tracer had already replaced the return address.
 * @bit: for the kernel: number of the instance's bit in the mask of @chunk's free instances
 * @data: the user's private data, &struct kretprobe.data_size bytes; zero when the
 *	function is entered
 */
struct kretprobe_instance {
#ifndef CONFIG_KRETPROBE_ON_RETHOOK
	struct llist_node llist;
	void *fp;
	kprobe_opcode_t *ret_addr;
	struct kretprobe_holder *rph;
	struct kretprobe_chunk *chunk;
	u8 bit;
#else
	struct rethook_node node;
#endif
	char data[] __aligned(sizeof(long));
};

/**
 * struct kretprobe_holder - what instances point to instead of their return probe
 * @rp: the return probe; NULL once it is being unregistered
 * @active: the return probe whose handler a return calls. It is @rp; or, once @rp is NULL, a
 *	dummy return probe without a handler, so a return needs no test for NULL.
 * @back: per-CPU pointer in which a return stores the instance if the pointer is NULL. For a
 *	shared pool it is @cache, for others a sentinel that is never NULL.
 * @cache: one instance for each CPU, tried before @pool. It belongs to a shared pool; for
 *	others it is a per-CPU sentinel that is always NULL.
 * @own: one instance for each CPU if the pool is of fixed size. Other CPUs may take a CPU's
 *	instance, too. NULL if the pool is shared, or has no more instances than there are CPUs.
 * @pool: the pool that instances are taken from
 * @limited: @pool is of fixed size, for this return probe only
 * @simple: the pool is shared, and the return probe was registered with data_size 0 and without
 *	an entry_handler
 * @unreturned: number of tracked calls that ended without a return
 * @dead: links the holders that are about to be freed
 *
 * A holder outlives its return probe: it is freed only when no instance points to it any more.
 */
struct kretprobe_holder {
	struct kretprobe __rcu *rp;
	struct kretprobe *active;
	struct kretprobe_instance * __percpu *back;
	struct kretprobe_instance * __percpu *cache;
	struct kretprobe_instance * __percpu *own;
	struct kretprobe_pool *pool;
	bool limited;
	bool simple;
	atomic_t unreturned;
	struct llist_node dead;
};

/**
 * struct jprobe - a probe whose handler has the parameters of the probed function
 * @kp: the probe at the function's entry. The user sets its address, and leaves its
 *	pre_handler and post_handler to the kernel.
 * @entry: the handler: a function with the parameters and the calling convention of the
 *	probed one, which ends by calling jprobe_return()
 * @reported: for the kernel: the misuses by the handler that have been printed, one bit
 *	for each kind
 *
 * All fields that the user does not set must be zero before the first registration.
 */
struct jprobe {
	struct kprobe kp;
	void *entry;
	unsigned long reported;
};

static inline bool kprobe_has_flag(const struct kprobe *p, u32 flag)
{
	return (p->flags & flag) != 0;
}

/**
 * kprobe_gone() - has the probed text been unloaded or freed?
 * @p: a registered probe
 *
 * Return: true if it has. Then @p is never hit again, and cannot be enabled.
 */
static inline bool kprobe_gone(struct kprobe *p)
{
	return kprobe_has_flag(p, KPROBE_FLAG_GONE);
}

/**
 * kprobe_disabled() - is a probe disabled, or has its text been freed?
 * @p: a registered probe
 *
 * The result does not depend on debugfs kprobes/enabled.
 *
 * Return: true if one of the two is the case, so no hit calls @p.
 */
static inline bool kprobe_disabled(struct kprobe *p)
{
	return kprobe_has_flag(p, KPROBE_FLAG_GONE | KPROBE_FLAG_DISABLED);
}

/**
 * kprobe_optimized() - do hits of a probe execute a jump instead of a breakpoint?
 * @p: a registered probe
 *
 * Return: true if the probepoint of @p is optimised now.
 */
static inline bool kprobe_optimized(struct kprobe *p)
{
	return kprobe_has_flag(p, KPROBE_FLAG_OPTIMIZED);
}

/**
 * kprobe_ftrace() - does ftrace call the handlers of a probe?
 * @p: a registered probe
 *
 * Return: true if @p is ftrace-based.
 */
static inline bool kprobe_ftrace(struct kprobe *p)
{
	return kprobe_has_flag(p, KPROBE_FLAG_FTRACE);
}

/**
 * kprobe_function_entry() - get the start of the function whose entry is probed
 * @p: a registered probe, or the kp of a registered return probe or jprobe
 *
 * The addr of a probe is the address of the breakpoint. If the probe is at the entry of a function,
 * that may be after the start, for example after an endbr, which must not be patched. The start
 * can be compared with a pointer to the function (on architectures with function descriptors, with
 * the result of dereference_function_descriptor()) and, as long as the text exists, be called.
 *
 * Context: any.
 *
 * Return: the start of the function, or NULL if @p is not at the entry of a function.
 */
static inline void *kprobe_function_entry(const struct kprobe *p)
{
	if (!kprobe_has_flag(p, KPROBE_FLAG_ON_FUNC_ENTRY))
		return NULL;
	return (void *)p->addr - p->entry_size;
}

#ifdef CONFIG_KPROBES

int register_kprobe(struct kprobe *p);
void unregister_kprobe(struct kprobe *p);
int register_kprobes(struct kprobe **kps, int num);
void unregister_kprobes(struct kprobe **kps, int num);
int disable_kprobe(struct kprobe *kp);
int enable_kprobe(struct kprobe *kp);
int disable_kprobes(struct kprobe **kps, int num);
int enable_kprobes(struct kprobe **kps, int num);

struct kprobe * __kprobes get_kprobe(void *addr);
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset);
bool within_kprobe_blacklist(unsigned long addr);

#ifndef __ARCH_WANT_PROBEPOINT
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/**
 * kprobe_running() - find the probe whose handler runs on this CPU
 *
 * Context: preemption is disabled.
 *
 * Return: the probe, or NULL if no handler runs. Between kprobe_busy_begin() and
 * kprobe_busy_end() it is a dummy that no user has registered.
 */
static inline struct kprobe *kprobe_running(void)
{
	return this_cpu_read(current_kprobe);
}

/* Return where the dispatchers record the probe whose handler runs. */
static __always_inline struct kprobe **kprobe_running_ptr(void)
{
	return raw_cpu_ptr(&current_kprobe);
}

/* Return: the architecture's state of hits of this CPU. Preemption is disabled. */
static inline struct kprobe_ctlblk *get_kprobe_ctlblk(void)
{
	return raw_cpu_ptr(&kprobe_ctlblk);
}

/* Record that no handler runs on this CPU. Preemption is disabled. */
static inline void reset_current_kprobe(void)
{
	__this_cpu_write(current_kprobe, NULL);
}
#endif

void __kprobes kprobe_busy_begin(void);
void __kprobes kprobe_busy_end(void);
void kprobe_task_oopsed(void);
int kprobe_find_symbols(const char **syms, unsigned int nr, unsigned long *addrs);
unsigned long kprobe_event_address(const struct kprobe *p);

/* Architectures provide these. */
int arch_init_kprobes(void);
int arch_populate_kprobe_blacklist(void);
bool arch_within_kprobe_blacklist(unsigned long addr);
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long func, unsigned long offset, bool *is_entry);
void arch_kprobes_sync(void);
#ifndef __ARCH_WANT_PROBEPOINT
/* The architecture provides these functions. @p is the kprobe that stands for a probepoint. */
int arch_prepare_kprobe(struct kprobe *p);
void arch_remove_kprobe(struct kprobe *p);
void arch_arm_kprobe(struct kprobe *p);
void arch_disarm_kprobe(struct kprobe *p);
int arch_trampoline_kprobe(struct kprobe *p);
int kprobe_exceptions_notify(struct notifier_block *nb, unsigned long event, void *args);
#endif

/* Architectures call these. */
void kprobes_inc_nmissed_count(struct kprobe *p);
#ifndef __ARCH_WANT_PROBEPOINT
void dump_kprobe(struct kprobe *kp);
#endif
int kprobe_add_ksym_blacklist(unsigned long entry);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);
void *alloc_insn_page(void);
kprobe_opcode_t *get_insn_slot(void);

/* Other parts of the kernel call this. */
void kprobe_free_init_mem(void);

#ifdef CONFIG_OPTPROBES
bool is_kprobe_optinsn_slot(unsigned long addr);
void wait_for_kprobe_optimizer(void);

#ifndef __ARCH_WANT_PROBEPOINT
/**
 * struct optimized_kprobe - stands for a probepoint in the jump hooks of architectures whose hooks
 *	do not take a struct probepoint
 * @kp: the kprobe that stands for the probepoint
 * @list: links the probepoints on the list that is passed to arch_optimize_kprobes()
 * @optinsn: the architecture's data on the jump and the detour buffer
 */
struct optimized_kprobe {
	struct kprobe kp;
	struct list_head list;
	struct arch_optimized_insn optinsn;
};

/*
 * Call the pre_handlers of an optimised probepoint, for which @p stands. The values that they
 * return have no effect. The detour buffer calls this, with preemption disabled. Hits in this
 * context are missed.
 */
static __always_inline void opt_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	p->pre_handler(p, regs);
}

/*
 * Architectures whose hooks do not take a struct probepoint provide these if they can optimise
 * probepoints with jumps.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig);
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);
void arch_optimize_kprobes(struct list_head *oplist);
void arch_unoptimize_kprobe(struct optimized_kprobe *op);
void *alloc_optinsn_page(void);
void free_optinsn_page(void *page);

/* Architectures whose hooks do not take a struct probepoint call these. */
kprobe_opcode_t *get_optinsn_slot(void);
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty);
#endif
#endif

#else /* !CONFIG_KPROBES */

static inline int register_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }

static inline int register_kprobes(struct kprobe **kps, int num) { return -EOPNOTSUPP; }

static inline void unregister_kprobe(struct kprobe *p) { }
static inline void unregister_kprobes(struct kprobe **kps, int num) { }

static inline int enable_kprobe(struct kprobe *kp) { return -EOPNOTSUPP; }

static inline int disable_kprobe(struct kprobe *kp) { return -EOPNOTSUPP; }

static inline int enable_kprobes(struct kprobe **kps, int num) { return -EOPNOTSUPP; }

static inline int disable_kprobes(struct kprobe **kps, int num) { return -EOPNOTSUPP; }

static inline struct kprobe *get_kprobe(void *addr) { return NULL; }

static inline struct kprobe *kprobe_running(void) { return NULL; }

static inline void kprobe_busy_begin(void) { }
static inline void kprobe_busy_end(void) { }
static inline void kprobe_task_oopsed(void) { }

static inline int kprobe_fault_handler(struct pt_regs *regs, int trapnr) { return 0; }

/* Without kprobes there is no blacklist, so all addresses count as unsafe. */
static inline bool within_kprobe_blacklist(unsigned long addr) { return true; }

static inline void kprobe_free_init_mem(void) { }

static inline unsigned long kprobe_event_address(const struct kprobe *p) { return 0; }

#endif /* CONFIG_KPROBES */

#ifndef CONFIG_OPTPROBES
static inline void wait_for_kprobe_optimizer(void) { }
static inline bool is_kprobe_optinsn_slot(unsigned long addr) { return false; }
#endif

#if defined(CONFIG_KPROBES) && defined(__ARCH_WANT_KPROBES_INSN_SLOT)
void free_insn_slot(kprobe_opcode_t *slot, int dirty);
bool is_kprobe_insn_slot(unsigned long addr);
int kprobe_get_kallsym(unsigned int nth, unsigned long *addr, char *type, char *name);
#else
static inline void free_insn_slot(kprobe_opcode_t *slot, int dirty) { }
static inline bool is_kprobe_insn_slot(unsigned long addr) { return false; }

static inline
int kprobe_get_kallsym(unsigned int nth, unsigned long *addr, char *type, char *name)
{
	return -ERANGE;
}
#endif

/* Do kprobe events refuse to probe @addr? kernel/trace/trace_kprobe.c defines this. */
#if defined(CONFIG_KPROBE_EVENTS) && defined(CONFIG_DYNAMIC_FTRACE) && \
	!defined(CONFIG_KPROBE_EVENTS_ON_NOTRACE)
bool kprobe_events_refuse(unsigned long addr);
#else
static inline bool kprobe_events_refuse(unsigned long addr) { return false; }
#endif

#ifdef CONFIG_KRETPROBES

/**
 * struct kretprobe_blackpoint - a function that must not have return probes
 * @name: its name
 * @addr: its first address, looked up when the kernel boots
 */
struct kretprobe_blackpoint {
	const char *name;
	void *addr;
};

/*
 * Functions that must not have return probes, such as __switch_to(): one task enters it, but
 * another task, which has no record of this call, returns from it.
 */
#ifndef kretprobe_blacklist_size
extern const int kretprobe_blacklist_size;
#endif
extern struct kretprobe_blackpoint kretprobe_blacklist[];

int register_kretprobe(struct kretprobe *rp);
void unregister_kretprobe(struct kretprobe *rp);
int register_kretprobes(struct kretprobe **rps, int num);
void unregister_kretprobes(struct kretprobe **rps, int num);
int disable_kretprobe(struct kretprobe *rp);
int enable_kretprobe(struct kretprobe *rp);
int disable_kretprobes(struct kretprobe **rps, int num);
int enable_kretprobes(struct kretprobe **rps, int num);
unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri);

#ifdef CONFIG_KRETPROBE_ON_RETHOOK

struct kretprobe *get_kretprobe(struct kretprobe_instance *ri);

static inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return is_rethook_trampoline(addr);
}

static inline void kprobe_flush_task(struct task_struct *tsk) { }

#else /* !CONFIG_KRETPROBE_ON_RETHOOK */

/* Architectures provide these. */
void __kretprobe_trampoline(void);
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);
void arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *addr);

/* Architectures call these. */
__visible void kretprobe_return(struct pt_regs *regs);
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame);
unsigned long kretprobe_find_ret_addr(struct task_struct *task, void *frame,
				      struct llist_node **at);

/* As __kretprobe_trampoline_handler(), but count hits that the handlers cause as missed. */
static __always_inline
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs, void *frame)
{
	unsigned long addr;

	kprobe_busy_begin();
	addr = __kretprobe_trampoline_handler(regs, frame);
	kprobe_busy_end();
	return addr;
}

/**
 * get_kretprobe() - find the return probe that an instance belongs to
 * @ri: record of the call
 *
 * Context: handlers of the return probe.
 *
 * Return: the return probe, or NULL once its unregistration has begun.
 */
static __always_inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return rcu_dereference_raw(READ_ONCE(ri->rph)->rp);
}

#ifndef is_kretprobe_trampoline
/*
 * Does a return address lead to the return trampoline? Then a struct kretprobe_instance holds the
 * real return address.
 */
static __always_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return addr == (unsigned long)
	       dereference_kernel_function_descriptor(__kretprobe_trampoline);
}
#endif

void kretprobe_flush_task(struct task_struct *tsk);

/*
 * Give back the instances of a task whose calls will not return: the task has exited, or is the
 * idle task of a CPU that was offline. No other code changes the task's list of instances.
 */
static inline void kprobe_flush_task(struct task_struct *tsk)
{
	if (unlikely(tsk->kretprobe_instances.first))
		kretprobe_flush_task(tsk);
}

#endif /* !CONFIG_KRETPROBE_ON_RETHOOK */

#else /* !CONFIG_KRETPROBES */

static inline int register_kretprobe(struct kretprobe *rp) { return -EOPNOTSUPP; }

static inline int register_kretprobes(struct kretprobe **rps, int num) { return -EOPNOTSUPP; }

static inline void unregister_kretprobe(struct kretprobe *rp) { }
static inline void unregister_kretprobes(struct kretprobe **rps, int num) { }

static inline int disable_kretprobe(struct kretprobe *rp) { return -EOPNOTSUPP; }

static inline int enable_kretprobe(struct kretprobe *rp) { return -EOPNOTSUPP; }

static inline int disable_kretprobes(struct kretprobe **rps, int num) { return -EOPNOTSUPP; }

static inline int enable_kretprobes(struct kretprobe **rps, int num) { return -EOPNOTSUPP; }

static inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri) { return NULL; }

static inline unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri) { return 0; }

static inline bool is_kretprobe_trampoline(unsigned long addr) { return false; }

static inline void kprobe_flush_task(struct task_struct *tk) { }

#endif /* !CONFIG_KRETPROBES */

#ifdef CONFIG_KPROBES_DISABLE_SELF
bool kprobe_disable_self(struct kprobe *p);
#else
static inline bool kprobe_disable_self(struct kprobe *p) { return false; }
#endif

#ifdef CONFIG_JPROBES

int register_jprobe(struct jprobe *jp);
void unregister_jprobe(struct jprobe *jp);
int register_jprobes(struct jprobe **jps, int num);
void unregister_jprobes(struct jprobe **jps, int num);
int disable_jprobe(struct jprobe *jp);
int enable_jprobe(struct jprobe *jp);
void jprobe_return(void);

/* Architectures provide these. */
bool arch_jprobe_call(struct pt_regs *regs, void *entry);
void arch_jprobe_return(void);

#else /* !CONFIG_JPROBES */

static inline int register_jprobe(struct jprobe *jp) { return -EOPNOTSUPP; }

static inline int register_jprobes(struct jprobe **jps, int num) { return -EOPNOTSUPP; }

static inline void unregister_jprobe(struct jprobe *jp) { }
static inline void unregister_jprobes(struct jprobe **jps, int num) { }

static inline int disable_jprobe(struct jprobe *jp) { return -EOPNOTSUPP; }

static inline int enable_jprobe(struct jprobe *jp) { return -EOPNOTSUPP; }

static inline void jprobe_return(void) { }

#endif /* !CONFIG_JPROBES */

#if IS_ENABLED(CONFIG_KPROBES_ON_FTRACE)
/* Architectures that support ftrace-based probes provide or read these. */
void kprobe_ftrace_handler(unsigned long from, unsigned long caller,
			   struct ftrace_ops *filter, struct ftrace_regs *fregs);
#ifndef __ARCH_WANT_PROBEPOINT
int arch_prepare_kprobe_ftrace(struct kprobe *kp);
#endif
unsigned long arch_kprobe_ftrace_trampoline(void);
unsigned long arch_kprobe_ftrace_return_trampoline(void);
extern bool kprobe_ftrace_disabled __read_mostly;

/* Ftrace calls this after an internal failure. */
void kprobe_ftrace_kill(void);
#else
static inline void kprobe_ftrace_kill(void) { /* no probe is ftrace-based */ }
#endif

/*
 * Call the architecture's kprobe_fault_handler(). With CONFIG_KPROBES_FAULT_HANDLER, and if the
 * architecture's hooks do not take a struct probepoint, the running probe is asked as well.
 */
#if defined(CONFIG_KPROBES_FAULT_HANDLER) && !defined(__ARCH_WANT_PROBEPOINT)
bool kprobe_offer_fault(struct pt_regs *regs, unsigned int trapnr);
#else
static __always_inline
bool kprobe_offer_fault(struct pt_regs *regs, unsigned int trapnr)
{
	return kprobe_fault_handler(regs, trapnr);
}
#endif

/**
 * kprobe_page_fault() - offer a page fault to kprobes
 * @regs: registers as at the fault
 * @trapnr: number of the exception
 *
 * The architecture's page fault handler calls it early. On x86 it does nothing, since
 * kprobe_fault_begin() does all that kprobes have to do.
 *
 * Return: true if the fault has been handled.
 */
static __always_inline
bool kprobe_page_fault(struct pt_regs *regs, unsigned int trapnr)
{
#ifdef __ARCH_WANT_PROBEPOINT
	return false;
#endif
	if (!IS_ENABLED(CONFIG_KPROBES) || user_mode(regs))
		return false;
	/* Handlers run with preemption disabled, so preemptible code is no handler. */
	if (preemptible() || !kprobe_running())
		return false;
	return kprobe_offer_fault(regs, trapnr);
}

#ifndef arch_recover_return
/*
 * On architectures that do not define this hook, tracers and return probes never replace the same
 * return address, so @addr is the real one.
 */
static __always_inline unsigned long
arch_recover_return(unsigned long addr, unsigned long frame, struct llist_node *node)
{
	return addr;
}
#endif

#endif /* _LINUX_KPROBES_H */
