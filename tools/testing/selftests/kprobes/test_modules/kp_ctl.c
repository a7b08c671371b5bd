// SPDX-License-Identifier: GPL-2.0
/*
 * Probes for scripts. /sys/kernel/debug/kp_ctl/cmd takes one command in each write:
 *
 *	add ID WHERE [post] [once] [slow] [disabled] [wait] [event] [return]
 *			register a probe that counts its hits; once: it disables itself at a hit;
 *			slow: a hit takes 3 seconds; wait: it waits for its module; event: it is
 *			refused where kprobe events are; return: POSTS counts returns
 *	when MODULE ID WHERE [post] [disabled]	register it while MODULE is coming,
 *	live MODULE ID WHERE [post] [disabled]	when it is live,
 *	going MODULE ID WHERE [post] [disabled]	or while it is going
 *	early ID WHERE [post] [disabled]	register it when the next module has its
 *						name, and ftrace does not know its text yet
 *	late					end early
 *	lock, unlock				lock the kernel down for probes; end that
 *	del ID					unregister the probe
 *	enable ID, disable ID
 *
 * ID is a number below 128, WHERE is SYMBOL, SYMBOL+OFFSET or an address. The write returns the
 * command's error, which is also in the probe's line of kp_ctl/probes, with the REASON if the probe
 * was refused:
 *
 *	ID ADDRESS HITS POSTS NMISSED ERROR TEXT [REASON]
 */

#include <linux/security.h>
#include "kp_handlers.h"
#include "kp_symbol.h"

#define KP_CTL_PROBES	128
#define KP_CTL_NAME	96

struct kp_ctl_probe {
	union {
		struct kprobe kp;
		struct kretprobe rp;
	};
	bool returns;
	bool registered;
	int error;
	atomic_t hits;
	atomic_t posts;
	char symbol[KP_CTL_NAME];
	char wait_for[MODULE_NAME_LEN];
	unsigned long wait_state;
};

static struct kp_ctl_probe kp_ctl_probes[KP_CTL_PROBES];
static DEFINE_MUTEX(kp_ctl_mutex);
static struct dentry *kp_ctl_dir;

KP_PRE_HANDLER(__kprobes, kp_ctl_pre, atomic_inc(&container_of(p, struct kp_ctl_probe, kp)->hits))
KP_POST_HANDLER(__kprobes, kp_ctl_post,
		atomic_inc(&container_of(p, struct kp_ctl_probe, kp)->posts))

KP_PRE_HANDLER(__kprobes, kp_ctl_slow, kp_ctl_pre(p, regs); mdelay(3000))

KP_RETURN_HANDLER(__kprobes, kp_ctl_entry, kp_ctl_pre(&get_kretprobe(ri)->kp, regs))

static int __kprobes kp_ctl_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		kp_ctl_post(&rp->kp, regs, 0);
	return 0;
}

#ifdef CONFIG_KPROBES_DISABLE_SELF
KP_PRE_HANDLER(__kprobes, kp_ctl_once, kprobe_disable_self(p); kp_ctl_pre(p, regs))
#else
#define kp_ctl_once		NULL
#endif

/* The base kernel has no reasons for refusals. */
#if __has_include("linux/kprobe_reason.h")
#define kp_ctl_wait		KPROBE_FLAG_WAIT
#define kp_ctl_no_jump		KPROBE_FLAG_NO_JUMP
#define kp_ctl_event		KPROBE_FLAG_EVENT
#define kp_ctl_reason(kp)	(*kprobe_reason_text((kp)->refusal))
#else
#define kp_ctl_wait		0
#define kp_ctl_no_jump		0
#define kp_ctl_event		0
#define kp_ctl_reason(kp)	((void)(kp), "")
#endif

static int kp_ctl_register(struct kp_ctl_probe *probe)
{
	probe->error = probe->returns ? register_kretprobe(&probe->rp) :
				       register_kprobe(&probe->kp);
	probe->registered = !probe->error;
	return probe->error;
}

static int kp_ctl_unregister(struct kp_ctl_probe *probe)
{
	if (probe->registered && probe->returns)
		unregister_kretprobe(&probe->rp);
	else if (probe->registered)
		unregister_kprobe(&probe->kp);
	probe->registered = false;
	probe->wait_for[0] = '\0';
	return 0;
}

/*
 * Stop a module in the middle of loading: the handler spins with interrupts disabled until a
 * thread on another CPU has tried to register, for some seconds at most. There are two
 * threads on two CPUs, as one may be on the spinning CPU.
 */
static struct {
	struct kprobe kp;
	struct kp_ctl_probe *probe;
	struct task_struct *tasks[2];
	enum { KP_EARLY_WAITING, KP_EARLY_NOW, KP_EARLY_BUSY, KP_EARLY_DONE } state;
} kp_early;

static int __kprobes kp_early_pre(struct kprobe *kp, struct pt_regs *regs)
{
	int i;

	if (READ_ONCE(kp_early.state) != KP_EARLY_WAITING)
		return 0;
	WRITE_ONCE(kp_early.state, KP_EARLY_NOW);
	for (i = 0; i < 200000000 && READ_ONCE(kp_early.state) != KP_EARLY_DONE; i++)
		cpu_relax();
	return 0;
}

static int kp_early_thread(void *unused)
{
	while (READ_ONCE(kp_early.state) == KP_EARLY_WAITING && !kthread_should_stop())
		usleep_range(100, 200);
	if (cmpxchg(&kp_early.state, KP_EARLY_NOW, KP_EARLY_BUSY) == KP_EARLY_NOW) {
		kp_ctl_register(kp_early.probe);
		WRITE_ONCE(kp_early.state, KP_EARLY_DONE);
	}
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

static void kp_early_stop_threads(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_early.tasks); i++) {
		if (kp_early.tasks[i])
			kthread_stop(kp_early.tasks[i]);
		kp_early.tasks[i] = NULL;
	}
}

static int kp_early_begin(struct kp_ctl_probe *probe)
{
	unsigned int cpus[] = { cpumask_first(cpu_online_mask), cpumask_last(cpu_online_mask) };
	struct task_struct *task;
	int i;

	if (kp_early.tasks[0])
		return -EBUSY;
	kp_early.probe = probe;
	kp_early.state = KP_EARLY_WAITING;
	kp_early.kp = (struct kprobe) {
		.symbol_name = "ftrace_module_enable", .pre_handler = kp_early_pre,
	};
	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		task = kthread_run_on_cpu(kp_early_thread, NULL, cpus[i], "kp_early/%u");
		if (IS_ERR(task)) {
			kp_early_stop_threads();
			return PTR_ERR(task);
		}
		kp_early.tasks[i] = task;
	}
	return register_kprobe(&kp_early.kp);
}

static int kp_early_end(void)
{
	int state = READ_ONCE(kp_early.state);

	unregister_kprobe(&kp_early.kp);
	kp_early_stop_threads();
	return state == KP_EARLY_WAITING ? -EAGAIN : 0;
}

/* Called in place of security_locked_down(): denies probes only. */
static int kp_ctl_locked_down(enum lockdown_reason what)
{
	return what == LOCKDOWN_KPROBES ? -EPERM : 0;
}

static int __kprobes kp_ctl_lock_pre(struct kprobe *kp, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)kp_ctl_locked_down);
	return 1;
}

static struct kprobe kp_ctl_lock = {
	.symbol_name = "security_locked_down", .pre_handler = kp_ctl_lock_pre,
};

/* Parse WHERE and the options. */
static int kp_ctl_prepare(struct kp_ctl_probe *probe, char *args)
{
	char *where = strsep(&args, " "), *offset, *option;
	kprobe_pre_handler_t once = kp_ctl_once;
	unsigned long addr;
	int ret;

	if (!where || !*where || strlen(where) >= KP_CTL_NAME)
		return -EINVAL;
	memset(probe, 0, sizeof(*probe));
	probe->kp.pre_handler = kp_ctl_pre;
	if (strstarts(where, "0x")) {
		ret = kstrtoul(where, 16, &addr);
		if (ret)
			return ret;
		probe->kp.addr = (kprobe_opcode_t *)addr;
	} else {
		strscpy(probe->symbol, where);
		offset = strchr(probe->symbol, '+');
		if (offset) {
			*offset++ = '\0';
			ret = kstrtouint(offset, 0, &probe->kp.offset);
			if (ret)
				return ret;
		}
		probe->kp.symbol_name = probe->symbol;
	}
	while ((option = strsep(&args, " "))) {
		if (!strcmp(option, "post"))
			probe->kp.post_handler = kp_ctl_post;
		else if (!strcmp(option, "once") && once)
			probe->kp.pre_handler = once;
		else if (!strcmp(option, "slow"))
			probe->kp.pre_handler = kp_ctl_slow;
		else if (!strcmp(option, "disabled"))
			probe->kp.flags |= KPROBE_FLAG_DISABLED;
		else if (!strcmp(option, "return") && IS_ENABLED(CONFIG_KRETPROBES))
			probe->returns = true;
		else if (!strcmp(option, "wait") && kp_ctl_wait)
			probe->kp.flags |= kp_ctl_wait;
		else if (!strcmp(option, "nojump") && kp_ctl_no_jump)
			probe->kp.flags |= kp_ctl_no_jump;
		else if (!strcmp(option, "event") && kp_ctl_event)
			probe->kp.flags |= kp_ctl_event;
		else
			return -EINVAL;
	}
	if (probe->returns) {
		probe->kp.pre_handler = NULL;
		probe->rp.entry_handler = kp_ctl_entry;
		probe->rp.handler = kp_ctl_return;
	}
	return 0;
}

/* Commands that wait until a module gets into a state */
static const char *const kp_ctl_waiting[] = {
	[MODULE_STATE_LIVE] = "live",
	[MODULE_STATE_COMING] = "when",
	[MODULE_STATE_GOING] = "going",
};

static int kp_ctl_command(char *args)
{
	char *verb = strsep(&args, " "), *module = NULL, *id;
	struct kp_ctl_probe *probe;
	unsigned int index;
	int state, ret;

	if (!strcmp(verb, "late"))
		return kp_early_end();
	if (!strcmp(verb, "lock"))
		return register_kprobe(&kp_ctl_lock);
	if (!strcmp(verb, "unlock")) {
		unregister_kprobe(&kp_ctl_lock);
		return 0;
	}
	state = match_string(kp_ctl_waiting, ARRAY_SIZE(kp_ctl_waiting), verb);
	if (state >= 0)
		module = strsep(&args, " ");
	id = strsep(&args, " ");
	if (!id || kstrtouint(id, 10, &index) || index >= KP_CTL_PROBES)
		return -EINVAL;
	probe = &kp_ctl_probes[index];

	if (!strcmp(verb, "add") || !strcmp(verb, "early") || module) {
		if (probe->registered || probe->wait_for[0])
			return -EBUSY;
		ret = kp_ctl_prepare(probe, args);
		if (ret)
			return ret;
		if (!strcmp(verb, "early"))
			return kp_early_begin(probe);
		if (!module)
			return kp_ctl_register(probe);
		strscpy(probe->wait_for, module);
		probe->wait_state = state;
		return 0;
	}
	if (!strcmp(verb, "del"))
		return kp_ctl_unregister(probe);
	if (!strcmp(verb, "enable"))
		return probe->error = enable_kprobe(&probe->kp);
	if (!strcmp(verb, "disable"))
		return probe->error = disable_kprobe(&probe->kp);
	return -EINVAL;
}

static ssize_t kp_ctl_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	char *line;
	int ret;

	if (count >= PAGE_SIZE)
		return -E2BIG;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&kp_ctl_mutex);
	ret = kp_ctl_command(strim(line));
	mutex_unlock(&kp_ctl_mutex);
	kfree(line);
	return ret ?: count;
}

static const struct file_operations kp_ctl_cmd_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_ctl_write,
	.llseek = noop_llseek,
};

static int kp_ctl_probes_show(struct seq_file *m, void *unused)
{
	struct kp_ctl_probe *probe;
	u8 text[5];
	int i;

	mutex_lock(&kp_ctl_mutex);
	for (i = 0; i < KP_CTL_PROBES; i++) {
		probe = &kp_ctl_probes[i];
		if (!probe->kp.symbol_name && !probe->kp.addr)
			continue;
		if (copy_from_kernel_nofault(text, probe->kp.addr, sizeof(text)))
			memset(text, 0, sizeof(text));
		/*
		 * Show real addresses, which scripts look for
		 * in kprobes/list. Only root can read this.
		 */
		seq_printf(m, "%d %0*lx %d %d %lu %d %*phN%s%s\n", i, (int)sizeof(long) * 2,
			   (unsigned long)probe->kp.addr, atomic_read(&probe->hits),
			   atomic_read(&probe->posts), probe->kp.nmissed, probe->error,
			   (int)sizeof(text), text, probe->error ? " " : "",
			   probe->error ? kp_ctl_reason(&probe->kp) : "");
	}
	mutex_unlock(&kp_ctl_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kp_ctl_probes);

static int kp_ctl_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;
	int i;

	mutex_lock(&kp_ctl_mutex);
	for (i = 0; i < KP_CTL_PROBES; i++) {
		struct kp_ctl_probe *probe = &kp_ctl_probes[i];

		if (!strcmp(probe->wait_for, module->name) && probe->wait_state == event) {
			probe->wait_for[0] = '\0';
			kp_ctl_register(probe);
		}
	}
	mutex_unlock(&kp_ctl_mutex);
	return NOTIFY_DONE;
}

static struct notifier_block kp_ctl_module_nb = { .notifier_call = kp_ctl_module_event };

static int __init kp_ctl_init(void)
{
	int ret = register_module_notifier(&kp_ctl_module_nb);

	if (ret)
		return ret;
	kp_ctl_dir = debugfs_create_dir("kp_ctl", NULL);
	debugfs_create_file("cmd", 0200, kp_ctl_dir, NULL, &kp_ctl_cmd_fops);
	debugfs_create_file("probes", 0400, kp_ctl_dir, NULL, &kp_ctl_probes_fops);
	return 0;
}

static void __exit kp_ctl_exit(void)
{
	int i;

	debugfs_remove(kp_ctl_dir);
	unregister_module_notifier(&kp_ctl_module_nb);
	kp_early_end();
	unregister_kprobe(&kp_ctl_lock);
	for (i = 0; i < KP_CTL_PROBES; i++)
		kp_ctl_unregister(&kp_ctl_probes[i]);
}

module_init(kp_ctl_init);
module_exit(kp_ctl_exit);

MODULE_DESCRIPTION("kprobes controlled by a script");
MODULE_LICENSE("GPL");
