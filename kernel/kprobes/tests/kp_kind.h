/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_KIND_H
#define KP_KIND_H

/*
 * Give kprobes, return probes and jprobes the same names, for the test cases in kp_cases_*.h. The
 * header of a test module defines the following names, then includes this file:
 *
 * KP_KIND, KP_MEMBER: kprobe and kp; kretprobe and rp; or jprobe and jp
 * struct kp_probe: a struct KP_KIND, named KP_MEMBER, with counters; its struct kprobe is named kp
 * kp_prepare(): sets the handlers
 * kp_prepare_hook(): sets a function that a handler calls
 * kp_settle(): waits until the probe has a jump, if a parameter of the module requires jumps
 * kp_hits(), kp_missed(): number of calls of the handlers, number of missed hits
 * kp_expect_hits(): expects that each handler was called @hits times
 * KP_TARGET, KP_OTHER: functions that return their argument plus one
 * KP_NOKPROBE: a function that is blacklisted
 * KP_INSIDE, KP_INSIDE_ERROR: an address where registration must fail, and the errno
 * KP_AT_ENTRY: 1 if such probes are refused after the entry of a function, otherwise 0
 * KP_CONTEXTS: initialisers of kp_contexts[]
 * kp_may_be_fatal(): skips a case that may crash kernels with other implementations of kprobes, if
 *	a parameter of the module requires that; by default, does nothing
 */

#include "kp_test.h"
#include "kp_regs.h"

/* For kprobes, KP_API(register) is register_kprobe, KP_API_ALL(register) is register_kprobes. */
#define KP_API(verb)		__PASTE(verb##_, KP_KIND)
#define KP_API_ALL(verb)	__PASTE(KP_API(verb), s)

#ifndef kp_may_be_fatal
static inline void kp_may_be_fatal(struct kunit *test)
{
}
#endif

/* Qualify a symbol with its module, unless the suites are built in. */
#ifdef MODULE
#define KP_QUALIFIED(symbol)	KBUILD_MODNAME ":" symbol
#else
#define KP_QUALIFIED(symbol)	symbol
#endif

#define kp_own(probe)		(&(probe)->KP_MEMBER)
#define kp_of(own)		container_of(own, struct kp_probe, KP_MEMBER)

static inline struct kp_probe *kp_new(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_zalloc(test, sizeof(*probe));

	kp_prepare(probe);
	probe->kp.addr = kp_entry(addr);
	return probe;
}

static inline struct kp_probe *kp_new_named(struct kunit *test, const char *name,
					    unsigned int offset)
{
	struct kp_probe *probe = kp_new(test, NULL);

	probe->kp.symbol_name = name;
	probe->kp.offset = offset;
	return probe;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_unregister_action, KP_API(unregister), struct KP_KIND *);

/* Register @probe until kp_unregister() or the end of the case. */
static inline int kp_register(struct kunit *test, struct kp_probe *probe)
{
	int ret = KP_API(register)(kp_own(probe));

	if (ret)
		return ret;
	ret = kunit_add_action_or_reset(test, kp_unregister_action, kp_own(probe));
	if (!ret)
		kp_settle(test, &probe->kp);
	return ret;
}

static inline void kp_unregister(struct kunit *test, struct kp_probe *probe)
{
	kunit_release_action(test, kp_unregister_action, kp_own(probe));
}

static inline struct kp_probe *kp_registered(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_new(test, addr);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	return probe;
}

static inline int kp_enable(struct kunit *test, struct kp_probe *probe)
{
	int ret = KP_API(enable)(kp_own(probe));

	if (!ret)
		kp_settle(test, &probe->kp);
	return ret;
}

static inline int kp_disable(struct kp_probe *probe)
{
	return KP_API(disable)(kp_own(probe));
}

/* Call @fn. Expect @hits calls per handler since kp_new(). */
#define kp_expect_call(test, probe, fn, hits) do {			\
	struct kunit *_call_test = (test);				\
									\
	KUNIT_EXPECT_EQ(_call_test, fn(1), 2);				\
	kp_expect_hits(_call_test, probe, hits);			\
} while (0)

/* Call @fn. Expect no call of @probe's handlers. */
#define kp_expect_unprobed(test, probe, fn) do {			\
	struct kunit *_call_test = (test);				\
	struct kp_probe *_no_probe = (probe);				\
	unsigned int _no_hits = kp_hits(_no_probe);			\
									\
	KUNIT_EXPECT_EQ(_call_test, fn(1), 2);				\
	KUNIT_EXPECT_EQ(_call_test, kp_hits(_no_probe), _no_hits);	\
} while (0)

/*
 * Try to register @probe. If that succeeds, unregister it. If it fails, expect that @probe is not
 * registered, and that the text is unchanged. Return: 0, or the errno of the registration.
 */
static inline int kp_refusal(struct kunit *test, struct kp_probe *probe)
{
	void *addr = probe->kp.addr;
	u8 before, after;
	bool readable = addr && !copy_from_kernel_nofault(&before, addr, 1);
	int ret = KP_API(register)(kp_own(probe));

	if (!ret) {
		KP_API(unregister)(kp_own(probe));
		return 0;
	}
	KUNIT_EXPECT_EQ(test, KP_API(enable)(kp_own(probe)), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API(disable)(kp_own(probe)), -EINVAL);
	if (readable && !copy_from_kernel_nofault(&after, addr, 1))
		KUNIT_EXPECT_EQ(test, before, after);
	kp_expect_unprobed(test, probe, KP_TARGET);
	return ret;
}

#define kp_expect_refused(test, probe, error) do {			\
	struct kunit *_bad_test = (test);				\
	struct kp_probe *_bad = (probe);				\
									\
	KUNIT_EXPECT_EQ_MSG(_bad_test, kp_refusal(_bad_test, _bad),	\
			    error, "%s %pS + %u", _bad->kp.symbol_name,	\
			    _bad->kp.addr, _bad->kp.offset);		\
} while (0)

#endif
