// SPDX-License-Identifier: GPL-2.0
/*
 * For context-unwind.sh: words on a stack that only look as if a probe left them.
 *
 * A task can set its user registers to anything. In a system call they are the uppermost
 * pt_regs on its kernel stack, where a stack trace ends. The parameter stack_top tells a reader
 * the end of its kernel stack. A probe's handler saves a trace, and counts in traces.
 *
 * A stack may have an address in an instruction slot long after the slot was freed. With the
 * parameter stale, tasks unwind from made-up registers with such addresses, while probes are
 * registered and unregistered.
 */

#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/unwind.h>
#include <linux/sched/task_stack.h>
#include "kp_test.h"
#include "kp_regs.h"

KP_MODULE_PARAM(ulong, traces, 0, "how many stack traces the handler has saved");
KP_MODULE_PARAM(ulong, unwound, 0, "how often it was unwound from a stale address");

static unsigned long pages[64];
static int nr_pages;
module_param_array(pages, ulong, &nr_pages, 0600);
MODULE_PARM_DESC(pages, "addresses of pages of instruction slots");

static int kp_stack_top_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%lu\n", (unsigned long)task_stack_page(current) + THREAD_SIZE);
}

module_param_call(stack_top, NULL, kp_stack_top_get, NULL, 0400);

static int kp_unwind_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_trace trace;

	if (kp_save(&trace))
		traces++;
	return 0;
}

static struct kprobe kp_syscall = {
	.symbol_name = KP_SYSCALL("getppid"),
	.pre_handler = kp_unwind_pre,
};

/*
 * Cases in which an unwinder finds addresses of slots that were freed. Register so many probes that
 * their slots need several pages, or else the page with the slots might not be freed.
 */

#define KP_UNWIND_NOPS	512
#define KP_UNWIND_NOP	4

/* Return the address of nops to probe, never executed. */
static noinline notrace void *kp_unwind_nops(void)
{
	void *nops;

	asm volatile("	jmp	1f\n"
		     "0:	.rept	" __stringify(KP_UNWIND_NOPS) "\n"
		     "	.byte	0x0f, 0x1f, 0x40, 0x00\n"
		     "	.endr\n"
		     "1:	mov	$0b, %0" : "=r" (nops));
	return nops;
}

static struct kprobe kp_many[KP_UNWIND_NOPS];
static struct kprobe *kp_many_list[KP_UNWIND_NOPS];

static int kp_none_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

/* Unwind as if an unwinder had reached these registers on a stack. */
static void kp_unwind_from(unsigned long ip)
{
	unsigned long word[8] = { ip, ip, ip, ip, ip, ip, ip, ip };
	struct pt_regs regs = {
		.ip = ip,
		.cs = __KERNEL_CS,
		.flags = X86_EFLAGS_IF | X86_EFLAGS_FIXED,
		.sp = (unsigned long)word,
		.bp = (unsigned long)word,
		.ss = __KERNEL_DS,
	};
	struct unwind_state state;

	for (unwind_start(&state, current, &regs, NULL); !unwind_done(&state);
	     unwind_next_frame(&state))
		if (!unwind_get_return_address(&state))
			break;
	unwound++;
}

static int kp_unwinder(void *data)
{
	struct rnd_state random;
	unsigned int i;

	prandom_seed_state(&random, (unsigned long)data);
	while (!kthread_should_stop()) {
		for (i = 0; i < 50; i++)
			kp_unwind_from(pages[prandom_u32_state(&random) % nr_pages] +
				       prandom_u32_state(&random) % PAGE_SIZE);
		/* Sleep: slots are freed only after tasks-RCU grace periods. */
		schedule_timeout_interruptible(1);
	}
	return 0;
}

static int kp_many_register(void)
{
	unsigned int i;

	for (i = 0; i < KP_UNWIND_NOPS; i++) {
		memset(&kp_many[i], 0, sizeof(kp_many[i]));
		kp_many[i].addr = kp_unwind_nops() + i * KP_UNWIND_NOP;
		kp_many[i].pre_handler = kp_none_pre;
		kp_many_list[i] = &kp_many[i];
	}
	return register_kprobes(kp_many_list, KP_UNWIND_NOPS);
}

static int kp_registered_set(const char *val, const struct kernel_param *param)
{
	bool on;
	int ret = kstrtobool(val, &on);

	if (ret)
		return ret;
	if (on)
		return kp_many_register();
	unregister_kprobes(kp_many_list, KP_UNWIND_NOPS);
	return 0;
}

module_param_call(registered, kp_registered_set, NULL, NULL, 0200);
MODULE_PARM_DESC(registered, "register or unregister many probes, which need pages of slots");

static int kp_stale_set(const char *val, const struct kernel_param *param)
{
	struct task_struct *task[3];
	unsigned int rounds, i;
	int ret = kstrtouint(val, 0, &rounds);

	if (ret || !nr_pages)
		return ret ?: -ENOENT;
	for (i = 0; i < ARRAY_SIZE(task); i++)
		task[i] = kthread_run(kp_unwinder, (void *)(unsigned long)i, "kp_unwinder/%u", i);
	for (; rounds && !ret; rounds--) {
		ret = kp_many_register();
		if (!ret)
			unregister_kprobes(kp_many_list, KP_UNWIND_NOPS);
	}
	for (i = 0; i < ARRAY_SIZE(task); i++)
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	return ret;
}

module_param_call(stale, kp_stale_set, NULL, NULL, 0200);
MODULE_PARM_DESC(stale, "unwind from stale addresses while probes change, so many times");

static int __init kp_unwind_init(void)
{
	return register_kprobe(&kp_syscall);
}

static void __exit kp_unwind_exit(void)
{
	unregister_kprobe(&kp_syscall);
}

KP_MODULE("stacks on which words only look like a probe's", kp_unwind_init, kp_unwind_exit);
