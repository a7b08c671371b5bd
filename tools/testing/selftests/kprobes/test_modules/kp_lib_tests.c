// SPDX-License-Identifier: GPL-2.0
/*
 * Probes on every instruction of functions whose names are written to the parameter
 * `add`. Where instructions begin is found out by asking: registration at any other
 * offset is refused with -EILSEQ. What is an instruction but may not be probed, or is
 * refused for a reason that is not documented, is counted. After a name may come how
 * many bytes of the function are enough.
 *
 * `register` sets all the probes that were found, `remove` takes them away, each in
 * batches, one for each function. About every third probe has a post_handler too. With
 * apart=N written before, instructions that begin less than N bytes behind one that is
 * probed are passed over, so that jumps are not in each other's way.
 * `summary` tells what there is, and after `remove` what there was.
 */

#include <crypto/sha2.h>
#include <linux/crc32.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include "kp_boundary.h"
#include "kp_symbol.h"

struct kp_lib_tests_probe {
	struct kprobe kp;
	/* Not exact: CPUs that hit it at once may count as one. */
	unsigned long hits;
	unsigned long posts;
};

struct kp_lib_tests_function {
	struct list_head link;
	char name[KSYM_NAME_LEN];
	unsigned int nr;
	struct kp_lib_tests_probe *probe;
	struct kprobe **kps;
};

static unsigned int apart;
module_param(apart, uint, 0600);
MODULE_PARM_DESC(apart, "bytes between two probes, at least");

static LIST_HEAD(kp_functions);
static DEFINE_MUTEX(kp_mutex);

/* What is summed up when functions are removed. */
static struct {
	unsigned int functions;
	unsigned int functions_hit;
	unsigned int probes;
	unsigned int probes_hit;
	unsigned int not_allowed;
	unsigned int not_supported;
	unsigned int wrong_errno;
	unsigned int wrong_post;
	unsigned long missed;
} kp_total;

static DEFINE_PER_CPU(unsigned long, kp_hits);

static int kp_lib_tests_pre(struct kprobe *kp, struct pt_regs *regs)
{
	container_of(kp, struct kp_lib_tests_probe, kp)->hits++;
	this_cpu_inc(kp_hits);
	return 0;
}

NOKPROBE_SYMBOL(kp_lib_tests_pre);

static void kp_lib_tests_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	container_of(kp, struct kp_lib_tests_probe, kp)->posts++;
}

NOKPROBE_SYMBOL(kp_lib_tests_post);

static void kp_prepare(struct kp_lib_tests_probe *probe, void *addr)
{
	memset(probe, 0, sizeof(*probe));
	probe->kp.addr = addr;
	probe->kp.pre_handler = kp_lib_tests_pre;
	if ((unsigned long)addr % 3 == 1)
		probe->kp.post_handler = kp_lib_tests_post;
}

/* Leaves in @function what can be probed, not registered. */
static void kp_find_instructions(struct kp_lib_tests_function *function, void *start,
				 unsigned long size)
{
	struct kp_lib_tests_probe *probe;
	unsigned long offset;
	int ret;

	for (offset = 0; offset < size; offset += kp_next_boundary(start + offset)) {
		probe = &function->probe[function->nr];
		kp_prepare(probe, start + offset);
		probe->kp.flags = KPROBE_FLAG_DISABLED;
		ret = register_kprobe(&probe->kp);
		switch (ret) {
		case 0:
			/* From the function's start it may be moved past an ENDBR. */
			if (probe->kp.addr != start + offset) {
				unregister_kprobe(&probe->kp);
				break;
			}
			function->kps[function->nr++] = &probe->kp;
			if (apart)
				offset += round_up(apart, kp_next_boundary(start + offset)) -
					  kp_next_boundary(start + offset);
			break;
		case -EILSEQ:
			break;
		case -EINVAL:
			kp_total.not_allowed++;
			break;
		case -EOPNOTSUPP:
			kp_total.not_supported++;
			break;
		default:
			pr_err("kp_lib_tests: %s+0x%lx: %d\n", function->name, offset, ret);
			kp_total.wrong_errno++;
			break;
		}
	}
	unregister_kprobes(function->kps, function->nr);
}

static void kp_free(struct kp_lib_tests_function *function)
{
	kvfree(function->probe);
	kvfree(function->kps);
	kfree(function);
}

static struct kp_lib_tests_function *kp_add(const char *name, unsigned long enough)
{
	struct kprobe start = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	struct kp_lib_tests_function *function;
	unsigned long offset, size;
	int ret;

	/* Where it is, and its size; if the start is refused, there is no more to it. */
	ret = register_kprobe(&start);
	if (ret)
		return ERR_PTR(ret);
	ret = kp_measure(start.addr, &offset, &size);
	unregister_kprobe(&start);
	if (ret)
		return ERR_PTR(ret);

	function = kzalloc(sizeof(*function), GFP_KERNEL);
	if (!function)
		return ERR_PTR(-ENOMEM);
	strscpy(function->name, name);
	function->probe = kvcalloc(size, sizeof(*function->probe), GFP_KERNEL);
	function->kps = kvcalloc(size, sizeof(*function->kps), GFP_KERNEL);
	if (!function->probe || !function->kps) {
		kp_free(function);
		return ERR_PTR(-ENOMEM);
	}
	kp_find_instructions(function, (void *)start.addr - offset, min(size, enough));
	return function;
}

static int kp_lib_tests_add(const char *val, const struct kernel_param *param)
{
	struct kp_lib_tests_function *function;
	unsigned long enough = ULONG_MAX;
	char name[64];

	if (sscanf(val, "%63s %lu", name, &enough) < 1)
		return -EINVAL;

	guard(mutex)(&kp_mutex);
	function = kp_add(name, enough);
	if (IS_ERR(function))
		return PTR_ERR(function);
	list_add_tail(&function->link, &kp_functions);
	kp_total.functions++;
	kp_total.probes += function->nr;
	return 0;
}

static const struct kernel_param_ops kp_lib_tests_add_ops = {
	.set = kp_lib_tests_add,
};

module_param_cb(add, &kp_lib_tests_add_ops, NULL, 0200);

/* The same structures again, as they are, but for their handlers' being called. */
static int kp_lib_tests_register(const char *val, const struct kernel_param *param)
{
	struct kp_lib_tests_function *function;
	unsigned int i;
	int ret;

	guard(mutex)(&kp_mutex);
	list_for_each_entry(function, &kp_functions, link) {
		for (i = 0; i < function->nr; i++)
			function->probe[i].kp.flags = 0;
		ret = register_kprobes(function->kps, function->nr);
		if (ret) {
			pr_err("kp_lib_tests: all of %s: %d\n", function->name, ret);
			return ret;
		}
	}
	return 0;
}

static const struct kernel_param_ops kp_lib_tests_register_ops = {
	.set = kp_lib_tests_register,
};

module_param_cb(register, &kp_lib_tests_register_ops, NULL, 0200);

static void kp_remove_all(void)
{
	struct kp_lib_tests_function *function, *next;
	struct kp_lib_tests_probe *probe;
	unsigned int i, hit;

	guard(mutex)(&kp_mutex);
	list_for_each_entry_safe(function, next, &kp_functions, link) {
		unregister_kprobes(function->kps, function->nr);
		for (i = 0, hit = 0; i < function->nr; i++) {
			probe = &function->probe[i];
			hit += probe->hits != 0;
			kp_total.missed += probe->kp.nmissed;
			/* It is called if there is one, and if the instruction was run. */
			if (probe->hits && !probe->kp.post_handler != !probe->posts)
				kp_total.wrong_post++;
		}
		kp_total.probes_hit += hit;
		kp_total.functions_hit += hit != 0;
		list_del(&function->link);
		kp_free(function);
	}
}

static int kp_lib_tests_remove(const char *val, const struct kernel_param *param)
{
	kp_remove_all();
	return 0;
}

static const struct kernel_param_ops kp_lib_tests_remove_ops = {
	.set = kp_lib_tests_remove,
};

module_param_cb(remove, &kp_lib_tests_remove_ops, NULL, 0200);

static int kp_lib_tests_summary(char *buf, const struct kernel_param *param)
{
	unsigned long hits = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		hits += per_cpu(kp_hits, cpu);
	guard(mutex)(&kp_mutex);
	return sysfs_emit(buf, "functions %u\nfunctions_hit %u\nprobes %u\nprobes_hit %u\n"
			  "hits %lu\nmissed %lu\nnot_allowed %u\nnot_supported %u\n"
			  "wrong_errno %u\nwrong_post %u\n", kp_total.functions,
			  kp_total.functions_hit, kp_total.probes, kp_total.probes_hit, hits,
			  kp_total.missed, kp_total.not_allowed, kp_total.not_supported,
			  kp_total.wrong_errno, kp_total.wrong_post);
}

static const struct kernel_param_ops kp_lib_tests_summary_ops = {
	.get = kp_lib_tests_summary,
};

module_param_cb(summary, &kp_lib_tests_summary_ops, NULL, 0400);

/*
 * What has no test that could be loaded, or only one that takes too long.
 */

/* Of "abc", 1000 times over; zeroes if the kernel is built without SHA-256. */
static void kp_own_sha256(u8 digest[SHA256_DIGEST_SIZE])
{
	struct sha256_state state;
	int i;

	memset(digest, 0, SHA256_DIGEST_SIZE);
	if (!IS_REACHABLE(CONFIG_CRYPTO_LIB_SHA256))
		return;
	sha256_init(&state);
	for (i = 0; i < 1000; i++)
		sha256_update(&state, "abc", 3);
	sha256_final(&state, digest);
}

/* Stores, marks, finds and erases; the number of answers that are wrong. */
static unsigned int kp_own_xarray(void)
{
	unsigned long index, i, seen = 0, wrong = 0;
	DEFINE_XARRAY(xa);
	void *entry;

	for (i = 0; i < 300; i++)
		wrong += xa_is_err(xa_store(&xa, i * i, xa_mk_value(i), GFP_KERNEL));
	for (i = 0; i < 300; i += 3)
		xa_set_mark(&xa, i * i, XA_MARK_1);
	for (i = 0; i < 300; i++) {
		wrong += xa_to_value(xa_load(&xa, i * i)) != i;
		wrong += xa_get_mark(&xa, i * i, XA_MARK_1) != !(i % 3);
		wrong += i > 1 && xa_load(&xa, i * i + 1);
	}
	xa_for_each_marked(&xa, index, entry, XA_MARK_1) {
		wrong += xa_to_value(entry) != 3 * seen;
		seen++;
	}
	wrong += seen != 100;
	for (i = 0; i < 300; i += 2)
		wrong += xa_to_value(xa_erase(&xa, i * i)) != i;
	seen = 0;
	xa_for_each(&xa, index, entry) {
		wrong += xa_to_value(entry) != 2 * seen + 1;
		seen++;
	}
	wrong += seen != 150;
	xa_destroy(&xa);
	return wrong + !xa_empty(&xa);
}

static int kp_lib_tests_own(char *buf, const struct kernel_param *param)
{
	static const u8 digits[] = "123456789";
	u8 digest[SHA256_DIGEST_SIZE];

	kp_own_sha256(digest);
	return sysfs_emit(buf, "sha256 %*phN\ncrc32 %08x %08x %08x\nxarray %u wrong\n",
			  SHA256_DIGEST_SIZE, digest, ~crc32_le(~0, digits, 9),
			  ~crc32_be(~0, digits, 9), ~__crc32c_le(~0, digits, 9),
			  kp_own_xarray());
}

static const struct kernel_param_ops kp_lib_tests_own_ops = {
	.get = kp_lib_tests_own,
};

module_param_cb(own, &kp_lib_tests_own_ops, NULL, 0400);

static int __init kp_lib_tests_init(void)
{
	return 0;
}

static void __exit kp_lib_tests_exit(void)
{
	kp_remove_all();
}

module_init(kp_lib_tests_init);
module_exit(kp_lib_tests_exit);

MODULE_DESCRIPTION("kprobes on every instruction of library functions");
MODULE_LICENSE("GPL");
