// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: the calls that register, unregister, enable and disable probes get random
 * arguments. Each call has to return what the manual promises for these arguments. After each,
 * the probes that should be hit are hit, and no others; a call that was refused has left the
 * text as it was.
 *
 * kp_fuzz_calls_structures makes the structures up, and unregisters what was accepted.
 * kp_fuzz_calls_sequences has a few probes with valid structures, in any order of calls.
 */

#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <asm/sections.h>

static unsigned long seed = 1;
module_param(seed, ulong, 0400);
MODULE_PARM_DESC(seed, "of the random numbers");

static unsigned int seconds = 5;
module_param(seconds, uint, 0400);
MODULE_PARM_DESC(seconds, "how long each case lasts");

static struct rnd_state kp_random;

static u32 kp_below(u32 n)
{
	return prandom_u32_state(&kp_random) % n;
}

static bool kp_one_in(u32 n)
{
	return !kp_below(n);
}

/*
 * Functions to probe.
 */

#define KP_TARGETS	4

/* Powerpc takes a call of ftrace's within 16 bytes for the function's, however short that is. */
static __always_inline void kp_room(void)
{
#ifdef CONFIG_PPC64
	asm volatile("nop; nop; nop; nop" : : : "memory");
#else
	barrier();
#endif
}

static noinline long kp_fuzz_called_0(long x)
{
	kp_room();
	return x + 1;
}

static noinline long kp_fuzz_called_1(long x)
{
	kp_room();
	return x + 2;
}

/* Ftrace does not know it. */
static noinline notrace long kp_fuzz_called_2(long x)
{
	kp_room();
	return x + 3;
}

static noinline notrace long kp_fuzz_called_3(long x)
{
	kp_room();
	return x + 4;
}

static noinline long kp_fuzz_not_probed(long x)
{
	kp_room();
	return x + 5;
}

NOKPROBE_SYMBOL(kp_fuzz_not_probed);

static const struct kp_target {
	long (*call)(long x);
	const char *name;
	const char *module_name;
} kp_targets[KP_TARGETS] = {
	{ kp_fuzz_called_0, "kp_fuzz_called_0", KBUILD_MODNAME ":kp_fuzz_called_0" },
	{ kp_fuzz_called_1, "kp_fuzz_called_1", KBUILD_MODNAME ":kp_fuzz_called_1" },
	{ kp_fuzz_called_2, "kp_fuzz_called_2", KBUILD_MODNAME ":kp_fuzz_called_2" },
	{ kp_fuzz_called_3, "kp_fuzz_called_3", KBUILD_MODNAME ":kp_fuzz_called_3" },
};

/* The first bytes of the functions, when there is no probe */
#define KP_BYTES	16
static u8 kp_text[KP_TARGETS][KP_BYTES];

static void kp_read_text(u8 text[KP_TARGETS][KP_BYTES])
{
	int i;

	for (i = 0; i < KP_TARGETS; i++)
		memcpy(text[i], dereference_function_descriptor(kp_targets[i].call), KP_BYTES);
}

static void kp_expect_text(struct kunit *test, const char *after)
{
	u8 text[KP_TARGETS][KP_BYTES];
	int i;

	kp_read_text(text);
	for (i = 0; i < KP_TARGETS; i++)
		if (memcmp(text[i], kp_text[i], KP_BYTES))
			KUNIT_FAIL(test, "after %s %s has %*ph instead of %*ph\n", after,
				   kp_targets[i].name, KP_BYTES, text[i], KP_BYTES, kp_text[i]);
}

static void kp_call_all(struct kunit *test)
{
	int i;

	for (i = 0; i < KP_TARGETS; i++) {
		long (*call)(long x) = READ_ONCE(kp_targets[i].call);
		long got = call(i);

		if (got != 2 * i + 1)
			KUNIT_FAIL(test, "%s has returned %ld\n", kp_targets[i].name, got);
	}
}

/*
 * Structures that are made up.
 */

/* The results that are right: success, and errnos. */
#define KP_OK		BIT(0)
#define KP_INVAL	BIT(1)
#define KP_NOENT	BIT(2)
#define KP_ILSEQ	BIT(3)
#define KP_NOTSUPP	BIT(4)
#define KP_TOO_BIG	BIT(5)
#define KP_NOMEM	BIT(6)
#define KP_OTHER	BIT(7)
/* The suite does not know what is at a random address: any of these results is right. */
#define KP_ANYWHERE	(KP_OK | KP_INVAL | KP_ILSEQ | KP_NOTSUPP | KP_NOENT)

static unsigned int kp_result(int err)
{
	switch (err) {
	case 0:
		return KP_OK;
	case -EINVAL:
		return KP_INVAL;
	case -ENOENT:
		return KP_NOENT;
	case -EILSEQ:
		return KP_ILSEQ;
	case -EOPNOTSUPP:
		return KP_NOTSUPP;
	case -E2BIG:
		return KP_TOO_BIG;
	case -ENOMEM:
		return KP_NOMEM;
	default:
		return KP_OTHER;
	}
}

static atomic_t kp_hits;
static unsigned int kp_misled;

static int kp_any_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&kp_hits);
	return 0;
}

NOKPROBE_SYMBOL(kp_any_pre);

static void kp_any_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&kp_hits);
}

NOKPROBE_SYMBOL(kp_any_post);

static int kp_any_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

NOKPROBE_SYMBOL(kp_any_fault);

static int kp_any_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&kp_hits);
	return 0;
}

NOKPROBE_SYMBOL(kp_any_return);

/* The handlers at the entry that a return probe or a jprobe is given are not called. */
static int kp_wrong_pre(struct kprobe *p, struct pt_regs *regs)
{
	WRITE_ONCE(kp_misled, kp_misled + 1);
	return 0;
}

NOKPROBE_SYMBOL(kp_wrong_pre);

static void kp_wrong_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	WRITE_ONCE(kp_misled, kp_misled + 1);
}

NOKPROBE_SYMBOL(kp_wrong_post);

static long kp_jprobe_entry(long x)
{
	atomic_inc(&kp_hits);
	jprobe_return();
	return 0;
}

/* A structure, what it was made of, and which results are right */
struct kp_made {
	union {
		struct kretprobe rp;
		struct jprobe jp;
	};
	enum { KP_PLAIN, KP_RETURN, KP_JPROBE } kind;
	unsigned int right;
	const char *location;
	char name[700];
};

static struct kp_made *kp_made;

/* A probe has one error or more: either may be returned. */
static void kp_wrong(struct kp_made *m, unsigned int results)
{
	if (m->right == KP_OK)
		m->right = results;
	else
		m->right |= results & ~KP_OK;
}

static void kp_make_name(struct kp_made *m)
{
	unsigned int i, length = 1 + kp_below(kp_one_in(8) ? sizeof(m->name) - 1 : 40);

	for (i = 0; i < length; i++)
		m->name[i] = 1 + kp_below(255);
	/* No symbol begins with this. */
	m->name[0] = '+';
	m->name[length - 1] = '\0';
}

static void kp_make_location(struct kp_made *m)
{
	const struct kp_target *target = &kp_targets[kp_below(KP_TARGETS)];
	struct kprobe *p = &m->rp.kp;
	bool far_off = kp_one_in(4);

	/* An entry with an offset may be anywhere, a bad address with an offset as well. */
	if (far_off)
		p->offset = prandom_u32_state(&kp_random) >> kp_below(32);
	switch (kp_below(12)) {
	case 0:
		m->location = "none";
		kp_wrong(m, KP_INVAL);
		return;
	case 1:
		m->location = "both";
		p->addr = (void *)target->call;
		p->symbol_name = target->name;
		kp_wrong(m, KP_INVAL);
		return;
	case 2:
	case 3:
		m->location = "entry";
		p->addr = dereference_function_descriptor((void *)target->call);
		break;
	case 4:
		m->location = "symbol";
		p->symbol_name = target->name;
		break;
	case 5:
		m->location = "module and symbol";
		p->symbol_name = target->module_name;
		break;
	case 6:
		m->location = "unknown symbol";
		kp_make_name(m);
		p->symbol_name = m->name;
		kp_wrong(m, KP_NOENT);
		return;
	case 7:
		m->location = "blacklist";
		p->addr = dereference_function_descriptor((void *)kp_fuzz_not_probed);
		kp_wrong(m, far_off ? KP_ANYWHERE : KP_INVAL);
		return;
	case 8:
		m->location = "data";
		p->addr = (void *)m;
		kp_wrong(m, far_off ? KP_ANYWHERE : KP_INVAL);
		return;
	case 9:
		m->location = "user space";
		p->addr = (void *)(1UL + kp_below(min_t(unsigned long, TASK_SIZE - 1, U32_MAX)));
		kp_wrong(m, far_off ? KP_ANYWHERE : KP_INVAL);
		return;
	case 10:
		m->location = "number";
		p->addr = (void *)((unsigned long)prandom_u32_state(&kp_random) << 16 << 16 |
				   prandom_u32_state(&kp_random) | 1);
		kp_wrong(m, KP_ANYWHERE);
		return;
	case 11:
		m->location = "kernel text";
		/*
		 * Functions of spinlocks may be behind schedule_timeout(). Arm does not survive
		 * probes there: it takes a spinlock to find out what an undefined instruction is.
		 */
		p->addr = dereference_function_descriptor(IS_ENABLED(CONFIG_ARM) || kp_one_in(2) ?
							  (void *)vsnprintf :
							  (void *)schedule_timeout);
		p->addr = (void *)p->addr + kp_below(4096);
		kp_wrong(m, KP_ANYWHERE);
		return;
	}
	if (far_off && p->offset)
		kp_wrong(m, KP_ANYWHERE);
}

static void kp_make_return_probe(struct kp_made *m)
{
	struct kretprobe *rp = &m->rp;

	if (!IS_ENABLED(CONFIG_KRETPROBES)) {
		m->right = KP_NOTSUPP;
		return;
	}
	if (kp_one_in(2))
		rp->handler = kp_any_return;
	if (kp_one_in(2))
		rp->entry_handler = kp_any_return;
	rp->kp.pre_handler = kp_one_in(2) ? kp_wrong_pre : NULL;
	rp->kp.post_handler = kp_one_in(2) ? kp_wrong_post : NULL;
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
		rp->data_size = KRETPROBE_MAX_DATA_SIZE + 1 +
				(prandom_u32_state(&kp_random) >> kp_below(32));
		kp_wrong(m, KP_TOO_BIG);
		break;
	case 2:
		rp->data_size = ~(size_t)kp_below(1000);
		kp_wrong(m, KP_TOO_BIG);
		break;
	}
}

static void kp_make_jprobe(struct kp_made *m)
{
	struct jprobe *jp = &m->jp;

	if (!IS_ENABLED(CONFIG_JPROBES)) {
		m->right = KP_NOTSUPP;
		return;
	}
	jp->kp.pre_handler = kp_one_in(2) ? kp_wrong_pre : NULL;
	jp->kp.post_handler = kp_one_in(2) ? kp_wrong_post : NULL;
	jp->entry = kp_jprobe_entry;
	if (kp_one_in(4)) {
		jp->entry = kp_one_in(2) ? NULL : m;
		kp_wrong(m, KP_INVAL);
	}
}

/* Everything that may have any value has one. */
static void kp_make(struct kp_made *m)
{
	struct kprobe *p = &m->rp.kp;

	memset(m, 0, sizeof(*m));
	m->right = KP_OK;
	m->kind = kp_below(4);
	if (m->kind > KP_JPROBE)
		m->kind = KP_PLAIN;
	prandom_bytes_state(&kp_random, &p->hlist, sizeof(p->hlist));
	prandom_bytes_state(&kp_random, &p->opcode, sizeof(p->opcode));
	p->nmissed = prandom_u32_state(&kp_random);
	p->flags = prandom_u32_state(&kp_random);
	p->refusal = prandom_u32_state(&kp_random);
	kp_make_location(m);
	switch (m->kind) {
	case KP_PLAIN:
		p->pre_handler = kp_one_in(4) ? NULL : kp_any_pre;
		p->post_handler = kp_one_in(2) ? NULL : kp_any_post;
		p->fault_handler = kp_one_in(2) ? NULL : kp_any_fault;
		break;
	case KP_RETURN:
		kp_make_return_probe(m);
		break;
	case KP_JPROBE:
		kp_make_jprobe(m);
		break;
	}
}

static int kp_register_made(struct kp_made *m)
{
	switch (m->kind) {
	case KP_RETURN:
		return register_kretprobe(&m->rp);
	case KP_JPROBE:
		return register_jprobe(&m->jp);
	default:
		return register_kprobe(&m->rp.kp);
	}
}

static void kp_unregister_made(struct kp_made *m)
{
	switch (m->kind) {
	case KP_RETURN:
		unregister_kretprobe(&m->rp);
		break;
	case KP_JPROBE:
		unregister_jprobe(&m->jp);
		break;
	default:
		unregister_kprobe(&m->rp.kp);
	}
}

/* Arrays that name no probe, or one twice, or a pointer that is NULL. */
static void kp_try_bad_array(struct kunit *test, struct kp_made *m)
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
	if (m->kind == KP_RETURN && IS_ENABLED(CONFIG_KRETPROBES))
		err = register_kretprobes((struct kretprobe **)kps, num);
	else if (m->kind == KP_JPROBE && IS_ENABLED(CONFIG_JPROBES))
		err = register_jprobes((struct jprobe **)kps, num);
	else
		err = register_kprobes(kps, num);
	if (!(kp_result(err) & (m->right == KP_OK ? KP_INVAL : m->right | KP_INVAL)))
		KUNIT_FAIL(test, "an array of %d returns %d\n", num, err);
	KUNIT_EXPECT_EQ(test, register_kprobes(NULL, kp_below(4)), -EINVAL);
}

static void kp_switch_made(struct kunit *test, struct kp_made *m)
{
	bool on = kp_one_in(2);
	int err;

	if (m->kind == KP_RETURN)
		err = on ? enable_kretprobe(&m->rp) : disable_kretprobe(&m->rp);
	else if (m->kind == KP_JPROBE)
		err = on ? enable_jprobe(&m->jp) : disable_jprobe(&m->jp);
	else
		err = on ? enable_kprobe(&m->rp.kp) : disable_kprobe(&m->rp.kp);
	KUNIT_EXPECT_EQ(test, err, 0);
}

static void kp_fuzz_calls_structures(struct kunit *test)
{
	unsigned long end = jiffies + seconds * HZ, count = 0;
	unsigned long results[8] = {};
	struct kp_made *m = kp_made;
	int err;

	do {
		kp_make(m);
		count++;
		if (kp_one_in(8) && m->right != KP_NOTSUPP) {
			kp_try_bad_array(test, m);
			kp_expect_text(test, "an array was refused");
			kp_make(m);
		}
		err = kp_register_made(m);
		results[__ffs(kp_result(err))]++;
		if (!(kp_result(err) & m->right))
			KUNIT_FAIL(test, "%lu: kind %d, location %s: %d\n", count, m->kind,
				   m->location, err);
		if (err) {
			kp_expect_text(test, "a refusal");
			continue;
		}
		KUNIT_EXPECT_EQ(test, kp_register_made(m), -EINVAL);
		kp_call_all(test);
		if (kp_one_in(2))
			kp_switch_made(test, m);
		kp_call_all(test);
		kp_unregister_made(m);
		kp_expect_text(test, "a probe is unregistered");
		cond_resched();
	} while (time_before(jiffies, end) && test->status == KUNIT_SUCCESS);
	kunit_info(test, "seed %lu: %lu structures: %lu accepted, %lu -EINVAL, %lu -ENOENT, %lu -EILSEQ, %lu -EOPNOTSUPP, %lu -E2BIG, %lu -ENOMEM; %d hits\n",
		   seed, count, results[0], results[1], results[2], results[3], results[4],
		   results[5], results[6], atomic_read(&kp_hits));
	KUNIT_EXPECT_GT(test, results[0], 0);
	KUNIT_EXPECT_GT(test, results[1], 0);
	KUNIT_EXPECT_GT(test, results[2], 0);
	KUNIT_EXPECT_GT(test, atomic_read(&kp_hits), 0);
	KUNIT_EXPECT_EQ(test, kp_misled, 0);
}

/*
 * Sequences of calls.
 */

#define KP_PROBES	12

struct kp_probe {
	struct kretprobe rp;
	bool returns;
	enum { KP_FREE, KP_ON, KP_OFF } state;
	int target;
	unsigned long pre, post, entries, handled;
};

static struct kp_probe *kp_probes;

static int kp_count_pre(struct kprobe *p, struct pt_regs *regs)
{
	container_of(p, struct kp_probe, rp.kp)->pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_count_pre);

static void kp_count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	container_of(p, struct kp_probe, rp.kp)->post++;
}

NOKPROBE_SYMBOL(kp_count_post);

static int kp_count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct kp_probe, rp)->entries++;
	return 0;
}

NOKPROBE_SYMBOL(kp_count_entry);

static int kp_count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct kp_probe, rp)->handled++;
	return 0;
}

NOKPROBE_SYMBOL(kp_count_return);

/* Make a probe that is not registered another one, or leave it for another registration. */
static void kp_prepare(struct kp_probe *probe)
{
	struct kprobe *p = &probe->rp.kp;
	const struct kp_target *target;

	/* Unregistering one that is not registered takes its address. */
	if (p->addr && kp_one_in(3)) {
		p->flags = kp_one_in(4) ? KPROBE_FLAG_DISABLED : 0;
		return;
	}
	memset(probe, 0, sizeof(*probe));
	probe->target = kp_below(KP_TARGETS);
	target = &kp_targets[probe->target];
	switch (kp_below(3)) {
	case 0:
		p->addr = dereference_function_descriptor((void *)target->call);
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
	probe->returns = IS_ENABLED(CONFIG_KRETPROBES) && kp_one_in(3);
	if (probe->returns) {
		probe->rp.handler = kp_one_in(4) ? NULL : kp_count_return;
		probe->rp.entry_handler = kp_one_in(2) ? NULL : kp_count_entry;
		probe->rp.maxactive = kp_one_in(2) ? 0 : 1 + kp_below(4);
		probe->rp.data_size = kp_one_in(2) ? 0 : kp_below(64);
	} else {
		p->pre_handler = kp_one_in(4) ? NULL : kp_count_pre;
		p->post_handler = kp_one_in(2) ? NULL : kp_count_post;
	}
}

static void kp_note_registered(struct kp_probe *probe)
{
	probe->state = probe->rp.kp.flags & KPROBE_FLAG_DISABLED ? KP_OFF : KP_ON;
}

static void kp_register_one(struct kunit *test, struct kp_probe *probe)
{
	int wanted = -EINVAL, err;

	if (probe->state == KP_FREE) {
		kp_prepare(probe);
		wanted = 0;
	}
	err = probe->returns ? register_kretprobe(&probe->rp) : register_kprobe(&probe->rp.kp);
	if (err != wanted)
		KUNIT_FAIL(test, "registration returns %d instead of %d\n", err, wanted);
	if (!err)
		kp_note_registered(probe);
}

static void kp_unregister_one(struct kunit *test, struct kp_probe *probe)
{
	if (probe->returns)
		unregister_kretprobe(&probe->rp);
	else
		unregister_kprobe(&probe->rp.kp);
	probe->state = KP_FREE;
}

static void kp_switch_one(struct kunit *test, struct kp_probe *probe, bool on)
{
	int wanted = probe->state == KP_FREE ? -EINVAL : 0, err;

	if (probe->returns)
		err = on ? enable_kretprobe(&probe->rp) : disable_kretprobe(&probe->rp);
	else
		err = on ? enable_kprobe(&probe->rp.kp) : disable_kprobe(&probe->rp.kp);
	if (err != wanted)
		KUNIT_FAIL(test, "%s returns %d instead of %d\n", on ? "enabling" : "disabling",
			   err, wanted);
	if (!err)
		probe->state = on ? KP_ON : KP_OFF;
}

static void kp_enable_one(struct kunit *test, struct kp_probe *probe)
{
	kp_switch_one(test, probe, true);
}

static void kp_disable_one(struct kunit *test, struct kp_probe *probe)
{
	kp_switch_one(test, probe, false);
}

static bool kp_is_in(struct kp_probe **array, int num, struct kp_probe *probe)
{
	while (num--)
		if (array[num] == probe)
			return true;
	return false;
}

/* Some probes of one kind. Return: how many. */
static int kp_choose(struct kp_probe *chosen[KP_PROBES], bool returns, bool free_ones)
{
	int i, num = 0, most = 1 + kp_below(KP_PROBES);

	for (i = 0; i < KP_PROBES; i++) {
		struct kp_probe *probe = &kp_probes[kp_below(KP_PROBES)];

		if (num == most || kp_is_in(chosen, num, probe))
			continue;
		if (free_ones && probe->state == KP_FREE)
			kp_prepare(probe);
		if (probe->returns == returns)
			chosen[num++] = probe;
	}
	return num;
}

static void kp_register_some(struct kunit *test, struct kp_probe *unused)
{
	struct kp_probe *chosen[KP_PROBES];
	struct kprobe *kps[KP_PROBES];
	bool returns = IS_ENABLED(CONFIG_KRETPROBES) && kp_one_in(2);
	int i, num = kp_choose(chosen, returns, true), wanted = num ? 0 : -EINVAL, err;

	for (i = 0; i < num; i++) {
		kps[i] = &chosen[i]->rp.kp;
		if (chosen[i]->state != KP_FREE)
			wanted = -EINVAL;
	}
	if (num > 1 && kp_one_in(8)) {
		kps[num - 1] = kp_one_in(2) ? kps[0] : NULL;
		wanted = -EINVAL;
	}
	err = returns ? register_kretprobes((struct kretprobe **)kps, num) :
			register_kprobes(kps, num);
	if (err != wanted)
		KUNIT_FAIL(test, "registration of %d returns %d instead of %d\n", num, err, wanted);
	for (i = 0; i < num && !err; i++)
		kp_note_registered(chosen[i]);
}

static void kp_unregister_some(struct kunit *test, struct kp_probe *unused)
{
	struct kp_probe *chosen[KP_PROBES];
	struct kprobe *kps[KP_PROBES + 2];
	bool returns = IS_ENABLED(CONFIG_KRETPROBES) && kp_one_in(2);
	int i, num = kp_choose(chosen, returns, false);

	for (i = 0; i < num; i++) {
		kps[i] = &chosen[i]->rp.kp;
		chosen[i]->state = KP_FREE;
	}
	/* One that is not registered any more when its turn comes, and none */
	if (num && kp_one_in(4))
		kps[num++] = kps[0];
	if (kp_one_in(4))
		kps[num++] = NULL;
	if (returns)
		unregister_kretprobes((struct kretprobe **)kps, num);
	else
		unregister_kprobes(kps, num);
}

static unsigned long kp_expected(const struct kp_probe *probe, bool has_handler)
{
	return probe->state == KP_ON && has_handler;
}

/* Call each function once: the probes that are enabled are hit once, and no others. */
static void kp_expect_hits(struct kunit *test, const char *after, unsigned long count)
{
	bool any[KP_TARGETS] = {};
	int i;

	for (i = 0; i < KP_PROBES; i++) {
		struct kp_probe *probe = &kp_probes[i];

		probe->pre = 0;
		probe->post = 0;
		probe->entries = 0;
		probe->handled = 0;
		any[probe->target] |= probe->state != KP_FREE;
	}
	kp_call_all(test);
	for (i = 0; i < KP_PROBES; i++) {
		struct kp_probe *probe = &kp_probes[i];
		struct kretprobe *rp = &probe->rp;
		bool plain = !probe->returns;

		if (probe->pre != kp_expected(probe, plain && rp->kp.pre_handler) ||
		    probe->post != kp_expected(probe, plain && rp->kp.post_handler) ||
		    probe->entries != kp_expected(probe, rp->entry_handler) ||
		    probe->handled != kp_expected(probe, rp->handler))
			KUNIT_FAIL(test, "%lu: %s: state %d at %s: %lu, %lu, %lu, %lu calls\n",
				   count, after, probe->state, kp_targets[probe->target].name,
				   probe->pre, probe->post, probe->entries, probe->handled);
		if (probe->state == KP_FREE)
			continue;
		KUNIT_EXPECT_EQ(test, rp->kp.nmissed, 0);
		if (probe->returns)
			KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
	}
	for (i = 0; i < KP_TARGETS; i++)
		if (any[i])
			return;
	kp_expect_text(test, after);
}

static const struct {
	const char *name;
	void (*call)(struct kunit *test, struct kp_probe *probe);
} kp_changes[] = {
	{ "register", kp_register_one },
	{ "register", kp_register_one },
	{ "unregister", kp_unregister_one },
	{ "enable", kp_enable_one },
	{ "disable", kp_disable_one },
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
	prandom_seed_state(&kp_random, seed);
	kp_made = kzalloc(sizeof(*kp_made), GFP_KERNEL);
	kp_probes = kcalloc(KP_PROBES, sizeof(*kp_probes), GFP_KERNEL);
	kp_read_text(kp_text);
	if (kp_made && kp_probes)
		return 0;
	kfree(kp_made);
	kfree(kp_probes);
	return -ENOMEM;
}

static void kp_fuzz_calls_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < KP_PROBES; i++)
		if (kp_probes[i].state != KP_FREE)
			kp_unregister_one(test, &kp_probes[i]);
	kp_expect_text(test, "all is unregistered");
	kfree(kp_made);
	kfree(kp_probes);
}

static struct kunit_case kp_fuzz_calls_cases[] = {
	KUNIT_CASE_SLOW(kp_fuzz_calls_structures),
	KUNIT_CASE_SLOW(kp_fuzz_calls_sequences),
	{}
};

static struct kunit_suite kp_fuzz_calls_suite = {
	.name = "kprobes_fuzz_calls",
	.init = kp_fuzz_calls_init,
	.exit = kp_fuzz_calls_exit,
	.test_cases = kp_fuzz_calls_cases,
};

kunit_test_suite(kp_fuzz_calls_suite);

MODULE_DESCRIPTION("KUnit suite: random arguments of the calls that change probes");
MODULE_LICENSE("GPL");
