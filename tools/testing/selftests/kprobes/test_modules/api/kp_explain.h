/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_EXPLAIN_H
#define KP_EXPLAIN_H

/* @at: offset from kp_explain_text. @name: offset from kp_explain_names */

#include <linux/jump_label.h>
#include <linux/types.h>

struct kp_explain_code {
	u32 at;
	u32 name;
} __packed;

extern const struct kp_explain_code kp_explain_codes[];
extern const u32 kp_explain_codes_nr;
extern const char kp_explain_names[];
void kp_explain_text(void);

extern struct static_key_false kp_explain_key;

#endif
