// SPDX-License-Identifier: GPL-2.0
/*
 * Executes an int3 of its own with an instruction pointer that is an address of the kernel, as a
 * 32-bit task can: its code segment has a base, and the sum wraps around to its own memory.
 *
 *	user_segment ADDRESS		(in hexadecimal)
 *
 * Exits with 0 if that raises SIGTRAP with the instruction pointer after the int3, and all other
 * registers unchanged; with 4 if the kernel does not support such segments.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __i386__
#include <asm/ldt.h>

#define PAGE		4096UL
#define MARK		0x12345678UL
/* Selector of the first entry of the LDT, with user privilege */
#define SELECTOR	((0 << 3) | 4 | 3)

static unsigned long address;

static void trapped(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	int good = sig == SIGTRAP && (unsigned long)reg[REG_EIP] == address + 1 &&
		   reg[REG_CS] == SELECTOR && reg[REG_EBX] == MARK;

	printf("signal %d, eip %lx, cs %x, ebx %lx\n", sig, (unsigned long)reg[REG_EIP],
	       (unsigned int)reg[REG_CS], (unsigned long)reg[REG_EBX]);
	fflush(stdout);
	_exit(good ? 0 : 1);
}

int main(int argc, char **argv)
{
	struct user_desc desc = {
		.limit = 0xfffff,
		.seg_32bit = 1,
		.contents = MODIFY_LDT_CONTENTS_CODE,
		.limit_in_pages = 1,
	};
	struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	struct {
		unsigned int eip;
		unsigned short cs;
	} target;
	unsigned char *page;

	if (argc != 2)
		return 2;
	address = strtoul(argv[1], NULL, 16);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 2;
	memset(page, 0xcc, PAGE);
	desc.base_addr = (unsigned long)page + (address & (PAGE - 1)) - address;
	if (syscall(SYS_modify_ldt, 1, &desc, sizeof(desc)))
		return 4;
	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	target.eip = address;
	target.cs = SELECTOR;
	asm volatile("ljmp *%0" : : "m" (target), "b" (MARK));
	return 2;
}
#else
int main(void)
{
	return 4;
}
#endif
