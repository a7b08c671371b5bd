/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_OPT_H
#define KP_OPT_H

/* Find out from the text whether a probepoint is optimised. */

#include <linux/cache.h>
#include <linux/mm_types.h>
#include <asm/text-patching.h>
#include "kp_switch.h"

/* For suites that need jumps */
static inline int kp_opt_init(struct kunit *test)
{
	if (!kp_opt_available())
		kunit_skip(test, "no jump optimisation in this kernel");
	return kp_opt_switch(true);
}

/* Long enough for an emulated CPU on a busy machine */
#define KP_OPT_TIMEOUT_MS	60000

static inline u8 kp_byte_at(const void *addr)
{
	u8 byte = 0;

	return copy_from_kernel_nofault(&byte, addr, 1) ? 0 : byte;
}

/* Is there a jump at @addr? The original instruction must not be such a jump. */
static inline bool kp_is_jump(const void *addr)
{
	return kp_byte_at(addr) == JMP32_INSN_OPCODE;
}

static inline unsigned long kp_jump_target(const void *addr)
{
	s32 disp;

	if (!kp_is_jump(addr) || copy_from_kernel_nofault(&disp, addr + 1, sizeof(disp)))
		return 0;
	return (unsigned long)addr + JMP32_INSN_SIZE + disp;
}

/*
 * Wait until there is a jump at @addr or, if @wanted is false,
 * until there is none. Return: false after KP_OPT_TIMEOUT_MS.
 */
static inline bool kp_wait_jump(const void *addr, bool wanted)
{
	return kp_poll(kp_is_jump(addr) == wanted, KP_OPT_TIMEOUT_MS);
}

/* Can always be optimised */
static noinline notrace __maybe_unused void kp_opt_control(void)
{
	asm volatile(".rept 16; nop; .endr");
}

static int __maybe_unused kp_opt_control_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

/*
 * Wait until all probes that can be optimised have their jumps. The optimiser writes the jumps of
 * up to 128 probes at once: register one more probe, and wait until it has its jump. If there are
 * more probes, some of them may get theirs after that.
 */
static inline int kp_opt_settle(void)
{
	struct kprobe control = {
		.addr = (kprobe_opcode_t *)kp_opt_control,
		.pre_handler = kp_opt_control_pre,
	};
	int ret = register_kprobe(&control);

	if (ret)
		return ret;
	if (!kp_wait_jump(control.addr, true))
		ret = -ETIMEDOUT;
	unregister_kprobe(&control);
	return ret;
}

#endif
