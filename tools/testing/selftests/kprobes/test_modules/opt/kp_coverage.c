// SPDX-License-Identifier: GPL-2.0
/*
 * For opt-coverage.sh. When addresses of functions are written to the parameter probe, the module
 * probes the first instruction of each, and waits until each probe is optimised that can be. It
 * checks the text, then does the same with the second instructions. The parameters first and second
 * give the counts for each.
 */

#include <asm/nops.h>
#include "kp_opt.h"
#include "kp_symbol.h"

/* KP_FTRACE: instructions patched by ftrace, which need no jump */
enum { KP_PROBED, KP_JUMPS, KP_FTRACE, KP_WRONG, KP_LEFT, KP_COUNTS };

static unsigned int first[KP_COUNTS], second[KP_COUNTS];
module_param_array(first, uint, NULL, 0400);
MODULE_PARM_DESC(first, "of first instructions: probed, jumps, of ftrace, wrong, not restored");
module_param_array(second, uint, NULL, 0400);
MODULE_PARM_DESC(second, "the same of second instructions");

#define KP_TEXT_SIZE	8
#define KP_MAX_INSN	15
/* A write to a parameter has a page at most, and an address at least 8 characters. */
#define KP_PLACES	(PAGE_SIZE / 8)

static struct kp_place {
	struct kprobe kp;
	unsigned long function;
	u8 text[KP_TEXT_SIZE];
} *places;
static struct kprobe **kps;

static void kp_init(struct kp_place *place, void *addr)
{
	place->kp = (struct kprobe){ .addr = addr, .pre_handler = kp_opt_control_pre };
}

/* If the instruction can be probed, save the text and initialise the probe. */
static int kp_try(struct kp_place *place, unsigned long addr)
{
	int ret;

	kp_init(place, (void *)addr);
	place->kp.flags = KPROBE_FLAG_DISABLED;
	ret = register_kprobe(&place->kp);
	if (ret)
		return ret;
	addr = (unsigned long)place->kp.addr;
	ret = copy_from_kernel_nofault(place->text, (void *)addr, KP_TEXT_SIZE);
	unregister_kprobe(&place->kp);
	kp_init(place, (void *)addr);
	return ret;
}

static bool kp_is_in(unsigned long addr, unsigned long start)
{
	unsigned long offset, size;

	return !kp_measure((void *)addr, &offset, &size) && addr - offset == start;
}

static int kp_second(struct kp_place *place)
{
	unsigned long addr = (unsigned long)place->kp.addr;
	int i, ret = -EILSEQ;

	for (i = 1; i <= KP_MAX_INSN && ret == -EILSEQ; i++) {
		if (!kp_is_in(addr + i, place->function))
			return -ENOENT;
		ret = kp_try(place, addr + i);
	}
	return ret;
}

/*
 * Only the breakpoint, ftrace's call, or a jump out of the function may differ from the saved text.
 */
static void kp_look(unsigned int *count, const struct kp_place *place)
{
	unsigned long addr = (unsigned long)place->kp.addr, to;
	static const u8 nop[] = { BYTES_NOP5 };
	u8 text[KP_TEXT_SIZE];
	int same = KP_TEXT_SIZE;

	/* Leave out bytes of the next function, which may be probed, too. */
	while (same > JMP32_INSN_SIZE && !kp_is_in(addr + same - 1, place->function))
		same--;
	if (copy_from_kernel_nofault(text, place->kp.addr, KP_TEXT_SIZE))
		memset(text, 0, KP_TEXT_SIZE);
	if (text[0] == INT3_INSN_OPCODE &&
	    !memcmp(text + 1, place->text + 1, min(same, JMP32_INSN_SIZE) - 1))
		return;
	if (!memcmp(place->text, nop, sizeof(nop)) && text[0] == CALL_INSN_OPCODE) {
		count[KP_FTRACE]++;
		return;
	}
	count[KP_JUMPS]++;
	to = kp_jump_target(place->kp.addr);
	if (to && !kp_is_in(to, place->function) && kp_byte_at((void *)to) != INT3_INSN_OPCODE &&
	    !memcmp(text + JMP32_INSN_SIZE, place->text + JMP32_INSN_SIZE, same - JMP32_INSN_SIZE))
		return;
	pr_err("kp_coverage: text of %pS is %*ph\n", place->kp.addr, KP_TEXT_SIZE, text);
	count[KP_WRONG]++;
}

static void kp_look_restored(unsigned int *count, const struct kp_place *place)
{
	u8 text[KP_TEXT_SIZE] = {};

	if (!copy_from_kernel_nofault(text, place->kp.addr, KP_TEXT_SIZE) &&
	    !memcmp(text, place->text, KP_TEXT_SIZE))
		return;
	pr_err("kp_coverage: text of %pS is left as %*ph\n", place->kp.addr, KP_TEXT_SIZE, text);
	count[KP_LEFT]++;
}

static int kp_count(unsigned int *count, unsigned int nr)
{
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++)
		kps[i] = &places[i].kp;
	ret = nr ? register_kprobes(kps, nr) : 0;
	if (ret || !nr)
		return ret;
	ret = kp_opt_switch(true);
	count[KP_PROBED] += nr;
	for (i = 0; i < nr; i++)
		kp_look(count, &places[i]);
	unregister_kprobes(kps, nr);
	for (i = 0; i < nr; i++)
		kp_look_restored(count, &places[i]);
	return ret;
}

static int kp_probe_set(const char *line, const struct kernel_param *param)
{
	unsigned int i, nr = 0, nr_second = 0;
	unsigned long addr;
	int used, ret;

	for (; sscanf(line, " %lx%n", &addr, &used) == 1; line += used) {
		if (nr == KP_PLACES)
			return -E2BIG;
		places[nr].function = addr;
		nr += !kp_try(&places[nr], addr);
		cond_resched();
	}
	ret = kp_count(first, nr);
	for (i = 0; i < nr && !ret; i++) {
		/* Clear the flags and the address that the first registration has left. */
		kp_init(&places[i], places[i].kp.addr);
		places[nr_second] = places[i];
		nr_second += !kp_second(&places[nr_second]);
		cond_resched();
	}
	return ret ?: kp_count(second, nr_second);
}

module_param_call(probe, kp_probe_set, NULL, NULL, 0200);
MODULE_PARM_DESC(probe, "addresses of functions to probe now");

static int __init kp_coverage_init(void)
{
	places = kvcalloc(KP_PLACES, sizeof(*places), GFP_KERNEL);
	kps = kvcalloc(KP_PLACES, sizeof(*kps), GFP_KERNEL);
	if (places && kps)
		return 0;
	kvfree(places);
	kvfree(kps);
	return -ENOMEM;
}

static void __exit kp_coverage_exit(void)
{
	kvfree(places);
	kvfree(kps);
}

KP_MODULE("the share of functions that kprobes can optimise by jumps",
	  kp_coverage_init, kp_coverage_exit);
