/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CASES_ERRNO_H
#define KP_CASES_ERRNO_H

/*
 * Test cases of registrations that must be refused. One file of each test module includes this.
 * KP_KIND is the kind of probe that the module tests: see kp_kind.h.
 */

#ifdef CONFIG_X86_32
#define KP_ENTRY_SYSCALL	"entry_SYSENTER_32"
#define KP_ENTRY_EXCEPTION	"handle_exception"
#else
#define KP_ENTRY_SYSCALL	"entry_SYSCALL_64"
#define KP_ENTRY_EXCEPTION	"error_entry"
#endif

static int kp_errno_data;

/*
 * @text_only: @addr is not in the text. If KP_AT_ENTRY is 1, -ENOENT is also right: registration
 * first looks up the symbol of @addr, and there may be none.
 */
static const struct kp_location {
	const char *name;
	void *addr;
	const char *symbol;
	unsigned int offset;
	bool text_only, blacklisted;
	int error;
} kp_bad_locations[] = {
#define KP_NO_SYMBOL(name)	{ NULL, .symbol = name, .error = -ENOENT }
#define KP_NO_TEXT(what, addr)	{ what, (void *)(addr), .text_only = true, .error = -EINVAL }
#define KP_BLACKLISTED(name)	{ NULL, .symbol = name, .blacklisted = true, .error = -EINVAL }
	{ "nothing", .error = -EINVAL },
	{ "an offset", .offset = 4, .error = -EINVAL },
	{ "address and symbol", KP_TARGET, __stringify(KP_TARGET), .error = -EINVAL },
	KP_NO_SYMBOL("kp_no_such_function"),
	KP_NO_SYMBOL(KP_QUALIFIED("kp_no_such_function")),
	KP_NO_SYMBOL("kp_no_such_module:" __stringify(KP_TARGET)),
	KP_NO_TEXT("data of the module", &kp_errno_data),
	KP_NO_TEXT("data of the kernel", &loops_per_jiffy),
	{ NULL, .symbol = "jiffies",
	  .error = IS_ENABLED(CONFIG_KALLSYMS_ALL) ? -EINVAL : -ENOENT },
	KP_NO_TEXT("1", 1),
	KP_NO_TEXT("PAGE_SIZE", PAGE_SIZE),
	KP_NO_TEXT("0x400000", 0x400000),
	KP_NO_TEXT("the highest bit", 1UL << (BITS_PER_LONG - 1)),
	KP_NO_TEXT("the last byte", ~0UL),
	{ "the module's NOKPROBE_SYMBOL()", KP_NOKPROBE, .error = -EINVAL },
	KP_BLACKLISTED("notify_die"),
	KP_BLACKLISTED("atomic_notifier_call_chain"),
	KP_BLACKLISTED("get_kprobe"),
#ifdef CONFIG_X86
	/* entry text, in assembly and in C */
	KP_BLACKLISTED("asm_exc_int3"),
	KP_BLACKLISTED("asm_exc_page_fault"),
	KP_BLACKLISTED(KP_ENTRY_SYSCALL),
	KP_BLACKLISTED(KP_ENTRY_EXCEPTION),
	KP_BLACKLISTED("exc_int3"),
	KP_BLACKLISTED("exc_page_fault"),
	KP_BLACKLISTED("irqentry_enter"),
#endif
};

static void kp_bad_location_desc(const struct kp_location *bad, char *desc)
{
	strscpy(desc, bad->name ?: bad->symbol, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kp_bad_location, kp_bad_locations, kp_bad_location_desc);

static void kp_errno_location(struct kunit *test)
{
	const struct kp_location *bad = test->param_value;
	struct kp_probe *probe = kp_new_named(test, bad->symbol, bad->offset);
	int error;

	probe->kp.addr = bad->addr;
	error = kp_refusal(test, probe);
	if (!KP_AT_ENTRY || !bad->text_only || error != -ENOENT)
		KUNIT_EXPECT_EQ(test, error, bad->error);
	/*
	 * At offset 1, the errno must be -EINVAL, too, not -EILSEQ: registration checks the
	 * blacklist before instruction boundaries.
	 */
	if (bad->blacklisted)
		kp_expect_refused(test, kp_new_named(test, bad->symbol, 1), -EINVAL);
}

static void kp_errno_not_text(struct kunit *test)
{
	void *heap = kp_zalloc(test, 64);
	void *addrs[] = { heap, &heap, (void *)(TASK_SIZE - 1) };
	int i, error;

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		error = kp_refusal(test, kp_new(test, addrs[i]));
		if (!KP_AT_ENTRY || error != -ENOENT)
			KUNIT_EXPECT_EQ_MSG(test, error, -EINVAL, "address %d", i);
	}
}

/* Registering a struct that is registered must fail, also while the probe is disabled. */
static void kp_errno_same_twice(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, KP_TARGET);

	KUNIT_EXPECT_EQ(test, KP_API(register)(kp_own(probe)), -EINVAL);
	kp_expect_call(test, probe, KP_TARGET, 1);

	KUNIT_EXPECT_EQ(test, kp_disable(probe), 0);
	KUNIT_EXPECT_EQ(test, KP_API(register)(kp_own(probe)), -EINVAL);
	kp_expect_unprobed(test, probe, KP_TARGET);
	KUNIT_EXPECT_EQ(test, kp_enable(test, probe), 0);
	kp_expect_call(test, probe, KP_TARGET, 2);

	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, KP_TARGET);
}

static void kp_errno_not_registered(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, KP_TARGET);
	struct kp_probe *other;

	KUNIT_EXPECT_EQ(test, kp_enable(test, probe), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_disable(probe), -EINVAL);

	other = kp_registered(test, KP_TARGET);
	KUNIT_EXPECT_EQ(test, kp_enable(test, probe), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_disable(probe), -EINVAL);
	kp_expect_call(test, probe, KP_TARGET, 0);
	kp_expect_hits(test, other, 1);

	kp_unregister(test, other);
	KUNIT_EXPECT_EQ(test, kp_enable(test, other), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_disable(other), -EINVAL);
	kp_expect_unprobed(test, other, KP_TARGET);
}

/* Unregistering a probe that is not registered must clear its addr, and affect no other probe. */
static void kp_errno_unregister(struct kunit *test)
{
	struct kp_probe *bystander = kp_new(test, KP_TARGET);
	struct kp_probe *probe = kp_new(test, NULL);
	void *const addrs[] = { NULL, KP_OTHER, bystander->kp.addr, KP_NOKPROBE };
	struct KP_KIND *both[] = { kp_own(probe), NULL, kp_own(bystander) };
	int i;

	kp_may_be_fatal(test);
	KUNIT_ASSERT_EQ(test, kp_register(test, bystander), 0);

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		probe->kp.addr = addrs[i];
		if (addrs[i] == KP_NOKPROBE)
			KUNIT_EXPECT_EQ(test, KP_API(register)(kp_own(probe)), -EINVAL);
		KP_API(unregister)(kp_own(probe));
		KUNIT_EXPECT_NULL(test, probe->kp.addr);
	}
	/* The first unregistration keeps addr. The second, of an unregistered probe, clears it. */
	for (i = 1; i <= 3; i++) {
		probe->kp.addr = kp_entry(KP_TARGET);
		KUNIT_ASSERT_EQ(test, KP_API(register)(kp_own(probe)), 0);
		kp_expect_call(test, probe, KP_TARGET, i);
		KP_API(unregister)(kp_own(probe));
		KUNIT_EXPECT_NOT_NULL(test, probe->kp.addr);
		KP_API(unregister)(kp_own(probe));
		KUNIT_EXPECT_NULL(test, probe->kp.addr);
		KP_API(unregister)(kp_own(probe));
		kp_expect_call(test, bystander, KP_TARGET, 2 * i);
		kp_expect_hits(test, probe, i);
	}
	probe->kp.addr = (void *)KP_OTHER;
	kunit_remove_action(test, kp_unregister_action, kp_own(bystander));
	KP_API_ALL(unregister)(both, ARRAY_SIZE(both));
	KUNIT_EXPECT_NULL(test, probe->kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, bystander->kp.addr);
	kp_expect_unprobed(test, bystander, KP_TARGET);
}

/* A probe whose addr was cleared can be registered again by its symbol. */
static void kp_errno_unregister_by_symbol(struct kunit *test)
{
	struct kp_probe *probe = kp_new_named(test, __stringify(KP_TARGET), 0);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_unregister(test, probe);
	KP_API(unregister)(kp_own(probe));
	KUNIT_EXPECT_NULL(test, probe->kp.addr);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, KP_TARGET, 1);

	/* An address that is given in addition to the symbol is still refused. */
	kp_unregister(test, probe);
	probe->kp.addr = (void *)KP_OTHER;
	KUNIT_EXPECT_EQ(test, kp_register(test, probe), -EINVAL);
}

#define KP_CASES_ERRNO							\
	KUNIT_CASE_PARAM(kp_errno_location, kp_bad_location_gen_params),	\
	KUNIT_CASE(kp_errno_not_text),					\
	KUNIT_CASE(kp_errno_same_twice),				\
	KUNIT_CASE(kp_errno_not_registered),				\
	KUNIT_CASE(kp_errno_unregister),				\
	KUNIT_CASE(kp_errno_unregister_by_symbol)

#if KP_AT_ENTRY
/*
 * Return probes and jprobes need the return address or the arguments of a function, which the
 * function may move after its entry. So registration must refuse these probes after the entry.
 */
static void kp_errno_not_entry(struct kunit *test)
{
	void *entry = KP_TARGET;
	struct kp_probe *probe;
	unsigned int offset;

	if (IS_ENABLED(CONFIG_PPC64))
		kunit_skip(test, "the first 16 bytes are the entry");
	/*
	 * Hide the address from the compiler, or this code might load each entry + offset as a
	 * constant. kprobes writes no jump over an address that code loads as a constant, but other
	 * cases expect a jump in this function.
	 */
	OPTIMIZER_HIDE_VAR(entry);
	for (offset = 1; offset < 16; offset++) {
		/* The instruction after an ENDBR, which has 4 bytes, counts as the entry. */
		if (offset == 4)
			continue;
		kp_expect_refused(test, kp_new(test, entry + offset), -EINVAL);
		probe = kp_new(test, entry);
		probe->kp.offset = offset;
		kp_expect_refused(test, probe, -EINVAL);
		kp_expect_refused(test, kp_new_named(test, __stringify(KP_TARGET), offset),
				  -EINVAL);
	}
}

static void kp_errno_null(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, KP_TARGET);
	struct KP_KIND *with_null[] = { kp_own(probe), NULL };
	struct KP_KIND *twice[] = { kp_own(probe), kp_own(probe) };

	kp_may_be_fatal(test);
	KUNIT_EXPECT_EQ(test, KP_API(register)(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API(enable)(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API(disable)(NULL), -EINVAL);
	KP_API(unregister)(NULL);
	KP_API_ALL(unregister)(NULL, 1);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(with_null, 2), -EINVAL);
	kp_expect_call(test, probe, KP_TARGET, 0);

	KUNIT_ASSERT_EQ(test, KP_API(register)(kp_own(probe)), 0);
	KP_API_ALL(unregister)(twice, 2);
	kp_expect_call(test, probe, KP_TARGET, 0);
}

#define KP_CASES_AT_ENTRY						\
	KUNIT_CASE(kp_errno_not_entry),					\
	KUNIT_CASE(kp_errno_null)
#endif

#endif
