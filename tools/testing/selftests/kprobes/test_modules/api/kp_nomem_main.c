// SPDX-License-Identifier: GPL-2.0
/*
 * Tests what happens without memory. Probes on the kernel's allocators make one allocation at a
 * time fail, and record what was allocated and not freed. CONFIG_FAILSLAB would not do: it records
 * nothing, also fails allocations that may not sleep, and does not tell whose allocation failed.
 *
 * Parameters for the script:
 *
 * - nth: allocation number nth of the writing task fails. If `within` names a function, allocation
 *   number nth of each call of that function fails instead
 * - onwards: with `within`, all later allocations fail, too, and so do atomic ones: the kernel's
 *   trees first try an atomic allocation, and then one that may sleep
 * - failed: number of failed allocations since nth was last set to a number other than 0
 * - where: the caller of the allocation that failed last
 * - kept: number of allocations that the function `within` itself made and that are not freed
 */

#include "kp_handlers.h"
#include "kp_nomem.h"
#include "kp_symbol.h"

/* Changed only by the task whose allocations are counted */
static struct {
	bool on;
	bool optimizer;
	struct task_struct *task;
	unsigned int nth;
	unsigned int count;
	unsigned int failed;
	void *where;
	/* number of nested allocators with @encloses that the task is in */
	unsigned int inside;
} kp_fail;

/*
 * Hash table of allocations that are not freed yet. Only the task whose allocations are counted
 * adds entries, but any CPU may remove them, in any context. The table is large, since thousands of
 * allocations wait for RCU on a busy machine.
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

static void __kprobes kp_account_add(void *mem, void *caller, void *function)
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

static void __kprobes kp_account_free(void *mem)
{
	struct kp_account *a = kp_account_window(mem);
	int i;

	if (!mem)
		return;
	for (i = 0; i < KP_WINDOW; i++, a++)
		if (READ_ONCE(a->mem) == mem)
			WRITE_ONCE(a->mem, NULL);
}

static bool __kprobes kp_is_asking(void)
{
	if (!READ_ONCE(kp_fail.on))
		return false;
	if (!kp_fail.optimizer)
		return current == kp_fail.task;
	return current->flags & PF_KTHREAD && strstarts(current->comm, "kprobe-optimize");
}

#define KP_BUCKET	IS_ENABLED(CONFIG_SLAB_BUCKETS)
#define KP_NO_FLAGS	-1

/* A function that allocates */
struct kp_site {
	const char *name;
	/* The index of the argument with the GFP flags */
	int flags;
	/* The result if memory is short */
	long failure;
	/* kfree() or another function of kp_frees[] frees the result. */
	bool accounted;
	/* The function calls other allocators: do not record their results. */
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
	/* Not accounted: the nodes of an xarray, which allocates several for one entry */
	{ "kmem_cache_alloc_lru_noprof", 2 },
	{ "kmem_cache_alloc_node_noprof", 1, 0, true },
	{ "__vmalloc_node_range_noprof", 4, 0, true, true },
	{ "pcpu_alloc_noprof", 3, 0, true, true },
	{ "execmem_alloc", KP_NO_FLAGS, 0, true, true },
	{ "set_memory_rox", KP_NO_FLAGS, -ENOMEM, false, true },
};

/*
 * Does the allocation have a flag of @has and none of @not? True if the function has no argument
 * with flags. Except with `onwards`, callers pass __GFP_DIRECT_RECLAIM as @has, to leave out atomic
 * allocations: those of kprobes may sleep.
 */
static bool __kprobes kp_has_flags(const struct kp_site *site, struct pt_regs *regs, gfp_t has,
				   gfp_t not)
{
	gfp_t gfp;

	if (site->flags == KP_NO_FLAGS)
		return true;
	gfp = regs_get_kernel_argument(regs, site->flags);
	return (gfp & has) && !(gfp & not);
}

static bool kp_onwards;
module_param_named(onwards, kp_onwards, bool, 0600);

/* Fail a call at its entry: the return address is on top of the stack. */
static int __kprobes kp_alloc_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_site *site = container_of(kp, struct kp_site, kp);

	if (!kp_is_asking() || !kp_fail.nth)
		return 0;
	if (!kp_has_flags(site, regs, kp_onwards ? ~0U : __GFP_DIRECT_RECLAIM, __GFP_NOFAIL))
		return 0;
	kp_fail.count++;
	if (kp_onwards ? kp_fail.count < kp_fail.nth : kp_fail.count != kp_fail.nth)
		return 0;
	kp_fail.where = *(void **)regs->sp;
	kp_fail.failed++;
	regs->ax = site->failure;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	return 1;
}

static int __kprobes kp_alloc_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_site *site = container_of(get_kretprobe(ri), struct kp_site, rp);

	if (!kp_is_asking() || !kp_has_flags(site, regs, __GFP_DIRECT_RECLAIM, 0))
		return 1;
	*(void **)ri->data = (void *)get_kretprobe_retaddr(ri);
	kp_fail.inside += site->encloses;
	return 0;
}

static int __kprobes kp_alloc_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	void *mem = (void *)regs_return_value(regs);
	struct kp_site *site;

	if (!rp)
		return 0;
	site = container_of(rp, struct kp_site, rp);
	kp_fail.inside -= site->encloses;
	if (mem && site->accounted && !kp_fail.inside)
		kp_account_add(mem, *(void **)ri->data, rp->kp.addr);
	return 0;
}

KP_PRE_HANDLER(__kprobes, kp_free_first, kp_account_free((void *)regs_get_kernel_argument(regs, 0)))
KP_PRE_HANDLER(__kprobes, kp_free_second,
	       kp_account_free((void *)regs_get_kernel_argument(regs, 1)))

static int __kprobes kp_free_bulk(struct kprobe *kp, struct pt_regs *regs)
{
	size_t i, nr = regs_get_kernel_argument(regs, 1);
	void **mem = (void **)regs_get_kernel_argument(regs, 2);

	for (i = 0; i < nr; i++)
		kp_account_free(mem[i]);
	return 0;
}

static struct kprobe kp_frees[] = {
	{ .symbol_name = "kfree", .pre_handler = kp_free_first },
	{ .symbol_name = "vfree", .pre_handler = kp_free_first },
	{ .symbol_name = "vfree_atomic", .pre_handler = kp_free_first },
	{ .symbol_name = "free_percpu", .pre_handler = kp_free_first },
	{ .symbol_name = "execmem_free", .pre_handler = kp_free_first },
	{ .symbol_name = "kmem_cache_free", .pre_handler = kp_free_second },
	{ .symbol_name = "kmem_cache_free_bulk", .pre_handler = kp_free_bulk },
};

static void kp_fail_begin(bool optimizer, unsigned int nth)
{
	kp_fail.optimizer = optimizer;
	kp_fail.task = current;
	kp_fail.nth = nth;
	kp_fail.count = 0;
	kp_fail.inside = 0;
	/*
	 * Pairs with READ_ONCE() in kp_is_asking(): the
	 * optimiser's thread must see what was set before.
	 */
	smp_store_release(&kp_fail.on, true);
}

void kp_nomem_begin(bool optimizer, unsigned int nth)
{
	kp_fail.failed = 0;
	kp_fail.where = NULL;
	kp_fail_begin(optimizer, nth);
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

void kp_nomem_clear_accounts(void)
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

/* Find an entry of a caller that has more than @allowed. */
static struct kp_account *kp_too_many(unsigned int allowed)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kp_accounts); i++)
		if (READ_ONCE(kp_accounts[i].mem) && kp_count_from(kp_accounts[i].caller) > allowed)
			return &kp_accounts[i];
	return NULL;
}

/* kvfree_rcu_barrier(), which Linux 7.3 does not export */
static void (*kp_kvfree_barrier)(void);

static __nocfi void kp_wait_for_frees(void)
{
	rcu_barrier();
	kp_kvfree_barrier();
}

void kp_nomem_expect_freed(struct kunit *test, unsigned int allowed)
{
	/* After a failure, which is likely to repeat, wait less. */
	static unsigned int patience = 60;
	unsigned long timeout = jiffies + patience * HZ;
	struct kp_account *a;

	while (kp_too_many(allowed) && time_before(jiffies, timeout)) {
		msleep(50);
		kp_wait_for_frees();
	}
	a = kp_too_many(allowed);
	if (a) {
		patience = 5;
		KUNIT_FAIL(test, "%u allocations of %pS remain, that from %pS when %u failed",
			   kp_count_from(a->caller), a->caller, a->function, a->nth);
	}
	KUNIT_EXPECT_EQ(test, kp_unaccounted, 0);
}

static char kp_within_name[KSYM_NAME_LEN];
static struct kretprobe kp_within;
static unsigned int kp_within_nth;

static int kp_nth_set(const char *val, const struct kernel_param *param)
{
	unsigned int nth;
	int ret = kstrtouint(val, 0, &nth);

	if (ret)
		return ret;
	kp_nomem_end();
	WRITE_ONCE(kp_within_nth, 0);
	if (nth && *kp_within_name) {
		kp_fail.failed = 0;
		WRITE_ONCE(kp_within_nth, nth);
	} else if (nth) {
		kp_nomem_begin(false, nth);
	}
	return 0;
}

module_param_call(nth, kp_nth_set, NULL, NULL, 0200);
module_param_named(failed, kp_fail.failed, uint, 0400);

static int __kprobes kp_within_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (!READ_ONCE(kp_within_nth) || kp_fail.on)
		return 1;
	kp_fail_begin(false, kp_within_nth);
	return 0;
}

KP_RETURN_HANDLER(__kprobes, kp_within_return, WRITE_ONCE(kp_fail.on, false))

static int kp_within_set(const char *val, const struct kernel_param *param)
{
	unregister_kretprobe(&kp_within);
	kp_nomem_clear_accounts();
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

module_param_call(within, kp_within_set, NULL, NULL, 0200);

static int kp_where_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%pS\n", kp_fail.where);
}

module_param_call(where, NULL, kp_where_get, NULL, 0400);

static int kp_kept_get(char *buf, const struct kernel_param *param)
{
	unsigned int i, nr = 0;
	char caller[KSYM_SYMBOL_LEN];
	void *mem;

	/* What waits for a grace period counts as freed. */
	kp_wait_for_frees();
	for (i = 0; i < ARRAY_SIZE(kp_accounts); i++) {
		mem = READ_ONCE(kp_accounts[i].mem);
		snprintf(caller, sizeof(caller), "%ps", kp_accounts[i].caller);
		nr += mem && !strcmp(caller, kp_within_name);
	}
	return sysfs_emit(buf, "%u\n", nr);
}

module_param_call(kept, NULL, kp_kept_get, NULL, 0400);

static void kp_nomem_exit(void)
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

static int __init kp_nomem_init(void)
{
	struct kp_site *site;
	unsigned int i;
	int ret = 0;

	/* Look it up now: later, the allocations that this needs may fail. */
	kp_kvfree_barrier = kp_find_function("kvfree_rcu_barrier");
	if (!kp_kvfree_barrier)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(kp_frees) && !ret; i++)
		ret = register_kprobe(&kp_frees[i]);
	for (i = 0; i < ARRAY_SIZE(kp_sites) && !ret; i++) {
		site = &kp_sites[i];
		site->rp.kp.symbol_name = site->name;
		site->rp.entry_handler = kp_alloc_entry;
		site->rp.handler = kp_alloc_return;
		site->rp.data_size = sizeof(void *);
		/* A pool of its own: growing a shared one would add allocations. */
		site->rp.maxactive = 256;
		ret = register_kretprobe(&site->rp);
		if (ret)
			break;
		/*
		 * Registered last, so its handler runs first: a failed call takes no instance of
		 * @rp.
		 */
		site->kp.symbol_name = site->name;
		site->kp.pre_handler = kp_alloc_pre;
		ret = register_kprobe(&site->kp);
	}
	if (ret)
		kp_nomem_exit();
	return ret;
}

module_init(kp_nomem_init);
module_exit(kp_nomem_exit);

KP_SUITES("Failing allocations, and what becomes of probes", &kp_nomem_suite);
