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

/* The size of the function that @addr is in, and how far into it that is. */
static inline int kp_measure(void *addr, unsigned long *offset, unsigned long *size)
{
	char symbol[KSYM_SYMBOL_LEN];
	char *plus;

	sprint_symbol(symbol, (unsigned long)addr);
	plus = strrchr(symbol, '+');
	return plus && sscanf(plus, "+0x%lx/0x%lx", offset, size) == 2 ? 0 : -ENOENT;
}

/* The address of a symbol of the kernel, or NULL. */
static inline __nocfi void *kp_find_symbol(const char *name)
{
	struct kprobe kp = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*lookup)(const char *name);
	unsigned long offset, size;
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
	/* Powerpc probes a function behind the instructions that set up r2 for this call. */
	if (IS_ENABLED(CONFIG_PPC64)) {
		if (kp_measure(addr, &offset, &size))
			return NULL;
		addr -= offset;
	}
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
