// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: /sys/kernel/debug/kprobes/explain.
 *
 * A user writes a location to the file, and reads from the same open file whether a probe can
 * be registered there, how the instruction would be executed, whether the probepoint would be
 * optimised, and the reasons. The write runs the checks of a registration up to the allocation
 * of a slot: it patches no text, and publishes no probepoint.
 *
 * Each open file has its own answer, guarded by a mutex of its own. kprobe_mutex nests inside
 * that. Reading does not compute the answer again.
 */
#include <linux/cleanup.h>
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

/* The names of a module and of a symbol, and an offset; or an address */
#define LOCATION_MAX	(MODULE_NAME_LEN + KSYM_NAME_LEN + 32)

/* Enough for the usage, which has a line for each reason. An answer is shorter. */
#define ANSWER_MAX	(16 * 1024)

/**
 * struct explain_file - an open file
 * @lock: guards the other members
 * @text: the answer, or the usage
 * @show_addresses: the user may see addresses of the kernel
 * @buf: the memory of @text
 */
struct explain_file {
	struct mutex lock;	/* guards the other members */
	struct seq_buf text;
	bool show_addresses;
	char buf[ANSWER_MAX];
};

/**
 * struct location - a location that a user has written
 * @addr: the address; NULL if @symbol is given
 * @symbol: the name of the symbol, or NULL
 * @offset: the offset from @symbol
 */
struct location {
	kprobe_opcode_t *addr;
	char *symbol;
	unsigned int offset;
};

/**
 * struct question - the checks' results for a location
 * @where: the address to probe; NULL if there is none
 * @entry: the start of the function if @where counts as its entry, otherwise 0
 * @on_ftrace: ftrace can put a call at @where
 * @module: the pinned module that contains @where, or NULL
 * @range: the text that the reason is about
 * @has_range: @range is known
 * @e: the results of the architecture's checks
 * @return_reason: why a return probe would be refused
 * @event_reason: why a kprobe event would be refused, if a probe would not
 * @jump: whether it would be optimised, without post_handlers and with them
 * @no_jump: why it would not be optimised
 */
struct question {
	kprobe_opcode_t *where;
	unsigned long entry;
	bool on_ftrace;
	struct module *module;
	struct kprobe_range range;
	bool has_range;
	struct kprobe_explanation e;
	enum kprobe_reason return_reason;
	enum kprobe_reason event_reason;
	enum kprobe_answer jump[2];
	enum kprobe_reason no_jump[2];
};

static void explain_print_usage(struct seq_buf *s)
{
	enum kprobe_reason why;

	seq_buf_puts(s, "# Write a location, and read the answer from the same open file:\n"
		     "#	SYMBOL[+OFFSET], MODULE:SYMBOL[+OFFSET], or an address\n"
		     "# In a shell:\n"
		     "#	exec 3<>/sys/kernel/debug/kprobes/explain\n"
		     "#	echo vfs_read+8 >&3; cat <&3\n"
		     "# The reasons that answers, the kernel's log and error logs have:\n");
	for (why = KPROBE_WHY_NONE + 1; why < NR_KPROBE_REASONS; why++)
		seq_buf_printf(s, "# %s: %s\n", kprobe_reason_kind(why), *kprobe_reason_text(why));
}

/* Set @q->range if the reason names one: a blacklist entry, a patched site or ftrace's bytes. */
static void explain_find_range(struct question *q)
{
	unsigned long addr = (unsigned long)q->where;

	switch (q->e.refusal) {
	case KPROBE_WHY_BLACKLISTED:
		q->has_range = kprobe_blacklist_find(addr, &q->range);
		break;
	case KPROBE_WHY_JUMP_LABEL:
	case KPROBE_WHY_STATIC_CALL:
	case KPROBE_WHY_BUG:
		q->has_range = true;
		break;
	case KPROBE_WHY_FTRACE_INSIDE:
		q->has_range = true;
		q->e.before = q->range.start;
		q->e.after = q->range.end;
		break;
	default:
		break;
	}
}

/* Do the checks of a registration, in the same order. */
static void explain_probe(struct question *q, const struct location *l, struct probepoint *pp)
{
	struct kprobe_explanation *e = &q->e;

	guard(mutex)(&kprobe_mutex);
	q->where = l->addr;
	e->refusal = kprobe_find_address(&q->where, l->symbol, l->offset, &q->entry);
	if (e->refusal) {
		q->where = NULL;
		return;
	}
	q->return_reason = kretprobe_check((unsigned long)q->where, q->entry);
	e->refusal = kprobe_check_text((unsigned long)q->where, &q->module, &q->on_ftrace,
				       &q->range);
	if (!e->refusal && q->on_ftrace)
		e->refusal = kprobe_ftrace_state();
	if (e->refusal) {
		explain_find_range(q);
		return;
	}
	if (kprobe_events_refuse((unsigned long)q->where))
		q->event_reason = KPROBE_WHY_EVENT_NOTRACE;
	pp->addr = q->where;
	if (!q->on_ftrace) {
		arch_explain_probepoint(pp, e);
		return;
	}
	e->probed = KPROBE_YES;
	e->exec[0].how = "ftrace";
	e->exec[0].why = KPROBE_WHY_EXEC_FTRACE;
	e->exec[1] = e->exec[0];
}

/* Find out whether the probepoint would be optimised. Return: 0 or -ENOMEM. */
static int explain_jump(struct question *q, struct probepoint *pp)
{
	if (!q->on_ftrace)
		return optimizer_explain(pp, q->jump, q->no_jump);
	q->no_jump[0] = KPROBE_WHY_JUMP_FTRACE;
	q->no_jump[1] = KPROBE_WHY_JUMP_FTRACE;
	return 0;
}

static void explain_print_address(struct explain_file *f, unsigned long addr)
{
	if (!f->show_addresses)
		addr = 0;
	seq_buf_printf(&f->text, "0x%0*lx", (int)(2 * sizeof(addr)), addr);
}

static void explain_print_symbol(struct explain_file *f, const char *key, unsigned long addr)
{
	if (addr)
		seq_buf_printf(&f->text, "%s: %pS\n", key, (void *)addr);
}

static void explain_print_reason(struct explain_file *f, const char *key, enum kprobe_reason why)
{
	if (why)
		seq_buf_printf(&f->text, "%s: %s\n", key, *kprobe_reason_text(why));
}

/*
 * The safety check takes each address that an instruction loads for the target of a jump. Code
 * that stores an address in a struct kprobe loads it as well.
 */
static void explain_print_hint(struct explain_file *f, enum kprobe_reason why)
{
	if (why == KPROBE_WHY_JUMP_ADDRESS || why == KPROBE_WHY_JUMP_FAR_ADDRESS)
		seq_buf_printf(&f->text, "jump-hint: %s; give symbol_name and offset instead\n",
			       "an address that is only stored in a struct kprobe looks the same");
}

static void explain_print_answer(struct explain_file *f, const char *key, enum kprobe_answer answer)
{
	static const char *const words[] = {
		[KPROBE_NO] = "no",
		[KPROBE_YES] = "yes",
		[KPROBE_UNKNOWN] = "unknown",
	};

	seq_buf_printf(&f->text, "%s: %s\n", key, words[answer]);
}

static void explain_print_exec(struct explain_file *f, const struct question *q)
{
	const struct kprobe_exec *exec = q->e.exec;

	if (q->e.length)
		seq_buf_printf(&f->text, "length: %u\n", q->e.length);
	if (exec[0].how) {
		seq_buf_printf(&f->text, "execution: %s\n", exec[0].how);
		explain_print_reason(f, "execution-reason", exec[0].why);
		seq_buf_printf(&f->text, "execution-post: %s\n", exec[1].how);
		explain_print_reason(f, "execution-post-reason", exec[1].why);
	}
	explain_print_answer(f, "jump", q->jump[0]);
	explain_print_reason(f, "jump-reason", q->no_jump[0]);
	explain_print_hint(f, q->no_jump[0]);
	explain_print_answer(f, "jump-post", q->jump[1]);
	explain_print_reason(f, "jump-post-reason", q->no_jump[1]);
	if (IS_ENABLED(CONFIG_KRETPROBES)) {
		explain_print_answer(f, "return-probe", q->return_reason ? KPROBE_NO : q->e.probed);
		explain_print_reason(f, "return-probe-reason", q->return_reason);
	}
	if (IS_ENABLED(CONFIG_KPROBE_EVENTS)) {
		explain_print_answer(f, "event", q->event_reason ? KPROBE_NO : q->e.probed);
		explain_print_reason(f, "event-reason", q->event_reason);
	}
}

static void explain_print_all(struct explain_file *f, const char *location,
			      const struct question *q)
{
	const struct kprobe_explanation *e = &q->e;

	seq_buf_clear(&f->text);
	seq_buf_printf(&f->text, "location: %s\n", location);
	if (q->where) {
		seq_buf_puts(&f->text, "address: ");
		explain_print_address(f, (unsigned long)q->where);
		seq_buf_putc(&f->text, '\n');
		explain_print_symbol(f, "symbol", (unsigned long)q->where);
	}
	explain_print_answer(f, "probe", e->probed);
	if (e->probed == KPROBE_NO)
		seq_buf_printf(&f->text, "errno: %d\n", kprobe_reason_errno(e->refusal));
	explain_print_reason(f, "reason", e->refusal);
	if (q->has_range) {
		seq_buf_puts(&f->text, "range: ");
		explain_print_address(f, q->range.start);
		seq_buf_putc(&f->text, '-');
		explain_print_address(f, q->range.end);
		seq_buf_printf(&f->text, " %pS\n", (void *)q->range.start);
	}
	explain_print_symbol(f, "before", e->before);
	explain_print_symbol(f, "after", e->after);
	if (e->probed != KPROBE_NO)
		explain_print_exec(f, q);
}

static int explain_location(struct explain_file *f, const char *name, const struct location *l)
{
	struct question *q __free(kfree) = kzalloc(sizeof(*q), GFP_KERNEL);
	struct probepoint *pp __free(kfree) = kzalloc(sizeof(*pp), GFP_KERNEL);
	int err = 0;

	if (!q || !pp)
		return -ENOMEM;
	explain_probe(q, l, pp);
	/* kprobe_mutex is not held: explain_jump() takes it. The module is still pinned. */
	if (q->e.probed != KPROBE_NO)
		err = explain_jump(q, pp);
	if (q->e.refusal == KPROBE_WHY_NO_MEMORY)
		err = -ENOMEM;
	if (!err)
		explain_print_all(f, name, q);
	module_put(q->module);
	return err;
}

/* Parse a location: an address, or a symbol and perhaps an offset. Modifies @text. */
static int explain_parse(char *text, struct location *l)
{
	unsigned long addr;
	char *offset;

	if (!*text || strpbrk(text, " \t\n"))
		return -EINVAL;
	if (isdigit(*text)) {
		if (kstrtoul(text, 0, &addr) || !addr)
			return -EINVAL;
		l->addr = (kprobe_opcode_t *)addr;
		return 0;
	}
	l->symbol = text;
	offset = strchr(text, '+');
	if (!offset)
		return 0;
	*offset++ = '\0';
	if (!*text || !isdigit(*offset) || kstrtouint(offset, 0, &l->offset))
		return -EINVAL;
	return 0;
}

static int explain_open(struct inode *inode, struct file *file)
{
	struct explain_file *f = kvzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	seq_buf_init(&f->text, f->buf, sizeof(f->buf));
	f->show_addresses = kallsyms_show_value(file->f_cred);
	explain_print_usage(&f->text);
	file->private_data = f;
	return 0;
}

static int explain_release(struct inode *inode, struct file *file)
{
	struct explain_file *f = file->private_data;

	mutex_destroy(&f->lock);
	kvfree(f);
	return 0;
}

static ssize_t explain_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct explain_file *f = file->private_data;

	guard(mutex)(&f->lock);
	return simple_read_from_buffer(buf, count, pos, f->buf, seq_buf_used(&f->text));
}

/* After an error, the file still has its last answer, or the usage text if there is none. */
static ssize_t explain_write(struct file *file, const char __user *buf, size_t count,
			     loff_t *pos)
{
	struct explain_file *f = file->private_data;
	struct location location = {};
	char *text, *name;
	int err;

	if (count > LOCATION_MAX)
		return -E2BIG;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	name = kstrdup(strim(text), GFP_KERNEL);
	err = name ? explain_parse(strim(text), &location) : -ENOMEM;
	/* An answer for a raw address would reveal the KASLR offset. */
	if (!err && location.addr && !f->show_addresses)
		err = -EPERM;
	if (!err) {
		guard(mutex)(&f->lock);
		err = explain_location(f, name, &location);
		if (!err)
			*pos = 0;
	}
	kfree(name);
	kfree(text);
	return err ?: count;
}

static loff_t explain_llseek(struct file *file, loff_t offset, int whence)
{
	struct explain_file *f = file->private_data;

	guard(mutex)(&f->lock);
	return fixed_size_llseek(file, offset, whence, seq_buf_used(&f->text));
}

const struct file_operations kprobe_explain_fops = {
	.owner = THIS_MODULE,
	.open = explain_open,
	.read = explain_read,
	.write = explain_write,
	.llseek = explain_llseek,
	.release = explain_release,
};
