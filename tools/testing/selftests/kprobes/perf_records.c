// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the records that perf gets from kprobes: runs commands, and follows the records about
 * patched text and about pages of slots, as a decoder of traces does.
 *
 *	perf_records PROBES COMMAND...
 *
 * COMMANDs are for sh. PROBES, like kp_ctl/probes, is read after each of them: its second
 * field is an address, and the last one the first bytes at that address. The records are then
 * sorted by time, and the old bytes in each are compared with the records before it, and the
 * result with PROBES. Differences are printed to stderr.
 *
 * Prints one "NAME NUMBER" a line. Exits with 4, as a skipped kselftest does, if the kernel has
 * no such records.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS	64
#define MAX_PAGES	256
#define DATA_PAGES	128
#define PAGE		4096
#define SLOT_PAGE	"kprobe_insn_page"
#define INT3		0xcc
#define JMP		0xe9
#define JMP_SIZE	5
#define PATIENCE	30

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* A record, or the text of a probe at some time */
struct event {
	u64 time;
	u32 order;
	u32 type;
	u64 addr;
	u16 flags;
	u16 old_len;
	u16 new_len;
	u8 bytes[256];
};

/* A type that perf's events do not have */
#define SEEN		0x1000

static struct event *events;
static u32 nr_events;

/* The text as a decoder of traces knows it */
#define KNOWN		0x100000
static struct known {
	u64 addr;
	u8 byte;
	bool known;
	bool probed;
} known[KNOWN];

static u64 pages[MAX_PAGES];
static u32 nr_pages;

static u32 breakpoints, breakpoints_out, jumps, jumps_out, filled, emptied, ksymbol, unregister;
static u32 lost, wrong, others;

static struct cpu {
	struct perf_event_mmap_page *page;
	u64 at;
} cpus[MAX_CPUS];

/* The number of differences that are printed */
static bool show_wrong(const struct event *e)
{
	int i;

	if (wrong++ >= 20)
		return false;
	fprintf(stderr, "%llu: %llx, %u bytes, then %u:", e->time, e->addr, e->old_len,
		e->new_len);
	for (i = 0; i < e->old_len + e->new_len; i++)
		fprintf(stderr, "%s%02x", i == e->old_len ? " > " : " ", e->bytes[i]);
	return true;
}

#define complain(e, format, ...)						\
	(show_wrong(e) ? fprintf(stderr, ": " format "\n", ##__VA_ARGS__) : 0)

static struct event *new_event(u64 time, u32 type)
{
	struct event *e;

	if (!(nr_events & (nr_events - 1))) {
		events = realloc(events, (nr_events ? 2 * nr_events : 1) * sizeof(*events));
		if (!events)
			exit(2);
	}
	e = &events[nr_events];
	memset(e, 0, sizeof(*e));
	e->time = time;
	e->type = type;
	e->order = nr_events++;
	return e;
}

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * Recording.
 */

static void keep(const u8 *record, size_t size)
{
	const struct perf_event_header *header = (const void *)record;
	struct event *e;
	u64 time;

	if (header->type == PERF_RECORD_LOST)
		lost++;
	if (header->type != PERF_RECORD_TEXT_POKE && header->type != PERF_RECORD_KSYMBOL)
		return;
	memcpy(&time, record + size - sizeof(time), sizeof(time));
	e = new_event(time, header->type);
	record += sizeof(*header);
	memcpy(&e->addr, record, sizeof(e->addr));
	record += sizeof(e->addr);
	if (header->type == PERF_RECORD_TEXT_POKE) {
		memcpy(&e->old_len, record, sizeof(e->old_len));
		memcpy(&e->new_len, record + 2, sizeof(e->new_len));
		if (e->old_len + e->new_len > sizeof(e->bytes))
			e->type = 0;
		else
			memcpy(e->bytes, record + 4, e->old_len + e->new_len);
		return;
	}
	/* len, ksym_type, flags, name */
	memcpy(&e->flags, record + 6, sizeof(e->flags));
	memcpy(&e->old_len, record + 4, sizeof(e->old_len));
	if (e->old_len != PERF_RECORD_KSYMBOL_TYPE_OOL ||
	    strcmp((const char *)record + 8, SLOT_PAGE))
		e->type = 0;
	e->old_len = 0;
}

/* Read what a CPU has recorded since the last call. A record may wrap around at the end. */
static void read_records(struct cpu *cpu, size_t page_size)
{
	u64 size = DATA_PAGES * page_size;
	u64 end = __atomic_load_n(&cpu->page->data_head, __ATOMIC_ACQUIRE);
	const u8 *data = (const u8 *)cpu->page + page_size;
	struct perf_event_header header;
	static u64 copy[8192];
	size_t i;

	for (; cpu->at < end; cpu->at += header.size) {
		for (i = 0; i < sizeof(header); i++)
			((u8 *)&header)[i] = data[(cpu->at + i) % size];
		if (header.size < sizeof(header) + sizeof(u64))
			exit(2);
		for (i = 0; i < header.size; i++)
			((u8 *)copy)[i] = data[(cpu->at + i) % size];
		keep((const u8 *)copy, header.size);
	}
	__atomic_store_n(&cpu->page->data_tail, end, __ATOMIC_RELEASE);
}

static void read_all(long nr, size_t page_size)
{
	long i;

	for (i = 0; i < nr; i++)
		read_records(&cpus[i], page_size);
}

static void look_at_probes(const char *path)
{
	u64 time = now();
	FILE *file = fopen(path, "r");
	char line[256], *text;
	struct event *e;
	u64 addr;
	int byte;

	if (!file)
		exit(2);
	while (fgets(line, sizeof(line), file)) {
		text = strrchr(line, ' ');
		if (!text || sscanf(line, "%*u %llx", &addr) != 1 || !addr)
			continue;
		e = new_event(time, SEEN);
		e->addr = addr;
		for (text++; e->new_len < 8 && sscanf(text, "%2x", &byte) == 1; text += 2)
			e->bytes[e->new_len++] = byte;
	}
	fclose(file);
}

static bool slots_are_left(void)
{
	u32 i, in = 0, out = 0;

	for (i = 0; i < nr_events; i++) {
		if (events[i].type != PERF_RECORD_TEXT_POKE)
			continue;
		in += !events[i].old_len;
		out += !events[i].new_len;
	}
	return in != out;
}

/*
 * Following the records.
 */

static struct known *byte_at(u64 addr)
{
	u32 i = (addr * 0x9e3779b97f4a7c15ULL) >> 44;

	while (known[i].addr && known[i].addr != addr)
		i = (i + 1) % KNOWN;
	known[i].addr = addr;
	return &known[i];
}

static int page_of(u64 addr)
{
	u32 i;

	for (i = 0; i < nr_pages; i++)
		if (pages[i] == addr / PAGE * PAGE)
			return i;
	return -1;
}

static void page_comes(u64 addr)
{
	if (nr_pages == MAX_PAGES)
		exit(2);
	pages[nr_pages++] = addr;
}

/* pages that existed before */
static void read_pages(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, " " SLOT_PAGE))
			page_comes(strtoull(line, NULL, 16));
	if (file)
		fclose(file);
}

static void follow_page(const struct event *e)
{
	int page = page_of(e->addr), i;

	if (!(e->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)) {
		ksymbol++;
		if (page >= 0)
			complain(e, "the page is known");
		else
			page_comes(e->addr);
		return;
	}
	unregister++;
	if (page < 0)
		complain(e, "the page is not known");
	else
		pages[page] = pages[--nr_pages];
	for (i = 0; i < PAGE; i++) {
		if (!byte_at(e->addr + i)->known)
			continue;
		complain(e, "there are slots in it, at %x", i);
		break;
	}
}

/* A decoder that follows the jump has to know its target. */
static void follow_jump(const struct event *e)
{
	const u8 *jump = e->bytes + e->old_len;
	u64 to, i;
	int disp;

	memcpy(&disp, jump + 1, sizeof(disp));
	/* Wrap around at the size of an address of this program. */
	to = (unsigned long)(e->addr + JMP_SIZE + disp);
	if (page_of(to) < 0)
		complain(e, "it leads to %llx, which is in no page of slots", to);
	for (i = 0; i < JMP_SIZE; i++) {
		if (byte_at(to + i)->known)
			continue;
		complain(e, "it leads to %llx, where nothing is known", to);
		break;
	}
}

static void count(const struct event *e)
{
	const u8 *old = e->bytes, *new = e->bytes + e->old_len;

	if (e->old_len == 1 && e->new_len == 1 && new[0] == INT3) {
		breakpoints++;
	} else if (e->old_len == 1 && e->new_len == 1 && old[0] == INT3) {
		breakpoints_out++;
	} else if (e->old_len == JMP_SIZE && e->new_len == JMP_SIZE && old[0] == INT3 &&
		   new[0] == JMP) {
		jumps++;
		follow_jump(e);
	} else if (e->old_len == JMP_SIZE && e->new_len == JMP_SIZE && old[0] == JMP &&
		   new[0] == INT3) {
		jumps_out++;
	} else {
		others++;
	}
}

static void follow_text(const struct event *e)
{
	struct known *byte;
	int i;

	if (page_of(e->addr) >= 0) {
		filled += !e->old_len;
		emptied += !e->new_len;
	} else if (byte_at(e->addr)->probed) {
		count(e);
	} else {
		/* Another user patched this text, which is in no slot and is not probed. */
		return;
	}
	for (i = 0; i < e->old_len; i++) {
		byte = byte_at(e->addr + i);
		if (byte->known && byte->byte != e->bytes[i]) {
			complain(e, "byte %d was %02x", i, byte->byte);
			break;
		}
	}
	for (i = 0; i < e->new_len && !e->old_len; i++) {
		if (!byte_at(e->addr + i)->known)
			continue;
		complain(e, "something was there");
		break;
	}
	for (i = 0; i < e->old_len; i++)
		byte_at(e->addr + i)->known = false;
	for (i = 0; i < e->new_len; i++) {
		byte = byte_at(e->addr + i);
		byte->known = true;
		byte->byte = e->bytes[e->old_len + i];
	}
}

static void compare_seen(const struct event *e)
{
	struct known *byte;
	int i;

	for (i = 0; i < e->new_len; i++) {
		byte = byte_at(e->addr + i);
		if (byte->known && byte->byte != e->bytes[i]) {
			complain(e, "this is seen, but byte %d is known as %02x", i, byte->byte);
			break;
		}
		byte->known = true;
		byte->byte = e->bytes[i];
	}
}

static int event_cmp(const void *a, const void *b)
{
	const struct event *ea = a, *eb = b;

	if (ea->time != eb->time)
		return ea->time < eb->time ? -1 : 1;
	return ea->order < eb->order ? -1 : ea->order > eb->order;
}

static void follow(void)
{
	u32 i;

	for (i = 0; i < nr_events; i++)
		if (events[i].type == SEEN)
			byte_at(events[i].addr)->probed = true;
	qsort(events, nr_events, sizeof(*events), event_cmp);
	for (i = 0; i < nr_events; i++) {
		switch (events[i].type) {
		case SEEN:
			compare_seen(&events[i]);
			break;
		case PERF_RECORD_KSYMBOL:
			follow_page(&events[i]);
			break;
		case PERF_RECORD_TEXT_POKE:
			follow_text(&events[i]);
			break;
		}
	}
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
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	size_t page_size = sysconf(_SC_PAGESIZE);
	int cpu, fd, status, i;

	if (argc < 3 || nr > MAX_CPUS)
		return 2;
	for (cpu = 0; cpu < nr; cpu++) {
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
		look_at_probes(argv[1]);
		read_all(nr, page_size);
	}
	/* A slot is freed when no task can be in it any more. */
	for (i = 0; i < PATIENCE && slots_are_left(); i++) {
		sleep(1);
		read_all(nr, page_size);
	}
	follow();
	printf("breakpoints %u\nbreakpoints_out %u\njumps %u\njumps_out %u\n", breakpoints,
	       breakpoints_out, jumps, jumps_out);
	printf("filled %u\nemptied %u\npages %u\npages_out %u\n", filled, emptied, ksymbol,
	       unregister);
	printf("others %u\nlost %u\nwrong %u\n", others, lost, wrong);
	return 0;
}
