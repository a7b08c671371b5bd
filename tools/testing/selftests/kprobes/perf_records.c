// SPDX-License-Identifier: GPL-2.0
/*
 * Prints perf's records of text that the kernel patches and of pages of kprobes' slots, while
 * commands run. It reads the records from the kernel, since a guest may have no perf:
 *
 *	perf_records PROBES COMMAND...
 *
 * COMMANDs are for sh. After each of them the program also prints what is at the addresses in
 * PROBES: a file like kp_ctl/probes, whose second field is an address. A line has the fields
 *
 *	TIME NUMBER {text|page|unpage|seen|lost} ADDRESS OLD NEW
 *
 * ADDRESS is signed and decimal: so awk can compute with it. OLD and NEW are bytes in hex, with a
 * dot before them. The program exits with 4, as a skipped kselftest does, if the kernel has no such
 * records.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS	64
#define DATA_PAGES	128
#define SLOT_PAGE	"kprobe_insn_page"
#define PATIENCE	30

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

static struct cpu {
	struct perf_event_mmap_page *page;
	u64 at;
} cpus[MAX_CPUS];
static long nr_cpus;
static size_t page_size;
/* Number of slots filled, minus number of slots emptied */
static int slots;

static void print(u64 time, const char *kind, u64 addr, const u8 *old, u16 old_len, const u8 *new,
		  u16 new_len)
{
	static u32 nr;

	/* The casts sign-extend addresses on i386. */
	printf("%llu %u %s %lld .", time, nr++, kind, (long long)(long)addr);
	while (old_len--)
		printf("%02x", *old++);
	printf(" .");
	while (new_len--)
		printf("%02x", *new++);
	printf("\n");
}

/* Print a record. With PERF_SAMPLE_TIME, the kernel puts the time at the end of the record. */
static void print_record(const u8 *record)
{
	const struct {
		struct perf_event_header header;
		u64 addr;
		union {
			struct {
				u16 old_len, new_len;
				u8 bytes[];
			} poke;
			struct {
				u32 len;
				u16 type, flags;
				char name[];
			} symbol;
		};
	} *r = (const void *)record;
	const u8 *old = r->poke.bytes;
	u64 time;

	memcpy(&time, record + r->header.size - sizeof(time), sizeof(time));
	if (r->header.type == PERF_RECORD_LOST) {
		print(time, "lost", 0, NULL, 0, NULL, 0);
	} else if (r->header.type == PERF_RECORD_TEXT_POKE) {
		slots += !r->poke.old_len - !r->poke.new_len;
		print(time, "text", r->addr, old, r->poke.old_len, old + r->poke.old_len,
		      r->poke.new_len);
	} else if (r->header.type == PERF_RECORD_KSYMBOL &&
		   r->symbol.type == PERF_RECORD_KSYMBOL_TYPE_OOL &&
		   !strcmp(r->symbol.name, SLOT_PAGE)) {
		print(time, r->symbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "unpage" :
		      "page", r->addr, NULL, 0, NULL, 0);
	}
}

/*
 * Read what the CPUs have recorded since the last call.
 * A record may wrap around at the end of the buffer.
 */
static void read_records(void)
{
	u64 size = DATA_PAGES * page_size, end;
	struct perf_event_header header;
	static u64 copy[8192];
	struct cpu *cpu;
	const u8 *data;
	size_t i;

	for (cpu = cpus; cpu < cpus + nr_cpus; cpu++) {
		end = __atomic_load_n(&cpu->page->data_head, __ATOMIC_ACQUIRE);
		data = (const u8 *)cpu->page + page_size;
		for (; cpu->at < end; cpu->at += header.size) {
			for (i = 0; i < sizeof(header); i++)
				((u8 *)&header)[i] = data[(cpu->at + i) % size];
			if (header.size < sizeof(header) + sizeof(u64))
				exit(2);
			for (i = 0; i < header.size; i++)
				((u8 *)copy)[i] = data[(cpu->at + i) % size];
			print_record((const u8 *)copy);
		}
		__atomic_store_n(&cpu->page->data_tail, end, __ATOMIC_RELEASE);
	}
}

static void read_probes(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256], text[17];
	struct timespec now;
	u8 bytes[8];
	u64 addr;
	int nr;

	if (!file)
		exit(2);
	clock_gettime(CLOCK_MONOTONIC, &now);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*u %llx %*s %*s %*s %*s %16s", &addr, text) != 2 || !addr)
			continue;
		for (nr = 0; sscanf(text + 2 * nr, "%2hhx", &bytes[nr]) == 1; nr++)
			;
		print(now.tv_sec * 1000000000ULL + now.tv_nsec, "seen", addr, NULL, 0, bytes, nr);
	}
	fclose(file);
}

/* Print the pages of slots that exist already, as there will be no records of these. */
static void read_pages(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, " " SLOT_PAGE))
			print(0, "page", strtoull(line, NULL, 16), NULL, 0, NULL, 0);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.ksymbol = 1,
		.text_poke = 1,
	};
	int cpu, fd, status, i;

	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	page_size = sysconf(_SC_PAGESIZE);
	if (argc < 3 || nr_cpus > MAX_CPUS)
		return 2;
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
		if (fd < 0)
			return errno == EINVAL ? 4 : 2;
		cpus[cpu].page = mmap(NULL, (DATA_PAGES + 1) * page_size,
				      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (cpus[cpu].page == MAP_FAILED)
			return 2;
	}
	read_pages();
	for (i = 2; i < argc; i++) {
		status = system(argv[i]);
		if (status) {
			fprintf(stderr, "%s: status %x\n", argv[i], status);
			return 2;
		}
		read_probes(argv[1]);
		read_records();
	}
	/* Slots are freed only after grace periods: wait for the records of that. */
	for (i = 0; i < PATIENCE && slots; i++) {
		sleep(1);
		read_records();
	}
	return 0;
}
