/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_NOMEM_H
#define KP_NOMEM_H

/* Make one allocation after the other fail, and keep account of those that succeed. */

#define KP_NOMEM_ENTRIES	40
#define KP_NOMEM_MANY		500

#ifndef __ASSEMBLY__

#include <kunit/test.h>

/*
 * Until kp_nomem_end(), allocation number @nth fails of those that may sleep and may fail: the
 * allocations of the caller, or of the optimiser's thread. With 0 none fails. Allocations that
 * succeed are recorded until they are freed.
 */
void kp_nomem_begin(bool optimizer, unsigned int nth);
/* Return: true if one has failed. */
bool kp_nomem_end(void);
/* The caller of the allocation that failed last */
void *kp_nomem_where(void);

/* Delete the records of earlier allocations. */
void kp_nomem_forget(void);
/*
 * Wait until no caller has more than @allowed allocations left. Grace periods delay frees. A
 * caller keeps an allocation that replaces an older one.
 */
void kp_nomem_expect_freed(struct kunit *test, unsigned int allowed);

/* Functions that add 1; ftrace can trace only the first ones. */
extern long (*const kp_nomem_entries[KP_NOMEM_ENTRIES])(long arg);
extern long (*const kp_ret_many[KP_NOMEM_MANY])(long arg);

extern struct kunit_suite kp_nomem_suite;

#endif /* !__ASSEMBLY__ */
#endif
