/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_NOMEM_H
#define KP_NOMEM_H

/*
 * Failing one allocation after the other, and keeping account of those that succeed: what
 * the suites of kp_nomem share.
 */

#define KP_NOMEM_ENTRIES	40
#define KP_NOMEM_MANY		500

#ifndef __ASSEMBLY__

#include <kunit/test.h>
#include <linux/kprobes.h>

/* The task whose allocations are counted. */
enum kp_nomem_who {
	KP_NOMEM_CURRENT,	/* those of the task that called kp_nomem_begin() */
	KP_NOMEM_OPTIMIZER,	/* those of the worker that puts in jumps */
};

/*
 * Until kp_nomem_end(), the @nth allocation fails that may fail, of those that sleep for
 * memory if need be; with 0 none does. All that succeed are remembered till they are freed.
 */
void kp_nomem_begin(enum kp_nomem_who who, unsigned int nth);
/* True if one has failed. */
bool kp_nomem_end(void);
/* The caller whose allocation failed last. */
void *kp_nomem_where(void);

/* Forget what was allocated so far. */
void kp_nomem_forget(void);
/*
 * Wait for what is freed late. The same place in the code may have made up to @allowed
 * allocations that are still there, because they replace something that there was.
 */
void kp_nomem_expect_freed(struct kunit *test, unsigned int allowed);

/* Something that may fail for lack of memory. */
struct kp_nomem_try {
	enum kp_nomem_who who;
	/* Before each attempt, with all the memory that there is; may be NULL. */
	void (*prepare)(struct kunit *test);
	/* 0 or -ENOMEM. */
	int (*attempt)(struct kunit *test);
	void (*undo)(struct kunit *test);
	/* What is to be seen when it has succeeded; has failed; and before and after. */
	void (*expect_done)(struct kunit *test);
	void (*expect_failed)(struct kunit *test);
	void (*expect_clean)(struct kunit *test);
	/* For those of which nothing may come from a failure. */
	bool never_fails;
	/* How often all is done; see kp_nomem_expect_freed(). */
	unsigned int passes;
	/* Not each of a great many allocations need fail. */
	unsigned int stride;
	/* At least so many allocations there are. */
	unsigned int least;
};

void kp_nomem_run(struct kunit *test, const struct kp_nomem_try *t);

/* With a place for ftrace, where there is ftrace, and without. Both add one. */
extern long (*const kp_nomem_entries[KP_NOMEM_ENTRIES])(long arg);
extern long (*const kp_ret_many[KP_NOMEM_MANY])(long arg);

/* kp_nomem_cases.c */
extern struct kunit_suite kp_nomem_suite;

#endif /* !__ASSEMBLY__ */
#endif
