// SPDX-License-Identifier: GPL-2.0
/*
 * Which share of functions can be jump-optimised at their first, and at their second
 * instruction? The addresses of functions are written to debugfs kp_coverage/functions, any
 * number at once, each as 16 hexadecimal digits, 8 on a 32-bit kernel, and a newline; they
 * are probed, first instructions and then second ones, until all jumps are there that there
 * will be, and unprobed again. The text is checked both ways.
 *
 * kp_coverage/summary has one "NAME VALUE" a line.
 */

#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/nops.h>
#include "kp_opt.h"
#include "kp_symbol.h"

static unsigned int quiet;
module_param(quiet, uint, 0400);
MODULE_PARM_DESC(quiet, "milliseconds without a new jump that mean that there are no more");

#define KP_LINE		(2 * sizeof(long) + 1)
#define KP_TEXT_SIZE		8
#define KP_MAX_INSN	15

struct kp_place {
	struct kprobe kp;
	unsigned long function;
	u8 text[KP_TEXT_SIZE];
};

struct kp_count {
	unsigned int probed;
	unsigned int jumps;
	/* Places of ftrace, which need none. */
	unsigned int ftrace;
	/* Neither breakpoint nor a jump to somewhere; not what it was, afterwards. */
	unsigned int wrong;
	unsigned int left;
};

static struct kp_count kp_counts[2];
static unsigned int kp_functions;
static DEFINE_MUTEX(kp_coverage_mutex);
static struct dentry *kp_coverage_dir;

static DEFINE_PER_CPU(unsigned long, kp_coverage_hits);

static int kp_coverage_pre(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(kp_coverage_hits);
	return 0;
}

NOKPROBE_SYMBOL(kp_coverage_pre);

static int kp_try(struct kp_place *place, unsigned long addr)
{
	int ret;

	memset(&place->kp, 0, sizeof(place->kp));
	place->kp.addr = (kprobe_opcode_t *)addr;
	place->kp.pre_handler = kp_coverage_pre;
	place->kp.flags = KPROBE_FLAG_DISABLED;
	ret = register_kprobe(&place->kp);
	if (ret)
		return ret;
	addr = (unsigned long)place->kp.addr;
	ret = copy_from_kernel_nofault(place->text, (void *)addr, KP_TEXT_SIZE);
	unregister_kprobe(&place->kp);
	memset(&place->kp, 0, sizeof(place->kp));
	place->kp.addr = (kprobe_opcode_t *)addr;
	place->kp.pre_handler = kp_coverage_pre;
	return ret;
}

/* The function that @addr is in has to begin at @start. */
static bool kp_is_in(unsigned long addr, unsigned long start)
{
	unsigned long offset, size;

	return !kp_measure((void *)addr, &offset, &size) && addr - offset == start;
}

/* @place is that of the first instruction, if it may be probed, and becomes the second. */
static int kp_second(struct kp_place *place)
{
	unsigned long addr = (unsigned long)place->kp.addr;
	int i, ret = -ENOENT;

	for (i = 1; i <= KP_MAX_INSN && ret; i++) {
		if (!kp_is_in(addr + i, place->function))
			return -ENOENT;
		ret = kp_try(place, addr + i);
		if (ret && ret != -EILSEQ)
			return ret;
	}
	return ret;
}

static unsigned int kp_jumps(struct kprobe **kps, int nr)
{
	unsigned int jumps = 0;
	int i;

	for (i = 0; i < nr; i++)
		jumps += kp_is_jump(kps[i]->addr);
	return jumps;
}

/* Until no more jumps come. */
static int kp_wait(struct kprobe **kps, int nr)
{
	unsigned int jumps, waited, before = 0;
	int ret = kp_opt_switch(true);

	for (waited = 0; !ret && waited < quiet; waited += 50) {
		msleep(50);
		jumps = kp_jumps(kps, nr);
		if (jumps != before)
			waited = 0;
		before = jumps;
	}
	return ret;
}

static void kp_look(struct kp_count *count, const struct kp_place *place)
{
	unsigned long addr = (unsigned long)place->kp.addr, to;
	static const u8 nop[] = { BYTES_NOP5 };
	u8 text[KP_TEXT_SIZE];
	int same = KP_TEXT_SIZE;

	/* What comes next may be probed as well. */
	while (same > JMP32_INSN_SIZE && !kp_is_in(addr + same - 1, place->function))
		same--;
	if (copy_from_kernel_nofault(text, place->kp.addr, KP_TEXT_SIZE))
		memset(text, 0, KP_TEXT_SIZE);
	if (text[0] == INT3_INSN_OPCODE &&
	    !memcmp(text + 1, place->text + 1, min(same, JMP32_INSN_SIZE) - 1))
		return;
	if (!memcmp(place->text, nop, sizeof(nop)) && text[0] == CALL_INSN_OPCODE) {
		count->ftrace++;
		return;
	}
	count->jumps++;
	to = kp_jump_target(place->kp.addr);
	/* To a copy, somewhere else; the bytes after the jump are as they were. */
	if (!to || kp_is_in(to, place->function) || kp_byte_at((void *)to) == INT3_INSN_OPCODE ||
	    memcmp(text + JMP32_INSN_SIZE, place->text + JMP32_INSN_SIZE,
		   same - JMP32_INSN_SIZE)) {
		pr_err("kp_coverage: text of %pS is %*ph\n", place->kp.addr, KP_TEXT_SIZE, text);
		count->wrong++;
	}
}

static bool kp_is_restored(const struct kp_place *place, u8 text[KP_TEXT_SIZE])
{
	return !copy_from_kernel_nofault(text, place->kp.addr, KP_TEXT_SIZE) &&
	       !memcmp(text, place->text, KP_TEXT_SIZE);
}

/* Text that is not as it was before, now, or after a while if that is to be waited for. */
static unsigned int kp_left(const struct kp_place *places, int nr)
{
	unsigned long timeout = jiffies + (quiet ? KP_OPT_TIMEOUT : 0);
	unsigned int left = 0;
	u8 text[KP_TEXT_SIZE];
	int i;

	for (i = 0; i < nr; i++) {
		while (!kp_is_restored(&places[i], text) && time_before(jiffies, timeout))
			msleep(50);
		if (kp_is_restored(&places[i], text))
			continue;
		pr_err("kp_coverage: text of %pS is left as %*ph\n", places[i].kp.addr,
		       KP_TEXT_SIZE, text);
		left++;
	}
	return left;
}

static int kp_count(struct kp_count *count, struct kp_place *places, int nr)
{
	struct kprobe **kps = kvcalloc(nr, sizeof(*kps), GFP_KERNEL);
	int i, ret;

	if (!kps)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		kps[i] = &places[i].kp;
	ret = register_kprobes(kps, nr);
	if (ret)
		goto free;
	ret = kp_wait(kps, nr);
	count->probed += nr;
	for (i = 0; i < nr; i++)
		kp_look(count, &places[i]);
	unregister_kprobes(kps, nr);
	count->left += kp_left(places, nr);
free:
	kvfree(kps);
	return ret;
}

static int kp_coverage_chunk(const char *lines, unsigned int nr)
{
	struct kp_place *places = kvcalloc(nr, sizeof(*places), GFP_KERNEL);
	unsigned int i, found = 0, second = 0;
	unsigned long addr;
	int ret = 0;

	if (!places)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (sscanf(lines + i * KP_LINE, "%lx", &addr) != 1) {
			ret = -EINVAL;
			goto free;
		}
		kp_functions++;
		places[found].function = addr;
		if (!kp_try(&places[found], addr))
			found++;
		cond_resched();
	}
	if (found)
		ret = kp_count(&kp_counts[0], places, found);
	for (i = 0; i < found && !ret; i++) {
		struct kp_place place = places[i];

		place.kp.addr = places[i].kp.addr;
		if (!kp_second(&place))
			places[second++] = place;
		cond_resched();
	}
	/* Not the same structures as those just unregistered. */
	for (i = 0; i < second; i++) {
		kprobe_opcode_t *at = places[i].kp.addr;

		memset(&places[i].kp, 0, sizeof(places[i].kp));
		places[i].kp.addr = at;
		places[i].kp.pre_handler = kp_coverage_pre;
	}
	if (second && !ret)
		ret = kp_count(&kp_counts[1], places, second);
free:
	kvfree(places);
	return ret;
}

static ssize_t kp_coverage_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *pos)
{
	char *lines;
	int ret;

	if (!count || count % KP_LINE || count > SZ_256K)
		return -EINVAL;
	lines = vmemdup_user(buf, count);
	if (IS_ERR(lines))
		return PTR_ERR(lines);
	mutex_lock(&kp_coverage_mutex);
	ret = kp_coverage_chunk(lines, count / KP_LINE);
	mutex_unlock(&kp_coverage_mutex);
	kvfree(lines);
	return ret ?: count;
}

static const struct file_operations kp_coverage_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_coverage_write,
	.llseek = noop_llseek,
};

static int kp_coverage_summary_show(struct seq_file *m, void *unused)
{
	static const char *const names[] = { "first", "second" };
	unsigned long hits = 0;
	int cpu, i;

	guard(mutex)(&kp_coverage_mutex);
	for_each_possible_cpu(cpu)
		hits += per_cpu(kp_coverage_hits, cpu);
	seq_printf(m, "functions %u\nhits %lu\n", kp_functions, hits);
	for (i = 0; i < 2; i++)
		seq_printf(m, "%s_probed %u\n%s_jumps %u\n%s_ftrace %u\n%s_wrong %u\n%s_left %u\n",
			   names[i], kp_counts[i].probed, names[i], kp_counts[i].jumps, names[i],
			   kp_counts[i].ftrace, names[i], kp_counts[i].wrong, names[i],
			   kp_counts[i].left);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_coverage_summary);

static int __init kp_coverage_init(void)
{
	kp_coverage_dir = debugfs_create_dir("kp_coverage", NULL);
	debugfs_create_file("functions", 0200, kp_coverage_dir, NULL, &kp_coverage_fops);
	debugfs_create_file("summary", 0400, kp_coverage_dir, NULL, &kp_coverage_summary_fops);
	return 0;
}

static void __exit kp_coverage_exit(void)
{
	debugfs_remove(kp_coverage_dir);
}

module_init(kp_coverage_init);
module_exit(kp_coverage_exit);

MODULE_DESCRIPTION("the share of functions that kprobes can optimise by jumps");
MODULE_LICENSE("GPL");
