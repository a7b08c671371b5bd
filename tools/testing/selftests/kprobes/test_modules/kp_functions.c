// SPDX-License-Identifier: GPL-2.0
/*
 * Probes on many functions of the kernel at once: on the first three instructions
 * of each that may be probed, or, with insns=1, on the first one.
 *
 * Commands for /sys/kernel/debug/kp_functions/cmd, one a write:
 *
 *	add ADDRESS	probe the function there; fails when it may not be probed, or is
 *			too short
 *	self N		call the module's own function, which has to be added before, N times
 *	stop		unregister all, compare the counts and the text
 *
 * /sys/kernel/debug/kp_functions/summary has one "NAME VALUE" a line, and after `stop`
 * says what was wrong, if anything: lines that begin with "bad".
 */

#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "kp_boundary.h"
#include "kp_symbol.h"

#define KP_INSNS	3

static unsigned int insns = KP_INSNS;
module_param(insns, uint, 0400);
MODULE_PARM_DESC(insns, "how many instructions of each function are probed");

#define KP_FUNCTIONS	1024
#define KP_REACH	48

struct kp_counter {
	struct kprobe kp;
	atomic_long_t hits;
	/* A CPU that executes the instruction counted before executes this one next. */
	bool follows;
};

struct kp_function {
	struct kp_counter insn[KP_INSNS];
	unsigned long addr;
	unsigned int size;
	u8 text[KP_REACH];
	bool text_changed;
};

static struct kp_function *kp_functions[KP_FUNCTIONS];
static int kp_functions_nr;
static bool kp_stopped;
static long kp_self_calls;
static DEFINE_MUTEX(kp_functions_mutex);
static struct dentry *kp_functions_dir;

noinline unsigned long kp_functions_self(unsigned long a, unsigned long b);
noinline unsigned long kp_functions_self(unsigned long a, unsigned long b)
{
	barrier();
	a ^= b << 3;
	barrier();
	a += b >> 5;
	barrier();
	return a * 7;
}

static int kp_functions_pre(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&container_of(kp, struct kp_counter, kp)->hits);
	return 0;
}

NOKPROBE_SYMBOL(kp_functions_pre);

/* The symbol has to begin at @addr; what kallsyms takes for its size. */
static unsigned int kp_symbol_size(unsigned long addr)
{
	unsigned long offset, size;

	if (kp_measure((void *)addr, &offset, &size) || offset)
		return 0;
	return min(size, 0xffffUL);
}

/* Does the instruction whose bytes are at @insn go on to the next one, whatever happens? */
#if defined(CONFIG_X86)
static bool kp_falls_through(const u8 *insn)
{
	switch (insn[0]) {
	case 0x0f:		/* jcc, syscall and the like: not looked into */
	case 0x2e: case 0x3e:	/* prefixes of branches */
	case 0x70 ... 0x7f:
	case 0x9a:		/* lcall */
	case 0xc2: case 0xc3: case 0xca ... 0xcf:
	case 0xe0 ... 0xe3:
	case 0xe8 ... 0xeb:
	case 0xf0 ... 0xf4:
	case 0xff:
		return false;
	}
	return true;
}
#elif defined(CONFIG_ARM64)
static bool kp_falls_through(const u8 *insn)
{
	/* nop and other hints; then branches, exceptions, system instructions */
	if (insn[3] == 0xd5 && insn[2] == 0x03 && insn[1] >> 4 == 2 && (insn[0] & 0x1f) == 0x1f)
		return true;
	return (insn[3] >> 2 & 7) != 5;
}
#elif defined(CONFIG_RISCV)
static bool kp_falls_through(const u8 *insn)
{
	switch (insn[0] & 3) {
	case 3:
		switch (insn[0] & 0x7f) {
		case 0x63: case 0x67: case 0x6f: case 0x73:
			return false;
		}
		return true;
	case 2:			/* c.jr, c.jalr, c.ebreak */
		return insn[1] >> 5 != 4;
	case 1:			/* c.j, c.beqz, c.bnez */
		return insn[1] >> 5 < 5;
	}
	return true;
}
#elif defined(CONFIG_PPC) && defined(CONFIG_CPU_LITTLE_ENDIAN)
static bool kp_falls_through(const u8 *insn)
{
	switch (insn[3] >> 2) {
	case 2: case 3:		/* traps */
	case 16 ... 19:
		return false;
	}
	return true;
}
#else
static bool kp_falls_through(const u8 *insn)
{
	return false;
}
#endif

static void kp_function_unregister(struct kp_function *function)
{
	int i;

	for (i = 0; i < insns; i++)
		unregister_kprobe(&function->insn[i].kp);
	kfree(function);
}

/*
 * On riscv, a trap between lr and sc makes sc fail, and the loop around both never ends. That
 * architecture allows probes there. So let no function be probed that begins like that.
 */
static bool kp_begins_with_lr(const struct kp_function *function)
{
	const u8 *insn = function->text, *end = insn + KP_REACH - 4;

	if (!IS_ENABLED(CONFIG_RISCV))
		return false;
	/* opcode AMO, and the upper five bits of LR */
	for (; insn <= end; insn += (insn[0] & 3) == 3 ? 4 : 2)
		if ((insn[0] & 0x7f) == 0x2f && insn[3] >> 3 == 2)
			return true;
	return false;
}

/* The next place from @offset on that can be probed; an error, or where it was. */
static int kp_register_from(struct kp_function *function, int i, unsigned int offset)
{
	struct kp_counter *counter = &function->insn[i];
	unsigned int limit = min(function->size, KP_REACH);
	int ret = -ENOSPC;

	counter->follows = i > 0 && kp_falls_through(function->text +
			((unsigned long)counter[-1].kp.addr - function->addr));
	for (; offset < limit; offset += kp_next_boundary(function->text + offset)) {
		memset(&counter->kp, 0, sizeof(counter->kp));
		counter->kp.addr = (kprobe_opcode_t *)(function->addr + offset);
		counter->kp.pre_handler = kp_functions_pre;
		counter->kp.flags = KPROBE_FLAG_DISABLED;
		ret = register_kprobe(&counter->kp);
		if (!ret)
			return (unsigned long)counter->kp.addr - function->addr;
		/* A function that may not be probed at all, or an instruction passed over. */
		if (i == 0)
			return ret;
		if (ret != -EILSEQ)
			counter->follows = false;
	}
	return -ENOSPC;
}

static int kp_functions_add(unsigned long addr)
{
	struct kp_function *function;
	int offset = 0, i, ret;

	if (kp_functions_nr == KP_FUNCTIONS || kp_stopped)
		return -EBUSY;
	function = kzalloc(sizeof(*function), GFP_KERNEL);
	if (!function)
		return -ENOMEM;
	function->addr = addr;
	function->size = kp_symbol_size(addr);
	ret = copy_from_kernel_nofault(function->text, (void *)addr, KP_REACH);
	if (ret || !function->size || kp_begins_with_lr(function)) {
		kfree(function);
		return -EINVAL;
	}
	for (i = 0; i < insns; i++) {
		if (i)
			offset += kp_next_boundary(function->text + offset);
		offset = kp_register_from(function, i, offset);
		if (offset < 0) {
			while (i--)
				unregister_kprobe(&function->insn[i].kp);
			kfree(function);
			return offset;
		}
	}
	/* From the last to the first: a hit that is counted here is counted there. */
	for (i = insns - 1; i >= 0; i--) {
		ret = enable_kprobe(&function->insn[i].kp);
		if (ret) {
			kp_function_unregister(function);
			return ret;
		}
	}
	kp_functions[kp_functions_nr++] = function;
	return 0;
}

static int kp_functions_self_calls(unsigned long calls)
{
	unsigned long i, a;

	for (i = 0; i < calls; i++) {
		a = i ^ 5 << 3;
		if (kp_functions_self(i, 5) != a * 7)
			return -EIO;
		kp_self_calls++;
	}
	return 0;
}

/*
 * Unregister the probes on the first instruction of each function, then those on the second, and
 * so on. After each step, wait until no task is between two of the instructions: a hit of one
 * is then counted at the next one, too. At last, compare the text.
 */
static int kp_functions_stop(void)
{
	struct kprobe **kps;
	u8 now[KP_REACH];
	int i, j;

	if (kp_stopped)
		return -EBUSY;
	kps = kcalloc(kp_functions_nr, sizeof(*kps), GFP_KERNEL);
	if (!kps)
		return -ENOMEM;
	for (i = 0; i < insns; i++) {
		for (j = 0; j < kp_functions_nr; j++)
			kps[j] = &kp_functions[j]->insn[i].kp;
		unregister_kprobes(kps, kp_functions_nr);
		synchronize_rcu_tasks();
	}
	kfree(kps);
	kp_stopped = true;
	for (j = 0; j < kp_functions_nr; j++) {
		if (copy_from_kernel_nofault(now, (void *)kp_functions[j]->addr, KP_REACH) ||
		    memcmp(now, kp_functions[j]->text, KP_REACH))
			kp_functions[j]->text_changed = true;
	}
	return 0;
}

static int kp_functions_command(char *args)
{
	char *verb = strsep(&args, " ");
	unsigned long value;
	int ret;

	if (!strcmp(verb, "stop"))
		return kp_functions_stop();
	ret = args ? kstrtoul(args, 0, &value) : -EINVAL;
	if (ret)
		return ret;
	if (!strcmp(verb, "add"))
		return kp_functions_add(value);
	if (!strcmp(verb, "self"))
		return kp_functions_self_calls(value);
	return -EINVAL;
}

static ssize_t kp_functions_write(struct file *file, const char __user *buf, size_t count,
				  loff_t *pos)
{
	char line[64];
	int ret;

	if (count >= sizeof(line))
		return -E2BIG;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = '\0';
	mutex_lock(&kp_functions_mutex);
	ret = kp_functions_command(strim(line));
	mutex_unlock(&kp_functions_mutex);
	return ret ?: count;
}

static const struct file_operations kp_functions_cmd_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_functions_write,
	.llseek = noop_llseek,
};

static long kp_counted(const struct kp_counter *counter)
{
	return atomic_long_read(&counter->hits) + counter->kp.nmissed;
}

static void kp_check_counts(struct seq_file *m, const struct kp_function *function, int i,
			    long *pairs)
{
	const struct kp_counter *counter = &function->insn[i];

	if (!counter->follows || !kp_counted(counter - 1))
		return;
	(*pairs)++;
	if (kp_counted(counter) < kp_counted(counter - 1))
		seq_printf(m, "bad: %ps: instruction %d has %ld hits, the one before %ld\n",
			   (void *)function->addr, i, kp_counted(counter), kp_counted(counter - 1));
}

/* Only kp_functions_self_calls() calls the module's own function. */
static void kp_check_self(struct seq_file *m, const struct kp_function *function, int i)
{
	long own = atomic_long_read(&function->insn[i].hits);

	if (own != kp_self_calls)
		seq_printf(m, "bad: own instruction %d has %ld hits of %ld\n", i, own,
			   kp_self_calls);
}

static int kp_functions_summary_show(struct seq_file *m, void *unused)
{
	long hits = 0, missed = 0, hit = 0, pairs = 0;
	int i, j;

	mutex_lock(&kp_functions_mutex);
	for (j = 0; j < kp_functions_nr; j++) {
		struct kp_function *function = kp_functions[j];

		for (i = 0; i < insns; i++) {
			hits += atomic_long_read(&function->insn[i].hits);
			missed += function->insn[i].kp.nmissed;
			if (kp_stopped && i)
				kp_check_counts(m, function, i, &pairs);
			if (kp_stopped && function->addr == (unsigned long)kp_functions_self)
				kp_check_self(m, function, i);
		}
		if (kp_counted(&function->insn[0]))
			hit++;
		if (function->text_changed)
			seq_printf(m, "bad: text of %ps is not what it was\n",
				   (void *)function->addr);
	}
	seq_printf(m, "functions %d\n", kp_functions_nr);
	seq_printf(m, "functions_hit %ld\n", hit);
	seq_printf(m, "hits %ld\n", hits);
	seq_printf(m, "missed %ld\n", missed);
	seq_printf(m, "pairs_compared %ld\n", pairs);
	mutex_unlock(&kp_functions_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_functions_summary);

static int __init kp_functions_init(void)
{
	if (!insns || insns > KP_INSNS)
		return -EINVAL;
	kp_functions_dir = debugfs_create_dir("kp_functions", NULL);
	debugfs_create_file("cmd", 0200, kp_functions_dir, NULL, &kp_functions_cmd_fops);
	debugfs_create_file("summary", 0400, kp_functions_dir, NULL, &kp_functions_summary_fops);
	return 0;
}

static void __exit kp_functions_exit(void)
{
	int i;

	debugfs_remove(kp_functions_dir);
	for (i = 0; i < kp_functions_nr; i++) {
		if (kp_stopped)
			kfree(kp_functions[i]);
		else
			kp_function_unregister(kp_functions[i]);
	}
}

module_init(kp_functions_init);
module_exit(kp_functions_exit);

MODULE_DESCRIPTION("kprobes on functions of the whole kernel");
MODULE_LICENSE("GPL");
