/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_SYMBOL_H
#define KP_SYMBOL_H

/*
 * What is not exported to modules is found as modules have long found it. With kCFI the
 * kernel clears the type of functions whose address it never uses, so what calls a
 * function that was found like this is marked __nocfi.
 */

#include <kunit/test.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif

/* The address of a symbol of the kernel, or NULL. */
static inline __nocfi void *kp_find_symbol(const char *name)
{
	struct kprobe kp = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*lookup)(const char *name);
	void *addr;

	if (register_kprobe(&kp))
		return NULL;
	addr = kp.addr;
	unregister_kprobe(&kp);
#ifdef CONFIG_X86
	/* Called at its endbr, where there is one. */
	if (is_endbr(*(u32 *)(addr - ENDBR_INSN_SIZE)))
		addr -= ENDBR_INSN_SIZE;
#endif
#ifdef CONFIG_PPC64
	{
		/* Called where it sets up r2; the probe is behind that. */
		char symbol[KSYM_SYMBOL_LEN];
		unsigned long offset;
		char *plus;

		sprint_symbol(symbol, (unsigned long)addr);
		plus = strrchr(symbol, '+');
		if (!plus || sscanf(plus, "+0x%lx", &offset) != 1)
			return NULL;
		addr -= offset;
	}
#endif
	lookup = addr;
	return (void *)lookup(name);
}

/* The same; a case that asks for one that is not there fails and ends. */
static inline void *kp_symbol(struct kunit *test, const char *name)
{
	void *addr = kp_find_symbol(name);

	KUNIT_ASSERT_NOT_NULL_MSG(test, addr, "no symbol %s", name);
	return addr;
}

#endif
