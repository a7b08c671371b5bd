// SPDX-License-Identifier: GPL-2.0
/*
 * Replaces the kernel with a small program, with kexec. On a PC, the program writes a text to the
 * second serial port and resets the machine:
 *
 *	user_kexec TEXT
 *
 * Exits with 4, as a skipped kselftest does, where this is no x86.
 */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define SKIP	4

#if defined(__x86_64__) || defined(__i386__)

#include <linux/kexec.h>
#include <linux/reboot.h>
#include <sys/syscall.h>

#define PAGE	4096
/* Memory that the kernel itself is not in */
#define START	0x8000000UL

/* Offsets in the code: of the pop, and of the operand of the add */
#define POP_AT		6
#define TEXT_OFFSET_AT	9

/*
 * Position-independent, and the same in 64-bit and in 32-bit mode. The text follows the
 * code; main() fills in its offset from the pop, which the add needs.
 */
static const unsigned char code[] = {
	0xfc,				/*	cld			*/
	0xe8, 0, 0, 0, 0,		/*	call	1f		*/
	0x5e,				/* 1:	pop	%rsi		*/
	0x83, 0xc6, 0,			/*	add	$text - 1b, %esi */
	0xac,				/* 2:	lodsb			*/
	0x84, 0xc0,			/*	test	%al, %al	*/
	0x74, 18,			/*	jz	4f		*/
	0x88, 0xc4,			/*	mov	%al, %ah	*/
	0x66, 0xba, 0xfd, 0x02,		/*	mov	$0x2fd, %dx	*/
	0xec,				/* 3:	in	%dx, %al	*/
	0xa8, 0x20,			/*	test	$0x20, %al	*/
	0x74, 0xfb,			/*	jz	3b		*/
	0xb2, 0xf8,			/*	mov	$0xf8, %dl	*/
	0x88, 0xe0,			/*	mov	%ah, %al	*/
	0xee,				/*	out	%al, %dx	*/
	0xeb, 0xe9,			/*	jmp	2b		*/
	0xb0, 0xfe,			/* 4:	mov	$0xfe, %al	*/
	0xe6, 0x64,			/*	out	%al, $0x64	*/
	0xf4,				/* 5:	hlt			*/
	0xeb, 0xfd,			/*	jmp	5b		*/
};

int main(int argc, char **argv)
{
	static unsigned char page[PAGE];
	struct kexec_segment segment = {
		.buf = page, .bufsz = sizeof(page), .mem = (void *)START, .memsz = PAGE,
	};

	if (argc != 2 || strlen(argv[1]) >= PAGE - sizeof(code))
		return 2;
	memcpy(page, code, sizeof(code));
	page[TEXT_OFFSET_AT] = sizeof(code) - POP_AT;
	memcpy(page + sizeof(code), argv[1], strlen(argv[1]));
	if (syscall(SYS_kexec_load, START, 1, &segment, KEXEC_ARCH_DEFAULT)) {
		perror("kexec_load");
		return 1;
	}
	/* Wait until what was printed before has been sent. */
	tcdrain(1);
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("reboot");
	return 1;
}

#else

int main(void)
{
	return SKIP;
}

#endif
