// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of probes when there is no memory for them: probes on the functions that
 * allocate make one allocation after the other fail. Every kernel has these functions, and
 * more allocations fail than with CONFIG_FAILSLAB. Probes on the functions that free show
 * what was not freed.
 *
 * For the script there are parameters as well:
 *
 * - nth: for the writing task, the allocation of this number fails, from now on
 * - within: the name of a function; if nth_within is N, the Nth allocation fails of each
 *   call of it
 * - failed: how many allocations have failed since nth or nth_within was last set to a number
 *   other than 0
 * - where: the caller whose allocation failed last
 */

#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/jiffies.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "kp_nomem.h"

/* What is counted, and how far we are. Only the task in question changes the counters. */
static struct {
	bool on;
	enum kp_nomem_who who;
	struct task_struct *task;
	unsigned int nth;
	unsigned int count;
	unsigned int failed;
	void *where;
	/* Within allocators that keep some of it for later. */
	unsigned int inside;
} kp_fail;

/*
 * An account stands for memory that was allocated and is not freed yet. Memory may be freed in
 * any context and on any CPU, but only the task whose allocations are counted adds accounts.
 * On a busy machine, thousands of allocations wait until RCU frees them.
 */
#define KP_SLOTS_BITS	15
#define KP_SLOTS	BIT(KP_SLOTS_BITS)
#define KP_WINDOW	32

struct kp_account {
	void *mem;
	void *caller;
	void *function;
	unsigned int nth;
};

static struct kp_account kp_accounts[KP_SLOTS + KP_WINDOW];
static unsigned int kp_unaccounted;

static struct kp_account *kp_account_window(const void *mem)
{
	return &kp_accounts[hash_ptr(mem, KP_SLOTS_BITS)];
}

static void kp_account_add(void *mem, void *caller, void *function)
{
	struct kp_account *a = kp_account_window(mem), *room = NULL;
	int i;

	for (i = 0; i < KP_WINDOW; i++, a++) {
		if (a->mem == mem)
			return;
		if (!a->mem && !room)
			room = a;
	}
	if (!room) {
		kp_unaccounted++;
		return;
	}
	room->caller = caller;
	room->function = function;
	room->nth = kp_fail.nth;
	WRITE_ONCE(room->mem, mem);
}

NOKPROBE_SYMBOL(kp_account_add);

static void kp_account_free(void *mem)
{
	struct kp_account *a = kp_account_window(mem);
	int i;

	if (!mem)
		return;
	for (i = 0; i < KP_WINDOW; i++, a++)
		if (READ_ONCE(a->mem) == mem)
			WRITE_ONCE(a->mem, NULL);
}

NOKPROBE_SYMBOL(kp_account_free);

/* Is this the task, or the optimiser's thread, whose allocations are counted? */
static bool kp_is_asking(void)
{
	if (!READ_ONCE(kp_fail.on))
		return false;
	if (kp_fail.who == KP_NOMEM_CURRENT)
		return current == kp_fail.task;
	return current->flags & PF_KTHREAD && strstarts(current->comm, "kprobe-optimize");
}

NOKPROBE_SYMBOL(kp_is_asking);

/*
 * Probes on the functions that allocate.
 */

#define KP_BUCKET	IS_ENABLED(CONFIG_SLAB_BUCKETS)
#define KP_NO_FLAGS	-1

struct kp_site {
	const char *name;
	/* Which argument is the flags. */
	int flags;
	/* What is returned when there is no memory. */
	long failure;
	/* It returns what kfree() or the like is called with. */
	bool accounted;
	/* What it allocates itself is not ours to look at. */
	bool encloses;
	struct kprobe kp;
	struct kretprobe rp;
};

static struct kp_site kp_sites[] = {
	{ "__kmalloc_noprof", 1, 0, true },
	{ "__kmalloc_cache_noprof", 1, 0, true },
	{ "__kmalloc_large_noprof", 1, 0, true },
	{ "__kmalloc_node_noprof", 1 + KP_BUCKET, 0, true },
	{ "__kmalloc_cache_node_noprof", 1, 0, true },
	{ "__kmalloc_large_node_noprof", 1, 0, true },
	{ "__kvmalloc_node_noprof", 1 + KP_BUCKET, 0, true },
	{ "kmem_cache_alloc_noprof", 1, 0, true },
	/* An xarray's nodes, many for one entry. */
	{ "kmem_cache_alloc_lru_noprof", 2 },
	{ "kmem_cache_alloc_node_noprof", 1, 0, true },
	{ "__vmalloc_node_range_noprof", 4, 0, true, true },
	{ "execmem_alloc", KP_NO_FLAGS, 0, true, true },
	{ "set_memory_rox", KP_NO_FLAGS, -ENOMEM, false, true },
};

/* Kprobes allocates nothing where it cannot sleep: such an allocation is not counted. */
static bool kp_has_flags(const struct kp_site *site, struct pt_regs *regs, gfp_t has, gfp_t not)
{
	gfp_t gfp;

	if (site->flags == KP_NO_FLAGS)
		return true;
	gfp = regs_get_kernel_argument(regs, site->flags);
	return (gfp & has) && !(gfp & not);
}

NOKPROBE_SYMBOL(kp_has_flags);

/* At the entry: nothing has been pushed yet. */
static int kp_alloc_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_site *site = container_of(kp, struct kp_site, kp);

	if (!kp_is_asking() || !kp_fail.nth)
		return 0;
	if (!kp_has_flags(site, regs, __GFP_DIRECT_RECLAIM, __GFP_NOFAIL))
		return 0;
	if (++kp_fail.count != kp_fail.nth)
		return 0;
	kp_fail.where = *(void **)regs->sp;
	kp_fail.failed++;
	regs->ax = site->failure;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	return 1;
}

NOKPROBE_SYMBOL(kp_alloc_pre);

struct kp_alloc_data {
	void *caller;
};

static int kp_alloc_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_site *site = container_of(get_kretprobe(ri), struct kp_site, rp);
	struct kp_alloc_data *data = (void *)ri->data;

	if (!kp_is_asking() || !kp_has_flags(site, regs, __GFP_DIRECT_RECLAIM, 0))
		return 1;
	data->caller = (void *)get_kretprobe_retaddr(ri);
	kp_fail.inside += site->encloses;
	return 0;
}

NOKPROBE_SYMBOL(kp_alloc_entry);

static int kp_alloc_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct kp_alloc_data *data = (void *)ri->data;
	void *mem = (void *)regs_return_value(regs);
	struct kp_site *site;

	if (!rp)
		return 0;
	site = container_of(rp, struct kp_site, rp);
	kp_fail.inside -= site->encloses;
	if (mem && site->accounted && !kp_fail.inside)
		kp_account_add(mem, data->caller, rp->kp.addr);
	return 0;
}

NOKPROBE_SYMBOL(kp_alloc_return);

/*
 * Probes on the functions that free.
 */

static int kp_free_first(struct kprobe *kp, struct pt_regs *regs)
{
	kp_account_free((void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

NOKPROBE_SYMBOL(kp_free_first);

static int kp_free_second(struct kprobe *kp, struct pt_regs *regs)
{
	kp_account_free((void *)regs_get_kernel_argument(regs, 1));
	return 0;
}

NOKPROBE_SYMBOL(kp_free_second);

static int kp_free_bulk(struct kprobe *kp, struct pt_regs *regs)
{
	size_t i, nr = regs_get_kernel_argument(regs, 1);
	void **mem = (void **)regs_get_kernel_argument(regs, 2);

	for (i = 0; i < nr; i++)
		kp_account_free(mem[i]);
	return 0;
}

NOKPROBE_SYMBOL(kp_free_bulk);

static struct kprobe kp_frees[] = {
	{ .symbol_name = "kfree", .pre_handler = kp_free_first },
	{ .symbol_name = "vfree", .pre_handler = kp_free_first },
	{ .symbol_name = "vfree_atomic", .pre_handler = kp_free_first },
	{ .symbol_name = "execmem_free", .pre_handler = kp_free_first },
	{ .symbol_name = "kmem_cache_free", .pre_handler = kp_free_second },
	{ .symbol_name = "kmem_cache_free_bulk", .pre_handler = kp_free_bulk },
};

/*
 * For the suites.
 */

static void kp_fail_begin(enum kp_nomem_who who, unsigned int nth)
{
	kp_fail.who = who;
	kp_fail.task = current;
	kp_fail.nth = nth;
	kp_fail.count = 0;
	kp_fail.inside = 0;
	/* The task or the worker that sees it sees all of it. */
	smp_store_release(&kp_fail.on, true);
}

void kp_nomem_begin(enum kp_nomem_who who, unsigned int nth)
{
	kp_fail.failed = 0;
	kp_fail.where = NULL;
	kp_fail_begin(who, nth);
}

bool kp_nomem_end(void)
{
	WRITE_ONCE(kp_fail.on, false);
	return kp_fail.failed;
}

void *kp_nomem_where(void)
{
	return kp_fail.where;
}

void kp_nomem_forget(void)
{
	memset(kp_accounts, 0, sizeof(kp_accounts));
	kp_unaccounted = 0;
}

static unsigned int kp_count_from(const void *caller)
{
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(kp_accounts); i++)
		nr += READ_ONCE(kp_accounts[i].mem) && kp_accounts[i].caller == caller;
	return nr;
}

/* From a place that has allocated more than @allowed; NULL if there is none. */
static struct kp_account *kp_too_many(unsigned int allowed)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kp_accounts); i++)
		if (READ_ONCE(kp_accounts[i].mem) &&
		    kp_count_from(kp_accounts[i].caller) > allowed)
			return &kp_accounts[i];
	return NULL;
}

void kp_nomem_expect_freed(struct kunit *test, unsigned int allowed)
{
	/* What has failed once is likely to fail again, and need not take as long. */
	static unsigned int patience = 60;
	unsigned long timeout = jiffies + patience * HZ;
	struct kp_account *a;

	while (kp_too_many(allowed) && time_before(jiffies, timeout)) {
		msleep(50);
		rcu_barrier();
		kvfree_rcu_barrier();
	}
	a = kp_too_many(allowed);
	if (a)
		patience = 5;
	if (a)
		KUNIT_FAIL(test, "%u allocations of %pS remain, that from %pS when %u failed",
			   kp_count_from(a->caller), a->caller, a->function, a->nth);
	KUNIT_EXPECT_EQ_MSG(test, kp_unaccounted, 0, "there are too many to account for");
}

void kp_nomem_run(struct kunit *test, const struct kp_nomem_try *t)
{
	unsigned int nth = 0, pass, refused = 0, done = 0;
	bool failed;
	int ret;

	for (pass = 0; pass < t->passes; pass++) {
		failed = true;
		refused = 0;
		done = 0;
		/* With a stride, others each time. */
		for (nth = 1 + pass % t->stride; failed; nth += failed ? t->stride : 0) {
			if (t->prepare)
				t->prepare(test);
			kp_nomem_begin(t->who, nth);
			ret = t->attempt(test);
			failed = kp_nomem_end();
			if (ret && !(failed && ret == -ENOMEM && !t->never_fails))
				KUNIT_FAIL(test, "without allocation %u, of %pS: %d", nth,
					   kp_nomem_where(), ret);
			if (ret) {
				refused++;
				t->expect_failed(test);
			} else {
				done++;
				t->expect_done(test);
				t->undo(test);
			}
			t->expect_clean(test);
			/* And then it works, as if nothing had been. */
			if (ret && t->prepare)
				t->prepare(test);
			if (ret) {
				kp_nomem_begin(t->who, 0);
				ret = t->attempt(test);
				kp_nomem_end();
				KUNIT_ASSERT_EQ_MSG(test, ret, 0, "after it failed, of %pS",
						    kp_nomem_where());
				t->expect_done(test);
				t->undo(test);
				t->expect_clean(test);
			}
			if (test->status == KUNIT_FAILURE || nth > 10000)
				KUNIT_FAIL_AND_ABORT(test, "that was without allocation %u, of %pS",
						     nth, kp_nomem_where());
		}
	}
	kunit_info(test, "%u allocations, without %u of them nothing is done, without %u it is\n",
		   nth - 1, refused, done - 1);
	KUNIT_EXPECT_GT_MSG(test, nth, t->least, "there should be more allocations");
}

/*
 * For the script.
 */

static int kp_nth_set(const char *val, const struct kernel_param *param)
{
	unsigned int nth;
	int ret = kstrtouint(val, 0, &nth);

	if (ret)
		return ret;
	kp_nomem_end();
	if (nth)
		kp_nomem_begin(KP_NOMEM_CURRENT, nth);
	return 0;
}

static int kp_nth_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%u\n", kp_fail.nth);
}

static const struct kernel_param_ops kp_nth_ops = {
	.set = kp_nth_set,
	.get = kp_nth_get,
};

module_param_cb(nth, &kp_nth_ops, NULL, 0600);
module_param_named(failed, kp_fail.failed, uint, 0400);

static unsigned int nth_within;

static int kp_nth_within_set(const char *val, const struct kernel_param *param)
{
	int ret = param_set_uint(val, param);

	if (!ret && nth_within)
		kp_fail.failed = 0;
	return ret;
}

static const struct kernel_param_ops kp_nth_within_ops = {
	.set = kp_nth_within_set,
	.get = param_get_uint,
};

module_param_cb(nth_within, &kp_nth_within_ops, &nth_within, 0600);

static int kp_within_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (!nth_within || kp_fail.on)
		return 1;
	kp_fail_begin(KP_NOMEM_CURRENT, nth_within);
	return 0;
}

NOKPROBE_SYMBOL(kp_within_entry);

static int kp_within_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	WRITE_ONCE(kp_fail.on, false);
	return 0;
}

NOKPROBE_SYMBOL(kp_within_return);

static char kp_within_name[KSYM_NAME_LEN];
static struct kretprobe kp_within;

static int kp_within_set(const char *val, const struct kernel_param *param)
{
	unregister_kretprobe(&kp_within);
	strscpy(kp_within_name, val, sizeof(kp_within_name));
	strim(kp_within_name);
	if (!*kp_within_name)
		return 0;
	kp_within = (struct kretprobe) {
		.kp.symbol_name = kp_within_name,
		.entry_handler = kp_within_entry,
		.handler = kp_within_return,
		.maxactive = 16,
	};
	return register_kretprobe(&kp_within);
}

static const struct kernel_param_ops kp_within_ops = {
	.set = kp_within_set,
};

module_param_cb(within, &kp_within_ops, NULL, 0200);

static int kp_where_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%pS\n", kp_fail.where);
}

static const struct kernel_param_ops kp_where_ops = {
	.get = kp_where_get,
};

module_param_cb(where, &kp_where_ops, NULL, 0400);

/*
 * The probes are there as long as the module. They don't share instances, which would
 * change what there is to be allocated.
 */

static void kp_nomem_remove(void)
{
	unsigned int i;

	unregister_kretprobe(&kp_within);
	for (i = 0; i < ARRAY_SIZE(kp_sites); i++) {
		unregister_kprobe(&kp_sites[i].kp);
		unregister_kretprobe(&kp_sites[i].rp);
	}
	for (i = 0; i < ARRAY_SIZE(kp_frees); i++)
		unregister_kprobe(&kp_frees[i]);
}

static int kp_nomem_probe(void)
{
	struct kp_site *site;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(kp_frees) && !ret; i++)
		ret = register_kprobe(&kp_frees[i]);
	for (i = 0; i < ARRAY_SIZE(kp_sites) && !ret; i++) {
		site = &kp_sites[i];
		site->rp.kp.symbol_name = site->name;
		site->rp.entry_handler = kp_alloc_entry;
		site->rp.handler = kp_alloc_return;
		site->rp.data_size = sizeof(struct kp_alloc_data);
		site->rp.maxactive = 256;
		ret = register_kretprobe(&site->rp);
		if (ret)
			break;
		/* Registered later, called first. */
		site->kp.symbol_name = site->name;
		site->kp.pre_handler = kp_alloc_pre;
		ret = register_kprobe(&site->kp);
	}
	if (ret)
		kp_nomem_remove();
	return ret;
}

kunit_test_suites(&kp_nomem_suite);

static int __init kp_nomem_init(void)
{
	return kp_nomem_probe();
}
module_init(kp_nomem_init);

static void __exit kp_nomem_exit(void)
{
	kp_nomem_remove();
}
module_exit(kp_nomem_exit);

MODULE_DESCRIPTION("Failing allocations, and what becomes of probes");
MODULE_LICENSE("GPL");
