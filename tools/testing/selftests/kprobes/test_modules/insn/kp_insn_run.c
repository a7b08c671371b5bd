// SPDX-License-Identifier: GPL-2.0
/* Runs cases through kp_insn_harness.S, from random registers, flags, stack and memory. */

#include <linux/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include "kp_insn.h"

/* One value in four is an edge at which carry, sign or zero changes. */
static unsigned long kp_random(struct rnd_state *random)
{
	static const u64 edges[] = {
		0, 1, ~0ULL, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff,
		S64_MAX, S64_MIN,
	};
	u32 pick = prandom_u32_state(random);

	if (pick % 4 == 0)
		return edges[(pick >> 8) % ARRAY_SIZE(edges)];
	return (u64)prandom_u32_state(random) << 32 | prandom_u32_state(random);
}

void kp_insn_randomize(struct rnd_state *random, struct kp_state *in)
{
	int i;

	for (i = 0; i < KP_REGS; i++)
		in->reg[i] = kp_random(random);
	in->reg[KP_BX] = (unsigned long)kp_insn_mem + 256;
	in->reg[KP_BP] = (unsigned long)kp_insn_mem + 384;
	in->reg[KP_SI] = (unsigned long)kp_insn_mem + 512;
	in->reg[KP_DI] = (unsigned long)kp_insn_mem + 640;
#ifdef CONFIG_X86_64
	in->reg[KP_R12] = (unsigned long)kp_insn_mem + 768;
	in->reg[KP_R13] = (unsigned long)kp_insn_mem + 896;
	in->reg[KP_R15] &= 7;
#else
	savesegment(ds, in->reg[KP_DS]);
	savesegment(es, in->reg[KP_ES]);
	savesegment(fs, in->reg[KP_FS]);
	savesegment(gs, in->reg[KP_GS]);
#endif
	in->reg[KP_FLAGS] &= KP_ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_IF | X86_EFLAGS_AC;
	in->reg[KP_FLAGS] |= X86_EFLAGS_FIXED;
	prandom_bytes_state(random, in->stack, sizeof(in->stack));
	prandom_bytes_state(random, in->mem, sizeof(in->mem));
	prandom_bytes_state(random, in->vector, sizeof(in->vector));
}

static void kp_load_vectors(const struct kp_state *in)
{
	if (boot_cpu_has(X86_FEATURE_AVX512F))
		kp_insn_load_avx512(in->vector);
	else if (boot_cpu_has(X86_FEATURE_AVX))
		kp_insn_load_avx(in->vector);
	else
		kp_insn_load_sse(in->vector);
}

static void kp_save_vectors(struct kp_state *out)
{
	if (boot_cpu_has(X86_FEATURE_AVX512F))
		kp_insn_save_avx512(out->vector);
	else if (boot_cpu_has(X86_FEATURE_AVX))
		kp_insn_save_avx(out->vector);
	else
		kp_insn_save_sse(out->vector);
}

void kp_insn_run_state(struct kp_state *in, const void *start, bool fpu, struct kp_state *out)
{
	bool irqs_on = in->reg[KP_FLAGS] & X86_EFLAGS_IF;
	unsigned long flags = 0;

	*out = *in;
	memcpy(kp_insn_in, in->reg, sizeof(in->reg));
	memcpy(kp_insn_stack, in->stack, sizeof(in->stack));
	memcpy(kp_insn_mem, in->mem, sizeof(in->mem));
	if (fpu) {
		kernel_fpu_begin();
		kp_load_vectors(in);
	}
	if (!irqs_on)
		local_irq_save(flags);
	kp_insn_run(start);
	if (!irqs_on)
		local_irq_restore(flags);
	if (fpu) {
		kp_save_vectors(out);
		kernel_fpu_end();
	}
	memcpy(out->reg, kp_insn_out, sizeof(out->reg));
	memcpy(out->stack, kp_insn_stack, sizeof(out->stack));
	memcpy(out->mem, kp_insn_mem, sizeof(out->mem));
	in->reg[KP_SP] = kp_insn_in[KP_SP];
}
