// SPDX-License-Identifier: GPL-2.0
/* Cases for slots whose size is not a divisor of the page size, as on s390 */

#include <linux/execmem.h>
#include <linux/perf_event.h>
#include "kp_parts.h"
#include "../internal.h"

/*
 * Fill the bytes after each structure. Code that reads an owner past the end of the array then gets
 * these bytes, which are no valid pointer, and not NULL by chance.
 */
#define KP_SLOTS_BEYOND	0x5a

static void *kp_slots_zalloc(size_t size, gfp_t gfp)
{
	char *p = kmalloc(size + sizeof(long), gfp);

	if (p) {
		memset(p, 0, size);
		memset(p + size, KP_SLOTS_BEYOND, sizeof(long));
	}
	return p;
}

#undef KPROBE_SLOT_SIZE
#define KPROBE_SLOT_SIZE	6
#undef kzalloc
#define kzalloc(size, gfp)	kp_slots_zalloc(size, gfp)
/* No CPU executes these slots, and perf is not told about them. */
#define execmem_alloc(type, size)	vmalloc(size)
#define execmem_free(p)			vfree(p)
#define perf_event_ksymbol(...)		do { } while (0)
#define perf_event_text_poke(...)	do { } while (0)

#include "../slots.c"

static void kp_slots_free_pages(void *unused)
{
	struct slot_page *sp, *next;

	list_for_each_entry_safe(sp, next, &all_pages, all) {
		list_del_rcu(&sp->all);
		list_del_init(&sp->avail);
		xa_erase(&pages, (unsigned long)sp->text >> PAGE_SHIFT);
		synchronize_rcu();
		execmem_free(sp->text);
		kfree(sp);
	}
}

/* Any address in a page may be looked up, also one in the rest after the last slot. */
static void kp_slots_owners(struct kunit *test)
{
	struct probepoint *pp = kunit_kcalloc(test, SLOTS_PER_PAGE, sizeof(*pp), GFP_KERNEL);
	kprobe_opcode_t *first = NULL, *slot;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, pp);
	BUILD_BUG_ON(!(PAGE_SIZE % KPROBE_SLOT_SIZE));
	kp_at_end(test, kp_slots_free_pages, NULL);
	for (i = 0; i < SLOTS_PER_PAGE; i++) {
		slot = get_insn_slot_for(&pp[i]);
		KUNIT_ASSERT_NOT_NULL(test, slot);
		first = first ?: slot;
		KUNIT_ASSERT_PTR_EQ(test, (void *)slot, (void *)first + i * KPROBE_SLOT_SIZE);
	}
	for (i = 0; i < PAGE_SIZE; i++) {
		struct probepoint *found = probepoint_of_insn_slot((unsigned long)first + i);
		unsigned int nr = i / KPROBE_SLOT_SIZE;

		KUNIT_ASSERT_PTR_EQ_MSG(test, found, nr < SLOTS_PER_PAGE ? &pp[nr] : NULL,
					"byte %u", i);
	}
	for (i = 0; i < SLOTS_PER_PAGE; i++) {
		free_insn_slot((void *)first + i * KPROBE_SLOT_SIZE, 0);
		KUNIT_EXPECT_EQ(test, pp[i].nr_slots, 0);
	}
	KUNIT_EXPECT_NULL(test, probepoint_of_insn_slot((unsigned long)first));
}

static struct kunit_case kp_slots_cases[] = {
	KUNIT_CASE(kp_slots_owners),
	{}
};

KP_SUITE(kp_slots, "kprobes_slots");
