// SPDX-License-Identifier: GPL-2.0
/*
 * Executes an instruction on the host's CPU: registers, flags and the state of the FPU are
 * loaded by returning from a signal handler, and saved by the next signal.
 *
 * fuzz_execute() raises SIGTRAP by an int3. The handler puts the test's registers into the
 * signal frame, so the return from the handler begins the test. The test ends with the next
 * signal: the trap after a single step, an int3 after the instruction, or an exception. The
 * handler takes the registers from the frame and puts those of fuzz_execute() back.
 *
 * A test may end with any base of fs, which thread-local variables need, and with any flags.
 * So the handler uses neither thread-local variables nor a stack protector.
 */
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "fuzz.h"

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#include "fuzz_gen.h"

#define FLAG_TF		0x100UL
/* The kernel does not change these flags when it calls a handler, nor when that returns. */
#define FLAGS_KEPT	0x244000UL	/* NT, AC, ID */
#define TRAP_DEBUG	1
#define TRAP_INT3	3

/* Offset of the FPU's state in a signal frame, and those of fields of fxsave and xsave */
#ifdef __x86_64__
#define FXSAVE		0
#else
#define FXSAVE		112
#endif
#define SW_RESERVED	(FXSAVE + 464)
#define XSTATE_BV	(FXSAVE + 512)
#define FUZZ_FPU_MAX	16384

unsigned int fuzz_fpu_size;
/* The base that fs has in all tests, in 32-bit mode */
unsigned long fuzz_cpu_fs_base;
#ifndef __x86_64__
static unsigned int fs_selector;
#endif
static u8 fpu_state[FUZZ_FPU_MAX] __attribute__((aligned(64)));
unsigned char *fuzz_fpu = fpu_state;
static u8 fpu_template[FUZZ_FPU_MAX];
static u64 xfeatures;
/* Offsets and sizes of the states of AVX and of AVX-512 */
static struct {
	u32 at, size;
} xstates[64];

static struct {
	enum { IDLE, ASKED, RUNS } state;
	const struct fuzz_regs *in;
	struct fuzz_outcome *out;
	u8 *fpu_out;
	bool step;
	bool repeats;
	unsigned int steps;
	unsigned int alarms;
	mcontext_t saved;
	u8 saved_fpu[FUZZ_FPU_MAX];
	unsigned long own_fs, own_gs;
} cpu;

static const int greg_of[FUZZ_NR_REGS] = {
#ifdef __x86_64__
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
#define REG_IP	REG_RIP
#else
	REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI,
#define REG_IP	REG_EIP
#endif
};

static unsigned long read_fs(void)
{
	unsigned long base = 0;

#ifdef __x86_64__
	__asm__ volatile("rdfsbase %0" : "=r" (base));
#endif
	return base;
}

static unsigned long read_gs(void)
{
	unsigned long base = 0;

#ifdef __x86_64__
	__asm__ volatile("rdgsbase %0" : "=r" (base));
#endif
	return base;
}

static void write_bases(unsigned long fs, unsigned long gs)
{
#ifdef __x86_64__
	__asm__ volatile("wrfsbase %0; wrgsbase %1" : : "r" (fs), "r" (gs));
#endif
}

static void copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (n) : : "memory");
}

static void begin_test(mcontext_t *mc)
{
	int i;

	copy(&cpu.saved, mc, sizeof(*mc));
	copy(cpu.saved_fpu, mc->fpregs, fuzz_fpu_size);
	for (i = 0; i < FUZZ_NR_REGS; i++)
		mc->gregs[greg_of[i]] = cpu.in->reg[i];
#ifndef __x86_64__
	mc->gregs[REG_UESP] = cpu.in->reg[FUZZ_SP];
	mc->gregs[REG_FS] = fs_selector;
	/* Load gs with ds, which has no base, in place of its base for thread-local data. */
	mc->gregs[REG_GS] = mc->gregs[REG_DS];
#endif
	mc->gregs[REG_IP] = cpu.in->ip;
	mc->gregs[REG_EFL] = cpu.in->flags | (cpu.step ? FLAG_TF : 0);
	copy(mc->fpregs, fpu_state, fuzz_fpu_size);
	cpu.own_fs = read_fs();
	cpu.own_gs = read_gs();
	write_bases(cpu.in->fs_base, cpu.in->gs_base);
	cpu.steps = 0;
	cpu.alarms = 0;
	cpu.state = RUNS;
}

static void end_test(int sig, const siginfo_t *info, mcontext_t *mc)
{
	struct fuzz_outcome *out = cpu.out;
	int i;

	out->regs = *cpu.in;
#ifdef __x86_64__
	out->regs.fs_base = read_fs();
	out->regs.gs_base = read_gs();
#endif
	for (i = 0; i < FUZZ_NR_REGS; i++)
		out->regs.reg[i] = mc->gregs[greg_of[i]];
#ifndef __x86_64__
	out->regs.reg[FUZZ_SP] = mc->gregs[REG_UESP];
	out->regs.cs = (uint16_t)mc->gregs[REG_CS];
	out->regs.segments[0] = (uint16_t)mc->gregs[REG_DS] | mc->gregs[REG_ES] << 16;
	out->regs.segments[1] = (uint16_t)mc->gregs[REG_FS] | mc->gregs[REG_GS] << 16;
#else
	out->regs.cs = (uint16_t)mc->gregs[REG_CSGSFS];
#endif
	out->regs.ip = mc->gregs[REG_IP];
	out->regs.flags = (u32)mc->gregs[REG_EFL];
	out->sig = sig;
	out->code = info->si_code;
	out->trap = mc->gregs[REG_TRAPNO];
	out->error = mc->gregs[REG_ERR];
#ifdef __x86_64__
	out->address = out->trap == 14 ? mc->gregs[REG_CR2] : 0;
#else
	out->address = out->trap == 14 ? mc->cr2 : 0;
#endif
	if (cpu.fpu_out)
		copy(cpu.fpu_out, mc->fpregs, fuzz_fpu_size);
	/* Keep the frame's pointer to the state of the FPU. */
	copy(mc->gregs, cpu.saved.gregs, sizeof(mc->gregs));
	copy(mc->fpregs, cpu.saved_fpu, fuzz_fpu_size);
	write_bases(cpu.own_fs, cpu.own_gs);
	cpu.state = IDLE;
}

/* A string instruction with a prefix traps after each repetition. */
static bool has_more_steps(int sig, mcontext_t *mc)
{
	return cpu.repeats && sig == SIGTRAP && mc->gregs[REG_TRAPNO] == TRAP_DEBUG &&
	       (unsigned long)mc->gregs[REG_IP] == cpu.in->ip && ++cpu.steps < 4096;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	mcontext_t *mc = &((ucontext_t *)context)->uc_mcontext;

#ifdef __x86_64__
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i" (~FLAGS_KEPT) : "cc", "memory");
#else
	__asm__ volatile("pushfl; andl %0, (%%esp); popfl" : : "i" (~FLAGS_KEPT) : "cc", "memory");
#endif
	switch (cpu.state) {
	case ASKED:
		if (sig == SIGTRAP)
			begin_test(mc);
		return;
	case RUNS:
		/* The alarm may arrive when the test has just begun: wait for the second one. */
		if (sig == SIGALRM && !cpu.alarms++)
			return;
		if (!has_more_steps(sig, mc))
			end_test(sig, info, mc);
		return;
	default:
		if (sig == SIGALRM)
			return;
		/* The fuzzer itself faulted: the next fault kills it, and the parent reports it. */
		signal(sig, SIG_DFL);
	}
}

/*
 * fuzz_execute() - execute an instruction
 * @in: registers to begin with
 * @end: when it ends, if there is no exception
 * @out: result
 * @fpu_out: result: the state of the FPU, or NULL
 *
 * The state of the FPU to begin with is in @fuzz_fpu.
 */
void fuzz_execute(const struct fuzz_regs *in, enum fuzz_end end, struct fuzz_outcome *out,
		  unsigned char *fpu_out)
{
	bool step = end != FUZZ_BY_INT3;

	cpu.in = in;
	cpu.step = step;
	cpu.repeats = end == FUZZ_AFTER_REPEATING;
	cpu.out = out;
	cpu.fpu_out = fpu_out;
	cpu.state = ASKED;
	__asm__ volatile("int3" : : : "memory", "cc");

	/* Not an exception: the end of the step, or an int3 after the instruction */
	if (out->sig == SIGTRAP && step && out->trap == TRAP_DEBUG) {
		out->sig = 0;
	} else if (out->sig == SIGTRAP && out->trap == TRAP_INT3 && out->regs.ip != in->ip + 1) {
		out->sig = 0;
		out->regs.ip--;
	} else if (out->sig == SIGSEGV && out->trap == 14 && out->address == out->regs.ip &&
		   (out->error & 0x10) && out->regs.ip != in->ip) {
		/* The instruction was a branch to unmapped memory. */
		out->sig = 0;
	}
	if (!out->sig) {
		out->code = 0;
		out->trap = 0;
		out->error = 0;
		out->address = 0;
	}
}

static void map(unsigned long at, size_t size, int exec)
{
	void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE | exec,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)at) {
		fprintf(stderr, "fuzz: no memory at %lx: %s\n", at, strerror(errno));
		exit(2);
	}
}

static void cpuid(u32 leaf, u32 sub, u32 reg[4])
{
	__asm__ volatile("cpuid" : "=a" (reg[0]), "=b" (reg[1]), "=c" (reg[2]), "=d" (reg[3])
			 : "a" (leaf), "c" (sub));
}

static void find_xstates(void)
{
	u32 reg[4], i;

	memcpy(&xfeatures, fpu_template + SW_RESERVED + 8, 8);
	for (i = 2; i < 64; i++) {
		if (!(xfeatures >> i & 1))
			continue;
		cpuid(0xd, i, reg);
		xstates[i].size = reg[0];
		xstates[i].at = FXSAVE + reg[1];
	}
}

/* In 32-bit mode a descriptor has the base of fs. */
static void make_fs(void)
{
#ifndef __x86_64__
	struct user_desc desc = {
		.entry_number = -1, .base_addr = 0x140, .limit = 0xfffff, .seg_32bit = 1,
		.limit_in_pages = 1, .useable = 1,
	};

	if (syscall(SYS_set_thread_area, &desc)) {
		perror("fuzz: set_thread_area");
		exit(2);
	}
	fuzz_cpu_fs_base = desc.base_addr;
	fs_selector = desc.entry_number * 8 + 3;
#endif
}

/* SIGUSR1 is used once: copy the frame's state of the FPU. */
static void template_handler(int sig, siginfo_t *info, void *context)
{
	mcontext_t *mc = &((ucontext_t *)context)->uc_mcontext;
	u32 size;

	memcpy(&size, (u8 *)mc->fpregs + SW_RESERVED + 16, 4);
	fuzz_fpu_size = FXSAVE + size;
	if (fuzz_fpu_size > FUZZ_FPU_MAX)
		fuzz_fpu_size = FUZZ_FPU_MAX;
	memcpy(fpu_state, mc->fpregs, fuzz_fpu_size);
}

/* Find out by a signal which states a signal frame has. */
static void take_template(void)
{
	u32 magic;

	raise(SIGUSR1);
	memcpy(fpu_template, fpu_state, sizeof(fpu_state));
	memcpy(&magic, fpu_template + SW_RESERVED, 4);
	if (magic != 0x46505853) {
		fprintf(stderr, "fuzz: a signal frame has no xsave area\n");
		exit(2);
	}
}

/*
 * fuzz_cpu_init() - map the memory of tests, and install the signal handler
 *
 * SIGALRM ends a test that does not end within some seconds.
 */
void fuzz_cpu_init(void)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGALRM, SIGSYS };
	struct itimerval timer = { { 2, 0 }, { 2, 0 } };
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	stack_t stack = { .ss_size = 256 * 1024 };
	cpu_set_t one;
	unsigned int i;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	map(FUZZ_ARENA, FUZZ_ARENA_SIZE, 0);
	map(FUZZ_TEXT, FUZZ_TEXT_SIZE, PROT_EXEC);
	map(FUZZ_SLOTS, FUZZ_SLOTS_SIZE, PROT_EXEC);
	map(FUZZ_TRAMPOLINE & -4096UL, 4096, PROT_EXEC);
	memset((void *)(FUZZ_TRAMPOLINE & -4096UL), 0xcc, 4096);
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL)) {
		perror("fuzz: sigaltstack");
		exit(2);
	}
	sigfillset(&sa.sa_mask);
	sa.sa_sigaction = template_handler;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_sigaction = handler;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	make_fs();
	take_template();
	find_xstates();
	setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * fuzz_fpu_randomize() - choose a state of the FPU to begin tests with
 * @r: random sequence
 * @small: the elements of vectors are small, as those of indices must be
 */
void fuzz_fpu_randomize(struct fuzz_random *r, bool small)
{
	u8 *fx = fpu_state + FXSAVE;
	u32 mxcsr, i;
	u64 v;

	memcpy(fpu_state, fpu_template, fuzz_fpu_size);
	memcpy(fpu_state + XSTATE_BV, &xfeatures, 8);
	/* Any rounding mode; nearly always with exceptions masked */
	mxcsr = 0x1f80 | (fuzz_next(r) & 0xe03f);
	if (fuzz_one_in(r, 16))
		mxcsr &= ~(fuzz_next(r) & 0x1f80);
	memcpy(fx + 24, &mxcsr, 4);
	for (i = 0; i < 8 * 16; i += 16) {
		/* x87 registers: any mantissa and exponent; the tag word says they are in use. */
		v = fuzz_value(r);
		memcpy(fx + 32 + i, &v, 8);
		v = fuzz_value(r);
		memcpy(fx + 32 + i + 8, &v, 2);
	}
	fx[4] = fuzz_next(r);
	fx[3] = fuzz_next(r) & 0x47;	/* condition codes */
	fx[3] |= (fuzz_next(r) & 7) << 3;
	fx[2] = 0;
	fx[0] = 0x7f;
	fx[1] = 0x03 | (fuzz_next(r) & 0x0c);
#ifndef __x86_64__
	/* The kernel takes these from the part of the frame in the format of fnsave. */
	fpu_state[0] = fx[0];
	fpu_state[1] = fx[1];
	fpu_state[4] = fx[2];
	fpu_state[5] = fx[3];
	v = 0;
	for (i = 0; i < 8; i++)
		if (!(fx[4] >> i & 1))
			v |= 3ULL << (2 * i);
	memcpy(fpu_state + 8, &v, 2);
	for (i = 0; i < 8; i++)
		memcpy(fpu_state + 28 + 10 * i, fx + 32 + 16 * i, 10);
#endif
	for (i = 160; i < 416; i += 8) {
#ifndef __x86_64__
		if (i >= 288)
			break;
#endif
		v = small ? fuzz_below(r, 256) : fuzz_value(r);
		memcpy(fx + i, &v, 8);
	}
	/* 2: the upper halves of ymm; 5 to 7: mask registers, the upper halves of zmm, zmm16-31 */
	for (i = 0; i < 8; i++) {
		u32 j;

		if (i != 2 && (i < 5 || i > 7))
			continue;
		for (j = 0; j < xstates[i].size; j += 8) {
#ifndef __x86_64__
			if ((i == 2 && j >= 8 * 16) || (i == 6 && j >= 8 * 32) || i == 7)
				break;
#endif
			v = small ? fuzz_below(r, 256) : fuzz_value(r);
			memcpy(fpu_state + xstates[i].at + j, &v, 8);
		}
	}
}

/*
 * fuzz_fpu_compare() - compare two states of the FPU
 * @a: the state at the end of one test
 * @b: the state at the end of another
 *
 * The x87 instruction pointers differ, since one is in the copy, and are not compared.
 *
 * Return: -1 if they are the same, or the offset of the first difference.
 */
int fuzz_fpu_compare(const unsigned char *a, const unsigned char *b)
{
	unsigned int i;

	for (i = 0; i < fuzz_fpu_size; i++) {
		if (a[i] == b[i])
			continue;
		if (i >= FXSAVE + 8 && i < FXSAVE + 16)
			continue;
#ifndef __x86_64__
		/* Skip the x87 instruction's offset and selector, and its opcode. */
		if (i >= 12 && i < 20)
			continue;
#endif
		return i;
	}
	return -1;
}
