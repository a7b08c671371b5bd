// SPDX-License-Identifier: GPL-2.0
/*
 * Many minimal return probes, each on a function of its own, for a script that measures their
 * memory. Writing 1 to the parameter `registered` registers all, 0 unregisters them; a write
 * to `barrier` waits until deferred frees are done.
 */

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#define KP_RET_MANY	500
extern void *const kp_ret_many[KP_RET_MANY];

static struct kretprobe kp_memory[KP_RET_MANY];
static struct kretprobe *kp_memory_ptr[KP_RET_MANY];
static bool registered;

static int kp_memory_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

NOKPROBE_SYMBOL(kp_memory_return);

static int kp_memory_set(const char *val, const struct kernel_param *param)
{
	bool on;
	int i, ret = kstrtobool(val, &on);

	if (ret || on == registered)
		return ret;
	if (on) {
		memset(kp_memory, 0, sizeof(kp_memory));
		for (i = 0; i < KP_RET_MANY; i++) {
			kp_memory[i].kp.addr = kp_ret_many[i];
			kp_memory[i].handler = kp_memory_return;
			kp_memory_ptr[i] = &kp_memory[i];
		}
		ret = register_kretprobes(kp_memory_ptr, KP_RET_MANY);
		if (ret)
			return ret;
	} else {
		unregister_kretprobes(kp_memory_ptr, KP_RET_MANY);
	}
	registered = on;
	return 0;
}

static const struct kernel_param_ops kp_memory_ops = {
	.set = kp_memory_set,
	.get = param_get_bool,
};

module_param_cb(registered, &kp_memory_ops, &registered, 0600);

static int kp_memory_barrier(const char *val, const struct kernel_param *param)
{
#ifdef CONFIG_TASKS_RCU
	rcu_barrier_tasks();
#endif
	rcu_barrier();
	return 0;
}

static const struct kernel_param_ops kp_memory_barrier_ops = { .set = kp_memory_barrier };

module_param_cb(barrier, &kp_memory_barrier_ops, NULL, 0200);

static int __init kp_memory_init(void)
{
	return 0;
}
module_init(kp_memory_init);

static void __exit kp_memory_exit(void)
{
	if (registered)
		unregister_kretprobes(kp_memory_ptr, KP_RET_MANY);
}
module_exit(kp_memory_exit);

MODULE_DESCRIPTION("A great many return probes");
MODULE_LICENSE("GPL");
