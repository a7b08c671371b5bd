/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CASES_LIFE_H
#define KP_CASES_LIFE_H

/*
 * Test cases that enable, disable and re-register a probe. One file of each test module includes
 * this. KP_KIND is the kind of probe that the module tests: see kp_kind.h.
 */

static void kp_life_hit(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, KP_TARGET);
	int i;

	kp_expect_unprobed(test, probe, KP_TARGET);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 100; i++) {
		KUNIT_EXPECT_EQ(test, KP_TARGET(i), i + 1);
		kp_expect_hits(test, probe, i);
	}
	kp_expect_unprobed(test, probe, KP_OTHER);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, KP_TARGET);
}

static const char *const kp_life_names[] = {
	"", __stringify(KP_TARGET), KP_QUALIFIED(__stringify(KP_TARGET)),
};

static void kp_life_name_desc(const char *const *name, char *desc)
{
	strscpy(desc, **name ? *name : "by address", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kp_life_name, kp_life_names, kp_life_name_desc);

/* Register the same struct again, as unregistration has left it. */
static void kp_life_again(struct kunit *test)
{
	const char *name = *(const char *const *)test->param_value;
	struct kp_probe *probe = *name ? kp_new_named(test, name, 0) : kp_new(test, KP_TARGET);
	int i;

	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		/* addr may be after an ENDBR (4 bytes) or after powerpc's setup of r2 (8 bytes). */
		KUNIT_EXPECT_LE(test, (unsigned long)probe->kp.addr - (unsigned long)KP_TARGET, 8);
		kp_expect_call(test, probe, KP_TARGET, i);
		kp_unregister(test, probe);
		kp_expect_unprobed(test, probe, KP_TARGET);
	}
}

/* Register the same struct at other addresses, also after it was disabled. */
static void kp_life_again_elsewhere(struct kunit *test)
{
	struct kp_probe *probe = kp_new_named(test, __stringify(KP_TARGET), 0);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_disable(probe), 0);
	kp_unregister(test, probe);

	probe->kp.symbol_name = __stringify(KP_OTHER);
	probe->kp.flags = 0;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, KP_OTHER, 1);
	kp_expect_unprobed(test, probe, KP_TARGET);
	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, KP_OTHER);

	probe->kp.symbol_name = NULL;
	probe->kp.addr = kp_entry(KP_TARGET);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, KP_TARGET, 2);
}

/* After a registration was refused, the same struct must be accepted at another address. */
static void kp_life_again_after_failure(struct kunit *test)
{
	struct kp_probe *probe = kp_new_named(test, "kp_no_such_function", 0);

	kp_expect_refused(test, probe, -ENOENT);
	probe->kp.symbol_name = "get_kprobe";
	kp_expect_refused(test, probe, -EINVAL);
	probe->kp.symbol_name = __stringify(KP_TARGET);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, KP_TARGET, 1);
	kp_unregister(test, probe);

	probe = kp_new(test, KP_NOKPROBE);
	kp_expect_refused(test, probe, -EINVAL);
	probe->kp.addr = kp_entry(KP_TARGET);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, KP_TARGET, 1);
}

static void kp_life_disabled(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, KP_TARGET);
	struct kp_bytes text;
	int i, twice;

	kp_bytes_save(test, &text, KP_TARGET);
	probe->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probe->kp));
		kp_expect_unprobed(test, probe, KP_TARGET);
		kp_bytes_expect_same(test, &text);
		for (twice = 0; twice < 2; twice++)
			KUNIT_EXPECT_EQ(test, kp_enable(test, probe), 0);
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe->kp));
		kp_expect_call(test, probe, KP_TARGET, i);
		for (twice = 0; twice < 2; twice++)
			KUNIT_EXPECT_EQ(test, kp_disable(probe), 0);
	}
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, KP_TARGET);
	kp_bytes_expect_same(test, &text);
}

/* Enable each subset of four probes at one address. Then unregister them one by one. */
static void kp_life_colocated(struct kunit *test)
{
	struct kp_probe *probe[4];
	unsigned int hits[4] = {};
	struct kp_bytes text;
	int on, i;

	kp_bytes_save(test, &text, KP_TARGET);
	for (i = 0; i < 4; i++)
		probe[i] = kp_registered(test, KP_TARGET);
	for (on = 0; on < 16; on++) {
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_EQ(test, on & BIT(i) ? kp_enable(test, probe[i]) :
					kp_disable(probe[i]), 0);
		KUNIT_EXPECT_EQ(test, KP_TARGET(1), 2);
		for (i = 0; i < 4; i++) {
			hits[i] += !!(on & BIT(i));
			kp_expect_hits(test, probe[i], hits[i]);
		}
		if (!on)
			kp_bytes_expect_same(test, &text);
	}
	for (i = 0; i < 4; i++) {
		kp_unregister(test, probe[(i * 3 + 1) % 4]);
		KUNIT_EXPECT_EQ(test, KP_TARGET(1), 2);
	}
	kp_expect_hits(test, probe[1], hits[1]);
	kp_expect_hits(test, probe[0], hits[0] + 1);
	kp_expect_hits(test, probe[3], hits[3] + 2);
	kp_expect_hits(test, probe[2], hits[2] + 3);
	kp_bytes_expect_same(test, &text);
}

#define KP_CASES_LIFE							\
	KUNIT_CASE(kp_life_hit),					\
	KUNIT_CASE_PARAM(kp_life_again, kp_life_name_gen_params),	\
	KUNIT_CASE(kp_life_again_elsewhere),				\
	KUNIT_CASE(kp_life_again_after_failure),			\
	KUNIT_CASE(kp_life_disabled),					\
	KUNIT_CASE(kp_life_colocated)

#endif
