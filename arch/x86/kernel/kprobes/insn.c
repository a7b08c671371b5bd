// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: what instruction is it, and how can it be run?
 *
 * An instruction is either emulated in C, or run from a copy in a slot, or
 * refused. A copy differs from its original in two ways: it sits at another
 * address, and other code comes after it. Most instructions notice neither,
 * once a rip-relative displacement has been adjusted; the copy is followed by
 * a jump back ("boosted"). Of the others,
 *
 * - those that use their address (branches, calls) are emulated, see emulate.c,
 *   and so are some that don't (push, mov between registers, lea, nops) while
 *   there are post_handlers, which is cheaper then;
 * - those that change what the kernel itself stands on (control and debug
 *   registers, MSRs, descriptor tables, port I/O) are stepped with interrupts
 *   off: a trap follows the copy and nothing else runs before it;
 * - those that can't be run elsewhere, or whose effect on the instruction that
 *   follows would be lost, are refused with -EOPNOTSUPP, and what is there to
 *   trap by itself (int3, int, ud2) with -EINVAL.
 *
 * The decision is by opcode map, see classify(). VEX and EVEX have maps of
 * their own, in which nothing branches; XOP, which the kernel's decoder does
 * not know, REX2 and the map of APX are refused.
 *
 * Runs at registration, under kprobe_mutex.
 */
#include <linux/cfi.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "common.h"

enum run_class {
	RUN_BOOST,		/* from a slot that ends in a jump */
	RUN_STEP,		/* from a slot that ends in a trap */
	RUN_REFUSE,		/* not at all */
	RUN_TRAPS,		/* it is a trap itself */
};

#define OPCODE_HLT	0xf4

/* What is at @addr, if that is the byte which a probe has put there. */
static struct kprobe *probe_behind(unsigned long addr, u8 byte)
{
	struct kprobe *kp;

	if (byte != INT3_INSN_OPCODE && byte != JMP32_INSN_OPCODE)
		return NULL;
	kp = get_kprobe((void *)addr);
	return kp && kp->ainsn.jump == (byte == JMP32_INSN_OPCODE) ? kp : NULL;
}

/**
 * x86_kprobe_read_original() - copy text as it would be without probes
 * @addr: where to begin
 * @buf: where to put it
 * @len: how many bytes, at most KPROBE_JUMP_REACH
 *
 * Probes are known to us; what else has put a breakpoint there is for the
 * caller.
 *
 * Context: kprobe_mutex or text_mutex is held, so that jumps stay as they are,
 * and preemption is disabled if it is not kprobe_mutex.
 *
 * Return: false if the text can't be read.
 */
bool x86_kprobe_read_original(unsigned long addr, u8 *buf, size_t len)
{
	u8 text[KPROBE_JUMP_SIZE - 1 + KPROBE_JUMP_REACH];
	unsigned long start = addr - (KPROBE_JUMP_SIZE - 1);
	long i, j, end = len;

	if (copy_from_kernel_nofault(buf, (void *)addr, len))
		return false;
	memcpy(text + KPROBE_JUMP_SIZE - 1, buf, len);
	/* A jump may begin before what is asked for; there may also be nothing. */
	if (copy_from_kernel_nofault(text, (void *)start, KPROBE_JUMP_SIZE - 1))
		memset(text, 0, KPROBE_JUMP_SIZE - 1);

	for (i = 1 - KPROBE_JUMP_SIZE; i < end; i++) {
		struct kprobe *kp = probe_behind(addr + i, text[i + KPROBE_JUMP_SIZE - 1]);

		if (!kp)
			continue;
		if (i >= 0)
			buf[i] = kp->opcode;
		if (!kp->ainsn.jump)
			continue;
		for (j = max(i, 0L); j < min(i + KPROBE_JUMP_SIZE, end); j++)
			buf[j] = kp->ainsn.covered[j - i];
	}
	return true;
}

/*
 * Decode the original instruction at @addr, which has no more than @max bytes
 * of its function left.
 */
static bool decode_original(unsigned long addr, size_t max, struct insn *insn,
			    u8 buf[MAX_INSN_SIZE])
{
	max = min_t(size_t, max, MAX_INSN_SIZE);
	return x86_kprobe_read_original(addr, buf, max) &&
	       !insn_decode(insn, buf, max, INSN_MODE_KERN);
}

/*
 * Decode the instruction at @addr, if one starts there: all of the function is
 * decoded up to it, so this takes as long as that is. text_mutex keeps jump
 * labels from being seen half patched.
 */
static bool decode_on_boundary(unsigned long addr, struct insn *insn, u8 buf[MAX_INSN_SIZE])
{
	unsigned long size, offset, at, end;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	at = addr - offset;
	end = at + size;

	guard(mutex)(&text_mutex);
	guard(preempt)();
	for (;; at += insn->length) {
		if (at > addr || !decode_original(at, end - at, insn, buf))
			return false;
		if (at == addr)
			return true;
	}
}

/**
 * x86_insn_has_prefix() - look for a legacy prefix
 * @insn: a decoded instruction
 * @wanted: the prefix
 *
 * Return: true if @insn has it.
 */
bool x86_insn_has_prefix(struct insn *insn, u8 wanted)
{
	insn_byte_t p;
	int i;

	for_each_insn_prefix(insn, i, p)
		if (p == wanted)
			return true;
	return false;
}

/* Map 0x0f: mostly what applications run too; the exceptions are listed. */
static enum run_class classify_0f(struct insn *insn)
{
	u8 op = insn->opcode.bytes[1];
	u8 modrm = insn->modrm.bytes[0];
	bool reg = X86_MODRM_MOD(modrm) == 3;

	switch (op) {
	case 0x0b:		/* ud2 */
	case 0xb9:		/* ud1 */
	case 0xff:		/* ud0 */
		return RUN_TRAPS;
	case 0x05:		/* syscall */
	case 0x07:		/* sysret */
	case 0x34:		/* sysenter */
	case 0x35:		/* sysexit */
	case 0x37:		/* getsec */
	case 0xaa:		/* rsm */
	case 0x80 ... 0x8f:	/* jcc, with what keeps it from being emulated */
		return RUN_REFUSE;
	case 0x01:
		if (!reg)	/* sgdt, sidt, lgdt, lidt, smsw, lmsw, invlpg */
			return X86_MODRM_REG(modrm) == 5 ? RUN_REFUSE : RUN_STEP;
		switch (modrm) {
		case 0xca:	/* clac, or erets and eretu of FRED */
			if (x86_insn_has_prefix(insn, 0xf2) || x86_insn_has_prefix(insn, 0xf3))
				return RUN_REFUSE;
			fallthrough;
		case 0xcb:	/* stac */
		case 0xd0:	/* xgetbv */
		case 0xd6:	/* xtest */
		case 0xee:	/* rdpkru */
		case 0xef:	/* wrpkru */
		case 0xf9:	/* rdtscp */
			return RUN_BOOST;
		case 0xd1:	/* xsetbv */
		case 0xc8:	/* monitor */
		case 0xc1:	/* vmcall */
		case 0xd9:	/* vmmcall */
			return RUN_STEP;
		case 0xe0 ... 0xe7:	/* smsw */
		case 0xf0 ... 0xf7:	/* lmsw */
			return RUN_STEP;
		default:	/* virtualisation, enclaves, swapgs, mwait, xend */
			return RUN_REFUSE;
		}
	case 0x00:		/* sldt, str, lldt, ltr, verr, verw */
		return X86_MODRM_REG(modrm) >= 6 ? RUN_REFUSE : RUN_STEP;
	case 0x06:		/* clts */
	case 0x08:		/* invd */
	case 0x09:		/* wbinvd */
	case 0x20 ... 0x23:	/* mov to and from control, debug registers */
	case 0x30:		/* wrmsr */
	case 0x32:		/* rdmsr */
	case 0x33:		/* rdpmc */
	case 0xb2:		/* lss */
		return op == 0xb2 ? RUN_REFUSE : RUN_STEP;
	case 0xb4:		/* lfs */
	case 0xb5:		/* lgs */
	case 0xa1:		/* pop fs */
	case 0xa9:		/* pop gs */
		return RUN_REFUSE;
	case 0xae:
		/* wrfsbase, wrgsbase; setssbsy and its like. */
		if (reg && x86_insn_has_prefix(insn, 0xf3))
			return X86_MODRM_REG(modrm) < 2 ? RUN_BOOST : RUN_REFUSE;
		return RUN_BOOST;
	case 0xc7:
		/* vmptrld, vmclear, vmxon; rdrand, rdseed and rdpid are fine. */
		if (!reg && X86_MODRM_REG(modrm) >= 6)
			return RUN_REFUSE;
		if (reg && X86_MODRM_REG(modrm) == 6 && x86_insn_has_prefix(insn, 0xf3))
			return RUN_REFUSE;	/* senduipi */
		return RUN_BOOST;
	default:
		return RUN_BOOST;
	}
}

/*
 * The one-byte map. Whatever branches and can be emulated has been taken out
 * before, so that what is left of it here can't.
 */
static enum run_class classify_one_byte(struct insn *insn)
{
	u8 op = insn->opcode.bytes[0];
	u8 modrm = insn->modrm.bytes[0];

	switch (op) {
	case 0xcc:		/* int3 */
	case 0xcd:		/* int */
	case 0xce:		/* into */
	case 0xf1:		/* int1 */
		return RUN_TRAPS;
	case 0x70 ... 0x7f:	/* jcc */
	case 0x9a:		/* far call */
	case 0xc2:		/* ret */
	case 0xc3:
	case 0xca:		/* far ret */
	case 0xcb:
	case 0xcf:		/* iret */
	case 0xe0 ... 0xe3:	/* loop, jcxz */
	case 0xe8 ... 0xeb:	/* call, jmp */
	case 0x9c:		/* pushf */
	case 0x9d:		/* popf */
	case 0xfa:		/* cli */
	case 0xfb:		/* sti */
		return RUN_REFUSE;
	case OPCODE_HLT:	/* an interrupt could slip in just before it */
		return RUN_REFUSE;
	case 0x17:		/* pop ss */
		return RUN_REFUSE;
	case 0x8e:
		/* Loading ss holds off interrupts; gs is where we stand. */
		if (X86_MODRM_REG(modrm) == 2 || X86_MODRM_REG(modrm) == 5)
			return RUN_REFUSE;
		return RUN_STEP;
	case 0x8f:		/* pop; other than /0 it is XOP */
		return X86_MODRM_REG(modrm) ? RUN_REFUSE : RUN_BOOST;
	case 0xc6:		/* mov, but xabort */
		return X86_MODRM_REG(modrm) ? RUN_REFUSE : RUN_BOOST;
	case 0xc7:		/* mov, but xbegin, which has a relative target */
		return X86_MODRM_REG(modrm) ? RUN_REFUSE : RUN_BOOST;
	case 0xff:
		switch (X86_MODRM_REG(modrm)) {
		case 2 ... 5:	/* near and far call, jmp */
		case 7:
			return RUN_REFUSE;
		}
		return RUN_BOOST;
	case 0xfe:
		return X86_MODRM_REG(modrm) > 1 ? RUN_REFUSE : RUN_BOOST;
	case 0x6c ... 0x6f:	/* ins, outs */
	case 0xe4 ... 0xe7:	/* in, out */
	case 0xec ... 0xef:
		return RUN_STEP;
	default:
		return RUN_BOOST;
	}
}

static enum run_class classify(struct insn *insn)
{
	if (insn_has_emulate_prefix(insn))
		return RUN_TRAPS;
	if (insn_is_rex2(insn))
		return RUN_REFUSE;
	if (insn_is_avx(insn)) {
		/* EVEX map 4 is APX; none of the others has a branch. */
		if (insn_is_evex(insn) && insn_vex_m_bits(insn) == 4)
			return RUN_REFUSE;
		return RUN_BOOST;
	}
	if (insn->opcode.nbytes == 1)
		return classify_one_byte(insn);
	if (insn->opcode.nbytes == 2)
		return classify_0f(insn);
	return RUN_BOOST;
}

/**
 * x86_insn_boostable() - tell whether a copy may be run amid other code
 * @insn: a decoded instruction
 *
 * Return: true if nothing is left to do after the copy.
 */
bool x86_insn_boostable(struct insn *insn)
{
	return classify(insn) == RUN_BOOST;
}

/**
 * x86_insn_branches() - tell whether an instruction has a relative target
 * @insn: a decoded instruction
 * @addr: where it is
 * @target: where to put the target
 *
 * Return: true if it is a jump, a call, or another branch relative to where it
 * is.
 */
bool x86_insn_branches(struct insn *insn, unsigned long addr, unsigned long *target)
{
	u8 op = insn->opcode.bytes[0];
	bool branches = false;

	if (insn_is_avx(insn) || insn_is_rex2(insn))
		return false;
	if (insn->opcode.nbytes == 2) {
		op = insn->opcode.bytes[1];
		branches = op >= 0x80 && op <= 0x8f;
	} else if (insn->opcode.nbytes == 1) {
		switch (op) {
		case 0x70 ... 0x7f:
		case 0xe0 ... 0xe3:
		case CALL_INSN_OPCODE:
		case JMP32_INSN_OPCODE:
		case JMP8_INSN_OPCODE:
			branches = true;
			break;
		case 0xc7:	/* xbegin */
			branches = insn->modrm.bytes[0] == 0xf8;
			break;
		}
	}
	if (branches)
		*target = addr + insn->length + insn->immediate.value;
	return branches;
}

/*
 * sti holds off interrupts until the next instruction has run, which can't be
 * had when that one is probed, or sti itself is. It matters where going to
 * sleep must not be separated from what comes before.
 */
static bool needs_interrupt_shadow(const u8 *insn, size_t max)
{
	if (max >= 1 && insn[0] == OPCODE_HLT)
		return true;
	if (max >= 3 && insn[0] == 0x0f && insn[1] == 0x01 && insn[2] == 0xc9)
		return true;		/* mwait */
	return max >= 2 && insn[0] == 0x0f && insn[1] == 0x35;	/* sysexit */
}

/* Refuse sti before an instruction that needs what it does beside. */
static bool sti_is_safe(unsigned long addr)
{
	u8 next[3];

	return x86_kprobe_read_original(addr + 1, next, sizeof(next)) &&
	       !needs_interrupt_shadow(next, sizeof(next));
}

/*
 * The bytes in front of a function have a symbol of their own: __cfi_ and the
 * function's name from the compiler, or __pfx_ from objtool. The kernel keeps the
 * hash of the function's type there, and code that it makes of it at boot, or code
 * that counts calls. Callers read the one and jump into the other.
 */
static bool is_in_padding(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return !lookup_symbol_name(addr, name) &&
	       (strstarts(name, "__pfx_") || strstarts(name, "__cfi_"));
}

/* What the compiler puts before an indirect call, with kCFI. */
#define CFI_MOVL_SIZE	6		/* movl $-type, %r10d */
#define CFI_ADDL_SIZE	4		/* addl -4(%reg), %r10d */
#define CFI_JE_SIZE	2		/* je past the ud2 that follows */

/*
 * Is it the movl or the addl of such a check? When the ud2 traps, the kernel reads
 * both in the text, to learn which type and which register were meant.
 */
static bool is_cfi_check(unsigned long addr, struct insn *insn)
{
	if (insn->opcode.value == 0xba && insn->length == CFI_MOVL_SIZE)
		return is_cfi_trap(addr + CFI_MOVL_SIZE + CFI_ADDL_SIZE + CFI_JE_SIZE);
	if (insn->opcode.value == 0x03 && insn->length == CFI_ADDL_SIZE)
		return is_cfi_trap(addr + CFI_ADDL_SIZE + CFI_JE_SIZE);
	return false;
}

/*
 * Is it an endbr? A probe on a function's first is moved behind it, so this is one
 * in the middle. An indirect jump has to find it there.
 */
static bool is_endbr_insn(const u8 *bytes)
{
	return is_endbr(get_unaligned((u32 *)bytes));
}

/**
 * x86_kprobe_decode() - decide how the instruction at a probepoint is run
 * @p: the probepoint's kprobe, its addr set; the rest is filled in here
 *
 * Context: sleeps; takes text_mutex.
 *
 * Return: 0; -EILSEQ if no instruction starts at the address, or none that the
 * decoder knows; -EINVAL if it traps by itself, or must be found as it is by
 * others; -EOPNOTSUPP if it can't be run elsewhere.
 */
int x86_kprobe_decode(struct kprobe *p)
{
	unsigned long addr = (unsigned long)p->addr;
	struct arch_specific_insn *ai = &p->ainsn;
	enum run_class class;
	struct insn insn;

	if (is_in_padding(addr))
		return -EINVAL;
	if (!decode_on_boundary(addr, &insn, ai->bytes))
		return -EILSEQ;
	if (is_endbr_insn(ai->bytes) || is_cfi_check(addr, &insn))
		return -EINVAL;
	ai->size = insn.length;
	ai->hit_ip = (unsigned long)p->addr + INT3_INSN_SIZE;
	ai->next_ip = (unsigned long)p->addr + ai->size;
	p->opcode = ai->bytes[0];

	class = classify(&insn);
	ai->boostable = class == RUN_BOOST;
	if (x86_kprobe_find_emulation(p, &insn)) {
		if (ai->bytes[0] == 0xfb && !sti_is_safe(addr))
			return -EOPNOTSUPP;
		return 0;
	}

	switch (class) {
	case RUN_TRAPS:
		return -EINVAL;
	case RUN_REFUSE:
		return -EOPNOTSUPP;
	default:
		return 0;
	}
}
