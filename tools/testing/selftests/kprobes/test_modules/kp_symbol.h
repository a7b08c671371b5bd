/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_SYMBOL_H
#define KP_SYMBOL_H

/*
 * Access to symbols that are not exported to modules. kprobes exports some functions for KUnit
 * only: kp_own_function() returns one of these. Other functions, and those of the base kernel's
 * kprobes, are looked up with kallsyms_lookup_name(). It is not exported either, but a probe on it
 * tells its address.
 *
 * With IBT, the kernel overwrites the endbr of functions that none of its pointers refers to.
 * To call these, kp_find_function() returns the address of a landing: an endbr, and a jump by a
 * return, which IBT does not check.
 *
 * With kCFI, the kernel clears the type of functions whose address it never uses. So callers of
 * a function found like this are __nocfi.
 */

#include "kp_test.h"
#ifdef CONFIG_X86_KERNEL_IBT
#include <linux/objtool.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#endif

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);

/* Get the size of the function that @addr is in, and the offset of @addr. */
static inline int kp_measure(void *addr, unsigned long *offset, unsigned long *size)
{
	char symbol[KSYM_SYMBOL_LEN];
	char *plus;

	sprint_symbol(symbol, (unsigned long)addr);
	plus = strrchr(symbol, '+');
	return plus && sscanf(plus, "+0x%lx/0x%lx", offset, size) == 2 ? 0 : -ENOENT;
}

#ifdef CONFIG_X86_KERNEL_IBT
#define KP_LANDINGS	16
#define KP_LANDING_SIZE	16

/* The functions that landings jump to; the first one is kallsyms_lookup_name(). */
static void *kp_landing_targets[KP_LANDINGS] __used;

extern u8 kp_landings[KP_LANDINGS][KP_LANDING_SIZE];
#define KP_LANDINGS_CODE \
	".pushsection .text, \"ax\"\n\t" \
	".balign 16\n\t" \
	".local kp_landings\n\t" \
	".type kp_landings, @function\n" \
	"kp_landings:\n\t" \
	".set kp_landing_nr, 0\n\t" \
	".rept " __stringify(KP_LANDINGS) "\n\t" \
	".balign " __stringify(KP_LANDING_SIZE) "\n\t" \
	"endbr64\n\t" \
	"push kp_landing_targets + 8 * kp_landing_nr(%rip)\n\t" \
	ANNOTATE_RETPOLINE_SAFE "\n\t" \
	"ret\n\t" \
	"int3\n\t" \
	".set kp_landing_nr, kp_landing_nr + 1\n\t" \
	".endr\n\t" \
	".size kp_landings, . - kp_landings\n\t" \
	".popsection\n\t" \
	/* Sealing would remove the endbr, and with kCFI write in front of the module's text. */ \
	IBT_NOSEAL("kp_landings")
asm(KP_LANDINGS_CODE);
STACK_FRAME_NON_STANDARD(kp_landings);

/* Return: a pointer to call @func by, or NULL if there are no more landings. */
static inline void *kp_landing(int first, void *func)
{
	for (int i = first; i < KP_LANDINGS; i++) {
		if (kp_landing_targets[i] && kp_landing_targets[i] != func)
			continue;
		kp_landing_targets[i] = func;
		return kp_landings[i];
	}
	return NULL;
}
#else
static inline void *kp_landing(int first, void *func)
{
	return func;
}
#endif

/* Return: the address of a symbol of the kernel; NULL if it was not found. */
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
	/* Powerpc puts the probe after the instructions that set up r2 for this call. */
	if (IS_ENABLED(CONFIG_PPC64)) {
		if (kp_measure(addr, &offset, &size))
			return NULL;
		addr -= offset;
	}
	lookup = kp_landing(0, addr);
	return lookup ? (void *)lookup(name) : NULL;
}

/* Return: a pointer to call a function by; NULL without such a function, or a free landing. */
static inline void *kp_find_function(const char *name)
{
	void *addr = kp_find_symbol(name);

	return addr ? kp_landing(1, addr) : NULL;
}

/* As kp_find_symbol() and kp_find_function(), but without the symbol the case fails and ends. */
static inline void *kp_symbol(struct kunit *test, const char *name)
{
	void *addr = kp_find_symbol(name);

	KUNIT_ASSERT_NOT_NULL_MSG(test, addr, "no symbol %s", name);
	return addr;
}

static inline void *kp_function(struct kunit *test, const char *name)
{
	void *func = kp_find_function(name);

	KUNIT_ASSERT_NOT_NULL_MSG(test, func, "no function %s", name);
	return func;
}

/* A function, or the address of a variable, of kprobes; NULL if the base kernel has none. */
#if __has_include("linux/kprobe_reason.h")
#define kp_own_function(name)	(name)
#define kp_own_variable(name)	(&(name))
#else
#define kp_own_function(name)	kp_find_function(#name)
#define kp_own_variable(name)	kp_find_symbol(#name)
#endif

#endif
