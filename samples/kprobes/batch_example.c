// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module that probes all functions whose names match a pattern.
 *
 *	modprobe batch_example glob='vfs_*'
 *	modprobe batch_example glob='kp_tgt_*' beside=kp_tgt_function
 *	cat /sys/kernel/debug/batch_example/hits
 *
 * The sample searches the kernel, or the module that contains the function named by `beside`.
 * register_kprobes() registers all probes or none. So the sample first registers each probe alone,
 * disabled, which patches no text. Then one call registers all that were accepted.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/glob.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *glob = "vfs_*";
module_param(glob, charp, 0444);
MODULE_PARM_DESC(glob, "functions to probe: *, ?, and [] as in a shell");

static char *beside = "kernel_clone";
module_param(beside, charp, 0444);
MODULE_PARM_DESC(beside, "a function of the kernel, or of the module, to search");

static unsigned int limit = 5000;
module_param(limit, uint, 0444);
MODULE_PARM_DESC(limit, "refuse to load if more functions match");

/* A function whose name matches @glob */
struct entry {
	struct list_head list;
	struct kprobe kp;
	atomic_long_t hits;
	unsigned long addr;
	int error;
	char name[];
};

static LIST_HEAD(entries);
static unsigned int matches;

/* The probes that can be registered */
static struct kprobe **batch;
static int probes;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&container_of(kp, struct entry, kp)->hits);
	return 0;
}

NOKPROBE_SYMBOL(count_hit);

struct symbol {
	unsigned long start;
	unsigned long size;
	char *name;
	char *module;
	char text[KSYM_SYMBOL_LEN];
};

/*
 * Find the symbol at an address. Of all functions that look symbols up, only
 * sprint_symbol() is exported to modules. It writes "name+offset/size",
 * followed by " [module]" if the address is in a module.
 */
static bool find_symbol(unsigned long addr, struct symbol *sym)
{
	unsigned long offset;
	char *plus;

	sprint_symbol(sym->text, addr);
	sym->name = sym->text;
	sym->module = strstr(sym->text, " [");
	if (sym->module)
		*sym->module++ = '\0';
	plus = strrchr(sym->text, '+');
	if (!plus || sscanf(plus, "+0x%lx/0x%lx", &offset, &sym->size) != 2 || !sym->size)
		return false;
	*plus = '\0';
	sym->start = addr - offset;
	return true;
}

static bool same_module(const struct symbol *a, const struct symbol *b)
{
	return a->module && b->module ? !strcmp(a->module, b->module) : a->module == b->module;
}

/* Add the symbol to the entries if its name matches. */
static int add_symbol(const struct symbol *sym)
{
	size_t len = strlen(sym->name) + 1;
	struct entry *entry;

	if (!glob_match(glob, sym->name))
		return 0;
	if (++matches > limit) {
		pr_err("more than %u functions match %s\n", limit, glob);
		return -E2BIG;
	}
	entry = kzalloc(struct_size(entry, name, len), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	memcpy(entry->name, sym->name, len);
	entry->addr = sym->start;
	list_add_tail(&entry->list, &entries);
	return 0;
}

/*
 * Walk from symbol to symbol, up or down from @addr, and add those that match, while they are in
 * the same module, or in the kernel. Probes on symbols of data will be refused.
 */
static int walk(unsigned long addr, bool up, const struct symbol *from, struct symbol *sym)
{
	int err;

	while (find_symbol(addr, sym) && same_module(sym, from)) {
		err = add_symbol(sym);
		if (err)
			return err;
		addr = up ? sym->start + sym->size : sym->start - 1;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * Look up the address of @beside, in modules too. kallsyms_lookup_name() is not exported to
 * modules, but registering a probe looks up its symbol_name. A disabled probe patches no text.
 */
static int find_beside(unsigned long *addr)
{
	struct kprobe kp = {
		.symbol_name = beside,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&kp);

	if (err) {
		pr_err("%s cannot be probed: error %d\n", beside, err);
		return err;
	}
	*addr = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	return 0;
}

static int find_functions(void)
{
	struct symbol *from, *sym;
	unsigned long addr;
	int err;

	err = find_beside(&addr);
	if (err)
		return err;
	from = kmalloc(sizeof(*from), GFP_KERNEL);
	sym = kmalloc(sizeof(*sym), GFP_KERNEL);
	if (!from || !sym)
		err = -ENOMEM;
	else if (!find_symbol(addr, from))
		err = -ENOENT;
	else
		err = walk(from->start, true, from, sym) ?:
		      walk(from->start - 1, false, from, sym);
	kfree(sym);
	kfree(from);
	return err;
}

static void set_up(struct entry *entry, u32 flags)
{
	entry->kp = (struct kprobe) {
		.addr = (kprobe_opcode_t *)entry->addr,
		.pre_handler = count_hit,
		.flags = flags,
	};
}

/* Find out which entries can be probed. Data and blacklisted functions cannot. */
static int try_each(void)
{
	struct entry *entry;
	int i;

	batch = kvmalloc_array(matches, sizeof(*batch), GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	list_for_each_entry(entry, &entries, list) {
		set_up(entry, KPROBE_FLAG_DISABLED);
		entry->error = register_kprobe(&entry->kp);
		if (!entry->error)
			batch[probes++] = &entry->kp;
		cond_resched();
	}
	if (!probes) {
		pr_err("none of %u functions can be probed\n", matches);
		return -EINVAL;
	}
	unregister_kprobes(batch, probes);
	for (i = 0; i < probes; i++)
		set_up(container_of(batch[i], struct entry, kp), 0);
	return 0;
}

static int register_all(void)
{
	ktime_t start = ktime_get();
	int err;

	err = register_kprobes(batch, probes);
	if (err)
		pr_err("%d probes cannot be registered: error %d\n", probes, err);
	else
		pr_info("%d probes registered in %lld us, %u refused\n", probes,
			ktime_us_delta(ktime_get(), start), matches - probes);
	return err;
}

static void free_all(void)
{
	struct entry *entry, *next;

	list_for_each_entry_safe(entry, next, &entries, list)
		kfree(entry);
	kvfree(batch);
}

static int hits_show(struct seq_file *m, void *v)
{
	struct entry *entry;

	seq_printf(m, "%9s %7s  function\n", "hits", "missed");
	list_for_each_entry(entry, &entries, list) {
		if (entry->error)
			seq_printf(m, "%9s %7d  %s\n", "refused", entry->error, entry->name);
		else
			seq_printf(m, "%9ld %7lu  %s%s\n", atomic_long_read(&entry->hits),
				   entry->kp.nmissed, entry->name,
				   kprobe_gone(&entry->kp) ? " (unloaded)" : "");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hits);

static int __init batch_example_init(void)
{
	struct dentry *dir;
	int err;

	err = find_functions();
	if (!err && !matches) {
		pr_err("no function matches %s\n", glob);
		err = -ENOENT;
	}
	if (!err)
		err = try_each();
	if (!err)
		err = register_all();
	if (err) {
		free_all();
		return err;
	}
	/* The probes work without the file, so errors of debugfs are ignored. */
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("hits", 0400, dir, NULL, &hits_fops);
	return 0;
}

static void __exit batch_example_exit(void)
{
	debugfs_lookup_and_remove(KBUILD_MODNAME, NULL);
	/* unregister_kprobes() disarms all probes, then waits only once for running handlers. */
	unregister_kprobes(batch, probes);
	free_all();
}

module_init(batch_example_init);
module_exit(batch_example_exit);

MODULE_DESCRIPTION("sample kernel module with a batch of kprobes");
MODULE_LICENSE("GPL");
