// SPDX-License-Identifier: GPL-2.0
/*
 * Attacks the kernel's exception handlers as an unprivileged process on x86 can.
 *
 *	user_hostile SECONDS SEED
 *
 * SIGTERM ends it earlier. Each act runs in a child; if the signal that ends the child can be
 * predicted, it has to be that one. Prints how often each act was performed, and how often it was
 * refused or is not possible here. Exits with 0 if all acts ended as predicted, and with 4 if this
 * is not x86.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)

#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))
#define NOBODY		65534
#define PAGE		4096UL
/* Exit codes of a child */
#define DONE		0
#define WRONG		1
#define NOT_HAD		77
/* The act ends with any signal that exceptions raise, or with none. */
#define ANY		-1

#define FLAG_TF		0x100UL
#define FLAG_DF		0x400UL
#define FLAG_NT		0x4000UL
#define FLAG_AC		0x40000UL
#define FLAG_ID		0x200000UL

#ifdef __x86_64__
#define WORD_BITS	64
#define CODE_64		0x33
#define CODE_32		0x23
#define REG_PC		REG_RIP
#define REG_STACK	REG_RSP
#define PTRACE_PC	rip
#define PTRACE_SP	rsp
#define SP_NAME		"rsp"
#else
#define WORD_BITS	32
#define CODE_32		0x73
#define REG_PC		REG_EIP
#define REG_STACK	REG_ESP
#define PTRACE_PC	eip
#define PTRACE_SP	esp
#define SP_NAME		"esp"
#endif

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % n;
}

static int one_in(uint32_t n)
{
	return !below(n);
}

static unsigned long any_address(void)
{
	static const unsigned long some[] = {
		0, 1, 8, -1UL, -2UL, -8UL, -4096UL, 0xffffffffUL, 0xfffffff0UL, 0x80000000UL,
#ifdef __x86_64__
		0x00007fffffffffffUL, 0x0000800000000000UL, 0xffff7fffffffffffUL,
		0xffff800000000000UL, 0xffff888000000000UL, 0xfffffe0000000000UL,
		0xfffffe0000001000UL, 0xffffffff81000000UL, 0xffffffffc0000000UL,
		0xffffffffff600000UL, 0x100000000UL,
#else
		0xc0000000UL, 0xc1000000UL, 0xbfffffffUL, 0xf8000000UL, 0xffc00000UL,
#endif
	};

	if (one_in(4))
		return ((unsigned long)below(1U << 31) << (WORD_BITS - 32)) ^ below(1U << 31);
	return some[below(ARRAY_SIZE(some))] + (one_in(2) ? 0 : below(64) - 32L);
}

static unsigned long stack_of(unsigned char *page)
{
	return (unsigned long)page + PAGE / 2;
}

/* Map an executable page, usually at one of the edges or anywhere from 512 MiB to 768 MiB. */
static unsigned char *code_page(void)
{
	static const unsigned long edges[] = {
		0xfffff000UL,		/* last page of 32-bit code */
		0x10000UL,		/* usually the lowest one */
		0x1000UL,
#ifdef __x86_64__
		0x7fffffffe000UL,	/* last page with four levels of tables */
		0x100000000UL,
		0xffffe000UL,
#else
		0xbfffe000UL,
		0xffffe000UL,
#endif
	};
	int prot = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS, i;
	void *page;

	for (i = 0; i < 8; i++) {
		unsigned long at = edges[below(ARRAY_SIZE(edges))];

		if (one_in(3))
			at = 0x20000000UL + below(0x10000) * PAGE;
		page = mmap((void *)at, PAGE, prot, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (page == (void *)at)
			return page;
		if (page != MAP_FAILED)
			munmap(page, PAGE);
	}
	page = mmap(NULL, PAGE, prot, flags, -1, 0);
	if (page == MAP_FAILED)
		_exit(NOT_HAD);
	return page;
}

/*
 * Jump to @to with @sp as the stack pointer; never returns. @far: selector of a far jump; 0: do a
 * near jump
 */
static void jump(unsigned long to, unsigned long sp, int far)
{
	struct {
		uint32_t offset;
		uint16_t selector;
	} target = { to, far };

	/* ax has the number of getpid(), for code that makes a system call. */
	if (far)
		asm volatile("mov %[sp], %%" SP_NAME "\n\t"
			     "ljmp *(%[target])"
			     : : [sp] "r" (sp), [target] "r" (&target), "a" (SYS_getpid),
				 "m" (target));
	asm volatile("mov %[sp], %%" SP_NAME "\n\t"
		     "jmp *%[to]"
		     : : [sp] "r" (sp), [to] "r" (to), "a" (SYS_getpid));
	__builtin_unreachable();
}

/* Half of the time, return CODE_32 if a far jump can reach @to; else 0. */
static int far_selector(unsigned long to)
{
	return to <= 0xffffffffUL && one_in(2) ? CODE_32 : 0;
}

/* Where to put @size bytes of code: often at the page's end, which may end the address space */
static size_t place_of(size_t size)
{
	return one_in(2) ? PAGE - size : below(PAGE / 4);
}

/* Execute @code with a stack or, if @any_stack, sometimes with a random stack pointer. */
static void execute(const char *code, size_t size, int any_stack)
{
	unsigned char *page = code_page();
	size_t at = place_of(size);
	unsigned long sp = any_stack && one_in(2) ? any_address() : stack_of(page);
	unsigned long to = (unsigned long)page + at;

	memset(page, 0x90, PAGE);
	memcpy(page + at, code, size);
	jump(to, sp, far_selector(to + size - 1));
}

/* pushf; orl $0x100, (%rsp); popf; then one of @insns with the trap flag set */
static void act_trap_flag(void)
{
	static const char *const insns[] = {
		"\x90\x90", "\xcc\x90", "\xf1\x90", "\xcd\x03", "\x0f\x05", "\xcd\x80", "\x0f\x34",
		"\x0f\xa2", "\x0f\x0b", "\xf4\x90", "\x9c\x9d", "\x8e\xd0", "\x0f\x31", "\xeb\xfe",
		"\x0f\x07", "\xfa\x90",
	};
	char code[] = "\x9c\x81\x0c\x24\x00\x01\x00\x00\x9d__";

	memcpy(code + 9, insns[below(ARRAY_SIZE(insns))], 2);
	execute(code, sizeof(code) - 1, 0);
}

/* push $flags; popf; int3: the kernel has to clear these flags when it is entered. */
static void act_flags(void)
{
	static const unsigned long some[] = {
		FLAG_DF, FLAG_NT, FLAG_AC, FLAG_ID, FLAG_DF | FLAG_NT | FLAG_AC,
	};
	uint32_t flags = 2 | some[below(ARRAY_SIZE(some))];
	char code[] = "\x68____\x9d\xcc";

	memcpy(code + 1, &flags, sizeof(flags));
	execute(code, sizeof(code) - 1, 0);
}

/* A far jump to 32-bit code, sometimes another one back, then a breakpoint */
static void act_far(void)
{
	unsigned char *page = code_page();
	unsigned long to = (unsigned long)page;

	if (to > 0xffffffffUL)
		_exit(NOT_HAD);
	memset(page, 0xcc, PAGE);
#ifdef __x86_64__
	if (one_in(2)) {
		uint32_t back = to + 7;
		uint16_t selector = CODE_64;

		page[0] = 0xea;
		memcpy(page + 1, &back, sizeof(back));
		memcpy(page + 5, &selector, sizeof(selector));
	}
#endif
	jump(to, stack_of(page), CODE_32);
}

static void act_selector(void)
{
	unsigned char *page = code_page();

	memset(page, 0xcc, PAGE);
	jump((unsigned long)page & 0xffffffffUL, one_in(2) ? any_address() : stack_of(page),
	     below(0x10000) | 1);
}

static void act_wild_jump(void)
{
	jump(any_address(), any_address(), one_in(3) ? CODE_32 : 0);
}

/* A signal handler counts the breakpoints, and checks the address of each. */
static int handled, handled_wrong;
static unsigned long handled_start;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;

	handled++;
	if ((unsigned long)reg[REG_PC] != handled_start + handled)
		handled_wrong++;
}

static void act_handled(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned char *page = code_page();
	int nr = 1 + below(20);

	sigaction(SIGTRAP, &action, NULL);
	memset(page, 0xcc, nr);
	page[nr] = 0xc3;
	handled_start = (unsigned long)page;
	((void (*)(void))page)();
	_exit(handled == nr && !handled_wrong ? DONE : WRONG);
}

/* Return from a signal with arbitrary registers. */
static void on_forged(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	unsigned char *page = code_page();

	memset(page, one_in(2) ? 0xcc : 0x90, PAGE);
	reg[REG_PC] = one_in(3) ? any_address() : (unsigned long)page + below(PAGE);
	reg[REG_STACK] = one_in(2) ? any_address() : stack_of(page);
	reg[REG_EFL] = one_in(2) ? below(1U << 31) : FLAG_TF;
#ifdef __x86_64__
	if (one_in(3))
		reg[REG_CSGSFS] = (reg[REG_CSGSFS] & ~0xffffLL) |
				  (one_in(2) ? CODE_32 : below(0x10000));
#else
	if (one_in(3))
		reg[REG_CS] = below(0x10000);
#endif
}

static void act_forged(void)
{
	struct sigaction action = { .sa_sigaction = on_forged, .sa_flags = SA_SIGINFO };

	alarm(1);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	/* The handler has changed the registers: usually this is not reached. */
	_exit(DONE);
}

static int watched;

static int breakpoint_event(unsigned long addr, int type)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .bp_type = type,
		.bp_addr = addr, .bp_len = type == 4 ? sizeof(long) : 4, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, .exclude_hv = 1,
		.exclude_kernel = one_in(2),
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static __attribute__((noinline)) void watched_function(void)
{
	asm volatile("");
}

static void some_calls(int nr)
{
	char buf[256];

	while (nr--) {
		int fds[2];

		syscall(SYS_getppid);
		if (!pipe(fds)) {
			if (write(fds[1], buf, sizeof(buf)) != read(fds[0], buf, sizeof(buf)))
				_exit(WRONG);
			close(fds[0]);
			close(fds[1]);
		}
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	}
}

/* Hardware breakpoints, on data and on code: each hit is a #DB, also in the kernel. */
static void act_breakpoint(void)
{
	uint64_t count = 0;
	int fd, i;

	if (one_in(4)) {
		/* A breakpoint in the kernel must be refused. */
		fd = breakpoint_event(-4096UL, 4);
		_exit(fd < 0 ? DONE : WRONG);
	}
	if (one_in(2))
		fd = breakpoint_event((unsigned long)&watched, 3);
	else
		fd = breakpoint_event((unsigned long)watched_function, 4);
	if (fd < 0)
		_exit(NOT_HAD);
	for (i = 0; i < 20; i++) {
		watched = i;
		asm volatile("" : : : "memory");
		watched_function();
	}
	/* Enter the kernel while the breakpoint is set. */
	if (!clock_gettime(CLOCK_MONOTONIC, (void *)&(struct timespec){}))
		some_calls(1);
	if (read(fd, &count, sizeof(count)) != sizeof(count) || count < 20)
		_exit(WRONG);
	_exit(DONE);
}

/* Sample with stacks, also in the kernel if an unprivileged user may do that. */
static void act_sampling(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = one_in(2) ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 20000 + below(200000),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
		.exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	void *ring;

	if (fd < 0) {
		attr.exclude_kernel = 1;
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	}
	if (fd < 0)
		_exit(NOT_HAD);
	ring = mmap(NULL, 9 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	some_calls(200);
	if (ring != MAP_FAILED)
		munmap(ring, 9 * PAGE);
	_exit(DONE);
}

static void on_alarm(int sig)
{
}

/* Signals in the midst of system calls */
static void act_signals(void)
{
	struct itimerval timer = { { 0, 500 }, { 0, 500 } };
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	some_calls(100);
	_exit(DONE);
}

static void step_child(pid_t child, int nr, int calls)
{
	int status;

	while (nr--) {
		long sig = !calls && one_in(2) ? SIGTRAP : 0;

		if (ptrace(calls && one_in(8) ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, child, NULL,
			   (void *)sig) || waitpid(child, &status, 0) != child ||
		    !WIFSTOPPED(status))
			return;
	}
}

/* Step a child, and set its registers and breakpoints. */
static void act_trace(void)
{
	struct user_regs_struct regs;
	int status, nr = 20 + below(100);
	pid_t child;

	child = fork();
	if (child < 0)
		_exit(NOT_HAD);
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		some_calls(1000);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		_exit(WRONG);
	ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(long)PTRACE_O_EXITKILL);
	if (one_in(2)) {
		/*
		 * The kernel refuses its own addresses here,
		 * and again when the breakpoint is enabled.
		 */
		ptrace(PTRACE_POKEUSER, child, (void *)offsetof(struct user, u_debugreg[0]),
		       (void *)(one_in(2) ? any_address() : (unsigned long)&watched));
		ptrace(PTRACE_POKEUSER, child, (void *)offsetof(struct user, u_debugreg[7]),
		       (void *)(one_in(2) ? 0xd0001UL : (unsigned long)below(1U << 31)));
	}
	step_child(child, nr, 1);
	if (!ptrace(PTRACE_GETREGS, child, NULL, &regs)) {
		regs.PTRACE_PC = any_address();
		if (one_in(2))
			regs.PTRACE_SP = any_address();
		regs.eflags ^= below(1U << 31);
		ptrace(PTRACE_SETREGS, child, NULL, &regs);
		step_child(child, 5, 0);
	}
	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		;
	_exit(DONE);
}

/* Operations that end at once, or when a timer expires, some of them by a worker of the kernel */
static void fill_sqe(struct io_uring_sqe *sqe, int fd)
{
	static struct { long long seconds, nanoseconds; } soon = { 0, 1000000 };
	static char buffer[64];
	const struct io_uring_sqe some[] = {
		{ .opcode = IORING_OP_NOP },
		{ .opcode = IORING_OP_OPENAT, .fd = -100, .addr = (unsigned long)"/proc/version" },
		{ .opcode = IORING_OP_READ, .fd = fd, .addr = (unsigned long)buffer,
		  .len = sizeof(buffer) },
		{ .opcode = IORING_OP_TIMEOUT, .addr = (unsigned long)&soon, .len = 1 },
	};

	*sqe = some[below(ARRAY_SIZE(some))];
	if (one_in(4))
		sqe->addr = any_address();
	sqe->flags = one_in(2) ? IOSQE_ASYNC : 0;
}

static void act_io_uring(void)
{
	unsigned int *tail, *mask, *array, *done_head, *done_tail;
	long i, nr = 8;
	struct io_uring_params params = {};
	struct io_uring_sqe *sqe;
	long submitted;
	char *ring;
	int fd, file = open("/proc/self/stat", O_RDONLY);

	fd = syscall(SYS_io_uring_setup, nr, &params);
	if (fd < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
		_exit(NOT_HAD);
	/* With this feature one mapping has both rings. A page is enough for so few entries. */
	ring = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, params.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   IORING_OFF_SQES);
	if (ring == MAP_FAILED || sqe == MAP_FAILED)
		_exit(NOT_HAD);
	tail = (void *)(ring + params.sq_off.tail);
	mask = (void *)(ring + params.sq_off.ring_mask);
	array = (void *)(ring + params.sq_off.array);
	done_head = (void *)(ring + params.cq_off.head);
	done_tail = (void *)(ring + params.cq_off.tail);
	for (i = 0; i < nr; i++) {
		fill_sqe(&sqe[i], file);
		array[i & *mask] = i;
	}
	__atomic_store_n(tail, *tail + nr, __ATOMIC_RELEASE);
	submitted = syscall(SYS_io_uring_enter, fd, nr, nr, IORING_ENTER_GETEVENTS, NULL, 0);
	/* A bad address stops the submission; an expired timeout ends the wait, so wait again. */
	for (i = 0; submitted == nr && i < nr; i++) {
		if (__atomic_load_n(done_tail, __ATOMIC_ACQUIRE) - *done_head == (unsigned int)nr)
			_exit(DONE);
		syscall(SYS_io_uring_enter, fd, 0, nr, IORING_ENTER_GETEVENTS, NULL, 0);
	}
	_exit(submitted > 0 && submitted < nr ? DONE : WRONG);
}

/*
 * mov %ss, %eax; mov %eax, %ss: the CPU delays interrupts and #DB until after the next instruction
 */
#define SHADOW		"\x8c\xd0\x8e\xd0"
#define INSN(name, code, signal)	{ name, NULL, signal, code, sizeof(code) - 1 }

/* No iret: QEMU 7.2 reads the stack for a user's iret with the kernel's rights. */
static struct act {
	const char *name;
	void (*run)(void);
	int signal;		/* the signal that ends the act; 0 if it ends by itself */
	const char *code;
	size_t size;
	unsigned int done, not_had, wrong;
} acts[] = {
	INSN("int3", "\xcc", SIGTRAP),
	INSN("int-3", "\xcd\x03", SIGTRAP),
	INSN("icebp", "\xf1", SIGTRAP),
	INSN("int-4", "\xcd\x04", SIGSEGV),
	INSN("int-1", "\xcd\x01", SIGSEGV),
	INSN("int-2", "\xcd\x02", SIGSEGV),
	INSN("int-other", "\xcd\x20", SIGSEGV),
	INSN("ud2", "\x0f\x0b", SIGILL),
	INSN("hlt", "\xf4", SIGSEGV),
	INSN("shadow-int3", SHADOW "\xcc", SIGTRAP),
	INSN("shadow-int-3", SHADOW "\xcd\x03", SIGTRAP),
	INSN("shadow-icebp", SHADOW "\xf1", SIGTRAP),
	{ "trap-flag", act_trap_flag, ANY },
	{ "flags", act_flags, SIGTRAP },
	{ "far", act_far, SIGTRAP },
	{ "selector", act_selector, ANY },
	{ "wild-jump", act_wild_jump, ANY },
	{ "handled", act_handled },
	{ "forged", act_forged, ANY },
	{ "breakpoint", act_breakpoint },
	{ "sampling", act_sampling },
	{ "signals", act_signals },
	{ "trace", act_trace },
	{ "io_uring", act_io_uring },
};

#define NR_ACTS	ARRAY_SIZE(acts)

static int is_exception(int sig)
{
	static const int signals[] = {
		0, SIGTRAP, SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGALRM, SIGSYS,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals) && signals[i] != sig; i++)
		;
	return i < ARRAY_SIZE(signals);
}

static int as_predicted(const struct act *act, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (act->signal == ANY)
		return is_exception(sig);
	/* QEMU 7.2 does not know icebp, and raises #UD. */
	return (sig == act->signal || (sig == SIGILL && strstr(act->name, "icebp"))) &&
	       (sig || !WEXITSTATUS(status));
}

/* Run @act in a child, and check how it ends. */
static void perform(struct act *act)
{
	struct rlimit none = {};
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		act->not_had++;
		return;
	}
	if (!pid) {
		signal(SIGTERM, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setrlimit(RLIMIT_CORE, &none);
		if (act->code)
			execute(act->code, act->size, 1);
		act->run();
		_exit(WRONG);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HAD)
		act->not_had++;
	else if (as_predicted(act, status))
		act->done++;
	else if (!act->wrong++)
		printf("%s: status %x\n", act->name, status);
}

static volatile sig_atomic_t ended;

static void end_early(int sig)
{
	ended = 1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	unsigned int i, done = 0, wrong = 0, never = 0, round;
	double end;

	if (argc != 3) {
		fprintf(stderr, "usage: %s SECONDS SEED\n", argv[0]);
		return 2;
	}
	end = now() + atof(argv[1]);
	state = strtoull(argv[2], NULL, 0) * 2654435761U + 1;
	if (!getuid() && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))) {
		perror("setresuid");
		return 2;
	}
	/* Changing the user has made the process undumpable, so it could not trace its children. */
	prctl(PR_SET_DUMPABLE, 1);
	signal(SIGTERM, end_early);
	/* Perform each act at least once, then random ones. */
	for (round = 0; round < NR_ACTS || (!ended && now() < end); round++) {
		struct act *act = &acts[round < NR_ACTS ? round : below(NR_ACTS)];

		/*
		 * Advance the random numbers in the parent: otherwise all children would draw the
		 * same ones.
		 */
		below(2);
		perform(act);
	}
	for (i = 0; i < NR_ACTS; i++) {
		printf("%s %u%s", acts[i].name, acts[i].done, acts[i].not_had ? "" : ", ");
		if (acts[i].not_had)
			printf(" (not had %u), ", acts[i].not_had);
		done += acts[i].done;
		wrong += acts[i].wrong;
		never += acts[i].not_had && !acts[i].done;
	}
	printf("\nnever had %u of %zu\nacts %u wrong %u\n", never, NR_ACTS, done, wrong);
	return !!wrong;
}

#else

int main(void)
{
	return 4;
}

#endif
