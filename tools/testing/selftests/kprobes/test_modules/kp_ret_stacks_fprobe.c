// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes and an fprobe with an exit handler are registered on one function, in various
 * orders. Each handler sees the call and its return value. A return probe's handler also sees
 * where the call returns to. It sees the stack as it is without probes, and so does the function.
 */

#include <linux/fprobe.h>
#include <linux/module.h>
#include <linux/string.h>
#include "kp_ret_stacks.h"

#ifdef CONFIG_FPROBE

static struct {
	struct kretprobe rp[2];
	struct fprobe fp;
	unsigned int returns, exits;
	/* What they were told of the call. */
	unsigned long retaddr, exit_retaddr, value, exit_value;
	struct kp_trace ret;
} kp;

static int kp_rs_together_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp.returns++;
	kp.retaddr = get_kretprobe_retaddr(ri);
	kp.value = regs_return_value(regs);
	kp_save(&kp.ret);
	return 0;
}

NOKPROBE_SYMBOL(kp_rs_together_return);

static void kp_rs_together_exit(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
				struct pt_regs *regs, void *entry_data)
{
	kp.exits++;
	kp.exit_retaddr = ret_ip;
	kp.exit_value = regs_return_value(regs);
}

/* The order of registration and unregistration: numbers of return probes, or the fprobe. */
#define KP_FPROBE	9
static const int kp_rs_orders[][4] = {
	{ KP_FPROBE, -1 }, { 0, -1 }, { 0, KP_FPROBE, -1 }, { KP_FPROBE, 0, -1 },
	{ 0, KP_FPROBE, 1, -1 }, { KP_FPROBE, 1, 0, -1 }, { 1, 0, KP_FPROBE, -1 },
};

static int kp_rs_come(int who)
{
	unsigned long addr = (unsigned long)kp_rs_probed;

	if (who == KP_FPROBE) {
		memset(&kp.fp, 0, sizeof(kp.fp));
		kp.fp.exit_handler = kp_rs_together_exit;
		return register_fprobe_ips(&kp.fp, &addr, 1);
	}
	memset(&kp.rp[who], 0, sizeof(kp.rp[who]));
	kp.rp[who].kp.addr = (void *)kp_rs_probed;
	kp.rp[who].handler = kp_rs_together_return;
	return register_kretprobe(&kp.rp[who]);
}

static void kp_rs_go(int who)
{
	if (who == KP_FPROBE)
		unregister_fprobe(&kp.fp);
	else
		unregister_kretprobe(&kp.rp[who]);
}

static void kp_rs_together(struct kunit *test)
{
	struct kp_trace *reference = kunit_kzalloc(test, sizeof(*reference), GFP_KERNEL);
	unsigned int callers = 0, returns, exits;
	unsigned long back = 0;
	int i, n, who, err;

	KUNIT_ASSERT_NOT_NULL(test, reference);
	kp_rs_save = true;
	for (i = -1; i < (int)ARRAY_SIZE(kp_rs_orders); i++) {
		returns = 0;
		exits = 0;
		err = 0;
		for (n = 0; i >= 0 && !err && kp_rs_orders[i][n] >= 0; n++) {
			who = kp_rs_orders[i][n];
			err = kp_rs_come(who);
			returns += who != KP_FPROBE;
			exits += who == KP_FPROBE;
		}
		if (err) {
			KUNIT_FAIL(test, "order %d: %d", i, err);
			for (n -= 2; n >= 0; n--)
				kp_rs_go(kp_rs_orders[i][n]);
			break;
		}
		kp.returns = 0;
		kp.exits = 0;
		/* One place for all of them, so no copy of the loop's body for any. */
		OPTIMIZER_HIDE_VAR(i);
		KUNIT_EXPECT_EQ(test, kp_rs_loop(5), 6);
		for (n = 0; i >= 0 && kp_rs_orders[i][n] >= 0; n++)
			kp_rs_go(kp_rs_orders[i][n]);
		if (i < 0) {
			callers = kp_rs_callers(test);
			*reference = kp_rs_callee;
			back = reference->entry[reference->nr - callers];
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, kp.returns, returns, "order %d", i);
		KUNIT_EXPECT_EQ_MSG(test, kp.exits, exits, "order %d", i);
		if (returns) {
			KUNIT_EXPECT_EQ_MSG(test, kp.retaddr, back, "order %d: %pS", i,
					    (void *)kp.retaddr);
			KUNIT_EXPECT_EQ(test, kp.value, 6);
		}
		if (exits)
			KUNIT_EXPECT_EQ(test, kp.exit_value, 6);
		if (!kp_rs_same_end(&kp_rs_callee, reference, reference->nr) ||
		    (returns && !kp_rs_same_end(&kp.ret, reference, callers))) {
			KUNIT_FAIL(test, "order %d: stacks differ", i);
			kp_rs_show(test, "function", &kp_rs_callee);
			kp_rs_show(test, "return handler", &kp.ret);
			kp_rs_show(test, "without", reference);
		}
	}
	kp_rs_save = false;
}

#else

static void kp_rs_together(struct kunit *test)
{
	kunit_skip(test, "CONFIG_FPROBE is off");
}

#endif

static struct kunit_case kp_rs_fprobe_cases[] = {
	KUNIT_CASE(kp_rs_together),
	{}
};

struct kunit_suite kp_rs_fprobe_suite = {
	.name = "kretprobes_fprobe",
	.test_cases = kp_rs_fprobe_cases,
};
