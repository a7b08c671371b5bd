/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_LEGACY_H
#define _KERNEL_KPROBES_LEGACY_H
/*
 * Kernel probes: the core's hooks for architectures whose own hooks take a struct kprobe. This file
 * has the hooks that do nothing, or pass on the struct kprobe that is embedded in the probepoint.
 * legacy_hooks.c and legacy_opt.c have the others.
 */

#include <linux/kprobes.h>
#include <linux/probepoint.h>

/* legacy_hooks.c */
extern struct kprobe kprobe_busy;

/*
 * Does nothing on architectures that use this header. On x86, this hook enables checks for slots in
 * exception handlers and unwinders.
 */
static inline void arch_begin_kprobes(void) { }

static inline void arch_remove_probepoint(struct probepoint *pp)
{
#ifdef CONFIG_OPTPROBES
	arch_remove_optimized_kprobe(&pp->op);
#endif
	arch_remove_kprobe(&pp->kp);
}

/*
 * Architectures that use this header have only one form of slot, so there is nothing to change: the
 * slot is also right for post_handlers, for which a hit single-steps the copy.
 */
static inline
int arch_reshape_probepoint(struct probepoint *pp, bool post, kprobe_opcode_t **old)
{
	*old = NULL;
	return 0;
}

static inline void arch_arm_probepoint(struct probepoint *pp)
{
	arch_arm_kprobe(&pp->kp);
}

static inline void arch_probepoint_armed(struct probepoint *pp) { }

static inline void arch_disarm_probepoint(struct probepoint *pp)
{
	arch_disarm_kprobe(&pp->kp);
}

/*
 * Only arch_prepare_kprobe() knows whether the instruction can be probed. It allocates a slot, so
 * it is not called for an explanation.
 */
static inline
void arch_explain_probepoint(struct probepoint *pp, struct kprobe_explanation *e)
{
	e->probed = KPROBE_UNKNOWN;
	e->refusal = KPROBE_REASON_ARCH_DECIDES;
}

#ifdef CONFIG_OPTPROBES

/*
 * On architectures that use this header, a jump replaces only one instruction. Control flow cannot
 * enter the middle of an instruction, so no jump is refused here. arch_prepare_optimized_kprobe()
 * checks later whether the instruction can be executed in a detour buffer.
 */
static inline int arch_check_jumps(struct kprobe_jump *jumps, unsigned int nr)
{
	while (nr--)
		jumps[nr].dcr_size = MAX_OPTIMIZED_LENGTH;
	return 0;
}

static inline
enum kprobe_answer arch_explain_detour(struct probepoint *pp, unsigned int dcr_size, bool post)
{
	pp->jump.failure = post ? KPROBE_REASON_JUMP_POST : KPROBE_REASON_JUMP_ARCH_DECIDES;
	return post ? KPROBE_NO : KPROBE_UNKNOWN;
}

/* The caller has nothing to free: arch_remove_probepoint() frees the detour buffer. */
static inline kprobe_opcode_t *arch_drop_detour(struct probepoint *pp) { return NULL; }

/* Detour buffers call a dispatcher, which works for any probe set, so there is nothing to patch. */
static inline bool arch_match_detour(struct probepoint *pp) { return false; }

static inline void arch_break_jump(struct probepoint *pp)
{
	arch_unoptimize_kprobe(&pp->op);
}

/* A jump is no longer than a breakpoint, so arch_break_jump() has overwritten all of it. */
static inline void arch_restore_jump(struct probepoint *pp) { }

/* Here arch_check_jumps() keeps no data on the text of modules, so there is nothing to discard. */
static inline void arch_kprobe_module_going(const struct module *mod) { }

/* A jump covers only one instruction. With a post_handler, even an empty one, there is no jump. */
static inline bool arch_jump_covers_next(const struct probepoint *pp) { return false; }
static inline bool arch_post_is_empty(kprobe_post_handler_t post) { return false; }

#endif /* CONFIG_OPTPROBES */

#endif /* _KERNEL_KPROBES_LEGACY_H */
