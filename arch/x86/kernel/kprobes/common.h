/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_COMMON_H
#define _X86_KERNEL_KPROBES_COMMON_H
/*
 * Shared by the x86 files of kprobes; nothing here is for others.
 */

#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

/*
 * The bits of preempt_count that say which context runs: they go up with
 * every NMI-like exception, hard interrupt and softirq, so two values are
 * equal only if the same context runs.
 */
#define KPROBE_CONTEXT_MASK	(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)
/* What the kernel's entry code adds for an int3 that came from the kernel. */
#define KPROBE_CONTEXT_INT3	(NMI_OFFSET + HARDIRQ_OFFSET)
#define KPROBE_CONTEXT_NONE	(~0U)

static __always_inline u32 kprobe_context(void)
{
	return preempt_count() & KPROBE_CONTEXT_MASK;
}

static __always_inline struct kprobe_frame *kprobe_top_frame(void)
{
	return __this_cpu_read(kprobe_frames.top);
}

/* Must handlers not run, because of @f, in what was @interrupted for them? */
static __always_inline bool kprobe_must_miss(const struct kprobe_frame *f, u32 interrupted)
{
	return unlikely(f->context == interrupted || f->level >= KPROBE_MAX_DEPTH);
}

/*
 * Take a frame for handlers that run in @context. It is taken before it is
 * filled, and is no context's until it is: an NMI in between takes the next
 * one and gives it back.
 */
static __always_inline void kprobe_push_frame(struct kprobe_frame *f, u32 context)
{
	__this_cpu_write(kprobe_frames.top, f);
	barrier();
	WRITE_ONCE(f->context, context);
}

/* What is taken next is to be nobody's until it is filled. */
static __always_inline void kprobe_pop_frame(struct kprobe_frame *f)
{
	WRITE_ONCE(f->context, KPROBE_CONTEXT_NONE);
	WRITE_ONCE(f->probe, NULL);
	barrier();
	__this_cpu_write(kprobe_frames.top, f - 1);
}

/* Call the post_handlers of a probepoint whose instruction has been run. */
static __always_inline void kprobe_run_post_handlers(struct kprobe *kp, struct pt_regs *regs,
						     u32 interrupted, u32 context)
{
	struct kprobe_frame *f = kprobe_top_frame();

	/* A hit that a handler made; counted as missed when it happened. */
	if (kprobe_must_miss(f, interrupted))
		return;
	kprobe_push_frame(++f, context);
	f->regs = NULL;
	kprobe_call_post_handlers(kp, regs, &f->probe);
	kprobe_pop_frame(f);
}

/* insn.c */
int x86_kprobe_decode(struct kprobe *p);
bool x86_insn_has_prefix(struct insn *insn, u8 wanted);

/* emulate.c */
bool x86_kprobe_find_emulation(struct kprobe *p, struct insn *insn);

/* slot.c */
int x86_kprobe_make_slot(struct kprobe *p, bool post);

/* thunks.S */
asmlinkage void kprobe_post_thunk(void);

/* int3.c */
asmlinkage __visible void kprobe_slot_post(struct pt_regs *regs);

#endif /* _X86_KERNEL_KPROBES_COMMON_H */
