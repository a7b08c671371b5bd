// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: random arguments for the calls that register, unregister, enable and disable
 * probes. Each call must return what the manual says. Then exactly the enabled probes are
 * hit; a refused call must leave the text unchanged.
 *
 * kp_fuzz_calls_structures fills structures with random values. kp_fuzz_calls_sequences makes
 * calls in any order for a few valid probes.
 */

#include "kp_handlers.h"
#include "kp_test.h"
#include <asm/sections.h>

static unsigned long seed = 1;
module_param(seed, ulong, 0400);
MODULE_PARM_DESC(seed, "of the random numbers");

static unsigned int seconds = 5;
module_param(seconds, uint, 0400);
MODULE_PARM_DESC(seconds, "how long each case lasts");

static struct rnd_state kp_random;

static u32 kp_any(void)
{
	return prandom_u32_state(&kp_random);
}

static u32 kp_below(u32 n)
{
	return kp_any() % n;
}

static bool kp_one_in(u32 n)
{
	return !kp_below(n);
}

/* Fill 16 bytes: powerpc takes a call of ftrace in the first 16 bytes for the function's own. */
static __always_inline void kp_room(void)
{
#ifdef CONFIG_PPC64
	asm volatile("nop; nop; nop; nop" : : : "memory");
#else
	barrier();
#endif
}

KP_PLUS_WITH(, long, kp_fuzz_called_0, 1, kp_room())
KP_PLUS_WITH(, long, kp_fuzz_called_1, 2, kp_room())
KP_PLUS_WITH(notrace, long, kp_fuzz_called_2, 3, kp_room())
KP_PLUS_WITH(notrace, long, kp_fuzz_called_3, 4, kp_room())
KP_PLUS_WITH(, long, kp_fuzz_not_probed, 5, kp_room())
NOKPROBE_SYMBOL(kp_fuzz_not_probed);

#define KP_TARGET(name)	{ name, #name, KBUILD_MODNAME ":" #name }

static const struct kp_target {
	long (*call)(long x);
	const char *name;
	const char *module_name;
} kp_targets[] = {
	KP_TARGET(kp_fuzz_called_0), KP_TARGET(kp_fuzz_called_1),
	KP_TARGET(kp_fuzz_called_2), KP_TARGET(kp_fuzz_called_3),
};

#define KP_TARGETS	ARRAY_SIZE(kp_targets)

/* First bytes of the functions while no probe is registered */
#define KP_BYTES	16
static u8 kp_text[KP_TARGETS][KP_BYTES];

static void *kp_entry_of(const struct kp_target *target)
{
	return dereference_function_descriptor((void *)target->call);
}

static void kp_expect_text(struct kunit *test, const char *after)
{
	int i;

	for (i = 0; i < KP_TARGETS; i++)
		if (memcmp(kp_entry_of(&kp_targets[i]), kp_text[i], KP_BYTES))
			KUNIT_FAIL(test, "after %s %s has %*ph instead of %*ph\n", after,
				   kp_targets[i].name, KP_BYTES, kp_entry_of(&kp_targets[i]),
				   KP_BYTES, kp_text[i]);
}

static void kp_call_all(struct kunit *test)
{
	int i;

	for (i = 0; i < KP_TARGETS; i++) {
		long (*call)(long x) = READ_ONCE(kp_targets[i].call);

		KUNIT_EXPECT_EQ(test, call(i), 2 * i + 1);
	}
}

enum kp_kind { KP_PLAIN, KP_RETURN, KP_JPROBE };

/*
 * struct kp_probe - a probe
 * @right: results of its registration that are right, as bits for the entries of kp_results
 * @location: what its location was made of
 * @name: an unknown symbol
 * @target: the function that it is on, in sequences of calls
 * @first: calls of the pre_handler, or of the handler
 * @second: calls of the post_handler, or of the entry_handler
 */
struct kp_probe {
	union {
		struct kretprobe rp;
		struct jprobe jp;
	};
	enum kp_kind kind;
	enum { KP_FREE, KP_ON, KP_OFF } state;
	unsigned int right;
	const char *location;
	char name[700];
	int target;
	unsigned long first, second;
};

static struct kp_probe *kp_probes;
static atomic_t kp_hits;
static unsigned int kp_misled;

static int __kprobes kp_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct kp_probe, rp.kp)->first++;
	atomic_inc(&kp_hits);
	return 0;
}

KP_POST_HANDLER(__kprobes, kp_post, container_of(p, struct kp_probe, rp.kp)->second++)

static int __kprobes kp_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

static int __kprobes kp_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct kp_probe, rp)->first++;
	atomic_inc(&kp_hits);
	return 0;
}

KP_RETURN_HANDLER(__kprobes, kp_entry,
		  container_of(get_kretprobe(ri), struct kp_probe, rp)->second++)

/* The users' pre_handlers and post_handlers of return probes and jprobes must not be called. */
KP_PRE_HANDLER(__kprobes, kp_wrong_pre, WRITE_ONCE(kp_misled, kp_misled + 1))
KP_POST_HANDLER(__kprobes, kp_wrong_post, WRITE_ONCE(kp_misled, kp_misled + 1))

static long kp_jprobe_entry(long x)
{
	atomic_inc(&kp_hits);
	jprobe_return();
	return 0;
}

/* Call the function for the kind of @probe, such as register_kretprobe() if @verb is register. */
#define kp_by_kind(verb, probe) ({							\
	struct kp_probe *_p = (probe);							\
											\
	_p->kind == KP_RETURN ? verb##_kretprobe(&_p->rp) :				\
	_p->kind == KP_JPROBE ? verb##_jprobe(&_p->jp) : verb##_kprobe(&_p->rp.kp);	\
})

static int kp_register_array(enum kp_kind kind, struct kprobe **kps, int num)
{
	if (kind == KP_RETURN && IS_ENABLED(CONFIG_KRETPROBES))
		return register_kretprobes((struct kretprobe **)kps, num);
	if (kind == KP_JPROBE && IS_ENABLED(CONFIG_JPROBES))
		return register_jprobes((struct jprobe **)kps, num);
	return register_kprobes(kps, num);
}

static int kp_switch(struct kp_probe *probe, bool on)
{
	return on ? kp_by_kind(enable, probe) : kp_by_kind(disable, probe);
}

static const int kp_results[] = { 0, -EINVAL, -ENOENT, -EILSEQ, -EOPNOTSUPP, -E2BIG, -ENOMEM };

#define KP_OK		BIT(0)
#define KP_INVAL	BIT(1)
#define KP_NOENT	BIT(2)
#define KP_ILSEQ	BIT(3)
#define KP_NOTSUPP	BIT(4)
#define KP_TOO_BIG	BIT(5)
#define KP_NOMEM	BIT(6)
/* Results that are right for a random address */
#define KP_ANYWHERE	(KP_OK | KP_INVAL | KP_ILSEQ | KP_NOTSUPP | KP_NOENT)

/* Return: the index of @err in kp_results, or its size if there is none. */
static unsigned int kp_result(int err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kp_results) && kp_results[i] != err; i++)
		;
	return i;
}

/*
 * The probe has an error, for which @results are right. If it has other errors already, the results
 * of these stay right. KP_OK is then right only if it was right before.
 */
static void kp_wrong(struct kp_probe *m, unsigned int results)
{
	if (m->right == KP_OK)
		m->right = results;
	else
		m->right |= results & ~KP_OK;
}

static void kp_make_name(struct kp_probe *m)
{
	unsigned int i, length = 1 + kp_below(kp_one_in(8) ? sizeof(m->name) - 1 : 40);

	for (i = 0; i < length; i++)
		m->name[i] = 1 + kp_below(255);
	/* No symbol begins with '+'. */
	m->name[0] = '+';
	m->name[length - 1] = '\0';
	m->rp.kp.symbol_name = m->name;
}

static void kp_make_location(struct kp_probe *m)
{
	static const char *const names[] = {
		"none", "both", "entry", "entry", "symbol", "module and symbol", "unknown symbol",
		"blacklist", "data", "user space", "number", "kernel text",
	};
	const struct kp_target *target = &kp_targets[kp_below(KP_TARGETS)];
	struct kprobe *p = &m->rp.kp;
	bool far_off = kp_one_in(4);
	int choice = kp_below(ARRAY_SIZE(names));

	m->location = names[choice];
	/* With a random offset the final address may be valid or not, whatever the base is. */
	if (far_off)
		p->offset = kp_any() >> kp_below(32);
	switch (choice) {
	case 1:
		p->addr = (void *)target->call;
		p->symbol_name = target->name;
		fallthrough;
	case 0:
		kp_wrong(m, KP_INVAL);
		return;
	case 2:
	case 3:
		p->addr = kp_entry_of(target);
		break;
	case 4:
		p->symbol_name = target->name;
		break;
	case 5:
		p->symbol_name = target->module_name;
		break;
	case 6:
		kp_make_name(m);
		kp_wrong(m, KP_NOENT);
		/*
		 * With this flag, the probe may wait for the
		 * module whose name the symbol begins with.
		 */
		if ((p->flags & KPROBE_FLAG_WAIT) && strchr(m->name, ':'))
			m->right |= KP_OK;
		return;
	case 7:
		p->addr = dereference_function_descriptor((void *)kp_fuzz_not_probed);
		kp_wrong(m, far_off ? KP_ANYWHERE : KP_INVAL);
		return;
	case 8:
		p->addr = (void *)m;
		kp_wrong(m, far_off ? KP_ANYWHERE : KP_INVAL);
		return;
	case 9:
		p->addr = (void *)(1UL + kp_below(min_t(unsigned long, TASK_SIZE - 1, U32_MAX)));
		kp_wrong(m, far_off ? KP_ANYWHERE : KP_INVAL);
		return;
	case 10:
		p->addr = (void *)((unsigned long)kp_any() << 16 << 16 | kp_any() | 1);
		kp_wrong(m, KP_ANYWHERE);
		return;
	case 11:
		/*
		 * The text after schedule_timeout() may be that of spinlock functions. On arm, no
		 * probe may be there: the handler of an undefined instruction takes a spinlock.
		 */
		p->addr = dereference_function_descriptor(IS_ENABLED(CONFIG_ARM) || kp_one_in(2) ?
							  (void *)vsnprintf :
							  (void *)schedule_timeout);
		p->addr = (void *)p->addr + kp_below(4096);
		kp_wrong(m, KP_ANYWHERE);
		return;
	}
	if (p->offset)
		kp_wrong(m, KP_ANYWHERE);
}

static void kp_make_return_probe(struct kp_probe *m)
{
	struct kretprobe *rp = &m->rp;

	if (!IS_ENABLED(CONFIG_KRETPROBES)) {
		m->right = KP_NOTSUPP;
		return;
	}
	rp->handler = kp_one_in(2) ? kp_return : NULL;
	rp->entry_handler = kp_one_in(2) ? kp_entry : NULL;
	switch (kp_below(6)) {
	case 0:
		rp->maxactive = 1 + kp_below(64);
		break;
	case 1:
		rp->maxactive = -(int)kp_below(S32_MAX);
		break;
	case 2:
		rp->maxactive = S32_MIN;
		break;
	case 3:
		rp->maxactive = S32_MAX - kp_below(1000);
		kp_wrong(m, KP_NOMEM);
		break;
	}
	switch (kp_below(4)) {
	case 0:
		rp->data_size = kp_below(KRETPROBE_MAX_DATA_SIZE + 1);
		break;
	case 1:
		rp->data_size = KRETPROBE_MAX_DATA_SIZE + 1 + (kp_any() >> kp_below(32));
		kp_wrong(m, KP_TOO_BIG);
		break;
	case 2:
		rp->data_size = ~(size_t)kp_below(1000);
		kp_wrong(m, KP_TOO_BIG);
		break;
	}
}

static void kp_make_jprobe(struct kp_probe *m)
{
	if (!IS_ENABLED(CONFIG_JPROBES)) {
		m->right = KP_NOTSUPP;
		return;
	}
	m->jp.entry = kp_jprobe_entry;
	if (kp_one_in(4)) {
		m->jp.entry = kp_one_in(2) ? NULL : m;
		kp_wrong(m, KP_INVAL);
	}
}

static void kp_make(struct kp_probe *m)
{
	struct kprobe *p = &m->rp.kp;

	memset(m, 0, sizeof(*m));
	m->right = KP_OK;
	m->kind = kp_below(4) % 3;
	/* Users need not initialise these, so fill them with random bytes. */
	prandom_bytes_state(&kp_random, &p->hlist, sizeof(p->hlist));
	prandom_bytes_state(&kp_random, &p->opcode, sizeof(p->opcode));
	p->nmissed = kp_any();
	/* With KPROBE_FLAG_EVENT, more is refused: api-waiting.sh tests that. */
	p->flags = kp_any() & ~KPROBE_FLAG_EVENT;
	p->refusal = kp_any();
	kp_make_location(m);
	if (m->kind == KP_PLAIN) {
		p->pre_handler = kp_one_in(4) ? NULL : kp_pre;
		p->post_handler = kp_one_in(2) ? NULL : kp_post;
		p->fault_handler = kp_one_in(2) ? NULL : kp_fault;
		return;
	}
	p->pre_handler = kp_one_in(2) ? kp_wrong_pre : NULL;
	p->post_handler = kp_one_in(2) ? kp_wrong_post : NULL;
	if (m->kind == KP_RETURN)
		kp_make_return_probe(m);
	else
		kp_make_jprobe(m);
}

/*
 * Try arrays with a negative number of probes, with one probe three times, or with a NULL pointer.
 */
static void kp_try_bad_array(struct kunit *test, struct kp_probe *m)
{
	struct kprobe *kps[3] = { &m->rp.kp, &m->rp.kp, &m->rp.kp };
	int num = ARRAY_SIZE(kps), err;

	switch (kp_below(4)) {
	case 0:
		num = -(int)kp_below(S32_MAX);
		break;
	case 1:
		num = S32_MIN;
		break;
	case 2:
		kps[kp_below(num)] = NULL;
		break;
	}
	err = kp_register_array(m->kind, kps, num);
	if (!(BIT(kp_result(err)) & ((m->right & ~KP_OK) | KP_INVAL)))
		KUNIT_FAIL(test, "an array of %d returns %d\n", num, err);
	KUNIT_EXPECT_EQ(test, register_kprobes(NULL, kp_below(4)), -EINVAL);
}

static void kp_fuzz_calls_structures(struct kunit *test)
{
	unsigned long end = jiffies + seconds * HZ, count = 0, i;
	unsigned long results[ARRAY_SIZE(kp_results) + 1] = {};
	struct kp_probe *m = kp_probes;
	int err;

	do {
		kp_make(m);
		count++;
		if (kp_one_in(8) && m->right != KP_NOTSUPP) {
			kp_try_bad_array(test, m);
			kp_expect_text(test, "an array was refused");
			kp_make(m);
		}
		err = kp_by_kind(register, m);
		results[kp_result(err)]++;
		if (!(BIT(kp_result(err)) & m->right))
			KUNIT_FAIL(test, "%lu: kind %d, location %s: %d\n", count, m->kind,
				   m->location, err);
		if (err) {
			kp_expect_text(test, "a refusal");
			continue;
		}
		KUNIT_EXPECT_EQ(test, kp_by_kind(register, m), -EINVAL);
		kp_call_all(test);
		if (kp_one_in(2))
			KUNIT_EXPECT_EQ(test, kp_switch(m, kp_one_in(2)), 0);
		kp_call_all(test);
		kp_by_kind(unregister, m);
		kp_expect_text(test, "a probe is unregistered");
		cond_resched();
	} while (time_before(jiffies, end) && test->status == KUNIT_SUCCESS);
	kunit_info(test, "seed %lu: %lu structures, %d hits\n", seed, count, atomic_read(&kp_hits));
	for (i = 0; i < ARRAY_SIZE(kp_results); i++)
		kunit_info(test, "%lu with result %d\n", results[i], kp_results[i]);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_GT(test, results[i], 0);
	KUNIT_EXPECT_GT(test, atomic_read(&kp_hits), 0);
	KUNIT_EXPECT_EQ(test, kp_misled, 0);
}

#define KP_PROBES	12

/* Fill in an unregistered probe. Sometimes keep what the last registration has left in it. */
static void kp_prepare(struct kp_probe *probe)
{
	struct kprobe *p = &probe->rp.kp;
	const struct kp_target *target;

	/* Keep the address sometimes, unless unregister_kprobe() has cleared it. */
	if (p->addr && kp_one_in(3)) {
		p->flags = kp_one_in(4) ? KPROBE_FLAG_DISABLED : 0;
		return;
	}
	memset(probe, 0, sizeof(*probe));
	probe->target = kp_below(KP_TARGETS);
	target = &kp_targets[probe->target];
	switch (kp_below(3)) {
	case 0:
		p->addr = kp_entry_of(target);
		break;
	case 1:
		p->symbol_name = target->name;
		break;
	case 2:
		p->symbol_name = target->module_name;
		break;
	}
	if (kp_one_in(4))
		p->flags = KPROBE_FLAG_DISABLED;
	if (IS_ENABLED(CONFIG_KRETPROBES) && kp_one_in(3)) {
		probe->kind = KP_RETURN;
		probe->rp.handler = kp_one_in(4) ? NULL : kp_return;
		probe->rp.entry_handler = kp_one_in(2) ? NULL : kp_entry;
		probe->rp.maxactive = kp_one_in(2) ? 0 : 1 + kp_below(4);
		probe->rp.data_size = kp_one_in(2) ? 0 : kp_below(64);
	} else {
		p->pre_handler = kp_one_in(4) ? NULL : kp_pre;
		p->post_handler = kp_one_in(2) ? NULL : kp_post;
	}
}

static void kp_note_registered(struct kp_probe *probe)
{
	probe->state = probe->rp.kp.flags & KPROBE_FLAG_DISABLED ? KP_OFF : KP_ON;
}

static void kp_register_one(struct kunit *test, struct kp_probe *probe)
{
	int wanted = probe->state == KP_FREE ? 0 : -EINVAL;

	if (!wanted)
		kp_prepare(probe);
	KUNIT_EXPECT_EQ(test, kp_by_kind(register, probe), wanted);
	if (!wanted)
		kp_note_registered(probe);
}

static void kp_unregister_one(struct kunit *test, struct kp_probe *probe)
{
	kp_by_kind(unregister, probe);
	probe->state = KP_FREE;
}

static void kp_switch_one(struct kunit *test, struct kp_probe *probe)
{
	bool on = kp_one_in(2);

	KUNIT_EXPECT_EQ(test, kp_switch(probe, on), probe->state == KP_FREE ? -EINVAL : 0);
	if (probe->state != KP_FREE)
		probe->state = on ? KP_ON : KP_OFF;
}

static bool kp_is_in(struct kp_probe **array, int num, struct kp_probe *probe)
{
	while (num--)
		if (array[num] == probe)
			return true;
	return false;
}

static int kp_choose(struct kp_probe *chosen[KP_PROBES], enum kp_kind kind, bool prepare)
{
	int i, num = 0, most = 1 + kp_below(KP_PROBES);

	for (i = 0; i < KP_PROBES && num < most; i++) {
		struct kp_probe *probe = &kp_probes[kp_below(KP_PROBES)];

		if (kp_is_in(chosen, num, probe))
			continue;
		if (prepare && probe->state == KP_FREE)
			kp_prepare(probe);
		if (probe->kind == kind)
			chosen[num++] = probe;
	}
	return num;
}

static enum kp_kind kp_choose_kind(void)
{
	return IS_ENABLED(CONFIG_KRETPROBES) && kp_one_in(2) ? KP_RETURN : KP_PLAIN;
}

static void kp_register_some(struct kunit *test, struct kp_probe *unused)
{
	struct kp_probe *chosen[KP_PROBES];
	struct kprobe *kps[KP_PROBES];
	enum kp_kind kind = kp_choose_kind();
	int i, num = kp_choose(chosen, kind, true), wanted = num ? 0 : -EINVAL;

	for (i = 0; i < num; i++) {
		kps[i] = &chosen[i]->rp.kp;
		if (chosen[i]->state != KP_FREE)
			wanted = -EINVAL;
	}
	if (num > 1 && kp_one_in(8)) {
		kps[num - 1] = kp_one_in(2) ? kps[0] : NULL;
		wanted = -EINVAL;
	}
	KUNIT_EXPECT_EQ(test, kp_register_array(kind, kps, num), wanted);
	for (i = 0; i < num && !wanted; i++)
		kp_note_registered(chosen[i]);
}

static void kp_unregister_some(struct kunit *test, struct kp_probe *unused)
{
	struct kp_probe *chosen[KP_PROBES];
	struct kprobe *kps[KP_PROBES + 2];
	enum kp_kind kind = kp_choose_kind();
	int i, num = kp_choose(chosen, kind, false);

	for (i = 0; i < num; i++) {
		kps[i] = &chosen[i]->rp.kp;
		chosen[i]->state = KP_FREE;
	}
	/*
	 * Sometimes add NULL, and sometimes the first probe again: it is not registered any more
	 * when its second entry is handled.
	 */
	if (num && kp_one_in(4))
		kps[num++] = kps[0];
	if (kp_one_in(4))
		kps[num++] = NULL;
	if (kind == KP_RETURN)
		unregister_kretprobes((struct kretprobe **)kps, num);
	else
		unregister_kprobes(kps, num);
}

/* Call each function once: this must hit each enabled probe once, and no other probe. */
static void kp_expect_hits(struct kunit *test, const char *after, unsigned long count)
{
	bool any = false;
	int i;

	for (i = 0; i < KP_PROBES; i++) {
		kp_probes[i].first = 0;
		kp_probes[i].second = 0;
		any |= kp_probes[i].state != KP_FREE;
	}
	kp_call_all(test);
	for (i = 0; i < KP_PROBES; i++) {
		struct kp_probe *probe = &kp_probes[i];
		struct kretprobe *rp = &probe->rp;
		bool on = probe->state == KP_ON, returns = probe->kind == KP_RETURN;
		bool first = returns ? !!rp->handler : !!rp->kp.pre_handler;
		bool second = returns ? !!rp->entry_handler : !!rp->kp.post_handler;

		if (probe->first != (on && first) || probe->second != (on && second))
			KUNIT_FAIL(test, "%lu: %s: kind %d, state %d at %s: %lu, %lu calls\n",
				   count, after, probe->kind, probe->state,
				   kp_targets[probe->target].name, probe->first, probe->second);
		if (probe->state == KP_FREE)
			continue;
		KUNIT_EXPECT_EQ(test, rp->kp.nmissed, 0);
		if (returns)
			KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
	}
	if (!any)
		kp_expect_text(test, after);
}

static const struct {
	const char *name;
	void (*call)(struct kunit *test, struct kp_probe *probe);
} kp_changes[] = {
	{ "register", kp_register_one },
	{ "register", kp_register_one },
	{ "unregister", kp_unregister_one },
	{ "enable or disable", kp_switch_one },
	{ "enable or disable", kp_switch_one },
	{ "register some", kp_register_some },
	{ "unregister some", kp_unregister_some },
};

static void kp_fuzz_calls_sequences(struct kunit *test)
{
	unsigned long end = jiffies + seconds * HZ, count = 0;

	do {
		int change = kp_below(ARRAY_SIZE(kp_changes));

		count++;
		kp_changes[change].call(test, &kp_probes[kp_below(KP_PROBES)]);
		kp_expect_hits(test, kp_changes[change].name, count);
		cond_resched();
	} while (time_before(jiffies, end) && test->status == KUNIT_SUCCESS);
	kunit_info(test, "seed %lu: %lu calls\n", seed, count);
	KUNIT_EXPECT_GT(test, count, 10);
}

static int kp_fuzz_calls_init(struct kunit *test)
{
	int i;

	prandom_seed_state(&kp_random, seed);
	kp_probes = kunit_kcalloc(test, KP_PROBES, sizeof(*kp_probes), GFP_KERNEL);
	if (!kp_probes)
		return -ENOMEM;
	for (i = 0; i < KP_TARGETS; i++)
		memcpy(kp_text[i], kp_entry_of(&kp_targets[i]), KP_BYTES);
	return 0;
}

static void kp_fuzz_calls_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < KP_PROBES && kp_probes; i++)
		if (kp_probes[i].state != KP_FREE)
			kp_unregister_one(test, &kp_probes[i]);
	kp_expect_text(test, "all is unregistered");
}

static struct kunit_case kp_fuzz_calls_cases[] = {
	KUNIT_CASE_SLOW(kp_fuzz_calls_structures),
	KUNIT_CASE_SLOW(kp_fuzz_calls_sequences),
	{}
};

static KP_SUITE(kp_fuzz_calls, "kprobes_fuzz_calls", .init = kp_fuzz_calls_init,
	 .exit = kp_fuzz_calls_exit);

KP_SUITES("KUnit suite: random arguments of the calls that change probes", &kp_fuzz_calls_suite);
