// SPDX-License-Identifier: GPL-2.0
/* Test register_kprobes() and unregister_kprobes() */

#include "kprobes_kunit.h"
#include "kp_cases_batch.h"

/* Registration must not keep a reference to the probed module, whether it succeeds or fails. */
static void kp_batch_module_reference(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
	struct kp_batch *batch = kp_batch_new(test);
	int before = module_refcount(THIS_MODULE), refused = 0;
	struct kp_probe *probe;
	unsigned int offset;

	/* register_kprobes() takes references to the module, which it must drop at its end. */
	kp_batch_register(test, batch);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), before);
	kunit_release_action(test, kp_batch_unregister, batch);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), before);

	/* Some offsets are refused: they are inside an instruction. */
	for (offset = 0; offset < 16; offset++) {
		probe = kp_new(test, (void *)kp_target + offset);
		if (register_kprobe(&probe->kp))
			refused++;
		else
			unregister_kprobe(&probe->kp);
		KUNIT_EXPECT_EQ_MSG(test, module_refcount(THIS_MODULE), before, "at +%u", offset);
	}
	KUNIT_EXPECT_GT(test, refused, 0);
#else
	kunit_skip(test, "not a module that can be unloaded");
#endif
}

/* Enable only every 20th probe: on some architectures, each one needs a stop_machine(). */
#define KP_ROW_STEP	20

static void kp_batch_unregister_row(void *kps)
{
	unregister_kprobes(kps, KP_ROW);
}

/*
 * Register more probes than a page has instruction slots, so that kprobes needs a second page. On
 * s390, the size of a page is no multiple of the size of a slot: the last bytes of the first page
 * must stay unused.
 */
static void kp_batch_row(struct kunit *test)
{
	struct kprobe **kps = kp_zalloc(test, KP_ROW * sizeof(*kps));
	const size_t bytes = kp_row_bounds[1] - kp_row_bounds[0];
	void *row = (void *)kp_target_row + kp_row_bounds[0];
	void *text = kp_zalloc(test, bytes);
	int i;

	memcpy(text, row, bytes);
	for (i = 0; i < KP_ROW; i++) {
		kps[i] = &kp_new(test, row + i * (bytes / KP_ROW))->kp;
		kps[i]->flags = KPROBE_FLAG_DISABLED;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_ROW), 0);
	kp_at_end(test, kp_batch_unregister_row, kps);
	for (i = 0; i < KP_ROW; i += KP_ROW_STEP)
		KUNIT_EXPECT_EQ(test, enable_kprobe(kps[i]), 0);
	KUNIT_EXPECT_EQ(test, kp_target_row(1), 2);
	kunit_release_action(test, kp_batch_unregister_row, kps);
	KUNIT_EXPECT_EQ(test, kp_target_row(1), 2);
	for (i = 0; i < KP_ROW; i++)
		KUNIT_EXPECT_EQ_MSG(test, to_kp_probe(kps[i])->pre, i % KP_ROW_STEP == 0,
				    "probe %d", i);
	KUNIT_EXPECT_MEMEQ(test, row, text, bytes);
}

static struct kunit_case kp_batch_cases[] = {
	KP_CASES_BATCH,
	KUNIT_CASE(kp_batch_module_reference),
	KUNIT_CASE_SLOW(kp_batch_row),
	{}
};

KP_SUITE(kp_batch, "kprobes_batch");
