// SPDX-License-Identifier: GPL-2.0
/* When this is loaded, ftrace gives up, as if it had found an error; only a boot helps then. */

#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <asm/ibt.h>

static int __init kp_kill_ftrace_init(void)
{
	struct kprobe kp = { .symbol_name = "ftrace_kill", .flags = KPROBE_FLAG_DISABLED };
	int ret = register_kprobe(&kp);
	void (*kill)(void);
	void *addr;

	if (ret)
		return ret;
	addr = kp.addr;
	unregister_kprobe(&kp);
	/* Called at its endbr, where there is one. */
	if (is_endbr(*(u32 *)(addr - ENDBR_INSN_SIZE)))
		addr -= ENDBR_INSN_SIZE;
	kill = addr;
	kill();
	return 0;
}
module_init(kp_kill_ftrace_init);

static void __exit kp_kill_ftrace_exit(void)
{
}
module_exit(kp_kill_ftrace_exit);

MODULE_DESCRIPTION("Has ftrace give up");
MODULE_LICENSE("GPL");
