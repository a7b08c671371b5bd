// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command for sh while a BPF program is attached to a probe; not every architecture has
 * bpftrace:
 *
 *	bpf_probe [-r] [-w] [-i ADDRESS|-c COOKIE] [-e ERRNO -f FROM] [-K N]
 *		FUNCTION[+OFFSET] COMMAND
 *	bpf_probe -s {-r|-rm|-rx} FUNCTION COMMAND
 *	bpf_probe -v VALUE [-l] [-r] [-m|-S|-x] {FUNCTION[+OFFSET]|GROUP/EVENT} COMMAND
 *	bpf_probe -h [-r] FUNCTION[+OFFSET] FILE
 *	bpf_probe -k [-n] [-r|-S] [-o] [-w] [-v VALUE] [-F FLAGS] [-a AFTER] FILE COMMAND
 *
 * The program is attached to a probe, or to an event of tracefs, as a program of perf; with -m
 * through kprobe.multi, with -S as a kprobe.session, with -x as fentry, which needs BTF; with -r to
 * returns. With -w, MODULE:FUNCTION waits until the module is loaded.
 *
 * It counts the hits, and adds up the first arguments, or the results, as 32-bit numbers. With -i
 * it counts the hits for which bpf_get_func_ip() returns ADDRESS, with -c those for which
 * bpf_get_attach_cookie() returns COOKIE. With -e it makes the function return -ERRNO if the
 * argument is FROM or more. With -K it kills the task of the Nth hit. With -s it records the stack
 * of each hit. With -v it only returns VALUE; with -l, too, it is loaded as a sleepable program.
 *
 * With -h it tries helpers whose result may depend on the context: it records the stack, updates a
 * hash map that allocates, writes to a ring buffer, sends its task a signal that is ignored, and
 * writes to user memory. Here bpf_probe itself writes 1 to FILE, as its command, and prints how
 * often each helper succeeded.
 *
 * With -k one kprobe.multi link attaches the program to all addresses in a file, one in each line:
 * a hexadecimal number, and +OFFSET or nothing. The cookie of an address is the number of its line,
 * from 0; with -n the link has no cookies, so all are 0. -r asks for returns, -S for a session, and
 * -o for a program that may override results; -F gives flags of the link. With -w, each line is a
 * symbol, MODULE:FUNCTION. With -v the program returns VALUE, otherwise 0; if it returns 1, a
 * session does not run it at the return. With -a, another command runs when the link has been
 * closed; the counts include what it does. The program calls bpf_get_current_pid_tgid(), so that a
 * probe on that helper misses hits.
 *
 * After the command has ended, prints "count N" and "sum N", with -w also "address N", which the
 * kernel reports for perf's event; with -s, "count N", and "stack" with its frames for each
 * different stack, as /proc/PID/stack has them; with -v "runs N" and "missed N", which the kernel
 * has counted, and for a program of perf "records N", which its event on CPU 0 got. There the
 * command runs on CPU 0. With -k it prints "link ADDRESSES missed N" as the kernel reports for the
 * link, "info same" if the kernel has the same addresses and cookies (with -w, "at COOKIE ADDRESS"
 * for each, as the kernel has them), "cookie NUMBER count N func_ip ADDRESS" for each that was hit,
 * "attach N" and "detach N", the microseconds that these took, and "memory N", by how many KiB free
 * memory has shrunk. Exits with 4, as a skipped kselftest does, for a processor whose registers it
 * does not know, or without such programs.
 */
#define _GNU_SOURCE
#include <asm/ptrace.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../include/linux/filter.h"

#define SKIP		4
#define MAX_INSNS	64
#define MAX_FRAMES	16
#define MAX_STACKS	16
#define PMU_TYPE	"/sys/bus/event_source/devices/kprobe/type"
/* Bit of attr.config for a return probe, as format/retprobe of that PMU says: config:0 */
#define CONFIG_RETPROBE	1
/* Bit of attr.config for waiting for the module, as format/wait says: config:1 */
#define CONFIG_WAIT	2
/* BPF_F_KPROBE_MULTI_WAIT */
#define MULTI_WAIT	2
/* BPF_TRACE_KPROBE_SESSION of Linux 6.10 */
#define KPROBE_SESSION	56
#define EVENTS		"/sys/kernel/tracing/events"

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

/* struct bpf_link_info for kprobe.multi: headers before Linux 6.6 do not have it. */
struct multi_info {
	__u32 type, id, prog_id, unused;
	__u64 addrs;
	__u32 count, flags;
	__u64 missed, cookies;
};

struct stack {
	__u64 frames[MAX_FRAMES];
};

/* The helpers that -h tries */
enum tried { STACKID, UPDATE, RINGBUF, SIGNAL, WRITE, NR_TRIED };

/* What runs the program: perf, kprobe.multi, kprobe.session, or a BPF trampoline */
enum way { PERF, MULTI, SESSION, TRAMPOLINE };

/* Arguments of the options, by letter: "" if the option has none, NULL if it is not given */
static const char *given[128];
static bool is_return, is_list, with_stacks, with_value, with_tries, wait;
static int helper;
static __u64 wanted;
static enum way way = PERF;

static struct bpf_insn insns[MAX_INSNS];
static int nr_insns;
/* Where the program jumps to its end; emit_end() sets the offsets of these jumps. */
static int to_end[3], nr_to_end;

/* Append instructions to the program. */
#define emit(new...) do {								\
	const struct bpf_insn _new[] = { new };						\
											\
	memcpy(insns + nr_insns, _new, sizeof(_new));					\
	nr_insns += sizeof(_new) / sizeof(*_new);					\
} while (0)

/* emit_pointer - let a register point to the variable at r10 + @at on the program's stack */
static void emit_pointer(int reg, int at)
{
	emit(BPF_MOV64_REG(reg, BPF_REG_10), BPF_ALU64_IMM(BPF_ADD, reg, at));
}

/* emit_add - load the number at @base + @at into r1, let @add add to r1, and store the number */
static void emit_add(int base, int at, struct bpf_insn add)
{
	emit(BPF_LDX_MEM(BPF_DW, BPF_REG_1, base, at), add,
	     BPF_STX_MEM(BPF_DW, base, BPF_REG_1, at));
}

static void emit_add_one(int base, int at)
{
	emit_add(base, at, BPF_ALU64_IMM(BPF_ADD, BPF_REG_1, 1));
}

static void emit_override(int result)
{
	emit(BPF_MOV64_REG(BPF_REG_1, BPF_REG_6), BPF_MOV64_IMM(BPF_REG_2, result),
	     BPF_EMIT_CALL(BPF_FUNC_override_return));
}

/* emit_to_end - if the condition is true for @reg and @number, jump to the end of the program */
static void emit_to_end(int condition, int reg, int number)
{
	to_end[nr_to_end++] = nr_insns;
	emit(BPF_JMP_IMM(condition, reg, number, 0));
}

/* emit_lookup - let r0 point to the value of the key at r10 - 4; if there is none, end */
static void emit_lookup(int map)
{
	emit_pointer(BPF_REG_2, -4);
	emit(BPF_LD_MAP_FD(BPF_REG_1, map), BPF_EMIT_CALL(BPF_FUNC_map_lookup_elem));
	emit_to_end(BPF_JEQ, BPF_REG_0, 0);
}

static void emit_end(int result)
{
	while (nr_to_end--)
		insns[to_end[nr_to_end]].off = nr_insns - to_end[nr_to_end] - 1;
	emit(BPF_MOV64_IMM(BPF_REG_0, result), BPF_EXIT_INSN());
}

/*
 * The program's additions are not atomic, since the BPF JIT of 32-bit x86 supports no atomic
 * operations. So only one task at a time may call the probed function, or counts would be lost. The
 * program of -k has a count for each CPU.
 */
static void write_program(int map, int stacks, int reg)
{
	emit(BPF_MOV64_REG(BPF_REG_6, BPF_REG_1));
	if (helper)
		emit(BPF_EMIT_CALL(helper), BPF_MOV64_IMM(BPF_REG_7, 1),
		     BPF_LD_IMM64(BPF_REG_1, wanted),
		     BPF_JMP_REG(BPF_JEQ, BPF_REG_0, BPF_REG_1, 1), BPF_MOV64_IMM(BPF_REG_7, 0));
	else if (with_stacks)
		emit(BPF_LD_MAP_FD(BPF_REG_2, stacks), BPF_MOV64_IMM(BPF_REG_3, 0),
		     BPF_EMIT_CALL(BPF_FUNC_get_stackid), BPF_MOV64_REG(BPF_REG_7, BPF_REG_0));
	else
		emit(BPF_LDX_MEM(BPF_W, BPF_REG_7, BPF_REG_6, reg));
	emit(BPF_ST_MEM(BPF_W, BPF_REG_10, -4, 0));
	emit_lookup(map);
	emit_add_one(BPF_REG_0, offsetof(struct value, count));
	/* emit_add_one() leaves the new count in r1. */
	emit(BPF_MOV64_REG(BPF_REG_8, BPF_REG_1));
	emit_add(BPF_REG_0, offsetof(struct value, sum),
		 BPF_ALU64_REG(BPF_ADD, BPF_REG_1, BPF_REG_7));
	if (given['K']) {
		emit_to_end(BPF_JNE, BPF_REG_8, atoi(given['K']));
		emit(BPF_MOV64_IMM(BPF_REG_1, SIGKILL), BPF_EMIT_CALL(BPF_FUNC_send_signal));
	}
	if (given['e']) {
		emit_to_end(BPF_JLT, BPF_REG_7, atoi(given['f']));
		emit_override(-atoi(given['e']));
	}
	emit_end(0);
}

/* write_cookie_program - count the hits for each cookie, and record bpf_get_func_ip() as sum */
static void write_cookie_program(int map)
{
	emit(BPF_MOV64_REG(BPF_REG_6, BPF_REG_1), BPF_EMIT_CALL(BPF_FUNC_get_attach_cookie),
	     BPF_STX_MEM(BPF_W, BPF_REG_10, BPF_REG_0, -4),
	     BPF_MOV64_REG(BPF_REG_1, BPF_REG_6), BPF_EMIT_CALL(BPF_FUNC_get_func_ip),
	     BPF_MOV64_REG(BPF_REG_7, BPF_REG_0), BPF_EMIT_CALL(BPF_FUNC_get_current_pid_tgid));
	if (given['o'])
		emit_override(-1);
	emit_lookup(map);
	emit_add_one(BPF_REG_0, offsetof(struct value, count));
	emit(BPF_STX_MEM(BPF_DW, BPF_REG_0, BPF_REG_7, offsetof(struct value, sum)));
	emit_end(given['v'] ? atoi(given['v']) : 0);
}

/* check - exit if a call has failed. Return: the result of the call */
static int check(int result, const char *what)
{
	if (result >= 0)
		return result;
	perror(what);
	exit(1);
}

/*
 * Callers have to clear all of @attr with { }, since the kernel refuses an @attr in which bytes
 * that it does not know are not 0. An initializer that names a member would not do: if the member
 * is in a union, the other bytes of the union need not be cleared.
 */
static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static void lookup(int map, __u32 key, void *value)
{
	union bpf_attr attr = { };

	attr.map_fd = map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)value;
	check(bpf(BPF_MAP_LOOKUP_ELEM, &attr), "BPF_MAP_LOOKUP_ELEM");
}

/* get_info - get information about a program, a link, or types from the kernel */
static void get_info(int fd, void *info, int size)
{
	union bpf_attr attr = { };

	attr.info.bpf_fd = fd;
	attr.info.info_len = size;
	attr.info.info = (uintptr_t)info;
	check(bpf(BPF_OBJ_GET_INFO_BY_FD, &attr), "BPF_OBJ_GET_INFO_BY_FD");
}

static int make_map(int type, int value_size, int entries)
{
	union bpf_attr attr = { };

	attr.map_type = type;
	/* A ring buffer has neither keys nor values. */
	attr.key_size = value_size ? sizeof(__u32) : 0;
	attr.value_size = value_size;
	attr.max_entries = entries;
	attr.map_flags = type == BPF_MAP_TYPE_HASH ? BPF_F_NO_PREALLOC : 0;
	return check(bpf(BPF_MAP_CREATE, &attr), "BPF_MAP_CREATE");
}

/* emit_try - call a helper, and count the call in the array at r9 if it succeeds */
static void emit_try(int func, enum tried tried)
{
	emit(BPF_EMIT_CALL(func), BPF_JMP_IMM(BPF_JSLT, BPF_REG_0, 0, 3));
	emit_add_one(BPF_REG_9, tried * sizeof(__u64));
}

/*
 * make_tries - write the program that tries the helpers; @written: where it writes to user memory
 */
static void make_tries(int map, __u64 *written)
{
	int stacks = make_map(BPF_MAP_TYPE_STACK_TRACE, sizeof(struct stack), MAX_STACKS);
	int hash = make_map(BPF_MAP_TYPE_HASH, sizeof(__u64), MAX_STACKS);
	int ring = make_map(BPF_MAP_TYPE_RINGBUF, 0, 65536);

	emit(BPF_MOV64_REG(BPF_REG_6, BPF_REG_1), BPF_ST_MEM(BPF_W, BPF_REG_10, -4, 0),
	     BPF_ST_MEM(BPF_DW, BPF_REG_10, -16, 1));
	emit_lookup(map);
	emit(BPF_MOV64_REG(BPF_REG_9, BPF_REG_0));
	emit(BPF_MOV64_REG(BPF_REG_1, BPF_REG_6), BPF_LD_MAP_FD(BPF_REG_2, stacks),
	     BPF_MOV64_IMM(BPF_REG_3, BPF_F_REUSE_STACKID));
	emit_try(BPF_FUNC_get_stackid, STACKID);
	emit_pointer(BPF_REG_2, -4);
	emit_pointer(BPF_REG_3, -16);
	emit(BPF_LD_MAP_FD(BPF_REG_1, hash), BPF_MOV64_IMM(BPF_REG_4, BPF_ANY));
	emit_try(BPF_FUNC_map_update_elem, UPDATE);
	emit_pointer(BPF_REG_2, -16);
	emit(BPF_LD_MAP_FD(BPF_REG_1, ring), BPF_MOV64_IMM(BPF_REG_3, sizeof(__u64)),
	     BPF_MOV64_IMM(BPF_REG_4, 0));
	emit_try(BPF_FUNC_ringbuf_output, RINGBUF);
	emit(BPF_MOV64_IMM(BPF_REG_1, SIGURG));
	emit_try(BPF_FUNC_send_signal, SIGNAL);
	emit_pointer(BPF_REG_2, -16);
	emit(BPF_LD_IMM64(BPF_REG_1, (uintptr_t)written), BPF_MOV64_IMM(BPF_REG_3, sizeof(__u64)));
	emit_try(BPF_FUNC_probe_write_user, WRITE);
	emit_end(0);
}

static void print_tries(int map, __u64 written)
{
	static const char *const names[] = { "stackid", "update", "ringbuf", "signal", "write" };
	__u64 tries[NR_TRIED];
	int i;

	lookup(map, 0, tries);
	for (i = 0; i < NR_TRIED; i++)
		printf("%s %llu\n", names[i], tries[i]);
	printf("written %llu\n", written);
}

static void write_one(const char *path)
{
	int fd = check(open(path, O_WRONLY), path);

	check(write(fd, "1", 1) == 1 ? 0 : -1, path);
	close(fd);
}

/*
 * The size of the data after a struct btf_type: fixed bytes for its kind, and more for each member
 */
static size_t btf_extra(const struct btf_type *type)
{
	static const unsigned char fixed[NR_BTF_KINDS] = {
		[BTF_KIND_INT] = sizeof(__u32),
		[BTF_KIND_VAR] = sizeof(struct btf_var),
		[BTF_KIND_DECL_TAG] = sizeof(struct btf_decl_tag),
		[BTF_KIND_ARRAY] = sizeof(struct btf_array),
	}, member[NR_BTF_KINDS] = {
		[BTF_KIND_STRUCT] = sizeof(struct btf_member),
		[BTF_KIND_UNION] = sizeof(struct btf_member),
		[BTF_KIND_ENUM] = sizeof(struct btf_enum),
		[BTF_KIND_ENUM64] = sizeof(struct btf_enum64),
		[BTF_KIND_FUNC_PROTO] = sizeof(struct btf_param),
		[BTF_KIND_DATASEC] = sizeof(struct btf_var_secinfo),
	};
	int kind = BTF_INFO_KIND(type->info);

	return fixed[kind] + BTF_INFO_VLEN(type->info) * member[kind];
}

/*
 * find_in_btf - find the type ID of a function, or return 0
 * @first: ID of the first type in @data; set to the ID after that of the last one
 * @str_start: offset of the first string in @data; set to the offset after the last one
 */
static __u32 find_in_btf(const char *data, const char *function, __u32 *first, __u32 *str_start)
{
	const struct btf_header *header = (const void *)data;
	const char *types = data + header->hdr_len + header->type_off;
	const char *strings = data + header->hdr_len + header->str_off;
	__u32 found = 0, at = 0;

	while (at < header->type_len) {
		const struct btf_type *type = (const void *)(types + at);

		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC && type->name_off >= *str_start &&
		    !strcmp(strings + type->name_off - *str_start, function))
			found = *first;
		at += sizeof(*type) + btf_extra(type);
		(*first)++;
	}
	*str_start += header->str_len;
	return found;
}

/* find_function - find a function's type in the BTF of the kernel or of a module, for @attr */
static void find_function(const char *function, union bpf_attr *attr)
{
	__u32 first = 1, str_start = 0, own_first, own_start;
	union bpf_attr id = { };

	/*
	 * The kernel's own BTF is first. In a module's BTF, type IDs and string offsets continue
	 * those of the kernel's BTF.
	 */
	for (; !bpf(BPF_BTF_GET_NEXT_ID, &id); id.start_id = id.next_id) {
		union bpf_attr open = { };
		struct bpf_btf_info info = { };
		int fd;

		open.btf_id = id.next_id;
		fd = check(bpf(BPF_BTF_GET_FD_BY_ID, &open), "BPF_BTF_GET_FD_BY_ID");

		get_info(fd, &info, sizeof(info));
		if (!info.kernel_btf)
			continue;
		info.btf = (uintptr_t)malloc(info.btf_size);
		/*
		 * The first get_info() has set name_len. For the second, it must be 0: there is no
		 * buffer for the name.
		 */
		info.name_len = 0;
		get_info(fd, &info, sizeof(info));
		own_first = first;
		own_start = str_start;
		attr->attach_btf_obj_fd = fd;
		attr->attach_btf_id = find_in_btf((void *)(uintptr_t)info.btf, function, &own_first,
						  &own_start);
		if (attr->attach_btf_id)
			return;
		if (first == 1) {
			first = own_first;
			str_start = own_start;
		}
	}
	if (first == 1)
		exit(SKIP);
	fprintf(stderr, "no type of %s\n", function);
	exit(1);
}

static int attach_type(void)
{
	switch (way) {
	case SESSION:
		return KPROBE_SESSION;
	case MULTI:
		return BPF_TRACE_KPROBE_MULTI;
	case TRAMPOLINE:
		return is_return ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
	default:
		return 0;
	}
}

static int load_program(const char *function)
{
	static char log[65536];
	union bpf_attr attr = { };
	int fd;

	attr.prog_type = way == TRAMPOLINE ? BPF_PROG_TYPE_TRACING : BPF_PROG_TYPE_KPROBE;
	attr.expected_attach_type = attach_type();
	attr.prog_flags = given['l'] ? BPF_F_SLEEPABLE : 0;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = nr_insns;
	attr.license = (uintptr_t)"GPL";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = sizeof(log);
	attr.log_level = 1;
	if (way == TRAMPOLINE)
		find_function(function, &attr);
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		fputs(log, stderr);
	return check(fd, "BPF_PROG_LOAD");
}

/*
 * make_link - attach the program through kprobe.multi, to the addresses in @attr, or through a
 * trampoline. Closing the returned descriptor detaches it.
 */
static int make_link(int program, union bpf_attr *attr)
{
	int fd;

	attr->link_create.prog_fd = program;
	attr->link_create.attach_type = attach_type();
	if (way != TRAMPOLINE && is_return)
		attr->link_create.kprobe_multi.flags |= BPF_F_KPROBE_MULTI_RETURN;
	fd = bpf(BPF_LINK_CREATE, attr);
	/* These errors say that CONFIG_FPROBE is off, or this processor has no BPF trampolines. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == 524 /* ENOTSUPP */))
		exit(SKIP);
	return check(fd, "BPF_LINK_CREATE");
}

static int link_function(int program, const char *function)
{
	__u64 symbol = (uintptr_t)function;
	union bpf_attr attr = { };

	if (way != TRAMPOLINE) {
		attr.link_create.kprobe_multi.cnt = 1;
		attr.link_create.kprobe_multi.syms = (uintptr_t)&symbol;
	}
	return make_link(program, &attr);
}

/* set_cookie - attach the program to perf's event, with a cookie */
static void set_cookie(int program, int event, __u64 cookie)
{
	union bpf_attr attr = { };

	attr.link_create.prog_fd = program;
	attr.link_create.target_fd = event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	/*
	 * The link's descriptor stays open until bpf_probe
	 * exits: closing it would detach the program.
	 */
	check(bpf(BPF_LINK_CREATE, &attr), "BPF_LINK_CREATE");
}

/* scan - read a number from the start of a file. Return: does the file begin with @format? */
static bool scan(const char *path, const char *format, unsigned int *number)
{
	FILE *file = fopen(path, "r");
	bool found = check(file ? fscanf(file, format, number) : -1, path) == 1;

	fclose(file);
	return found;
}

static unsigned int read_number(const char *path)
{
	unsigned int number;

	check(scan(path, "%u", &number) ? 0 : -1, path);
	return number;
}

/*
 * attach - attach the program to a probe, or to an event of tracefs, until the descriptor is closed
 */
static int attach(int program, const char *name, __u64 offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_period = 1,
		.wakeup_events = 1,
	};
	char path[256];
	int fd;

	if (strchr(name, '/')) {
		snprintf(path, sizeof(path), EVENTS "/%s/id", name);
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = read_number(path);
	} else {
		attr.type = read_number(PMU_TYPE);
		attr.config = (is_return ? CONFIG_RETPROBE : 0) | (wait ? CONFIG_WAIT : 0);
		attr.kprobe_func = (uintptr_t)name;
		attr.probe_offset = offset;
	}
	/* The program is called for hits on all CPUs, although the event is for one CPU. */
	fd = check(syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC),
		   "perf_event_open");
	if (helper == BPF_FUNC_get_attach_cookie)
		set_cookie(program, fd, wanted);
	else
		check(ioctl(fd, PERF_EVENT_IOC_SET_BPF, program), "PERF_EVENT_IOC_SET_BPF");
	check(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), "PERF_EVENT_IOC_ENABLE");
	return fd;
}

/* print_runs - print the kernel's counts of the program, and of perf's event unless that is -1 */
static void print_runs(int program, int event)
{
	struct bpf_prog_info info = { };
	__u64 records;

	get_info(program, &info, sizeof(info));
	printf("runs %llu\nmissed %llu\n", info.run_cnt, info.recursion_misses);
	if (event < 0)
		return;
	check(read(event, &records, sizeof(records)) == sizeof(records) ? 0 : -1, "read");
	printf("records %llu\n", records);
}

/* print_address - print the address that the kernel reports for perf's event */
static void print_address(int event)
{
	union bpf_attr attr = { };
	char name[128];

	attr.task_fd_query.pid = getpid();
	attr.task_fd_query.fd = event;
	attr.task_fd_query.buf = (uintptr_t)name;
	attr.task_fd_query.buf_len = sizeof(name);
	check(bpf(BPF_TASK_FD_QUERY, &attr), "BPF_TASK_FD_QUERY");
	printf("address %llx\n", attr.task_fd_query.probe_addr);
}

static void print_value(int map)
{
	struct value got;

	lookup(map, 0, &got);
	printf("count %llu\n", got.count);
	if (!with_stacks)
		printf("sum %llu\n", got.sum);
}

/* name_frames - find the symbols that addresses are in */
static void name_frames(const __u64 *frames, int nr, char (*names)[128])
{
	FILE *file = fopen("/proc/kallsyms", "r");
	unsigned long long start, best[MAX_FRAMES] = { };
	char line[512], name[64];
	int i;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %63s", &start, name) != 2)
			continue;
		for (i = 0; i < nr; i++) {
			if (start > frames[i] || start < best[i])
				continue;
			best[i] = start;
			snprintf(names[i], sizeof(names[i]), "%s+0x%llx", name, frames[i] - start);
		}
	}
	if (file)
		fclose(file);
}

static void print_stacks(int map)
{
	char names[MAX_FRAMES][128];
	struct stack stack;
	__u32 key, next;
	union bpf_attr attr = { };
	int i, nr;

	attr.map_fd = map;
	attr.next_key = (uintptr_t)&next;
	while (!bpf(BPF_MAP_GET_NEXT_KEY, &attr)) {
		key = next;
		attr.key = (uintptr_t)&key;
		memset(&stack, 0, sizeof(stack));
		lookup(map, key, &stack);
		for (nr = 0; nr < MAX_FRAMES && stack.frames[nr]; nr++)
			snprintf(names[nr], sizeof(names[nr]), "?");
		name_frames(stack.frames, nr, names);
		printf("stack\n");
		for (i = 0; i < nr; i++)
			printf(" %s\n", names[i]);
	}
}

/* run_on_first_cpu - run the command on CPU 0, the only CPU where perf's event makes records */
static void run_on_first_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	check(sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity");
}

/* split_offset - cut FUNCTION+OFFSET after the function. Return: the offset */
static __u64 split_offset(char *name)
{
	char *plus = strchr(name, '+');

	if (!plus)
		return 0;
	*plus = '\0';
	return strtoull(plus + 1, NULL, 0);
}

/*
 * read_addresses - read a file with one address in each line. With -w the lines are symbols, and
 * the result has pointers to their strings. Return: the number of lines.
 */
static int read_addresses(const char *path, __u64 **addresses)
{
	FILE *file = fopen(path, "r");
	int nr = 0, size = 0;
	__u64 offset;
	char line[128];

	*addresses = NULL;
	check(file ? 0 : -1, path);
	while (fgets(line, sizeof(line), file)) {
		if (nr == size) {
			size = 2 * size + 16;
			*addresses = realloc(*addresses, size * sizeof(**addresses));
			check(*addresses ? 0 : -1, "realloc");
		}
		if (wait) {
			line[strcspn(line, "\n")] = '\0';
			(*addresses)[nr++] = (uintptr_t)strdup(line);
			continue;
		}
		offset = split_offset(line);
		(*addresses)[nr++] = strtoull(line, NULL, 16) + offset;
	}
	fclose(file);
	return nr;
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* is_given - are an address and its cookie among the ones the link was created with? */
static bool is_given(const __u64 *addresses, const __u64 *cookies, int nr, __u64 address,
		     __u64 cookie)
{
	int i;

	if (cookies)
		return cookie < (__u64)nr && addresses[cookie] == address;
	for (i = 0; i < nr; i++)
		if (addresses[i] == address)
			return !cookie;
	return false;
}

static void print_link(int link, const __u64 *addresses, const __u64 *cookies, int nr)
{
	__u64 *got = calloc(2 * nr, sizeof(*got));
	struct multi_info info = {
		.addrs = (uintptr_t)got,
		.cookies = (uintptr_t)(got + nr),
		.count = nr,
	};
	int i;

	check(got ? 0 : -1, "calloc");
	get_info(link, &info, sizeof(info));
	printf("link %u missed %llu\n", info.count, info.missed);
	if (wait) {
		for (i = 0; i < (int)info.count; i++)
			printf("at %llu %llx\n", got[nr + i], got[i]);
	} else {
		for (i = 0; i < nr; i++)
			if (!is_given(addresses, cookies, nr, got[i], got[nr + i]))
				break;
		printf("info %s\n", i == nr ? "same" : "different");
	}
	free(got);
}

/* nr_possible_cpus - how many values does each key of a BPF_MAP_TYPE_PERCPU_ARRAY have? */
static int nr_possible_cpus(void)
{
	unsigned int last;

	/* The kernel prints 0, or 0-LAST. */
	return scan("/sys/devices/system/cpu/possible", "0-%u", &last) ? last + 1 : 1;
}

static void print_cookies(int map, int nr)
{
	int cpus = nr_possible_cpus(), i, cpu;
	struct value *got = calloc(cpus, sizeof(*got));
	__u64 count, func_ip;

	check(got ? 0 : -1, "calloc");
	for (i = 0; i < nr; i++) {
		lookup(map, i, got);
		count = 0;
		for (cpu = 0; cpu < cpus; cpu++) {
			if (!got[cpu].count)
				continue;
			count += got[cpu].count;
			func_ip = got[cpu].sum;
		}
		if (count)
			printf("cookie %u count %llu func_ip %llx\n", i, count, func_ip);
	}
	free(got);
}

/* free_kib - return how much memory is free, or 0 if the kernel does not tell */
static long free_kib(void)
{
	unsigned int kib = 0;

	scan("/proc/meminfo", "MemTotal: %*u kB MemFree: %u", &kib);
	return kib;
}

static void run(const char *command)
{
	if (!system(command))
		return;
	fprintf(stderr, "failed: %s\n", command);
	exit(1);
}

/* run_with_link - attach one program to all addresses in a file, and run the command */
static void run_with_link(const char *path, const char *command)
{
	__u64 *addresses, *cookies = NULL;
	int nr = read_addresses(path, &addresses), i, program, link;
	int map = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(struct value), nr);
	long long before, attached, detached;
	union bpf_attr attr = { };
	long kib;

	write_cookie_program(map);
	program = load_program(NULL);
	if (!given['n']) {
		cookies = calloc(nr, sizeof(*cookies));
		check(cookies ? 0 : -1, "calloc");
		for (i = 0; i < nr; i++)
			cookies[i] = i;
	}
	attr.link_create.kprobe_multi.flags = (wait ? MULTI_WAIT : 0) |
		(given['F'] ? strtoul(given['F'], NULL, 0) : 0);
	attr.link_create.kprobe_multi.cnt = nr;
	if (wait)
		attr.link_create.kprobe_multi.syms = (uintptr_t)addresses;
	else
		attr.link_create.kprobe_multi.addrs = (uintptr_t)addresses;
	attr.link_create.kprobe_multi.cookies = (uintptr_t)cookies;
	kib = free_kib();
	before = now_us();
	link = make_link(program, &attr);
	attached = now_us();
	kib -= free_kib();
	run(command);
	print_link(link, addresses, cookies, nr);
	detached = now_us();
	close(link);
	detached = now_us() - detached;
	if (given['a'])
		run(given['a']);
	print_cookies(map, nr);
	printf("attach %lld\ndetach %lld\nmemory %ld\n", attached - before, detached, kib);
}

#ifdef ARGUMENT
int main(int argc, char **argv)
{
	int opt, map = -1, stacks = -1, program, event;
	/* @written is on the stack, whose page is in memory: the program cannot wait for a page. */
	__u64 written = 0, offset;

	while ((opt = getopt(argc, argv, "rmxslhknSowa:v:i:c:e:f:F:K:")) != -1) {
		if (opt == '?')
			return 2;
		given[opt] = optarg ? optarg : "";
	}
	is_return = given['r'];
	is_list = given['k'];
	with_stacks = given['s'];
	with_value = given['v'];
	with_tries = given['h'];
	wait = given['w'];
	if (given['S'])
		way = SESSION;
	else if (given['m'] || is_list)
		way = MULTI;
	else if (given['x'])
		way = TRAMPOLINE;
	if (given['i'] || given['c']) {
		helper = given['i'] ? BPF_FUNC_get_func_ip : BPF_FUNC_get_attach_cookie;
		wanted = strtoull(given['i'] ? given['i'] : given['c'], NULL, 16);
	}
	if (optind != argc - 2 || (way != PERF && !with_stacks && !with_value && !is_list) ||
	    (given['e'] && !given['f']))
		return 2;
	if (is_list) {
		run_with_link(argv[optind], argv[optind + 1]);
		return 0;
	}
	offset = split_offset(argv[optind]);

	if (with_value) {
		emit_end(atoi(given['v']));
		run_on_first_cpu();
	} else if (with_tries) {
		map = make_map(BPF_MAP_TYPE_ARRAY, NR_TRIED * sizeof(__u64), 1);
		make_tries(map, &written);
	} else {
		map = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct value), 1);
		if (with_stacks)
			stacks = make_map(BPF_MAP_TYPE_STACK_TRACE, sizeof(struct stack),
					  MAX_STACKS);
		write_program(map, stacks, is_return ? RESULT : ARGUMENT);
	}
	program = load_program(argv[optind]);
	event = way == PERF ? attach(program, argv[optind], offset) :
			      link_function(program, argv[optind]);
	if (with_tries) {
		write_one(argv[optind + 1]);
		print_tries(map, written);
	} else {
		run(argv[optind + 1]);
		if (with_value)
			print_runs(program, way == PERF ? event : -1);
		else
			print_value(map);
		if (wait)
			print_address(event);
	}
	/* Closing the event removes the symbols of BPF trampolines: print stacks before. */
	if (with_stacks)
		print_stacks(stacks);
	close(event);
	return 0;
}
#else
int main(void)
{
	return SKIP;
}
#endif
