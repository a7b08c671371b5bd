// SPDX-License-Identifier: GPL-2.0
/*
 * Makes system calls with a stack pointer near the end of the task's own kernel stack. An
 * unwinder that takes the saved user registers for the kernel's would read the stack there.
 *
 *	user_stack FILE
 *
 * FILE is the parameter stack_top of kp_unwind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define STACK_POINTER	"%%rsp"
#define SYSTEM_CALL	"syscall"
#define CHANGES		"rcx", "r11", "memory"
#else
#define STACK_POINTER	"%%esp"
#define SYSTEM_CALL	"int $0x80"
#define CHANGES		"memory"
#endif

/* Make the call with @sp as the stack pointer. Nothing may use the stack until it is restored. */
static long getppid_at(unsigned long sp)
{
	long ret;

	/* The original is saved in a register that the system call preserves. */
	asm volatile("xchg %[sp], " STACK_POINTER "\n\t"
		     SYSTEM_CALL "\n\t"
		     "xchg %[sp], " STACK_POINTER
		     : "=a" (ret), [sp] "+r" (sp)
		     : "a" (SYS_getppid)
		     : CHANGES);
	return ret;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	unsigned long top;
	long parent, word;
	int calls = 0;

	if (!file || fscanf(file, "%lu", &top) != 1) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	fclose(file);
	parent = getppid_at(top);
	for (word = -64; word <= 64; word++) {
		if (getppid_at(top + word * sizeof(word)) != parent)
			return 1;
		calls++;
	}
	printf("%d\n", calls + 1);
	return 0;
}
