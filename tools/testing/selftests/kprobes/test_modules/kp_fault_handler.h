/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_FAULT_HANDLER_H
#define KP_FAULT_HANDLER_H

/* Fault_handlers, which are an option: without it, tests do not expect any calls of them. */

#include <linux/kprobes.h>

#define KP_FAULT_HANDLERS	IS_ENABLED(CONFIG_KPROBES_FAULT_HANDLER)

static inline
void kp_set_fault_handler(struct kprobe *kp,
			  int (*handler)(struct kprobe *p, struct pt_regs *regs, int trapnr))
{
#ifdef CONFIG_KPROBES_FAULT_HANDLER
	kp->fault_handler = handler;
#endif
}

#endif
