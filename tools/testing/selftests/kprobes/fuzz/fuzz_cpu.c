// SPDX-License-Identifier: GPL-2.0
/*
 * Executes an instruction on the host's CPU, in a child that is traced. The child shares the memory
 * of the tests; registers and the state of the FPU are set and read by ptrace.
 */
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#include "fuzz_gen.h"

#ifdef __x86_64__
#define REG(name)	r##name
#define NR_XMM		16
#else
#define REG(name)	e##name
#define NR_XMM		8
#endif
#define REG_AT(name)	offsetof(struct user_regs_struct, name)

/* Offsets in the state of the FPU, which has the format of xsave */
#define XCR0		464
#define XSTATE_BV	512
/* x87, SSE, AVX, AVX-512: the states with random values */
#define XFEATURES	0xe7

static u8 fpu_state[FUZZ_FPU_MAX] __attribute__((aligned(64)));
unsigned char *fuzz_fpu = fpu_state;
unsigned int fuzz_fpu_size;
unsigned long fuzz_cpu_fs_base;
static u8 fpu_template[FUZZ_FPU_MAX];
static u64 xfeatures;
static pid_t child;
static struct user_regs_struct template;

static void fail_with(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void trace(int request, void *addr, void *data)
{
	if (ptrace(request, child, addr, data))
		fail_with("ptrace");
}

static const size_t reg_at[FUZZ_NR_REGS] = {
	REG_AT(REG(ax)), REG_AT(REG(cx)), REG_AT(REG(dx)), REG_AT(REG(bx)),
	REG_AT(REG(sp)), REG_AT(REG(bp)), REG_AT(REG(si)), REG_AT(REG(di)),
#ifdef __x86_64__
	REG_AT(r8), REG_AT(r9), REG_AT(r10), REG_AT(r11),
	REG_AT(r12), REG_AT(r13), REG_AT(r14), REG_AT(r15),
#endif
};

static void put_regs(const struct fuzz_regs *in)
{
	struct user_regs_struct regs = template;
	int i;

	for (i = 0; i < FUZZ_NR_REGS; i++)
		memcpy((u8 *)&regs + reg_at[i], &in->reg[i], sizeof(long));
	regs.REG(ip) = in->ip;
	regs.eflags = in->flags;
#ifdef __x86_64__
	regs.fs_base = in->fs_base;
	regs.gs_base = in->gs_base;
#endif
	trace(PTRACE_SETREGS, NULL, &regs);
}

static void get_regs(struct fuzz_regs *out)
{
	struct user_regs_struct regs;
	int i;

	trace(PTRACE_GETREGS, NULL, &regs);
	for (i = 0; i < FUZZ_NR_REGS; i++)
		memcpy(&out->reg[i], (u8 *)&regs + reg_at[i], sizeof(long));
	out->ip = regs.REG(ip);
	out->flags = (u32)regs.eflags;
#ifdef __x86_64__
	out->cs = regs.cs;
	out->fs_base = regs.fs_base;
	out->gs_base = regs.gs_base;
#else
	out->cs = (uint16_t)regs.xcs;
	out->segments[0] = (uint16_t)regs.xds | regs.xes << 16;
	out->segments[1] = (uint16_t)regs.xfs | regs.xgs << 16;
#endif
}

/*
 * Number of alarms since the child was started, or -1 if it does not run. The first alarm may
 * arrive just after the start, so the second one stops the child.
 */
static volatile sig_atomic_t alarms = -1;

static void on_alarm(int sig)
{
	if (alarms >= 0 && ++alarms == 2)
		kill(child, SIGALRM);
}

/*
 * Let the child run. Return: the signal that stops it; SIGALRM after 2 to 4 seconds, so that an
 * instruction that loops does not stop the fuzzer.
 */
static int run(int how, siginfo_t *info)
{
	int status;

	alarms = 0;
	trace(how, NULL, NULL);
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		fail_with("the test has ended the process");
	alarms = -1;
	trace(PTRACE_GETSIGINFO, NULL, info);
	return WSTOPSIG(status);
}

static bool is_step(int sig, const siginfo_t *info)
{
	return sig == SIGTRAP && (info->si_code == TRAP_TRACE || info->si_code == TRAP_BRKPT);
}

/*
 * NT, AC and ID: ptrace cannot change these flags. To clear them, the child executes the popf at
 * POPF; the int3 that follows it stops the child.
 */
#define FLAGS_KEPT	0x244000UL
#define POPF		(FUZZ_TRAMPOLINE + 0x100)

static void clear_flags(void)
{
	struct fuzz_regs in = { .ip = POPF };
	siginfo_t info;

	in.reg[FUZZ_SP] = POPF + 64;
	put_regs(&in);
	run(PTRACE_CONT, &info);
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
	struct iovec fpu = { fpu_state, fuzz_fpu_size }, after = { fpu_out, fuzz_fpu_size };
	static unsigned long last_flags;
	void *xstate = (void *)NT_X86_XSTATE;
	int steps = 0, sig;
	siginfo_t info;

	if (last_flags & FLAGS_KEPT)
		clear_flags();
	put_regs(in);
	trace(PTRACE_SETREGSET, xstate, &fpu);
	memset(out, 0, sizeof(*out));
	out->regs = *in;
	/* Single-stepping a string instruction with a REP prefix traps after each repetition. */
	do {
		sig = run(end == FUZZ_BY_INT3 ? PTRACE_CONT : PTRACE_SINGLESTEP, &info);
		get_regs(&out->regs);
	} while (end == FUZZ_AFTER_REPEATING && is_step(sig, &info) && out->regs.ip == in->ip &&
		 ++steps < 4096);
	last_flags = out->regs.flags;
	if (fpu_out)
		trace(PTRACE_GETREGSET, xstate, &after);

	/* No exception: the trap is the end of the step, or an int3 after the instruction. */
	if (end != FUZZ_BY_INT3 && is_step(sig, &info))
		return;
	if (sig == SIGTRAP && info.si_code == SI_KERNEL && out->regs.ip != in->ip + 1) {
		out->regs.ip--;
		return;
	}
	if (sig == SIGSEGV && info.si_code != SI_KERNEL) {
		out->page_fault = true;
		out->address = (unsigned long)info.si_addr;
		/*
		 * The instruction has succeeded: it is a branch
		 * to unmapped memory, where the fetch faults.
		 */
		if (out->address == out->regs.ip && out->regs.ip != in->ip) {
			out->page_fault = false;
			out->address = 0;
			return;
		}
	}
	out->sig = sig;
	out->code = info.si_code;
}

static void map(unsigned long at, size_t size, int exec)
{
	void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE | exec,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)at)
		fail_with("mmap");
}

/*
 * In 32-bit mode, make a segment descriptor for fs with a base other than 0. Return: its selector.
 */
static unsigned int make_fs(void)
{
#ifndef __x86_64__
	struct user_desc desc = {
		.entry_number = -1, .base_addr = 0x140, .limit = 0xfffff, .seg_32bit = 1,
		.limit_in_pages = 1, .useable = 1,
	};

	if (syscall(SYS_set_thread_area, &desc))
		fail_with("set_thread_area");
	fuzz_cpu_fs_base = desc.base_addr;
	return desc.entry_number * 8 + 3;
#else
	return 0;
#endif
}

/*
 * fuzz_cpu_init() - map the memory of tests, and start the child
 */
void fuzz_cpu_init(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 2, 0 }, { 2, 0 } };
	struct iovec fpu = { fpu_template, sizeof(fpu_template) };
	unsigned int fs;
	cpu_set_t one;
	int status;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	map(FUZZ_ARENA, FUZZ_ARENA_SIZE, 0);
	map(FUZZ_TEXT, FUZZ_TEXT_SIZE, PROT_EXEC);
	map(FUZZ_SLOTS, FUZZ_SLOTS_SIZE, PROT_EXEC);
	map(FUZZ_TRAMPOLINE & -4096UL, 4096, PROT_EXEC);
	memset((void *)(FUZZ_TRAMPOLINE & -4096UL), 0xcc, 4096);
	*(u8 *)POPF = 0x9d;
	*(unsigned long *)(POPF + 64) = 0x202;
	/* Before fork(), so that the child inherits the segment descriptor. */
	fs = make_fs();
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(2);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		fail_with("fork");
	trace(PTRACE_SETOPTIONS, NULL, (void *)PTRACE_O_EXITKILL);
	trace(PTRACE_GETREGS, NULL, &template);
	/* -1 says that the child is in no system call, so that the kernel restarts none. */
#ifdef __x86_64__
	template.orig_rax = -1;
	(void)fs;
#else
	template.orig_eax = -1;
	template.xfs = fs;
	/*
	 * In 32-bit mode, gs points to the C library's thread-local data. Load gs with the selector
	 * of ds, whose base is 0.
	 */
	template.xgs = template.xds;
#endif
	trace(PTRACE_GETREGSET, (void *)NT_X86_XSTATE, &fpu);
	fuzz_fpu_size = fpu.iov_len;
	memcpy(&xfeatures, fpu_template + XCR0, 8);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Fill a part of the state with random values, at most @max bytes. */
static void randomize(struct fuzz_random *r, unsigned int at, unsigned int size, unsigned int max,
		      bool small)
{
	unsigned int i;

	for (i = 0; i < size && i < max; i += 8) {
		u64 v = small ? fuzz_below(r, 256) : fuzz_value(r);

		memcpy(fpu_state + at + i, &v, 8);
	}
}

/*
 * fuzz_fpu_randomize() - choose a state of the FPU to begin tests with
 * @r: random sequence
 * @small: the elements of vectors are small, for use as indices
 */
void fuzz_fpu_randomize(struct fuzz_random *r, bool small)
{
	/*
	 * Sizes of the states in this mode, by number:
	 * AVX, masks, upper halves of zmm, zmm16 to zmm31
	 */
	static const unsigned int most[8] = {
		[2] = NR_XMM * 16, [5] = 64, [6] = NR_XMM * 32, [7] = NR_XMM == 16 ? 1024 : 0,
	};
	u8 *fx = fpu_state;
	u32 mxcsr, i, size, at, c, d;
	u64 v;

	memcpy(fpu_state, fpu_template, fuzz_fpu_size);
	memcpy(&v, fpu_state + XSTATE_BV, 8);
	v |= xfeatures & XFEATURES;
	memcpy(fpu_state + XSTATE_BV, &v, 8);
	/* Any rounding mode; nearly always with exceptions masked */
	mxcsr = 0x1f80 | (fuzz_next(r) & 0xe03f);
	if (fuzz_one_in(r, 16))
		mxcsr &= ~(fuzz_next(r) & 0x1f80);
	memcpy(fx + 24, &mxcsr, 4);
	for (i = 0; i < 8 * 16; i += 16) {
		/* x87 registers: any mantissa and exponent; the tag word below is random, too. */
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
	randomize(r, 160, NR_XMM * 16, NR_XMM * 16, small);
	for (i = 0; i < 8; i++) {
		if (!most[i] || !(xfeatures >> i & 1))
			continue;
		__asm__ volatile("cpuid" : "=a" (size), "=b" (at), "=c" (c), "=d" (d)
				 : "a" (0xd), "c" (i));
		randomize(r, at, size, most[i], small);
	}
}

/*
 * The x87 instruction pointers are not compared: one of the tests executes
 * the copy, which is at another address. XSTATE_BV is not compared either:
 * if a state is all zeros, some CPUs set its bit at some times, and clear it
 * at others. The kernel fills in the values of states whose bits are clear.
 */
int fuzz_fpu_compare(const unsigned char *a, const unsigned char *b)
{
	unsigned int i;

	for (i = 0; i < fuzz_fpu_size; i++)
		if (a[i] != b[i] && (i < 8 || i >= 16) && (i < XSTATE_BV || i >= XSTATE_BV + 8))
			return i;
	return -1;
}
