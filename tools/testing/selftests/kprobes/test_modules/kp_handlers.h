/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_HANDLERS_H
#define KP_HANDLERS_H

#include <linux/kprobes.h>

/* Handlers of one statement, or none, which has @p or @ri, @regs, and @flags */

#define KP_PRE(name, statement...)						\
static int __kprobes name(struct kprobe *p, struct pt_regs *regs)		\
{										\
	statement;								\
	return 0;								\
}

#define KP_POST(name, statement...)						\
static void __kprobes name(struct kprobe *p, struct pt_regs *regs, unsigned long flags) \
{										\
	statement;								\
}

/* A handler or an entry_handler of a return probe */
#define KP_RET(name, statement...)						\
static int __kprobes name(struct kretprobe_instance *ri, struct pt_regs *regs)	\
{										\
	statement;								\
	return 0;								\
}

#endif
