/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_OPT_SUITES_H
#define KP_OPT_SUITES_H

/* What the suites of kp_opt share: probes that count, and what they are put on. */

/* Of kp_opt_row(): instructions, bytes in each, and how many of them a jump overlaps. */
#define KP_ROW_INSNS	16
#define KP_ROW_SIZE	2
#define KP_ROW_DCR	3

/* Functions that are all alike, each of which can have a jump. */
#define KP_MANY		200

/* How the cases of kp_opt_cases are to be treated. */
#define KP_REFUSE	0x01	/* may not be optimised */
#define KP_ACCEPT	0x02	/* has to be */
#define KP_POINTER	0x04	/* takes a pointer to a long, or a bad one */
#define KP_AGAIN	0x08	/* comes by the probe more than once */
#define KP_ACCEPT_PRE	0x10	/* has to be, if there is no post_handler */

#ifndef __ASSEMBLY__

#include <asm/ibt.h>
#include <kunit/test.h>
#include "kp_opt.h"
#include "kp_regs.h"

/* The number of instructions in it, so long as each of them is run once. */
long kp_opt_row(void);
/* a + b, in some instructions, the first of which puts a into %_ASM_CX. */
long kp_opt_sum(long a, long b);
long kp_opt_sum_other(long a, long b);
void kp_opt_add_thousand(void);
extern const u32 kp_opt_sum_insn[3];

static inline void *kp_sum_insn(int insn)
{
	return (void *)kp_opt_sum + kp_opt_sum_insn[insn];
}

typedef long kp_opt_fn(long);
extern kp_opt_fn *const kp_opt_many[KP_MANY];

/* In each of them, the second instruction, and the last one before the return. */
#define KP_MANY_SECOND	(ENDBR_INSN_SIZE + (IS_ENABLED(CONFIG_X86_64) ? 3 : 2))
#define KP_MANY_LAST	(KP_MANY_SECOND + (IS_ENABLED(CONFIG_X86_64) ? 4 : 3))

void kp_opt_fill(void *to, long bytes);
/* What is probed, the instruction that takes long, the end. */
enum { KP_FILL_PROBED, KP_FILL_STOS, KP_FILL_END, KP_FILL_NR };
extern const u32 kp_opt_fill_insn[KP_FILL_NR];

/* Sleeps while it is paged in; that instruction is probed, or is the next one. */
long kp_opt_load_first(const long __user *from);
long kp_opt_load_second(const long __user *from);
extern const u32 kp_opt_load_first_insn, kp_opt_load_second_insn;

/* Offsets are from kp_opt_text, and from the start of the names. */
struct kp_opt_code {
	u32 start;
	u32 probed;
	u32 name;
	u32 flags;
} __packed;

/* Their argument is in %_ASM_DI. */
#ifdef CONFIG_X86_64
static inline __nocfi long kp_opt_run_code(kp_opt_fn *fn, long arg)
{
	return fn(arg);
}
#else
long kp_opt_run_code(kp_opt_fn *fn, long arg);
#endif

extern const struct kp_opt_code kp_opt_codes[];
extern const u32 kp_opt_codes_nr;
extern const char kp_opt_names[];
void kp_opt_text(void);

/* What loads the address is in another function, and is probed. So is what it leads into. */
kp_opt_fn kp_opt_hidden;
extern kprobe_opcode_t kp_opt_hidden_probed[], kp_opt_hides_probed[];

/* An instruction of five bytes is between five nops and five nops, which an xor precedes. */
kp_opt_fn kp_opt_debugged;
#define KP_DEBUGGED_BEFORE	2
#define KP_DEBUGGED_INSN	7
#define KP_DEBUGGED_NEXT	12

struct kp_opt_probe {
	struct kprobe kp;
	bool registered;
	unsigned long pre;
	unsigned long post;
	unsigned long post_ip;
};

static inline struct kp_opt_probe *to_opt_probe(struct kprobe *kp)
{
	return container_of(kp, struct kp_opt_probe, kp);
}

int kp_opt_pre(struct kprobe *kp, struct pt_regs *regs);
void kp_opt_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

/* Not registered yet. */
struct kp_opt_probe *kp_opt_new(struct kunit *test, void *addr, bool post);
/* Registered until kp_opt_del() or the end of the case; _add() waits for nothing. */
void kp_opt_add(struct kunit *test, struct kp_opt_probe *probe);
void kp_opt_del(struct kunit *test, struct kp_opt_probe *probe);
/* Has to be optimised, sooner or later; must not be, now or when all else is. */
void kp_opt_becomes_jump(struct kunit *test, struct kp_opt_probe *probe);
void kp_opt_stays_int3(struct kunit *test, struct kp_opt_probe *probe);

/* Text, to be compared later. */
struct kp_opt_bytes {
	void *addr;
	u8 byte[64];
};

void kp_opt_save(struct kunit *test, struct kp_opt_bytes *bytes, void *addr);
/* As it was, but for @size bytes at @except. */
void kp_opt_same(struct kunit *test, const struct kp_opt_bytes *bytes, void *except, int size);

static inline int kp_opt_init(struct kunit *test)
{
	if (!kp_opt_available())
		kunit_skip(test, "no jump optimisation in this kernel");
	return kp_opt_switch(true);
}

extern struct kunit_suite kp_opt_hits_suite;
extern struct kunit_suite kp_opt_diverts_suite;
extern struct kunit_suite kp_opt_block_suite;
extern struct kunit_suite kp_opt_safety_suite;
extern struct kunit_suite kp_opt_preempt_suite;
extern struct kunit_suite kp_opt_sleep_suite;

#endif
#endif
