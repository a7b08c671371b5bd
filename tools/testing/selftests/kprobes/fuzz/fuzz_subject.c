// SPDX-License-Identifier: GPL-2.0
/*
 * The fuzzer's view of the kernel's files: it decodes encodings, prepares probepoints as a
 * registration does, and runs emulations. Compiled with shim.h, as those files are.
 */

#include "../../../../../arch/x86/kernel/kprobes/x86.h"
#include "fuzz.h"

_Static_assert((int)X86_OP_FLAGS == FUZZ_OP_FLAGS && (int)X86_OP_RELATIVE == FUZZ_OP_RELATIVE &&
	       (int)X86_OP_TRAP == FUZZ_OP_TRAP && (int)X86_OP_COPY == FUZZ_OP_COPY,
	       "enum fuzz_op is not enum x86_op");

struct mutex text_mutex, kprobe_mutex;
char __softirqentry_text_end[1], _etext[1];

static const struct fuzz_regs *fuzz_now;
static struct probepoint fuzz_pp;
static unsigned int fuzz_slots_used;

unsigned long fuzz_segment_base(int seg)
{
	return seg == MSR_FS_BASE ? fuzz_now->fs_base : fuzz_now->gs_base;
}

/* Read a memory operand for an emulation. Only what the fuzzer has mapped can be read. */
bool fuzz_read(void *to, unsigned long addr, size_t size)
{
	static const struct {
		unsigned long from, size;
	} mapped[] = {
		{ FUZZ_ARENA, FUZZ_ARENA_SIZE },
		{ FUZZ_TEXT, FUZZ_TEXT_SIZE },
		{ FUZZ_SLOTS, FUZZ_SLOTS_SIZE },
		{ FUZZ_TRAMPOLINE & -PAGE_SIZE, PAGE_SIZE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mapped); i++) {
		unsigned long offset = addr - mapped[i].from;

		if (offset < mapped[i].size && mapped[i].size - offset >= size) {
			memcpy(to, (void *)addr, size);
			return true;
		}
	}
	return false;
}

bool fuzz_read_text(void *to, unsigned long addr, size_t size)
{
	return fuzz_read(to, addr, size);
}

/* Say that each address is the start of a function of 64 bytes: the tested text has no symbols. */
unsigned long kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size,
					  unsigned long *offset)
{
	*size = 64;
	*offset = 0;
	return 1;
}

int lookup_symbol_name(unsigned long addr, char *name)
{
	name[0] = 0;
	return 0;
}

struct kprobe_symbol *kprobe_symbol_at(unsigned long addr)
{
	static struct kprobe_symbol symbol;

	symbol.start = addr;
	symbol.size = 64;
	return &symbol;
}

kprobe_opcode_t *get_insn_slot_for(struct probepoint *pp)
{
	return (void *)(FUZZ_SLOTS + fuzz_slots_used++ * KPROBE_SLOT_SIZE);
}

void free_insn_slot(kprobe_opcode_t *slot, int dirty)
{
}

void *text_poke(void *addr, const void *opcode, size_t len)
{
	return memcpy(addr, opcode, len);
}

void text_poke_sync(void)
{
}

int kprobe_add_area_blacklist(unsigned long start, unsigned long end)
{
	return 0;
}

/*
 * fuzz_decode() - decode an encoding
 * @bytes: MAX_INSN_SIZE bytes
 * @insn: result; its length is 0 if there is no such instruction
 *
 * Return: the entry in the opcode maps.
 */
enum fuzz_op fuzz_decode(const unsigned char *bytes, struct insn *insn)
{
	if (!insn_decode(insn, bytes, MAX_INSN_SIZE, INSN_MODE_KERN))
		return (enum fuzz_op)x86_insn_op(insn);
	insn->length = 0;
	return FUZZ_OP_NONE;
}

/*
 * fuzz_probe() - prepare a probepoint for the instruction at FUZZ_AT
 * @probe: result
 *
 * It does what registering a probe does, and then what registering another one with a
 * post_handler does.
 */
void fuzz_probe(struct fuzz_probe *probe)
{
	struct probepoint *pp = &fuzz_pp;
	kprobe_opcode_t *copy, *old;

	*pp = (struct probepoint){ .addr = (void *)FUZZ_AT };
	*probe = (struct fuzz_probe){};
	fuzz_slots_used = 0;
	mutex_lock(&kprobe_mutex);
	probe->err = arch_prepare_probepoint(pp);
	if (probe->err) {
		probe->why = *kprobe_reason_text(pp->why);
		goto out;
	}
	copy = pp->arch.slot.copy;
	probe->emulated = pp->arch.emulation.run;
	probe->slot = (unsigned long)copy;
	probe->boosted = pp->arch.slot.form == X86_SLOT_BOOST;
	probe->branch = pp->arch.insn.copy == X86_COPY_BRANCH;
	probe->next = pp->arch.next_ip;
	BUG_ON(arch_reshape_probepoint(pp, true, &old));
	if (pp->arch.slot.copy != copy)
		probe->post_slot = (unsigned long)pp->arch.slot.copy;
out:
	mutex_unlock(&kprobe_mutex);
	BUG_ON(text_mutex.held || kprobe_mutex.held);
}

static unsigned long *fuzz_pt_reg(struct pt_regs *regs, unsigned int i)
{
	unsigned long *const places[] = {
		&regs->ax, &regs->cx, &regs->dx, &regs->bx,
		&regs->sp, &regs->bp, &regs->si, &regs->di,
#ifdef __x86_64__
		&regs->r8, &regs->r9, &regs->r10, &regs->r11,
		&regs->r12, &regs->r13, &regs->r14, &regs->r15,
#endif
	};

	return places[i];
}

/*
 * fuzz_emulate() - run the emulation of the instruction that fuzz_probe() has prepared
 * @r: registers, changed as the emulation does
 *
 * Return: 0, or 1 if the emulation has redirected execution to the out-of-line copy. Then it must
 * have changed nothing else.
 */
int fuzz_emulate(struct fuzz_regs *r)
{
	struct probepoint *pp = &fuzz_pp;
	struct pt_regs regs = { .ip = FUZZ_AT + INT3_INSN_SIZE, .flags = r->flags, .cs = r->cs };
	unsigned int i;

	for (i = 0; i < FUZZ_NR_REGS; i++)
		*fuzz_pt_reg(&regs, i) = r->reg[i];
#ifndef __x86_64__
	regs.fs = 0x33;
#endif
	fuzz_now = r;
	BUG_ON(pp->arch.emulation.run(pp, &regs) != 1);
	for (i = 0; i < FUZZ_NR_REGS; i++)
		r->reg[i] = *fuzz_pt_reg(&regs, i);
	r->ip = regs.ip;
	r->flags = regs.flags;
	r->cs = regs.cs;
	return pp->arch.slot.copy && regs.ip == (unsigned long)pp->arch.slot.copy;
}
