// SPDX-License-Identifier: GPL-2.0
/*
 * Ftrace filters as they work on architectures that cannot mark a hit as handled in the registers.
 * On these, an armed address must stay in its filter: while it moved, it would be in two filters,
 * and one hit would be handled twice.
 */

#include <linux/ftrace.h>
#include "kp_handlers.h"
#include "kp_parts.h"
#include "../internal.h"

#ifdef CONFIG_KPROBES_ON_FTRACE

static DEFINE_MUTEX(kp_filters_mutex);

static int kp_ftrace_enabled = 1;
/* How often an address was added to a filter, and removed from one */
static unsigned int kp_added, kp_removed;

static int kp_set_filter_ips(struct ftrace_ops *ops, unsigned long *ips, unsigned int nr,
			     int remove, int reset)
{
	*(remove ? &kp_removed : &kp_added) += nr;
	return 0;
}

/* To remove the last address of a filter, kprobes unregisters the ftrace_ops. */
static int kp_unregister_function(struct ftrace_ops *ops)
{
	kp_removed++;
	return 0;
}

#undef __ARCH_WANT_PROBEPOINT
#define kprobe_mutex			kp_filters_mutex
#define kprobes_all_disarmed		false
#define kprobe_ftrace_handler		NULL
#define kretprobe_is_simple(p)		((p) && false)
#define probepoint_set_state(pp, to)	((pp)->state = (to))
#define ftrace_location_range(start, end)	((void)(end), (start))
#define ftrace_enabled			kp_ftrace_enabled
#define ftrace_set_filter_ips		kp_set_filter_ips
#define register_ftrace_function(ops)	((ops)->flags ? 0 : -EINVAL)
#define unregister_ftrace_function	kp_unregister_function

#include "../ftrace.c"

/*
 * Return a set of @nr probes. The tested code reads only its last two lists: those with a
 * post_handler, which begin at index 0, and all.
 */
static struct probe_set *kp_filters_set(struct kunit *test, struct kprobe *kp, unsigned int nr)
{
	struct probe_set *set;
	unsigned int i, post = 0;

	set = kp_zalloc(test, struct_size(set, probes, 2 * (nr + 1)));
	set->all = nr + 1;
	for (i = 0; i < nr; i++) {
		if (kp[i].post_handler)
			set->probes[post++] = &kp[i];
		set->probes[set->all + i] = &kp[i];
	}
	return set;
}

/* Change the probes of @pp to the first @nr of @kp, as a batch does. */
static void kp_filters_change(struct kunit *test, struct probepoint *pp, struct kprobe *kp,
			      unsigned int nr)
{
	struct probe_set *set = kp_filters_set(test, kp, nr);
	LIST_HEAD(changes);

	guard(mutex)(&kp_filters_mutex);
	list_add(&pp->change, &changes);
	pp->next_set = set;
	pp->staged = true;
	KUNIT_EXPECT_EQ(test, kprobe_ftrace_arm(&changes), 0);
	RCU_INIT_POINTER(pp->set, set);
	pp->staged = false;
	kprobe_ftrace_disarm(&changes);
}

KP_POST_HANDLER(__kprobes, kp_filters_post)

static void kp_filters_stay(struct kunit *test)
{
	struct kprobe kp[2] = {};
	struct probepoint *pp = kp_zalloc(test, sizeof(*pp));
	int post;

	pp->addr = (void *)kp_filters_post;
	pp->kp.flags = KPROBE_FLAG_FTRACE;
	pp->set = (void __rcu __force *)kp_filters_set(test, kp, 0);
	/*
	 * Of two probes at an address, the older one (@post
	 * is 0) or the newer one has a post_handler.
	 */
	for (post = 0; post < 2; post++) {
		unsigned int first = post ? BIT(FILTER_STAY) : BIT(FILTER_DIVERT);

		kp_added = 0;
		kp_removed = 0;
		kp[post].post_handler = kp_filters_post;
		kp[!post].post_handler = NULL;
		kp_filters_change(test, pp, kp, 1);
		KUNIT_EXPECT_EQ(test, pp->filters, first);
		kp_filters_change(test, pp, kp, 2);
		KUNIT_EXPECT_EQ(test, pp->filters, first);
		/*
		 * Unregister the older probe: the post_handlers
		 * are swapped, so kp[0] stands for the newer one.
		 */
		swap(kp[0].post_handler, kp[1].post_handler);
		kp_filters_change(test, pp, kp, 1);
		KUNIT_EXPECT_EQ(test, pp->filters, first);
		KUNIT_EXPECT_EQ(test, kp_added, 1);
		KUNIT_EXPECT_EQ(test, kp_removed, 0);
		kp_filters_change(test, pp, kp, 0);
		KUNIT_EXPECT_EQ(test, pp->filters, 0);
		KUNIT_EXPECT_EQ(test, kp_removed, 1);
		KUNIT_EXPECT_EQ(test, pp->state, PROBEPOINT_DISARMED);
	}
}

#else

KP_CASE(kp_filters_stay, kunit_skip(test, "no probes by way of ftrace"))

#endif

static struct kunit_case kp_filters_cases[] = {
	KUNIT_CASE(kp_filters_stay),
	{}
};

KP_SUITE(kp_filters, "kprobes_filters_stay");
