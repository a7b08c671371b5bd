// SPDX-License-Identifier: GPL-2.0
/* Return probes that must be refused with the documented errno, and leave nothing */

#include <linux/slab.h>
#include "kp_module.h"
#include "kp_regs.h"
#include "kretprobes_kunit.h"

/* register_kretprobe() must fail with @error and leave nothing registered. */
static void kp_ret_expect_refused(struct kunit *test, struct kp_rp *probe, int error)
{
	const char *name = probe->rp.kp.symbol_name;
	void *addr = probe->rp.kp.addr;
	int ret = register_kretprobe(&probe->rp);

	KUNIT_EXPECT_EQ_MSG(test, ret, error, "probing %s %pS + %u", name, addr,
			    probe->rp.kp.offset);
	if (!ret) {
		unregister_kretprobe(&probe->rp);
		return;
	}
	KUNIT_EXPECT_EQ_MSG(test, enable_kretprobe(&probe->rp), -EINVAL,
			    "a refused probe can be enabled: %s %pS", name, addr);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);
}

static void kp_ret_errno_null(struct kunit *test)
{
	kp_ret_may_be_fatal(test);
	KUNIT_EXPECT_EQ(test, register_kretprobe(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(NULL), -EINVAL);
	unregister_kretprobe(NULL);
	unregister_kretprobes(NULL, 1);
}

static void kp_ret_errno_null_member(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	struct kretprobe *rps[2] = { &probe->rp, NULL };
	int ret;

	kp_ret_may_be_fatal(test);
	ret = register_kretprobes(rps, 2);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	if (!ret)
		unregister_kretprobe(&probe->rp);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);

	/* unregister_kretprobes() still unregisters the registered members. */
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	unregister_kretprobes(rps, 2);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);
}

static void kp_ret_errno_number(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	struct kretprobe *rps[1] = { &probe->rp };

	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	unregister_kretprobes(rps, 0);
	unregister_kretprobes(rps, -1);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 1, 1);
}

static void kp_ret_errno_no_location(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, NULL);

	kp_ret_expect_refused(test, probe, -EINVAL);

	/* Both name and address */
	probe->rp.kp.addr = (void *)kp_ret_target;
	probe->rp.kp.symbol_name = "kp_ret_target";
	kp_ret_expect_refused(test, probe, -EINVAL);
}

static void kp_ret_errno_unknown_symbol(struct kunit *test)
{
	static const char *const names[] = {
		"kp_no_such_function", KP_QUALIFIED("kp_no_such_function"),
		"kp_no_such_module:kp_ret_target",
	};
	struct kp_rp *probe = kp_rp_new(test, NULL);
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe->rp.kp.symbol_name = names[i];
		kp_ret_expect_refused(test, probe, -ENOENT);
	}
}

/* Not at the entry: the return address is not on top of the stack. */
static void kp_ret_errno_not_entry(struct kunit *test)
{
	struct kp_rp *probe;
	unsigned int offset;

	if (IS_ENABLED(CONFIG_PPC64))
		kunit_skip(test, "the first 16 bytes are the entry");
	for (offset = 1; offset < 16; offset++) {
		/* The first instruction after an ENDBR may count as the entry. */
		if (offset == 4)
			continue;
		probe = kp_rp_new(test, (void *)kp_ret_target + offset);
		kp_ret_expect_refused(test, probe, -EINVAL);
		probe = kp_rp_new(test, (void *)kp_ret_target);
		probe->rp.kp.offset = offset;
		kp_ret_expect_refused(test, probe, -EINVAL);
		probe = kp_rp_new(test, NULL);
		probe->rp.kp.symbol_name = "kp_ret_target";
		probe->rp.kp.offset = offset;
		kp_ret_expect_refused(test, probe, -EINVAL);
	}
}

static void kp_ret_errno_not_text(struct kunit *test)
{
	void *heap = kunit_kzalloc(test, 64, GFP_KERNEL);
	struct kp_rp *probe;
	int i, ret;
	void *addrs[] = { heap, &ret, (void *)1, (void *)PAGE_SIZE, (void *)-1L, &kp_ret_from };

	KUNIT_ASSERT_NOT_NULL(test, heap);
	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		probe = kp_rp_new(test, addrs[i]);
		/* The errno depends on whether a symbol is near. */
		ret = register_kretprobe(&probe->rp);
		KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT, "address %d: %d", i,
				      ret);
		KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), -EINVAL);
	}
}

static void kp_ret_errno_blacklisted(struct kunit *test)
{
	static const char *const names[] = {
		"kp_ret_nokprobe", "notify_die", "atomic_notifier_call_chain", "get_kprobe",
#ifdef CONFIG_X86
		"exc_int3", "exc_page_fault", "irqentry_enter",
#endif
	};
	struct kp_rp *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe = kp_rp_new(test, NULL);
		probe->rp.kp.symbol_name = names[i];
		kp_ret_expect_refused(test, probe, -EINVAL);
	}
	probe = kp_rp_new(test, kp_ret_nokprobe);
	kp_ret_expect_refused(test, probe, -EINVAL);
}

/* Functions that one task, or one stack, enters and another one leaves */
static void kp_ret_errno_switches(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kp_rp *probe = kp_rp_new(test, NULL);
	struct kprobe kp = { .symbol_name = "__switch_to" };

	probe->rp.kp.symbol_name = "__switch_to";
	kp_ret_expect_refused(test, probe, -EINVAL);

	/* Also by address, which a kprobe finds: it is allowed there. */
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	unregister_kprobe(&kp);
	probe = kp_rp_new(test, kp.addr);
	kp_ret_expect_refused(test, probe, -EINVAL);
#else
	kunit_skip(test, "not known which these are");
#endif
}

static void kp_ret_errno_data_size(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);

	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
	kp_ret_expect_refused(test, probe, -E2BIG);
	probe->rp.data_size = SIZE_MAX;
	kp_ret_expect_refused(test, probe, -E2BIG);
	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 1, 1);
}

static void kp_ret_errno_same_twice(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 1, 1);

	KUNIT_EXPECT_EQ(test, disable_kretprobe(&probe->rp), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 2, 2);
}

static void kp_ret_errno_not_registered(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	struct kp_rp *bystander = kp_rp_new(test, kp_ret_target);

	KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&probe->rp), -EINVAL);

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, bystander), 0);
	probe->rp.kp.addr = bystander->rp.kp.addr;
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&probe->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, bystander, 1, 1);
	kp_rp_expect(test, probe, 0, 0);
	kp_rp_unregister(test, bystander);

	KUNIT_EXPECT_EQ(test, enable_kretprobe(&bystander->rp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&bystander->rp), -EINVAL);
}

/* Unregistering a probe that is not registered clears its addr and affects no other. */
static void kp_ret_errno_unregister(struct kunit *test)
{
	struct kp_rp *bystander = kp_rp_new(test, kp_ret_target);
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	struct kretprobe *rps[2];
	int i, calls;

	kp_ret_may_be_fatal(test);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, bystander), 0);

	/* Never registered */
	unregister_kretprobe(&probe->rp);
	KUNIT_EXPECT_NULL(test, probe->rp.kp.addr);
	unregister_kretprobe(&probe->rp);

	/* After a failed registration, for each kind of errno */
	probe->rp.kp.addr = (void *)kp_ret_nokprobe;
	kp_ret_expect_refused(test, probe, -EINVAL);
	unregister_kretprobe(&probe->rp);
	probe = kp_rp_new(test, (void *)kp_ret_target + 1);
	kp_ret_expect_refused(test, probe, -EINVAL);
	unregister_kretprobe(&probe->rp);
	probe = kp_rp_new(test, kp_ret_target);
	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
	kp_ret_expect_refused(test, probe, -E2BIG);
	unregister_kretprobe(&probe->rp);
	KUNIT_EXPECT_NULL(test, probe->rp.kp.addr);
	probe = kp_rp_new(test, NULL);
	probe->rp.kp.symbol_name = "kp_no_such_function";
	kp_ret_expect_refused(test, probe, -ENOENT);
	unregister_kretprobe(&probe->rp);

	/* More than once */
	calls = atomic_read(&bystander->entries);
	probe = kp_rp_new(test, kp_ret_target);
	for (i = 1; i <= 3; i++) {
		probe->rp.kp.addr = kp_entry(kp_ret_target);
		KUNIT_ASSERT_EQ(test, register_kretprobe(&probe->rp), 0);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		unregister_kretprobe(&probe->rp);
		KUNIT_EXPECT_NOT_NULL(test, probe->rp.kp.addr);
		unregister_kretprobe(&probe->rp);
		KUNIT_EXPECT_NULL(test, probe->rp.kp.addr);
		unregister_kretprobe(&probe->rp);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_rp_expect(test, probe, i, i);
		kp_rp_expect(test, bystander, calls + 2 * i, calls + 2 * i);
	}

	/* The same one twice in a batch */
	probe->rp.kp.addr = kp_entry(kp_ret_target);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe->rp), 0);
	rps[0] = &probe->rp;
	rps[1] = &probe->rp;
	unregister_kretprobes(rps, 2);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 3, 3);
	kp_rp_expect(test, bystander, calls + 7, calls + 7);

	/* One that is registered and one that is not */
	probe = kp_rp_new(test, kp_ret_target);
	rps[0] = &kp_rp_new(test, kp_ret_other)->rp;
	rps[1] = &probe->rp;
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe->rp), 0);
	unregister_kretprobes(rps, 2);
	KUNIT_EXPECT_NULL(test, rps[0]->kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, rps[1]->kp.addr);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);
}

#define KP_RET_BATCH	4

static struct kretprobe **kp_ret_batch_new(struct kunit *test)
{
	struct kretprobe **rps = kunit_kcalloc(test, KP_RET_BATCH, sizeof(*rps), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rps);
	for (i = 0; i < KP_RET_BATCH; i++)
		rps[i] = &kp_rp_new(test, i % 2 ? kp_ret_other : kp_ret_target)->rp;
	return rps;
}

/* @bad fails with @error at any index, and no other member stays registered. */
static void kp_ret_expect_batch_refused(struct kunit *test, struct kp_rp *bad, int error)
{
	const struct kp_rp original = *bad;
	struct kretprobe **rps;
	int at, i, ret;

	for (at = 0; at < KP_RET_BATCH; at++) {
		rps = kp_ret_batch_new(test);
		*bad = original;
		rps[at] = &bad->rp;
		ret = register_kretprobes(rps, KP_RET_BATCH);
		KUNIT_EXPECT_EQ_MSG(test, ret, error, "bad member at %d", at);
		if (!ret)
			unregister_kretprobes(rps, KP_RET_BATCH);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
		for (i = 0; i < KP_RET_BATCH; i++) {
			kp_rp_expect(test, container_of(rps[i], struct kp_rp, rp), 0, 0);
			KUNIT_EXPECT_EQ_MSG(test, enable_kretprobe(rps[i]), -EINVAL,
					    "probe %d is left", i);
		}
	}
}

static void kp_ret_errno_batch(struct kunit *test)
{
	struct kp_rp *bad = kp_rp_new(test, NULL);

	kp_ret_expect_batch_refused(test, bad, -EINVAL);
	bad->rp.kp.symbol_name = "kp_no_such_function";
	kp_ret_expect_batch_refused(test, bad, -ENOENT);
	bad = kp_rp_new(test, kp_ret_nokprobe);
	kp_ret_expect_batch_refused(test, bad, -EINVAL);
	bad = kp_rp_new(test, (void *)kp_ret_target + 1);
	kp_ret_expect_batch_refused(test, bad, -EINVAL);
	bad = kp_rp_new(test, kp_ret_target);
	bad->rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
	kp_ret_expect_batch_refused(test, bad, -E2BIG);
}

static void kp_ret_errno_batch_same_twice(struct kunit *test)
{
	struct kretprobe **rps = kp_ret_batch_new(test);
	int i, ret;

	rps[3] = rps[1];
	ret = register_kretprobes(rps, KP_RET_BATCH);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	if (!ret)
		unregister_kretprobes(rps, 3);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
	for (i = 0; i < 3; i++)
		kp_rp_expect(test, container_of(rps[i], struct kp_rp, rp), 0, 0);
}

static void kp_ret_errno_batch_registered(struct kunit *test)
{
	struct kretprobe **rps = kp_ret_batch_new(test);
	struct kp_rp *other = container_of(rps[2], struct kp_rp, rp);

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, other), 0);
	KUNIT_EXPECT_EQ(test, register_kretprobes(rps, KP_RET_BATCH), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, other, 1, 1);
	kp_rp_expect(test, container_of(rps[0], struct kp_rp, rp), 0, 0);
}

static struct kunit_case kp_ret_errno_cases[] = {
	KUNIT_CASE(kp_ret_errno_null),
	KUNIT_CASE(kp_ret_errno_null_member),
	KUNIT_CASE(kp_ret_errno_number),
	KUNIT_CASE(kp_ret_errno_no_location),
	KUNIT_CASE(kp_ret_errno_unknown_symbol),
	KUNIT_CASE(kp_ret_errno_not_entry),
	KUNIT_CASE(kp_ret_errno_not_text),
	KUNIT_CASE(kp_ret_errno_blacklisted),
	KUNIT_CASE(kp_ret_errno_switches),
	KUNIT_CASE(kp_ret_errno_data_size),
	KUNIT_CASE(kp_ret_errno_same_twice),
	KUNIT_CASE(kp_ret_errno_not_registered),
	KUNIT_CASE(kp_ret_errno_unregister),
	KUNIT_CASE(kp_ret_errno_batch),
	KUNIT_CASE(kp_ret_errno_batch_same_twice),
	KUNIT_CASE(kp_ret_errno_batch_registered),
	{}
};

struct kunit_suite kp_ret_errno_suite = {
	.name = "kretprobes_errno",
	.test_cases = kp_ret_errno_cases,
};
