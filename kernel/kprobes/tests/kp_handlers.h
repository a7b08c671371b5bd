/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_HANDLERS_H
#define KP_HANDLERS_H

#include <linux/kprobes.h>

/*
 * Each macro defines a handler that executes one statement, or nothing. The statement can use the
 * parameters of the handler. @attributes: __kprobes, or empty
 */

#define KP_PRE_HANDLER(attributes, name, statement...)				\
	static int attributes name(struct kprobe *p, struct pt_regs *regs)	\
	{									\
		statement;							\
		return 0;							\
	}

#define KP_POST_HANDLER(attributes, name, statement...)			\
	static void attributes name(struct kprobe *p, struct pt_regs *regs,	\
				    unsigned long flags)		\
	{								\
		statement;						\
	}

/* A handler or an entry_handler of a return probe */
#define KP_RETURN_HANDLER(attributes, name, statement...)		\
	static int attributes name(struct kretprobe_instance *ri, struct pt_regs *regs)	\
	{								\
		statement;						\
		return 0;						\
	}

#endif
