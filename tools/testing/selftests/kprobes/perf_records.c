// SPDX-License-Identifier: GPL-2.0
/*
 * What perf is told of kprobes: runs a command and counts the records about
 * text that was patched, and about pages of slots, that came meanwhile.
 *
 *	perf_records COMMAND...
 *
 * Prints "text_poke N ksymbol N unregister N". Exits with 4, as a skipped
 * kselftest does, where the kernel has no such records.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CPUS	64
#define DATA_PAGES	64
#define SLOT_PAGE	"kprobe_insn_page"

struct ksymbol_record {
	struct perf_event_header header;
	unsigned long long addr;
	unsigned int len;
	unsigned short ksym_type;
	unsigned short flags;
	char name[];
};

static unsigned int text_poke, ksymbol, unregister;

static void count(const struct perf_event_header *header)
{
	const struct ksymbol_record *sym = (const void *)header;

	if (header->type == PERF_RECORD_TEXT_POKE)
		text_poke++;
	if (header->type != PERF_RECORD_KSYMBOL || strcmp(sym->name, SLOT_PAGE) ||
	    sym->ksym_type != PERF_RECORD_KSYMBOL_TYPE_OOL)
		return;
	if (sym->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		unregister++;
	else
		ksymbol++;
}

/* All that a CPU has recorded; a record may go round the end of the buffer. */
static void read_records(struct perf_event_mmap_page *page, size_t page_size)
{
	unsigned long long size = DATA_PAGES * page_size, at;
	unsigned long long end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)page + page_size;
	unsigned long long copy[1024];
	struct perf_event_header header;
	size_t i;

	for (at = 0; at < end; at += header.size) {
		for (i = 0; i < sizeof(header); i++)
			((char *)&header)[i] = data[(at + i) % size];
		if (!header.size || header.size > sizeof(copy))
			break;
		for (i = 0; i < header.size; i++)
			((char *)copy)[i] = data[(at + i) % size];
		count((const void *)copy);
	}
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.ksymbol = 1,
		.text_poke = 1,
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t page_size = sysconf(_SC_PAGESIZE);
	void *page[MAX_CPUS];
	int cpu, fd, status;
	pid_t child;

	if (argc < 2 || cpus > MAX_CPUS)
		return 2;
	for (cpu = 0; cpu < cpus; cpu++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
		if (fd < 0)
			return errno == EINVAL ? 4 : 2;
		page[cpu] = mmap(NULL, (DATA_PAGES + 1) * page_size, PROT_READ | PROT_WRITE,
				 MAP_SHARED, fd, 0);
		if (page[cpu] == MAP_FAILED)
			return 2;
	}

	child = fork();
	if (child < 0)
		return 2;
	if (!child) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 2;

	for (cpu = 0; cpu < cpus; cpu++)
		read_records(page[cpu], page_size);
	printf("text_poke %u ksymbol %u unregister %u\n", text_poke, ksymbol, unregister);
	return WEXITSTATUS(status) ? 2 : 0;
}
