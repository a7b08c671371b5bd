// SPDX-License-Identifier: GPL-2.0
/*
 * Probes on instructions of many functions at once, for insn-functions.sh and insn-lib-tests.sh.
 * Parameters:
 *
 *	insns=N		probe at most N instructions of each function; 0: all
 *	apart=N		leave at least N bytes between the starts of two of them, so
 *			that jumps do not prevent each other
 *	add=NAME N	find instructions in the first N bytes of a function, which may be given by
 *			its address instead; fails unless all @insns of them can be probed
 *	register=1	register all probes that were found
 *	self=N		call the module's own function N times, after it was added
 *	remove=1	unregister all, and check the text and the counts
 *	summary		counts, before and after the removal, one "NAME VALUE" a line
 *	own		results of library functions for which the kernel has no short test
 *
 * To find the instructions, the module tries each offset: in the middle of an instruction,
 * registration is refused with -EILSEQ. About every third probe has a post_handler.
 */

#include <crypto/sha2.h>
#include <linux/crc32.h>
#include <linux/xarray.h>
#include "kp_symbol.h"

static unsigned int insns, apart;
module_param(insns, uint, 0600);
module_param(apart, uint, 0600);

struct kp_counter {
	struct kprobe kp;
	atomic_long_t hits;
	atomic_long_t posts;
	/* hits and missed hits before all probes of the function were armed */
	long before;
	/* The CPU always executes this instruction after that of the previous counter. */
	bool follows;
};

struct kp_function {
	struct list_head link;
	void *addr;
	unsigned long size;
	u8 *text;
	unsigned int nr;
	struct kp_counter *counter;
	struct kprobe **kps;
};

/* maximum number of functions if @insns is set */
#define KP_FUNCTIONS	1024

static LIST_HEAD(kp_functions);
static DEFINE_MUTEX(kp_functions_mutex);
static long kp_self_calls;

static struct {
	unsigned int functions;
	unsigned int functions_hit;
	unsigned int probes;
	unsigned int probes_hit;
	unsigned int not_allowed;
	unsigned int not_supported;
	unsigned int pairs_compared;
	unsigned int wrong_errno;
	unsigned int wrong_post;
	unsigned int wrong_pair;
	unsigned int wrong_self;
	unsigned int wrong_text;
	unsigned long hits;
	unsigned long missed;
} kp_total;

noinline unsigned long kp_functions_self(unsigned long a, unsigned long b);
noinline unsigned long kp_functions_self(unsigned long a, unsigned long b)
{
	barrier();
	a ^= b << 3;
	barrier();
	a += b >> 5;
	barrier();
	return a * 7;
}

KP_PRE_HANDLER(__kprobes, kp_functions_pre,
	       atomic_long_inc(&container_of(p, struct kp_counter, kp)->hits))

KP_POST_HANDLER(__kprobes, kp_functions_post,
		atomic_long_inc(&container_of(p, struct kp_counter, kp)->posts))

/*
 * Return the distance to the next offset where an instruction may begin. On s390, the first two
 * bits of the instruction at @text give its length: there the errno of a registration does not tell
 * whether an instruction begins at an offset.
 */
static unsigned int kp_next_boundary(const u8 *text)
{
	if (IS_ENABLED(CONFIG_X86))
		return 1;
	if (IS_ENABLED(CONFIG_RISCV))
		return 2;
	if (IS_ENABLED(CONFIG_S390))
		return ((*text >> 6) + 1) / 2 * 2 + 2;
	return 4;
}

/* Is it certain that the CPU executes the next instruction after this one? */
static bool kp_falls_through(const u8 *insn)
{
#if defined(CONFIG_X86)
	switch (insn[0]) {
	case 0x0f:		/* jcc, syscall and others */
	case 0x2e: case 0x3e:	/* prefixes of branches */
	case 0x70 ... 0x7f:
	case 0x9a:		/* lcall */
	case 0xc2: case 0xc3: case 0xca ... 0xcf:
	case 0xe0 ... 0xe3:
	case 0xe8 ... 0xeb:
	case 0xf0 ... 0xf4:
	case 0xff:
		return false;
	}
	return true;
#elif defined(CONFIG_ARM64)
	/* Yes for hints such as nop; no for branches, exceptions and system instructions. */
	if (insn[3] == 0xd5 && insn[2] == 0x03 && insn[1] >> 4 == 2 && (insn[0] & 0x1f) == 0x1f)
		return true;
	return (insn[3] >> 2 & 7) != 5;
#elif defined(CONFIG_RISCV)
	switch (insn[0] & 3) {
	case 3:
		return (insn[0] & 0x7f) != 0x63 && (insn[0] & 0x7f) != 0x67 &&
		       (insn[0] & 0x7f) != 0x6f && (insn[0] & 0x7f) != 0x73;
	case 2:			/* c.jr, c.jalr, c.ebreak */
		return insn[1] >> 5 != 4;
	case 1:			/* c.j, c.beqz, c.bnez */
		return insn[1] >> 5 < 5;
	}
	return true;
#elif defined(CONFIG_PPC) && defined(CONFIG_CPU_LITTLE_ENDIAN)
	/* traps, branches */
	return insn[3] >> 2 != 2 && insn[3] >> 2 != 3 && (insn[3] >> 2 < 16 || insn[3] >> 2 > 19);
#else
	return false;
#endif
}

/*
 * Is there an lr near the start of the function? On riscv, a trap between lr and sc makes sc fail,
 * so the loop around both would never end.
 */
static bool kp_begins_with_lr(const struct kp_function *function)
{
	const u8 *insn = function->text, *end = insn + min(function->size, 48) - 4;

	if (!IS_ENABLED(CONFIG_RISCV) || function->size < 4)
		return false;
	/* The opcode is AMO, and the upper five bits of the instruction are those of LR. */
	for (; insn <= end; insn += (insn[0] & 3) == 3 ? 4 : 2)
		if ((insn[0] & 0x7f) == 0x2f && insn[3] >> 3 == 2)
			return true;
	return false;
}

static void kp_prepare(struct kp_counter *counter, void *addr)
{
	memset(counter, 0, sizeof(*counter));
	counter->kp.addr = addr;
	counter->kp.pre_handler = kp_functions_pre;
	if ((unsigned long)addr % 3 == 1)
		counter->kp.post_handler = kp_functions_post;
	counter->kp.flags = KPROBE_FLAG_DISABLED;
}

/* Find the instructions that can be probed. Leave none of them probed. */
static int kp_find_instructions(struct kp_function *function)
{
	const u8 *text = function->text, *last = NULL;
	unsigned int wanted = insns ?: function->size;
	unsigned long offset, step;
	int ret = 0;

	for (offset = 0; offset < function->size && function->nr < wanted; offset += step) {
		struct kp_counter *counter = &function->counter[function->nr];

		step = kp_next_boundary(text + offset);
		kp_prepare(counter, function->addr + offset);
		ret = register_kprobe(&counter->kp);
		if (!ret) {
			/*
			 * The probe was moved past an ENDBR: the
			 * loop will find that address as well.
			 */
			if (counter->kp.addr != function->addr + offset) {
				unregister_kprobe(&counter->kp);
				continue;
			}
			counter->follows = last && kp_falls_through(last);
			last = text + offset;
			function->kps[function->nr++] = &counter->kp;
			if (apart)
				step = round_up(apart, step);
			continue;
		}
		if (ret == -EILSEQ)
			continue;
		/*
		 * With @insns, the first instruction must be
		 * probed, or else the function is refused.
		 */
		if (insns && !function->nr)
			break;
		last = NULL;
		if (ret == -EINVAL) {
			kp_total.not_allowed++;
		} else if (ret == -EOPNOTSUPP) {
			kp_total.not_supported++;
		} else {
			pr_err("kp_functions: %pS: %d\n", function->addr + offset, ret);
			kp_total.wrong_errno++;
		}
	}
	unregister_kprobes(function->kps, function->nr);
	if (insns && function->nr < insns)
		return ret ?: -ENOSPC;
	return 0;
}

static void kp_free(struct kp_function *function)
{
	kvfree(function->text);
	kvfree(function->counter);
	kvfree(function->kps);
	kfree(function);
}

/* Find a function by its address, or by its name, as kprobes does. */
static int kp_address_of(const char *name, unsigned long *addr)
{
	struct kprobe start = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	unsigned long offset, size;
	int ret;

	if (!kstrtoul(name, 0, addr))
		return 0;
	ret = register_kprobe(&start);
	if (ret)
		return ret;
	unregister_kprobe(&start);
	ret = kp_measure(start.addr, &offset, &size);
	*addr = (unsigned long)start.addr - offset;
	return ret;
}

static int kp_functions_add(const char *val, const struct kernel_param *param)
{
	unsigned long limit = ULONG_MAX, addr, offset, size;
	struct kp_function *function;
	char name[64];
	int ret;

	if (sscanf(val, "%63s %lu", name, &limit) < 1)
		return -EINVAL;
	ret = kp_address_of(name, &addr);
	if (ret)
		return ret;
	if (kp_measure((void *)addr, &offset, &size) || offset || !size)
		return -ENOENT;

	guard(mutex)(&kp_functions_mutex);
	if (insns && kp_total.functions == KP_FUNCTIONS)
		return -EBUSY;
	function = kzalloc(sizeof(*function), GFP_KERNEL);
	if (!function)
		return -ENOMEM;
	function->addr = (void *)addr;
	function->size = min(size, limit);
	function->text = kvmalloc(function->size, GFP_KERNEL);
	function->counter = kvcalloc(function->size, sizeof(*function->counter), GFP_KERNEL);
	function->kps = kvcalloc(function->size, sizeof(*function->kps), GFP_KERNEL);
	if (!function->text || !function->counter || !function->kps)
		ret = -ENOMEM;
	else
		ret = copy_from_kernel_nofault(function->text, function->addr, function->size);
	if (!ret && insns && kp_begins_with_lr(function))
		ret = -EINVAL;
	if (!ret)
		ret = kp_find_instructions(function);
	if (ret) {
		kp_free(function);
		return ret;
	}
	list_add_tail(&function->link, &kp_functions);
	kp_total.functions++;
	kp_total.probes += function->nr;
	return 0;
}

static long kp_counted(const struct kp_counter *counter)
{
	return atomic_long_read(&counter->hits) + counter->kp.nmissed - counter->before;
}

static int kp_functions_register(const char *val, const struct kernel_param *param)
{
	struct kp_function *function;
	int i, ret;

	guard(mutex)(&kp_functions_mutex);
	list_for_each_entry(function, &kp_functions, link) {
		for (i = 0; i < function->nr; i++)
			function->counter[i].kp.flags = 0;
		ret = register_kprobes(function->kps, function->nr);
		if (ret) {
			pr_err("kp_functions: all of %pS: %d\n", function->addr, ret);
			return ret;
		}
		/*
		 * Read the counts from the last instruction to the first. A task hits the
		 * instruction before this one first. So each hit that is in @before of an
		 * instruction is also in @before of the previous instruction, which is read later.
		 */
		for (i = function->nr - 1; i >= 0; i--) {
			function->counter[i].before = kp_counted(&function->counter[i]);
			/*
			 * Do not read the next count before this one:
			 * other CPUs may hit both probes in between.
			 */
			smp_mb();
		}
	}
	return 0;
}

static void kp_check_function(const struct kp_function *function)
{
	bool own = function->addr == kp_functions_self;
	unsigned int i, hit = 0;
	u8 *now;

	for (i = 0; i < function->nr; i++) {
		const struct kp_counter *counter = &function->counter[i];
		long hits = atomic_long_read(&counter->hits), counted = kp_counted(counter);

		hit += hits != 0;
		kp_total.hits += hits;
		kp_total.missed += counter->kp.nmissed;
		/* The post_handler must be called if, and only if, the probe has one. */
		if (hits && !counter->kp.post_handler != !atomic_long_read(&counter->posts))
			kp_total.wrong_post++;
		/* Only kp_functions_call_self() calls the module's own function. */
		if (own && hits != kp_self_calls)
			kp_total.wrong_self++;
		/*
		 * Compare the counts of two successive instructions only with @insns: then
		 * kp_functions_remove() waits after it has removed the first probe, before it
		 * removes the second one.
		 */
		if (!insns || !counter->follows || !kp_counted(counter - 1))
			continue;
		kp_total.pairs_compared++;
		if (counted < kp_counted(counter - 1)) {
			pr_err("kp_functions: %pS: %ld hits, the instruction before it %ld\n",
			       counter->kp.addr, counted, kp_counted(counter - 1));
			kp_total.wrong_pair++;
		}
	}
	kp_total.probes_hit += hit;
	kp_total.functions_hit += hit != 0;

	now = kvmalloc(function->size, GFP_KERNEL);
	if (!now || copy_from_kernel_nofault(now, function->addr, function->size) ||
	    memcmp(now, function->text, function->size)) {
		pr_err("kp_functions: the text of %pS is not the original\n", function->addr);
		kp_total.wrong_text++;
	}
	kvfree(now);
}

/*
 * With @insns, unregister the first probe of each function, then the second of each, and so on.
 * In between, wait until no task can be in the functions: a task that has hit the first probe of a
 * pair must hit the second, too, since the hits of both are compared.
 */
static int kp_functions_remove(const char *val, const struct kernel_param *param)
{
	static struct kprobe *kps[KP_FUNCTIONS];
	struct kp_function *function, *next;
	unsigned int i, nr;

	guard(mutex)(&kp_functions_mutex);
	for (i = 0; i < insns; i++) {
		nr = 0;
		list_for_each_entry(function, &kp_functions, link)
			kps[nr++] = function->kps[i];
		unregister_kprobes(kps, nr);
		synchronize_rcu_tasks();
	}
	list_for_each_entry_safe(function, next, &kp_functions, link) {
		if (!insns)
			unregister_kprobes(function->kps, function->nr);
		kp_check_function(function);
		list_del(&function->link);
		kp_free(function);
	}
	return 0;
}

static int kp_functions_call_self(const char *val, const struct kernel_param *param)
{
	unsigned long calls, i, a;
	int ret = kstrtoul(val, 0, &calls);

	for (i = 0; !ret && i < calls; i++) {
		a = i ^ 5 << 3;
		if (kp_functions_self(i, 5) != a * 7)
			ret = -EIO;
		kp_self_calls++;
	}
	return ret;
}

static int kp_functions_summary(char *buf, const struct kernel_param *param)
{
	guard(mutex)(&kp_functions_mutex);
	return sysfs_emit(buf, "functions %u\nfunctions_hit %u\nprobes %u\nprobes_hit %u\n"
			  "hits %lu\nmissed %lu\nnot_allowed %u\nnot_supported %u\n"
			  "pairs_compared %u\nwrong_errno %u\nwrong_post %u\nwrong_pair %u\n"
			  "wrong_self %u\nwrong_text %u\n", kp_total.functions,
			  kp_total.functions_hit, kp_total.probes, kp_total.probes_hit,
			  kp_total.hits, kp_total.missed, kp_total.not_allowed,
			  kp_total.not_supported, kp_total.pairs_compared, kp_total.wrong_errno,
			  kp_total.wrong_post, kp_total.wrong_pair, kp_total.wrong_self,
			  kp_total.wrong_text);
}

/* The digest of 1000 times "abc"; zeros if the kernel is built without SHA-256 */
static void kp_own_sha256(u8 digest[SHA256_DIGEST_SIZE])
{
	struct sha256_state state;
	int i;

	memset(digest, 0, SHA256_DIGEST_SIZE);
	if (!IS_REACHABLE(CONFIG_CRYPTO_LIB_SHA256))
		return;
	sha256_init(&state);
	for (i = 0; i < 1000; i++)
		sha256_update(&state, "abc", 3);
	sha256_final(&state, digest);
}

/* Store, mark, find and erase; return the number of wrong answers. */
static unsigned int kp_own_xarray(void)
{
	unsigned long index, i, seen = 0, wrong = 0;
	struct xarray xa;
	void *entry;

	/* Not DEFINE_XARRAY(): for lockdep, the lock of an object on the stack needs a key. */
	xa_init(&xa);
	for (i = 0; i < 300; i++)
		wrong += xa_is_err(xa_store(&xa, i * i, xa_mk_value(i), GFP_KERNEL));
	for (i = 0; i < 300; i += 3)
		xa_set_mark(&xa, i * i, XA_MARK_1);
	for (i = 0; i < 300; i++) {
		wrong += xa_to_value(xa_load(&xa, i * i)) != i;
		wrong += xa_get_mark(&xa, i * i, XA_MARK_1) != !(i % 3);
		wrong += i > 1 && xa_load(&xa, i * i + 1);
	}
	xa_for_each_marked(&xa, index, entry, XA_MARK_1)
		wrong += xa_to_value(entry) != 3 * seen++;
	wrong += seen != 100;
	for (i = 0; i < 300; i += 2)
		wrong += xa_to_value(xa_erase(&xa, i * i)) != i;
	seen = 0;
	xa_for_each(&xa, index, entry)
		wrong += xa_to_value(entry) != 2 * seen++ + 1;
	wrong += seen != 150;
	xa_destroy(&xa);
	return wrong + !xa_empty(&xa);
}

static int kp_functions_own(char *buf, const struct kernel_param *param)
{
	static const u8 digits[] = "123456789";
	u8 digest[SHA256_DIGEST_SIZE];

	kp_own_sha256(digest);
	return sysfs_emit(buf, "sha256 %*phN\ncrc32 %08x %08x %08x\nxarray %u wrong\n",
			  SHA256_DIGEST_SIZE, digest, ~crc32_le(~0, digits, 9),
			  ~crc32_be(~0, digits, 9), ~__crc32c_le(~0, digits, 9),
			  kp_own_xarray());
}

module_param_call(add, kp_functions_add, NULL, NULL, 0200);
module_param_call(register, kp_functions_register, NULL, NULL, 0200);
module_param_call(remove, kp_functions_remove, NULL, NULL, 0200);
module_param_call(self, kp_functions_call_self, NULL, NULL, 0200);
module_param_call(summary, NULL, kp_functions_summary, NULL, 0400);
module_param_call(own, NULL, kp_functions_own, NULL, 0400);

static void __exit kp_functions_exit(void)
{
	kp_functions_remove(NULL, NULL);
}

module_exit(kp_functions_exit);

MODULE_DESCRIPTION("kprobes on many functions, or on every instruction of some");
MODULE_LICENSE("GPL");
