/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_COMMON_H
#define _X86_KERNEL_KPROBES_COMMON_H
/*
 * Shared by the x86 files of kprobes; nothing here is for others.
 */

#include <linux/kprobes.h>
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
