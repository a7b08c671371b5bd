// SPDX-License-Identifier: GPL-2.0
/*
 * Sleeps in page faults of the kernel.
 *
 *	user_sleeper FILE
 *
 * Until SIGTERM, writes to FILE, whose handler in the kernel reads the word at USER_ADDRESS, after
 * it has taken the page away. Another thread forks all the time, which locks the memory map, so
 * that the page fault has to wait. Prints how many writes there were, and in how many of them the
 * task slept.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* As TORTURE_USER_ADDRESS in kernel/kprobes/torture/x86_targets.S */
#define USER_ADDRESS	0x20000000UL
#define PAGE		4096UL
/*
 * Number of other pages that are mapped. fork() copies their page-table entries, and holds the
 * lock of the memory map for that time.
 */
#define OTHER_PAGES	4096UL

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void *forker(void *unused)
{
	pid_t child;

	while (!stop) {
		child = fork();
		if (!child)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	return unused;
}

static long switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

static void *map(unsigned long addr, unsigned long pages)
{
	return mmap((void *)addr, pages * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | (addr ? MAP_FIXED_NOREPLACE : 0),
		    -1, 0);
}

int main(int argc, char **argv)
{
	unsigned long writes = 0, slept = 0;
	char *page, *others;
	pthread_t thread;
	int fd;

	if (argc != 2)
		return 1;
	signal(SIGTERM, on_term);
	page = map(USER_ADDRESS, 1);
	others = map(0, OTHER_PAGES);
	fd = open(argv[1], O_WRONLY);
	if (page == MAP_FAILED || others == MAP_FAILED || fd < 0) {
		fprintf(stderr, "cannot begin: %s\n", strerror(errno));
		return 1;
	}
	errno = pthread_create(&thread, NULL, forker, NULL);
	if (errno) {
		perror("pthread_create");
		return 1;
	}
	while (!stop) {
		long before;

		madvise(page, PAGE, MADV_DONTNEED);
		before = switches();
		if (write(fd, "1", 1) != 1) {
			perror(argv[1]);
			stop = 1;
			return 1;
		}
		slept += switches() != before;
		writes++;
	}
	pthread_join(thread, NULL);
	printf("writes %lu slept %lu\n", writes, slept);
	return 0;
}
