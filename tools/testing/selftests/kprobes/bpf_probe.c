// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command while a BPF program is attached to a probe, for architectures without
 * bpftrace:
 *
 *	bpf_probe [-r] [-i ADDRESS] [-e ERRNO -f FROM] FUNCTION[+OFFSET] COMMAND
 *
 * COMMAND is for sh. With -r it is a return probe. The program counts the hits, and adds
 * up the functions' first arguments, or their results, which have to be of 32 bits. With
 * -i it counts the hits for which bpf_get_func_ip() returns ADDRESS. With -e it makes the
 * function return -ERRNO if the argument is FROM or more.
 *
 * Prints "count N" and "sum N" after the command has ended. Exits with 4, as a skipped
 * kselftest does, if the registers of the processor are not known.
 */
#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SKIP		4
#define MAX_INSNS	32
#define PMU_TYPE	"/sys/bus/event_source/devices/kprobe/type"
/* As format/retprobe of that PMU says: config:0. */
#define CONFIG_RETPROBE	1

#ifdef __x86_64__
#define ARGUMENT	offsetof(struct pt_regs, rdi)
#define RESULT		offsetof(struct pt_regs, rax)
#elif defined(__i386__)
#define ARGUMENT	offsetof(struct pt_regs, eax)
#define RESULT		offsetof(struct pt_regs, eax)
#endif

struct value {
	__u64 count;
	__u64 sum;
};

static struct bpf_insn insns[MAX_INSNS];
static int nr_insns;

static void emit(int code, int dst, int src, int off, int imm)
{
	insns[nr_insns++] = (struct bpf_insn) {
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm,
	};
}

static void emit_add_to_value(int field, int code, int src, int imm)
{
	emit(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_0, field, 0);
	emit(BPF_ALU64 | BPF_ADD | code, BPF_REG_1, src, 0, imm);
	emit(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_1, field, 0);
}

/*
 * Additions are not atomic, since the BPF JIT of 32-bit x86 supports no atomic operations:
 * only one task at a time may call the function.
 */
static void write_program(int map, int reg, __u64 func_ip, int error, int from)
{
	int to_end[2], nr_to_end = 0;

	emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
	if (func_ip) {
		emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_func_ip);
		emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_7, 0, 0, 1);
		emit(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, 0, 0, func_ip);
		emit(0, 0, 0, 0, func_ip >> 32);
		emit(BPF_JMP | BPF_JEQ | BPF_X, BPF_REG_0, BPF_REG_1, 1, 0);
		emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_7, 0, 0, 0);
	} else {
		emit(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_7, BPF_REG_6, reg, 0);
	}
	emit(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0);
	emit(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map);
	emit(0, 0, 0, 0, 0);
	emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0);
	emit(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4);
	emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
	to_end[nr_to_end++] = nr_insns;
	emit(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0);
	emit_add_to_value(offsetof(struct value, count), BPF_K, 0, 1);
	emit_add_to_value(offsetof(struct value, sum), BPF_X, BPF_REG_7, 0);
	if (error) {
		to_end[nr_to_end++] = nr_insns;
		emit(BPF_JMP | BPF_JLT | BPF_K, BPF_REG_7, 0, 0, from);
		emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0);
		emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, -error);
		emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_override_return);
	}
	while (nr_to_end--)
		insns[to_end[nr_to_end]].off = nr_insns - to_end[nr_to_end] - 1;
	emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int fail(const char *what)
{
	perror(what);
	return -1;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(__u32),
		.value_size = sizeof(struct value),
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	return fd < 0 ? fail("BPF_MAP_CREATE") : fd;
}

static int load_program(void)
{
	static char log[65536];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uintptr_t)insns,
		.insn_cnt = nr_insns,
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd >= 0)
		return fd;
	fail("BPF_PROG_LOAD");
	fputs(log, stderr);
	return -1;
}

/* attach - attach the program to a probe, for as long as the descriptor is open */
static int attach(int program, const char *function, __u64 offset, bool is_return)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = is_return ? CONFIG_RETPROBE : 0,
		.kprobe_func = (uintptr_t)function,
		.probe_offset = offset,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	FILE *file = fopen(PMU_TYPE, "r");
	int fd;

	if (!file || fscanf(file, "%u", &attr.type) != 1)
		return fail(PMU_TYPE);
	fclose(file);
	/* The program is called for hits on all CPUs, although the event is for one CPU. */
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fail("perf_event_open");
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
		return fail("PERF_EVENT_IOC_SET_BPF");
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fail("PERF_EVENT_IOC_ENABLE");
	return fd;
}

static int print_value(int map)
{
	struct value value = { };
	__u32 key = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		return fail("BPF_MAP_LOOKUP_ELEM");
	printf("count %llu\nsum %llu\n", (unsigned long long)value.count,
	       (unsigned long long)value.sum);
	return 0;
}

#ifdef ARGUMENT
int main(int argc, char **argv)
{
	int opt, map, program, event, error = 0, from = 0;
	bool is_return = false;
	__u64 offset = 0, func_ip = 0;
	char *plus;

	while ((opt = getopt(argc, argv, "ri:e:f:")) != -1) {
		switch (opt) {
		case 'r':
			is_return = true;
			break;
		case 'i':
			func_ip = strtoull(optarg, NULL, 16);
			break;
		case 'e':
			error = atoi(optarg);
			break;
		case 'f':
			from = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 2)
		return 2;
	plus = strchr(argv[optind], '+');
	if (plus) {
		*plus = '\0';
		offset = strtoull(plus + 1, NULL, 0);
	}

	map = make_map();
	if (map < 0)
		return 1;
	write_program(map, is_return ? RESULT : ARGUMENT, func_ip, error, from);
	program = load_program();
	if (program < 0)
		return 1;
	event = attach(program, argv[optind], offset, is_return);
	if (event < 0)
		return 1;
	if (system(argv[optind + 1])) {
		fprintf(stderr, "failed: %s\n", argv[optind + 1]);
		return 1;
	}
	close(event);
	return print_value(map) ? 1 : 0;
}
#else
int main(void)
{
	return SKIP;
}
#endif
