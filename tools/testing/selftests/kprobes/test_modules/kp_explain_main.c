// SPDX-License-Identifier: GPL-2.0
/*
 * For api-explain.sh: locations that kprobes/explain is asked about, and registrations that are
 * refused for what no location shows.
 *
 * /sys/kernel/debug/kp_explain/cases has a line for each location: a name, and SYMBOL+OFFSET.
 *
 * A write of one word to kp_explain/refuse provokes a refusal, and kp_explain/refused has
 * the errno and the reason that it left: null, twice, neither, both, data, memory,
 * jprobe-inside, jprobe-handler, redirects, and rest. With rest, the module calls functions
 * of kprobes directly, for reasons that no registration has. With changed, it modifies text
 * under a jump, so that the jump is refused; unchanged restores the text.
 */

#include <linux/bug.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/probepoint.h>
#include <linux/seq_file.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "kp_explain.h"
#include "kp_symbol.h"

DEFINE_STATIC_KEY_FALSE(kp_explain_key);

noinline long kp_explain_one(long arg);
noinline long kp_explain_one(long arg)
{
	barrier();
	return arg + 1;
}

DEFINE_STATIC_CALL(kp_explain_call, kp_explain_one);

noinline long kp_explain_calls(long arg);
noinline long kp_explain_calls(long arg)
{
	arg = static_call(kp_explain_call)(arg);
	barrier();
	return arg;
}

noinline long kp_explain_warns(long arg);
noinline long kp_explain_warns(long arg)
{
	WARN_ON(arg == LONG_MAX);
	return arg + 1;
}

/* With kCFI, the compiler puts a check before the call. */
noinline long kp_explain_indirect(long (*fn)(long arg), long arg);
noinline long kp_explain_indirect(long (*fn)(long arg), long arg)
{
	arg = fn(arg);
	barrier();
	return arg;
}

static void kp_show_case(struct seq_file *m, const char *name, unsigned long addr)
{
	char symbol[KSYM_SYMBOL_LEN];

	snprintf(symbol, sizeof(symbol), "%pS", (void *)addr);
	*strchrnul(symbol, '/') = '\0';
	seq_printf(m, "%s %s\n", name, symbol);
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static void kp_show_calls(struct seq_file *m)
{
	for (int i = 0; i < THIS_MODULE->num_static_call_sites; i++) {
		struct static_call_site *site = &THIS_MODULE->static_call_sites[i];

		if (!(((long)&site->key + site->key) & STATIC_CALL_SITE_INIT))
			kp_show_case(m, "static_call", (unsigned long)&site->addr + site->addr);
	}
}
#else
static void kp_show_calls(struct seq_file *m)
{
}
#endif

static unsigned long kp_bug_addr(const struct bug_entry *bug)
{
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	return (unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp;
#else
	return bug->bug_addr;
#endif
}

static void kp_show_bugs(struct seq_file *m)
{
	for (int i = 0; i < THIS_MODULE->num_bugs; i++)
		kp_show_case(m, "bug", kp_bug_addr(&THIS_MODULE->bug_table[i]));
}

/* The two instructions of the compiler's check, if there is one. */
static void kp_show_cfi_check(struct seq_file *m)
{
	u8 *code = (u8 *)kp_explain_indirect;

	if (!IS_ENABLED(CONFIG_CFI_CLANG))
		return;
	for (int i = 0; i < 64; i++) {
		if (code[i] != 0x41 || code[i + 1] != 0xba || code[i + 10] != 0x74 ||
		    code[i + 12] != 0x0f || code[i + 13] != 0x0b)
			continue;
		kp_show_case(m, "cfi_check", (unsigned long)code + i);
		kp_show_case(m, "cfi_check", (unsigned long)code + i + 6);
	}
}

/* How many of the kernel's own sites are shown. Some are in text on the blacklist. */
#define KP_KERNEL_SITES	40

static void kp_show_kernel_labels(struct seq_file *m)
{
#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *e = kp_find_symbol("__start___jump_table");
	struct jump_entry *end = kp_find_symbol("__stop___jump_table");
	int shown = 0;

	for (; e && e < end && shown < KP_KERNEL_SITES; e++)
		if (!jump_entry_is_init(e) && ++shown)
			kp_show_case(m, "kernel_label", jump_entry_code(e));
#endif
}

static void kp_show_kernel_calls(struct seq_file *m)
{
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct static_call_site *site = kp_find_symbol("__start_static_call_sites");
	struct static_call_site *end = kp_find_symbol("__stop_static_call_sites");
	int shown = 0;

	for (; site && site < end && shown < KP_KERNEL_SITES; site++)
		if (!(((long)&site->key + site->key) & STATIC_CALL_SITE_INIT) && ++shown)
			kp_show_case(m, "kernel_call", (unsigned long)&site->addr + site->addr);
#endif
}

static void kp_show_kernel_bugs(struct seq_file *m)
{
	struct bug_entry *bug = kp_find_symbol("__start___bug_table");
	struct bug_entry *end = kp_find_symbol("__stop___bug_table");
	int shown = 0;

	for (; bug && bug < end && shown < KP_KERNEL_SITES; bug++, shown++)
		kp_show_case(m, "kernel_bug", kp_bug_addr(bug));
}

static int kp_explain_cases_show(struct seq_file *m, void *unused)
{
	for (int i = 0; i < kp_explain_codes_nr; i++)
		kp_show_case(m, kp_explain_names + kp_explain_codes[i].name,
			     (unsigned long)kp_explain_text + (int)kp_explain_codes[i].at);
	kp_show_calls(m);
	kp_show_bugs(m);
	kp_show_cfi_check(m);
	kp_show_kernel_labels(m);
	kp_show_kernel_calls(m);
	kp_show_kernel_bugs(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_explain_cases);

/*
 * Refusals
 */

/* Guards what the last word has left, and the probe of "changed". */
static DEFINE_MUTEX(kp_refuse_mutex);

static int kp_refused_errno;
static enum kprobe_reason kp_refused_reason;

static struct kprobe kp_changed;

/* Of the kernel */
static struct {
	const char *const *(*text)(enum kprobe_reason why);
	int (*check_jumps)(struct kprobe_jump *jumps, unsigned int nr);
	enum kprobe_reason (*ftrace_reason)(int err);
	void *(*text_poke)(void *addr, const void *opcode, size_t len);
	void (*text_poke_sync)(void);
	struct mutex *text_mutex;	/* the one of linux/memory.h */
} kernel;

static int kp_nothing(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static void kp_post_nothing(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static int kp_refuse_null(void)
{
	kp_refused_errno = register_kprobe(NULL);
	return kp_refused_errno == -EINVAL ? 0 : -EIO;
}

static void kp_try(struct kprobe *kp)
{
	kp->pre_handler = kp_nothing;
	kp_refused_errno = register_kprobe(kp);
	kp_refused_reason = kp->refusal;
	if (!kp_refused_errno)
		unregister_kprobe(kp);
}

static int kp_refuse_twice(void)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)kp_explain_one,
		.pre_handler = kp_nothing,
	};
	int ret = register_kprobe(&kp);

	if (ret)
		return ret;
	kp_refused_errno = register_kprobe(&kp);
	kp_refused_reason = kp.refusal;
	unregister_kprobe(&kp);
	return 0;
}

static int kp_refuse_neither(void)
{
	struct kprobe kp = {};

	kp_try(&kp);
	return 0;
}

static int kp_refuse_both(void)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)kp_explain_one,
		.symbol_name = "kp_explain_one",
	};

	kp_try(&kp);
	return 0;
}

static int kp_try_return(size_t data_size, int maxactive)
{
	struct kretprobe rp = {
		.kp.symbol_name = "kp_explain_one",
		.data_size = data_size,
		.maxactive = maxactive,
	};

	kp_refused_errno = register_kretprobe(&rp);
	kp_refused_reason = rp.kp.refusal;
	if (!kp_refused_errno)
		unregister_kretprobe(&rp);
	return 0;
}

static int kp_refuse_data(void)
{
	return kp_try_return(KRETPROBE_MAX_DATA_SIZE + 1, 0);
}

static int kp_refuse_memory(void)
{
	return kp_try_return(0, INT_MAX);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void notrace kp_redirects(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops kp_redirecting = {
	.func = kp_redirects,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static int kp_refuse_redirects(void)
{
	struct kprobe kp = { .symbol_name = "kp_explain_one", .post_handler = kp_post_nothing };
	static unsigned char name[] = "kp_explain_one";
	int ret;

	ret = ftrace_set_filter(&kp_redirecting, name, sizeof(name) - 1, 1);
	ret = ret ?: register_ftrace_function(&kp_redirecting);
	if (ret)
		return ret;
	kp_try(&kp);
	return unregister_ftrace_function(&kp_redirecting);
}

/* Only at the end: a filter that was freed must not be set again. */
static void kp_free_redirecting(void)
{
	ftrace_free_filter(&kp_redirecting);
}
#else
static int kp_refuse_redirects(void)
{
	return -EOPNOTSUPP;
}

static void kp_free_redirecting(void)
{
}
#endif

#ifdef CONFIG_JPROBES
static void kp_jprobe_entry(void)
{
	jprobe_return();
}

static int kp_try_jprobe(unsigned int offset, void *entry)
{
	struct jprobe jp = {
		.kp.symbol_name = "vfs_read",
		.kp.offset = offset,
		.entry = entry,
	};

	kp_refused_errno = register_jprobe(&jp);
	kp_refused_reason = jp.kp.refusal;
	if (!kp_refused_errno)
		unregister_jprobe(&jp);
	return 0;
}

static int kp_refuse_jprobe_inside(void)
{
	return kp_try_jprobe(16, kp_jprobe_entry);
}

static int kp_refuse_jprobe_handler(void)
{
	return kp_try_jprobe(0, &kp_refused_errno);
}
#else
static int kp_refuse_jprobe_inside(void)
{
	return -EOPNOTSUPP;
}

static int kp_refuse_jprobe_handler(void)
{
	return -EOPNOTSUPP;
}
#endif

/* No text has the address, as if it had been freed since a probe was there. */
static __nocfi int kp_refuse_gone(void)
{
	struct kprobe_jump jump = { .addr = 1 };

	if (!kernel.check_jumps)
		return -ENOENT;
	kp_refused_errno = kernel.check_jumps(&jump, 1);
	kp_refused_reason = jump.refusal;
	return 0;
}

/* An errno that ftrace does not return at present. */
static __nocfi int kp_refuse_ftrace(void)
{
	if (!kernel.ftrace_reason)
		return -ENOENT;
	kp_refused_errno = -EIO;
	kp_refused_reason = kernel.ftrace_reason(-EIO);
	return 0;
}

/* Change the last byte of the text that a jump at kp_changed would cover. */
static __nocfi void kp_flip(void)
{
	u8 *byte = (u8 *)kp_changed.addr + 4, value = *byte ^ 1;

	mutex_lock(kernel.text_mutex);
	kernel.text_poke(byte, &value, 1);
	kernel.text_poke_sync();
	mutex_unlock(kernel.text_mutex);
}

static enum probepoint_state kp_state(void)
{
	return READ_ONCE(kp_changed.point->state);
}

/* Wait until the optimiser has taken the probepoint out of this state, for a minute at most. */
static void kp_wait_while(enum probepoint_state state)
{
	unsigned long timeout = jiffies + 60 * HZ;

	while (kp_state() == state && time_before(jiffies, timeout))
		usleep_range(100, 200);
}

/*
 * The text has to be changed after the detour buffer was made, and before the jump is written:
 * while the worker waits for tasks RCU. If it was too late, the byte that has changed is one of
 * the jump, which no CPU executes, and which the end of the registration removes: try again.
 */
static int kp_change(void)
{
	int i;

	if (!kernel.text_poke || !kernel.text_poke_sync || !kernel.text_mutex)
		return -ENOENT;
	for (i = 0; i < 20; i++) {
		memset(&kp_changed, 0, sizeof(kp_changed));
		kp_changed.symbol_name = "kp_ex_changed";
		kp_changed.offset = 2;
		kp_changed.pre_handler = kp_nothing;
		if (register_kprobe(&kp_changed))
			break;
		kp_wait_while(PROBEPOINT_ARMED);
		if (kp_state() == PROBEPOINT_QUEUED) {
			kp_flip();
			kp_wait_while(PROBEPOINT_QUEUED);
			if (kp_state() == PROBEPOINT_ARMED)
				return 0;
		}
		unregister_kprobe(&kp_changed);
	}
	kp_changed.addr = NULL;
	return -ETIMEDOUT;
}

static int kp_unchange(void)
{
	if (!kp_changed.addr)
		return -ENOENT;
	kp_flip();
	unregister_kprobe(&kp_changed);
	kp_changed.addr = NULL;
	return 0;
}

static const struct {
	const char *word;
	int (*refuse)(void);
} kp_words[] = {
	{ "null", kp_refuse_null },
	{ "twice", kp_refuse_twice },
	{ "neither", kp_refuse_neither },
	{ "both", kp_refuse_both },
	{ "data", kp_refuse_data },
	{ "memory", kp_refuse_memory },
	{ "jprobe-inside", kp_refuse_jprobe_inside },
	{ "jprobe-handler", kp_refuse_jprobe_handler },
	{ "redirects", kp_refuse_redirects },
	{ "gone", kp_refuse_gone },
	{ "ftrace", kp_refuse_ftrace },
	{ "changed", kp_change },
	{ "unchanged", kp_unchange },
};

static ssize_t kp_refuse_write(struct file *file, const char __user *buf, size_t count,
			       loff_t *pos)
{
	char word[16] = {};
	int i, ret = -EINVAL;

	if (count >= sizeof(word))
		return -E2BIG;
	if (copy_from_user(word, buf, count))
		return -EFAULT;
	mutex_lock(&kp_refuse_mutex);
	kp_refused_errno = 0;
	kp_refused_reason = KPROBE_WHY_NONE;
	for (i = 0; i < ARRAY_SIZE(kp_words); i++)
		if (!strcmp(strim(word), kp_words[i].word))
			ret = kp_words[i].refuse();
	mutex_unlock(&kp_refuse_mutex);
	return ret ?: count;
}

static const struct file_operations kp_refuse_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_refuse_write,
	.llseek = noop_llseek,
};

static __nocfi int kp_refused_show(struct seq_file *m, void *unused)
{
	mutex_lock(&kp_refuse_mutex);
	seq_printf(m, "%d %s\n", kp_refused_errno, *kernel.text(kp_refused_reason));
	mutex_unlock(&kp_refuse_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_refused);

static struct dentry *kp_explain_dir;

static int __init kp_explain_init(void)
{
	kernel.text = kp_find_symbol("kprobe_reason_text");
	kernel.check_jumps = kp_find_symbol("arch_check_jumps");
	kernel.ftrace_reason = kp_find_symbol("kprobe_ftrace_reason");
	kernel.text_poke = kp_find_symbol("text_poke");
	kernel.text_poke_sync = kp_find_symbol("text_poke_sync");
	kernel.text_mutex = kp_find_symbol("text_mutex");
	if (!kernel.text)
		return -ENOENT;
	kp_explain_dir = debugfs_create_dir("kp_explain", NULL);
	debugfs_create_file("cases", 0400, kp_explain_dir, NULL, &kp_explain_cases_fops);
	debugfs_create_file("refuse", 0200, kp_explain_dir, NULL, &kp_refuse_fops);
	debugfs_create_file("refused", 0400, kp_explain_dir, NULL, &kp_refused_fops);
	return kp_explain_calls(1) == 2 && kp_explain_warns(1) == 2 &&
	       kp_explain_indirect(kp_explain_one, 1) == 2 ? 0 : -EIO;
}

static void __exit kp_explain_exit(void)
{
	debugfs_remove(kp_explain_dir);
	if (kp_changed.addr)
		kp_unchange();
	kp_free_redirecting();
}

module_init(kp_explain_init);
module_exit(kp_explain_exit);

MODULE_DESCRIPTION("locations and refusals for the test of kprobes/explain");
MODULE_LICENSE("GPL");
