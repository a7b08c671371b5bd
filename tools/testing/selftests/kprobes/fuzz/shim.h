/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_SHIM_H
#define FUZZ_SHIM_H
/*
 * Replaces kernel headers for the files of kprobes that are compiled into the fuzzer. The Makefile
 * includes it before each of these files, and provides empty files in place of the headers that it
 * replaces. The headers of the instruction decoder, asm/probepoint.h, asm/text-patching.h and
 * linux/kprobe_reason.h are the kernel's own.
 */

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_KPROBES		1
#ifdef __x86_64__
#define CONFIG_X86_64		1
#define CONFIG_64BIT		1
#define BITS_PER_LONG		64
#else
#define CONFIG_X86_32		1
#define BITS_PER_LONG		32
#endif
#define __LITTLE_ENDIAN		1234

typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16;
typedef unsigned int u32, __u32;
typedef unsigned long long u64, __u64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32;
typedef long long s64, __s64;

#include "../../../../../include/linux/kconfig.h"
#include "../../../../../include/linux/kprobe_reason.h"

#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define __packed		__attribute__((packed))
#define __visible
#define __init
#define __ro_after_init
#define __kprobes
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
#define fallthrough		__attribute__((fallthrough))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define barrier()		__asm__ __volatile__("" : : : "memory")
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define smp_store_release(p, v)	do { barrier(); *(p) = (v); } while (0)
#define smp_load_acquire(p)	({ __typeof__(*(p)) _v = READ_ONCE(*(p)); barrier(); _v; })
#define OPTIMIZER_HIDE_VAR(x)	__asm__("" : "+r" (x))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG()		__builtin_trap()
#define static_assert(x)	_Static_assert(x, #x)
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define offset_in_page(p)	((unsigned long)(p) & (PAGE_SIZE - 1))
#define swap(a, b)		do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)
#define BUG_ON(x)		do { if (x) __builtin_trap(); } while (0)
#define WARN_ONCE(x, ...)	BUG_ON(x)
#define raw_local_irq_save(flags)	((flags) = 0)
#define raw_local_irq_restore(flags)	((void)(flags))
/* Take any address for canonical: the emulation of a branch is compared for all targets. */
#define __VIRTUAL_MASK_SHIFT	47
#define __is_canonical_address(addr, bits)	((addr) || (bits))

#include "../../../../../include/uapi/asm-generic/errno.h"

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int strncmp(const char *a, const char *b, size_t n);
size_t strlen(const char *s);

static inline bool strstarts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

#define isdigit(c)		((c) >= '0' && (c) <= '9')
#define toupper(c)		((c) >= 'a' && (c) <= 'z' ? (c) - 'a' + 'A' : (c))
/* Hex digits in the opcode maps are small letters. */
#define hex_to_bin(c)		(isdigit(c) ? (c) - '0' : (c) - 'a' + 10)

#define le16_to_cpu(x)		((u16)(x))
#define le32_to_cpu(x)		((u32)(x))
#define get_unaligned(p)	(((const struct { __typeof__(*(p)) x; } __packed *)(p))->x)

#include "../../../../../arch/x86/include/uapi/asm/processor-flags.h"

/* The same as in the kernel's asm/ptrace.h */
struct pt_regs {
#ifdef __x86_64__
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
#else
	unsigned long bx, cx, dx, si, di, bp, ax;
	unsigned long ds, es, fs, gs, orig_ax, ip, cs, flags, sp, ss;
#endif
};

/* The segment of the program's code, in place of the kernel's */
#ifdef __x86_64__
#define __KERNEL_CS		0x33
#else
#define __KERNEL_CS		0x23
#endif

/* fuzz_subject.c */
unsigned long fuzz_segment_base(int seg);
bool fuzz_read(void *to, unsigned long addr, size_t size);
bool fuzz_read_text(void *to, unsigned long addr, size_t size);

#define MSR_FS_BASE		0xc0000100
#define MSR_GS_BASE		0xc0000101
#define __rdmsr(msr)		fuzz_segment_base(msr)

/* In 32-bit mode only the segment of fs has a base: take any selector for that of fs. */
#define GDT_ENTRIES		0x2000
struct desc_struct {
	u64 word;
};

struct desc_ptr_page {
	struct desc_struct gdt[1];
};

#define gdt_page		0
#define raw_cpu_ptr(p)		((struct desc_ptr_page *)0)
#define get_desc_base(desc)	((void)(desc), fuzz_segment_base(MSR_FS_BASE))

#define __get_kernel_nofault(dst, src, type, label)				\
	do {									\
		if (!fuzz_read(dst, src, sizeof(type)))				\
			goto label;						\
	} while (0)
#define copy_from_kernel_nofault(to, from, n)					\
	(fuzz_read_text(to, (unsigned long)(from), n) ? 0 : -EFAULT)
#define get_kernel_nofault(val, p)						\
	copy_from_kernel_nofault(&(val), p, sizeof(val))

/* The fuzzer has one thread, so locks only record that they are held. */
struct task_struct;

struct mutex {
	int held;
};

extern struct mutex text_mutex, kprobe_mutex;
#define mutex_lock(m)		((void)(m)->held++)
#define mutex_unlock(m)		((void)(m)->held--)
#define lockdep_assert_held(m)	BUG_ON(!(m)->held)
static inline void fuzz_unlock(struct mutex **m)
{
	(*m)->held--;
}

#define scoped_guard(kind, m)							\
	for (struct mutex *held_ __attribute__((cleanup(fuzz_unlock))) =	\
		     ((m)->held++, (m)), *once_ = (m); once_; once_ = NULL)
static inline void fuzz_nothing(void)
{
}

#define guard(kind)		fuzz_nothing
#define cond_resched()		do { } while (0)

#define KSYM_NAME_LEN		512
unsigned long kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size,
					  unsigned long *offset);
int lookup_symbol_name(unsigned long addr, char *name);
static inline bool is_endbr(u32 v)
{
	return v == 0xfa1e0ff3 || v == 0xfb1e0ff3;
}

#define ENDBR_INSN_SIZE		4
#define is_cfi_trap(addr)	false
#define alternatives_text_reserved(from, to) 0

#define PAGE_SIZE		4096
/* All addresses can be read, or not, without an oops. */
#define TASK_SIZE_MAX		1UL
#define VSYSCALL_ADDR		(-10UL << 20)
#define EXECMEM_KPROBES		0
#define execmem_alloc(type, size) NULL
#define execmem_free(p)		do { } while (0)
#define set_memory_rox(addr, n)	0
#define perf_event_text_poke(addr, old, old_len, new, new_len)			\
	do {									\
		(void)(old);							\
		(void)(new);							\
	} while (0)
#define module_param_named(name, var, type, mode)
#define MODULE_PARM_DESC(name, text)
#define MODULES_VADDR		0x40000000UL
#define MODULES_END		0x80000000UL
struct exception_table_entry {
	int insn;
};

extern char __softirqentry_text_end[], _etext[];
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

/* The parts of linux/kprobes.h, linux/probepoint.h and asm/kprobes.h that are used */
typedef u8 kprobe_opcode_t;
struct kprobe {
	kprobe_opcode_t opcode;
};

#include "../../../../../arch/x86/include/asm/text-patching.h"
#include "../../../../../arch/x86/include/asm/probepoint.h"

struct probepoint {
	kprobe_opcode_t *addr;
	struct arch_probepoint arch;
	struct kprobe kp;
	enum kprobe_reason why;
};

enum kprobe_answer { KPROBE_NO, KPROBE_YES, KPROBE_UNKNOWN };

struct kprobe_explanation {
	enum kprobe_answer probed;
	enum kprobe_reason refusal;
	unsigned long before;
	unsigned long after;
	unsigned int length;
	struct {
		const char *how;
		enum kprobe_reason why;
	} exec[2];
};

struct kprobe_symbol {
	unsigned long start, size;
	char name[KSYM_NAME_LEN];
};

struct kprobe_symbol *kprobe_symbol_at(unsigned long addr);

struct kprobe_level {
	struct kprobe *probe;
};

struct kprobe_fault {
	unsigned long where;
	bool handled;
};

static inline int probepoint_refuse(struct probepoint *pp, enum kprobe_reason why)
{
	pp->why = why;
	return kprobe_reason_errno(why);
}

/*
 * Inline functions for hits and returns use these names. The fuzzer does not call the inline
 * functions, so declarations are enough, without definitions.
 */
#define KPROBE_CONTEXT_INT3	0
#define KPROBE_LEVEL_INT3	0
extern char x86_return_thunk[], __x86_return_thunk[];
s32 kprobe_context(void);
bool probepoint_has_post(const struct probepoint *pp);
bool probepoint_has_fault(const struct probepoint *pp);
struct kprobe *kprobe_running(void);
bool kprobe_enter(struct kprobe_level **level, s32 interrupted, s32 context, void *probe,
		  void *regs);
void kprobe_leave(struct kprobe_level *level);
void kprobe_int3_hide_context(void);
void kprobe_int3_restore_context(void);
void probepoint_call_post(struct probepoint *pp, struct pt_regs *regs, struct kprobe **probe);

#define get_probepoint(addr)	((struct probepoint *)NULL)
kprobe_opcode_t *get_insn_slot_for(struct probepoint *pp);
void free_insn_slot(kprobe_opcode_t *slot, int dirty);
int arch_prepare_probepoint(struct probepoint *pp);
int arch_reshape_probepoint(struct probepoint *pp, bool post, kprobe_opcode_t **old);

#endif
