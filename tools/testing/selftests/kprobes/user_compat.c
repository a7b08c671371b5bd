// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit process on a 64-bit kernel: system calls through int80 and the vDSO, breakpoints and
 * single-steps of its own.
 *
 *	user_compat N
 *
 * makes each system call N times in both ways, executes N breakpoints, and steps through system
 * calls. Prints what it has seen; exits with 0 if all of it was right, with 4 where processes are
 * not of that kind. It needs no C library for 32 bits.
 */
#ifdef __i386__
#include "../../../include/nolibc/nolibc.h"

/* The nolibc of newer kernels has another name for this. */
#ifndef my_syscall4
#define my_syscall4 __nolibc_syscall4
#endif

#define FLAG_TF		0x100
#define SIG_INFO	0x04000004	/* SA_SIGINFO | SA_RESTORER */
#define SCHED_RR	2
#define RR_MAX		99

/* The kernel's struct sigaction, and the registers in a signal's struct ucontext */
struct action {
	void (*handler)(int sig, void *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long long mask;
};

struct context {
	unsigned long flags, link, stack[3];
	unsigned long gs, fs, es, ds, di, si, bp, sp, bx, dx, cx, ax, trapno, err, ip, cs, eflags;
};

/* rt_sigreturn */
void restore(void);
asm("restore: mov $173, %eax; int $0x80");

extern const char after_int3[], after_int_3[];

static const char by_int80_path[] = "/kp_compat/int80", by_vdso_path[] = "/kp_compat/vdso";
static unsigned long vdso;
static volatile unsigned long traps, wrong, expected_ip;

static void trapped(int sig, void *info, void *context)
{
	struct context *c = context;

	traps++;
	if (expected_ip && c->ip != expected_ip)
		wrong++;
}

static long by_int80(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("int $0x80" : "=a" (ret) : "0" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return ret;
}

/* Make a system call by the vDSO, which executes sysenter or syscall, as the processor has it. */
static long by_vdso(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("call *%1" : "=a" (ret)
		     : "m" (vdso), "0" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return ret;
}

static void calls(int n)
{
	int i;

	/* A handler can read a page only after the process has used it. */
	wrong += *(volatile const char *)by_int80_path != '/';
	wrong += *(volatile const char *)by_vdso_path != '/';
	for (i = 0; i < n; i++) {
		wrong += by_int80(__NR_sched_get_priority_max, SCHED_RR, 0, 0) != RR_MAX;
		wrong += by_vdso(__NR_sched_get_priority_max, SCHED_RR, 0, 0) != RR_MAX;
		wrong += by_int80(__NR_openat, AT_FDCWD, (long)by_int80_path, 0) != -ENOENT;
		wrong += by_vdso(__NR_openat, AT_FDCWD, (long)by_vdso_path, 0) != -ENOENT;
	}
}

/* Execute both forms of a breakpoint. The ip in the signal must be after the breakpoint. */
static void breakpoints(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		expected_ip = (unsigned long)after_int3;
		asm volatile("int3\n"
			     "after_int3:" : : : "memory");
		expected_ip = (unsigned long)after_int_3;
		asm volatile(".byte 0xcd, 0x03\n"
			     "after_int_3:" : : : "memory");
	}
	wrong += traps != 2 * n;
	expected_ip = 0;
}

/* Step through system calls; return the number of steps. */
static unsigned long steps(int n, long (*call)(long nr, long a, long b, long c))
{
	int i;

	traps = 0;
	for (i = 0; i < n; i++) {
		asm volatile("pushf\n\torl %0, (%%esp)\n\tpopf"
			     : : "i" (FLAG_TF) : "memory", "cc");
		wrong += call(__NR_sched_get_priority_max, SCHED_RR, 0, 0) != RR_MAX;
		asm volatile("pushf\n\tandl %0, (%%esp)\n\tpopf"
			     : : "i" (~FLAG_TF) : "memory", "cc");
	}
	wrong += traps < 3 * n;
	return traps;
}

int main(int argc, char **argv)
{
	struct action action = { trapped, SIG_INFO, restore };
	int n = argc > 1 ? atoi(argv[1]) : 1;
	unsigned long stepped[2];

	vdso = getauxval(AT_SYSINFO);
	if (!vdso)
		return 2;
	if (my_syscall4(__NR_rt_sigaction, SIGTRAP, &action, NULL, sizeof(action.mask)))
		return 2;
	calls(n);
	breakpoints(n);
	stepped[0] = steps(n, by_int80);
	stepped[1] = steps(n, by_vdso);
	printf("steps %lu %lu wrong %lu\n", stepped[0], stepped[1], wrong);
	return !!wrong;
}
#else
int main(void)
{
	return 4;
}
#endif
