/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_NOMEM_H
#define KP_NOMEM_H

/* Fail allocations one after the other, and record which successful allocations are not freed. */

#define KP_NOMEM_ENTRIES	40
#define KP_NOMEM_MANY		500

#ifndef __ASSEMBLY__

#include "kp_test.h"

/*
 * Until kp_nomem_end(), fail allocation number @nth (0: none) of the caller, or of the
 * optimiser's thread. Only allocations that may sleep and may fail count. Successful ones are
 * recorded until they are freed.
 */
void kp_nomem_begin(bool optimizer, unsigned int nth);
bool kp_nomem_end(void);
/* The caller of the last failed allocation */
void *kp_nomem_where(void);

/* Delete the records. */
void kp_nomem_clear_accounts(void);
/*
 * Wait until no caller has more than @allowed allocations left, since grace periods delay frees.
 * Some may have to be allowed: an allocation that has replaced an older one is no leak.
 */
void kp_nomem_expect_freed(struct kunit *test, unsigned int allowed);

/* Functions that add 1; ftrace can trace only kp_nomem_entries. */
extern long (*const kp_nomem_entries[KP_NOMEM_ENTRIES])(long arg);
extern long (*const kp_ret_many[KP_NOMEM_MANY])(long arg);

extern struct kunit_suite kp_nomem_suite;

#endif
#endif
