// SPDX-License-Identifier: GPL-2.0
/*
 * For api-explain.sh. The file kp_explain in debugfs has a line for each location: the name of a
 * case, and SYMBOL+OFFSET. Writing a word to the parameter refuse makes the module try a
 * registration that kprobes refuses; reading the parameter gives the errno and the reason.
 */

#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/probepoint.h>
#include <linux/static_call.h>
#include "kp_explain.h"
#include "kp_handlers.h"
#include "../opt/kp_opt_suites.h"
#include "kp_symbol.h"
#include "../internal.h"

DEFINE_STATIC_KEY_FALSE(kp_explain_key);

#define KP_ONE	"kp_explain_one"
KP_PLUS(, long, kp_explain_one, 1)

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

/*
 * With kCFI, the compiler inserts a check of the function's type before the call.
 * kp_show_cfi_check() searches for that check.
 */
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

/* Show several sites, since the first ones may be in blacklisted text. */
#define KP_KERNEL_SITES	40

static void kp_show_calls(struct seq_file *m, const char *name, struct static_call_site *site,
			  struct static_call_site *end)
{
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	int shown = 0;

	for (; site && site < end && shown < KP_KERNEL_SITES; site++)
		if (!(((long)&site->key + site->key) & STATIC_CALL_SITE_INIT) && ++shown)
			kp_show_case(m, name, (unsigned long)&site->addr + site->addr);
#endif
}

static void kp_show_bugs(struct seq_file *m, const char *name, struct bug_entry *bug,
			 struct bug_entry *end)
{
	int shown = 0;

	for (; bug && bug < end && shown < KP_KERNEL_SITES; bug++, shown++)
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
		kp_show_case(m, name, (unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp);
#else
		kp_show_case(m, name, bug->bug_addr);
#endif
}

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

static int kp_explain_cases_show(struct seq_file *m, void *unused)
{
	struct module *mod = THIS_MODULE;

	for (int i = 0; i < kp_explain_codes_nr; i++)
		kp_show_case(m, kp_explain_names + kp_explain_codes[i].name,
			     (unsigned long)kp_explain_text + (int)kp_explain_codes[i].at);
	for (int i = 0; i < kp_opt_codes_nr; i++)
		kp_show_case(m, kp_opt_names + kp_opt_codes[i].name,
			     (unsigned long)kp_opt_text + (int)kp_opt_codes[i].probed);
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	kp_show_calls(m, "static_call", mod->static_call_sites,
		      mod->static_call_sites + mod->num_static_call_sites);
#endif
	kp_show_bugs(m, "bug", mod->bug_table, mod->bug_table + mod->num_bugs);
	kp_show_cfi_check(m);
	kp_show_kernel_labels(m);
	kp_show_calls(m, "kernel_call", kp_find_symbol("__start_static_call_sites"),
		      kp_find_symbol("__stop_static_call_sites"));
	kp_show_bugs(m, "kernel_bug", kp_find_symbol("__start___bug_table"),
		     kp_find_symbol("__stop___bug_table"));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_explain_cases);

static int kp_refused_errno;
static enum kprobe_reason kp_refused_reason;

static struct kprobe kp_changed;

static struct {
	void *(*text_poke)(void *addr, const void *opcode, size_t len);
	void (*text_poke_sync)(void);
	struct mutex *text_mutex;	/* the one of linux/memory.h */
} kernel;

KP_PRE_HANDLER(__kprobes, kp_nothing)

static int kp_refuse_null(void)
{
	kp_refused_errno = register_kprobe(NULL);
	return 0;
}

/* Try to register @probe with register_@kind(). Its struct kprobe, @kp, has the reason. */
#define kp_try(kind, probe, kp) do {							\
	typeof(probe) _probe = (probe);							\
											\
	kp_refused_errno = register_##kind(_probe);					\
	kp_refused_reason = (kp)->refusal;						\
	if (!kp_refused_errno)								\
		unregister_##kind(_probe);						\
} while (0)

static int kp_refuse_twice(void)
{
	struct kprobe kp = { .symbol_name = KP_ONE, .pre_handler = kp_nothing };
	int ret = register_kprobe(&kp);

	if (ret)
		return ret;
	kp_refused_errno = register_kprobe(&kp);
	kp_refused_reason = kp.refusal;
	unregister_kprobe(&kp);
	return 0;
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

KP_POST_HANDLER(__kprobes, kp_post_nothing)

static int kp_refuse_redirects(void)
{
	struct kprobe kp = { .symbol_name = KP_ONE, .post_handler = kp_post_nothing };
	static unsigned char name[] = KP_ONE;
	int ret;

	ret = ftrace_set_filter(&kp_redirecting, name, sizeof(name) - 1, 1) ?:
	      register_ftrace_function(&kp_redirecting);
	if (ret)
		return ret;
	kp_try(kprobe, &kp, &kp);
	return unregister_ftrace_function(&kp_redirecting);
}

/* Writing "redirects" to the parameter again reuses the filter: free it only on unload. */
static void kp_free_redirecting(void)
{
	ftrace_free_filter(&kp_redirecting);
}
#else
static void kp_free_redirecting(void) { }
#endif

#ifdef CONFIG_JPROBES
static void kp_jprobe_entry(void)
{
	jprobe_return();
}

static int kp_try_jprobe(unsigned int offset, void *entry)
{
	struct jprobe jp = { .kp.symbol_name = "vfs_read", .kp.offset = offset, .entry = entry };

	kp_try(jprobe, &jp, &jp.kp);
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
#endif

/* Check a jump at an address without text, as after a module was freed. */
static int kp_refuse_gone(void)
{
	struct kprobe_jump jump = { .addr = 1 };

	kp_refused_errno = arch_check_jumps(&jump, 1);
	kp_refused_reason = jump.refusal;
	return 0;
}

/* ftrace never returns -EIO: do not register a probe, only ask for the reason of that errno. */
static int kp_refuse_ftrace(void)
{
	kp_refused_errno = -EIO;
	kp_refused_reason = kprobe_ftrace_reason(-EIO);
	return 0;
}

/*
 * Flip a bit of the last byte that the jump overwrites, as another user of text_poke() might. A
 * second call restores the bit.
 */
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

/* Wait while the probepoint is in @state, for a minute at most. */
static void kp_wait_while(enum probepoint_state state)
{
	kp_poll(kp_state() != state, 60 * MSEC_PER_SEC);
}

/*
 * Change text after the detour buffer was made and before the jump is written. If the change comes
 * too late, it alters a byte of the jump instead. That does no harm: no CPU executes the function,
 * and unregistering the probe restores its text. In that case, retry.
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
	struct kprobe kp;
	struct kretprobe rp;
} kp_words[] = {
	{ "null", kp_refuse_null },
	{ "twice", kp_refuse_twice },
	{ "neither", .kp.pre_handler = kp_nothing },
	{ "both", .kp.addr = (void *)kp_explain_one, .kp.symbol_name = KP_ONE },
	{ "data", .rp.kp.symbol_name = KP_ONE, .rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1 },
	{ "memory", .rp.kp.symbol_name = KP_ONE, .rp.maxactive = INT_MAX },
#ifdef CONFIG_JPROBES
	{ "jprobe-inside", kp_refuse_jprobe_inside },
	{ "jprobe-handler", kp_refuse_jprobe_handler },
#endif
#ifdef CONFIG_KPROBES_ON_FTRACE
	{ "redirects", kp_refuse_redirects },
#endif
	{ "gone", kp_refuse_gone },
	{ "ftrace", kp_refuse_ftrace },
	{ "changed", kp_change },
	{ "unchanged", kp_unchange },
};

static int kp_refuse_set(const char *word, const struct kernel_param *param)
{
	struct kretprobe rp;
	struct kprobe kp;
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_words); i++)
		if (sysfs_streq(word, kp_words[i].word))
			break;
	if (i == ARRAY_SIZE(kp_words))
		return -EINVAL;
	kp_refused_errno = 0;
	kp_refused_reason = KPROBE_REASON_NONE;
	if (kp_words[i].refuse)
		return kp_words[i].refuse();
	kp = kp_words[i].kp;
	rp = kp_words[i].rp;
	if (rp.kp.symbol_name)
		kp_try(kretprobe, &rp, &rp.kp);
	else
		kp_try(kprobe, &kp, &kp);
	return 0;
}

static int kp_refuse_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%d %s\n", kp_refused_errno, *kprobe_reason_text(kp_refused_reason));
}

static const struct kernel_param_ops kp_refuse_ops = { .set = kp_refuse_set, .get = kp_refuse_get };

/*
 * A write or a read of the parameter holds kernel_param_lock(), which protects kp_refused_errno,
 * kp_refused_reason and kp_changed.
 */
module_param_cb(refuse, &kp_refuse_ops, NULL, 0600);
MODULE_PARM_DESC(refuse, "what is refused next; the errno and the reason of that");

static struct dentry *kp_explain_file;

static int __init kp_explain_init(void)
{
	kernel.text_poke = kp_find_function("text_poke");
	kernel.text_poke_sync = kp_find_function("text_poke_sync");
	kernel.text_mutex = kp_find_symbol("text_mutex");
	kp_explain_file = debugfs_create_file("kp_explain", 0400, NULL, NULL,
					      &kp_explain_cases_fops);
	return kp_explain_calls(1) == 2 && kp_explain_warns(1) == 2 &&
	       kp_explain_indirect(kp_explain_one, 1) == 2 ? 0 : -EIO;
}

static void __exit kp_explain_exit(void)
{
	debugfs_remove(kp_explain_file);
	if (kp_changed.addr)
		kp_unchange();
	kp_free_redirecting();
}

module_init(kp_explain_init);
module_exit(kp_explain_exit);

MODULE_DESCRIPTION("locations and refusals for the test of kprobes/explain");
MODULE_LICENSE("GPL");
