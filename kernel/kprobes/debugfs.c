// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the files in /sys/kernel/debug/kprobes.
 *
 * list       every registered probe, by address
 * enabled    1, or 0 while all probes are disarmed
 * missed     how often each probe has missed a hit or a call, and why
 * blacklist  the text that must not be probed
 * optimizer  which probepoints are optimised, and why the others are not
 * explain    how a probe at a location would be handled, and why, see explain.c
 * pools      the instances that return probes share
 *
 * Each read of list, missed, blacklist or optimizer takes kprobe_mutex. Probes may change between
 * two reads, so a read of list, missed or optimizer continues after the last address shown.
 */
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "internal.h"

/**
 * struct list_position - the position of a reader of list, missed or optimizer
 * @next: the lowest address that has not been shown yet
 * @show: prints the lines of a probepoint
 */
struct list_position {
	unsigned long next;
	void (*show)(struct seq_file *m, struct probepoint *pp);
};

/*
 * Find the first probepoint at @next or above. If @next is 0 and probes wait for a module, that is
 * kprobe_waiting, to which these probes are attached.
 */
static struct probepoint *kprobe_list_find(unsigned long next)
{
#ifdef CONFIG_MODULES
	if (!next && !list_empty(&kprobe_waiting.probes))
		return &kprobe_waiting;
#endif
	return probepoint_lower_bound(next);
}

/* seq_file continues at the position that kprobe_list_next() stored last, or starts again at 0. */
static void *kprobe_list_start(struct seq_file *m, loff_t *pos)
{
	struct list_position *at = m->private;

	mutex_lock(&kprobe_mutex);
	if (!*pos)
		at->next = 0;
	return kprobe_list_find(at->next);
}

static void *kprobe_list_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct list_position *at = m->private;
	struct probepoint *pp = v;

	++*pos;
	at->next = (unsigned long)pp->addr + 1;
	return probepoint_lower_bound(at->next);
}

static void kprobe_list_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kprobe_mutex);
}

/* Show an address; show 0 to a reader from whom /proc/kallsyms hides addresses, too. */
static void kprobe_list_show_address(struct seq_file *m, const char *prefix, unsigned long addr)
{
	if (!kallsyms_show_value(m->file->f_cred))
		addr = 0;
	seq_printf(m, "%s%0*lx", prefix, (int)(2 * sizeof(addr)), addr);
}

/* Show the address of a probe; 0 if it waits for a module, since it has no address then. */
static void kprobe_list_show_probed(struct seq_file *m, struct kprobe *p)
{
	kprobe_list_show_address(m, "", kprobe_is_waiting(p) ? 0 : (unsigned long)p->addr);
}

/* Show the kind of a probe, its symbol and its module. */
static void kprobe_list_show_name(struct seq_file *m, struct kprobe *p)
{
	char name[KSYM_NAME_LEN], *modname = NULL;
	unsigned long offset = 0, size;
	const char *sym;
	char kind = 'k';
	/*
	 * At the address of a GONE probe there may be other code, and a probe that waits has no
	 * address: show the symbol and the offset that the user gave.
	 */
	if (kprobe_gone(p) || kprobe_is_waiting(p)) {
		/* The user of a GONE probe may have freed the name: read it without faulting. */
		sym = p->symbol_name &&
		      strncpy_from_kernel_nofault(name, p->symbol_name, sizeof(name)) > 0 ?
		      name : NULL;
		offset = p->offset;
	} else {
		sym = kallsyms_lookup((unsigned long)p->addr, &size, &offset,
				      &modname, name);
	}
	if (is_kretprobe(p))
		kind = 'r';
	else if (is_jprobe(p))
		kind = 'j';
	seq_printf(m, "  %c  ", kind);
	if (sym)
		seq_printf(m, "%s+0x%lx", sym, offset);
	else
		kprobe_list_show_address(m, "", (unsigned long)p->addr);
	if (modname)
		seq_printf(m, "  %s", modname);
}

static void kprobe_list_show(struct seq_file *m, struct probepoint *pp)
{
	struct kprobe *p;

	list_for_each_entry(p, &pp->probes, list) {
		kprobe_list_show_probed(m, p);
		kprobe_list_show_name(m, p);
		if (kprobe_gone(p))
			seq_puts(m, " [GONE]");
		if (kprobe_is_waiting(p))
			seq_puts(m, " [WAITING]");
		if (p->flags & KPROBE_FLAG_DISABLED)
			seq_puts(m, " [DISABLED]");
		if (kprobe_optimized(p))
			seq_puts(m, " [OPTIMIZED]");
		if (kprobe_ftrace(p))
			seq_puts(m, " [FTRACE]");
		seq_putc(m, '\n');
	}
}

/*
 * Show all probepoints at an address, including GONE ones, whose text was freed and reused. They
 * are one seq_file record, because the next read resumes at the following address.
 */
static int kprobe_list_show_record(struct seq_file *m, void *v)
{
	struct list_position *at = m->private;
	struct probepoint *pp = v;
	kprobe_opcode_t *addr = pp->addr;

	for (; pp && pp->addr == addr; pp = probepoint_next(pp))
		at->show(m, pp);
	return 0;
}

static const struct seq_operations kprobe_list_sops = {
	.start = kprobe_list_start,
	.next = kprobe_list_next,
	.stop = kprobe_list_stop,
	.show = kprobe_list_show_record,
};

/*
 * Open list, missed or optimizer: i_private has the function that shows a probepoint. Opening list
 * waits for the optimiser, unless with O_NONBLOCK, so that the list shows which probes get a jump.
 */
static int kprobe_list_open(struct inode *inode, struct file *file)
{
	struct list_position *at = __seq_open_private(file, &kprobe_list_sops, sizeof(*at));

	if (!at)
		return -ENOMEM;
	at->show = inode->i_private;
	if (at->show == kprobe_list_show && !(file->f_flags & O_NONBLOCK))
		optimizer_wait_idle();
	return 0;
}

static const struct file_operations kprobe_list_fops = {
	.owner = THIS_MODULE,
	.open = kprobe_list_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

/*
 * Print a line for each probe that has missed a hit or a call, or has tracked a call that ended
 * without a return: how many it missed, in total and for each reason, and how many did not return.
 * A return probe misses a call because the shared pool was empty, or because maxactive other calls
 * were being tracked.
 */
static void kprobe_missed_show(struct seq_file *m, struct probepoint *pp)
{
	struct kprobe *p;

	list_for_each_entry(p, &pp->probes, list) {
		unsigned long ended = READ_ONCE(p->nmissed_disabled);
		unsigned long hits = READ_ONCE(p->nmissed);
		unsigned int calls = 0, unreturned = 0;
		bool limited = false;

		if (is_kretprobe(p)) {
			const struct kretprobe *rp = container_of(p, struct kretprobe, kp);

			calls = READ_ONCE(rp->nmissed);
			limited = rp->maxactive > 0;
			unreturned = kretprobe_unreturned(rp);
		}
		if (!hits && !calls && !unreturned)
			continue;
		ended = min(ended, hits);
		kprobe_list_show_probed(m, p);
		seq_printf(m, "  %lu  nested %lu  pool %u  maxactive %u  ended %lu  unreturned %u",
			   hits + calls, hits - ended, limited ? 0 : calls, limited ? calls : 0,
			   ended, unreturned);
		kprobe_list_show_name(m, p);
		seq_putc(m, '\n');
	}
}

#ifdef CONFIG_OPTPROBES
static void kprobe_optimizer_show(struct seq_file *m, struct probepoint *pp)
{
	enum kprobe_reason why;
	const char *status;

	/* Skip kprobe_waiting, the only one without an address: it is not a real probepoint. */
	if (!pp->addr)
		return;
	status = optimizer_status(pp, &why);
	kprobe_list_show_address(m, "", (unsigned long)pp->addr);
	/* Other code may be at the address of a GONE probepoint: do not show its symbol. */
	if (pp->state == PROBEPOINT_GONE)
		seq_printf(m, "  %s", status);
	else
		seq_printf(m, "  %pS  %s", pp->addr, status);
	seq_printf(m, "%s%s\n", why ? ": " : "", *kprobe_reason_text(why));
}
#endif

/* The range that is shown, guarded by kprobe_mutex, which is held from start to stop */
static struct kprobe_range blacklist_shown;

static void *kprobe_blacklist_next_shown(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return kprobe_blacklist_next(&blacklist_shown) ? &blacklist_shown : NULL;
}

static void *kprobe_blacklist_start(struct seq_file *m, loff_t *pos)
{
	loff_t i;

	mutex_lock(&kprobe_mutex);
	blacklist_shown.end = 0;
	for (i = 0; i <= *pos; i++)
		if (!kprobe_blacklist_next(&blacklist_shown))
			return NULL;
	return &blacklist_shown;
}

static int kprobe_blacklist_show(struct seq_file *m, void *v)
{
	const struct kprobe_range *r = v;

	kprobe_list_show_address(m, "0x", r->start);
	kprobe_list_show_address(m, "-0x", r->end);
	seq_printf(m, "\t%ps\n", (void *)r->start);
	return 0;
}

static const struct seq_operations kprobe_blacklist_sops = {
	.start = kprobe_blacklist_start,
	.next = kprobe_blacklist_next_shown,
	.stop = kprobe_list_stop,
	.show = kprobe_blacklist_show,
};
DEFINE_SEQ_ATTRIBUTE(kprobe_blacklist);

static ssize_t kprobe_enabled_read(struct file *file, char __user *buf, size_t count,
				   loff_t *pos)
{
	const char *text = READ_ONCE(kprobes_all_disarmed) ? "0\n" : "1\n";

	return simple_read_from_buffer(buf, count, pos, text, 2);
}

static ssize_t kprobe_enabled_write(struct file *file, const char __user *buf,
				    size_t count, loff_t *pos)
{
	bool enable;
	int ret, err = 0;

	ret = kstrtobool_from_user(buf, count, &enable);
	if (ret)
		return ret;

	guard(mutex)(&kprobe_mutex);
	if (enable == kprobes_all_disarmed) {
		err = probepoints_arm_all(enable);
		pr_info("kprobes: all probes switched %s\n",
			enable ? "on" : "off");
	}
	return err ?: count;
}

static const struct file_operations kprobe_enabled_fops = {
	.owner = THIS_MODULE,
	.read = kprobe_enabled_read,
	.write = kprobe_enabled_write,
	.llseek = default_llseek,
};

#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
DEFINE_SHOW_ATTRIBUTE(kretprobe_pools);
#endif

static int __init kprobe_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	debugfs_create_file("list", 0400, dir, kprobe_list_show, &kprobe_list_fops);
	debugfs_create_file("enabled", 0600, dir, NULL, &kprobe_enabled_fops);
	debugfs_create_file("missed", 0400, dir, kprobe_missed_show, &kprobe_list_fops);
	debugfs_create_file("blacklist", 0400, dir, NULL, &kprobe_blacklist_fops);
#ifdef CONFIG_OPTPROBES
	debugfs_create_file("optimizer", 0400, dir, kprobe_optimizer_show, &kprobe_list_fops);
#endif
	if (IS_ENABLED(CONFIG_KPROBES_EXPLAIN))
		debugfs_create_file("explain", 0600, dir, NULL, &kprobe_explain_fops);
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	debugfs_create_file("pools", 0400, dir, NULL, &kretprobe_pools_fops);
#endif
	return 0;
}
late_initcall(kprobe_debugfs_init);
