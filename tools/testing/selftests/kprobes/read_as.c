// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a file as cat does, but may open it as another kind of reader:
 *
 *	read_as [-b] [-n] [-s] FILE
 *
 * With -n, the program opens the file with O_NONBLOCK, so that the kernel does not wait for the
 * optimiser. With -s, it first drops CAP_SYSLOG, so that it may not see addresses of the kernel
 * even as root. With -b, it does not read the file, but writes to it from memory that it may not
 * read, and succeeds if the write fails for that reason.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

static int drop_syslog(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -1;
	data[CAP_TO_INDEX(CAP_SYSLOG)].effective &= ~CAP_TO_MASK(CAP_SYSLOG);
	data[CAP_TO_INDEX(CAP_SYSLOG)].permitted &= ~CAP_TO_MASK(CAP_SYSLOG);
	return syscall(SYS_capset, &header, data);
}

int main(int argc, char **argv)
{
	int fd, opt, flags = O_RDONLY;
	char buffer[4096];
	void *page;
	ssize_t got;

	while ((opt = getopt(argc, argv, "bns")) != -1) {
		switch (opt) {
		case 'b':
			flags = O_WRONLY;
			break;
		case 'n':
			flags |= O_NONBLOCK;
			break;
		case 's':
			if (drop_syslog()) {
				perror("CAP_SYSLOG");
				return 1;
			}
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 1)
		return 2;
	fd = open(argv[optind], flags);
	if (fd < 0) {
		perror(argv[optind]);
		return 1;
	}
	if (flags == O_WRONLY) {
		page = mmap(NULL, 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return write(fd, page, 8) >= 0 || errno != EFAULT;
	}
	while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
		if (write(STDOUT_FILENO, buffer, got) != got)
			return 1;
	}
	if (got < 0)
		perror(argv[optind]);
	return got < 0;
}
