// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: looking up the address of a function, and the symbol that contains an address.
 *
 * Keep the symbol that was looked up last: kallsyms scans a module's symbols linearly, and one
 * registration needs the symbol several times. debugfs kprobes/explain needs it for each
 * instruction of a function.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>

#include "internal.h"

/* The symbol that contains the address that was looked up last, guarded by kprobe_mutex */
static struct kprobe_symbol last_symbol;

/**
 * kprobe_lookup_name() - find the address of a function
 * @name: name of the function, or "module:function"
 * @offset: offset of the probe, for architectures whose functions have several entries
 *
 * Context: may sleep.
 *
 * Return: the address, or NULL if there is no such function.
 */
__weak
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

/*
 * Look up the symbol that contains an address. kprobe_find_place() does this first; later lookups
 * of the same registration may use kprobe_symbol_at(). Return: the symbol, valid until the next
 * call or until kprobe_mutex is released; or NULL.
 */
struct kprobe_symbol *kprobe_look_up(unsigned long addr)
{
	unsigned long offset;

	lockdep_assert_held(&kprobe_mutex);
	/*
	 * Use the last symbol only for the kernel's own text, whose symbols never change. An
	 * address in a module may have become part of another module since the last lookup.
	 */
	if (addr - last_symbol.start < last_symbol.size && core_kernel_text(addr))
		return &last_symbol;
	if (!kallsyms_lookup(addr, &last_symbol.size, &offset, NULL, last_symbol.name)) {
		last_symbol.size = 0;
		return NULL;
	}
	last_symbol.start = addr - offset;
	return &last_symbol;
}

/*
 * Find the symbol that contains an address. kprobe_find_place() has found @addr while the caller
 * held kprobe_mutex, as it still does.
 *
 * So last_symbol was set under the same hold of kprobe_mutex. Until the caller releases the mutex,
 * the module of last_symbol cannot be unloaded, nor can another module be loaded at @addr: the
 * notifiers of modules wait for the mutex.
 *
 * Return: the symbol, valid until the next call or until kprobe_mutex is released; or NULL.
 */
struct kprobe_symbol *kprobe_symbol_at(unsigned long addr)
{
	lockdep_assert_held(&kprobe_mutex);
	if (addr - last_symbol.start < last_symbol.size)
		return &last_symbol;
	return kprobe_look_up(addr);
}
