// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes, fprobes with an exit handler and the function graph tracer (the clients)
 * replace return addresses of one function, in various orders. Each handler must get the
 * right return value and return address, and see the same stack as without clients; so must
 * the function itself.
 */

#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include "kp_ret_stacks.h"
#include "kp_symbol.h"

#if defined(CONFIG_FPROBE) && defined(CONFIG_FUNCTION_GRAPH_TRACER)

/* Arguments that a client's handlers got for a call */
struct kp_told {
	unsigned int entries, returns;
	/* The address to which the call returns. Some clients are not told this at the entry. */
	unsigned long at_entry, at_return, ip;
	unsigned long value;
	struct kp_trace entry, ret, regs;
};

struct kp_together {
	char letter;
	int (*attach)(struct kp_together *client);
	void (*detach)(struct kp_together *client);
	/* Attached to kp_rs_tail(), which jumps to the other clients' function */
	bool tail;
	struct kp_told told;
	union {
		struct kretprobe rp;
		struct fprobe fp;
		struct fgraph_ops graph;
	};
};

static struct {
	int (*register_graph)(struct fgraph_ops *graph);
	void (*unregister_graph)(struct fgraph_ops *graph);
} kernel;

/* @regs is NULL on kernels that pass none to an fprobe's handler. */
static void __kprobes kp_rs_told_return(struct kp_told *told, unsigned long addr,
					unsigned long value, struct pt_regs *regs)
{
	told->returns++;
	told->at_return = addr;
	told->value = value;
	kp_save(&told->ret);
	if (!regs)
		return;
	told->ip = regs->ip;
	kp_save_regs(&told->regs, regs);
}

static int __kprobes kp_rs_together_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_told *told = &container_of(get_kretprobe(ri), struct kp_together, rp)->told;

	told->entries++;
	told->at_entry = get_kretprobe_retaddr(ri);
	kp_save(&told->entry);
	return 0;
}

static int __kprobes kp_rs_together_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_told *told = &container_of(get_kretprobe(ri), struct kp_together, rp)->told;

	kp_rs_told_return(told, get_kretprobe_retaddr(ri), regs_return_value(regs), regs);
	return 0;
}

static unsigned long kp_rs_address(const struct kp_together *client)
{
#ifdef CONFIG_X86_64
	if (kp_rs_interrupted)
		return (unsigned long)kp_rs_probed_interrupted;
#endif
	return client->tail ? (unsigned long)kp_rs_tail : (unsigned long)kp_rs_probed;
}

static int kp_rs_attach_return(struct kp_together *client)
{
	memset(&client->rp, 0, sizeof(client->rp));
	client->rp.kp.addr = (void *)kp_rs_address(client);
	client->rp.entry_handler = kp_rs_together_entry;
	client->rp.handler = kp_rs_together_return;
	return register_kretprobe(&client->rp);
}

static void kp_rs_detach_return(struct kp_together *client)
{
	unregister_kretprobe(&client->rp);
}

static int kp_rs_fprobe_entry(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			      struct pt_regs *regs, void *data)
{
	struct kp_told *told = &container_of(fp, struct kp_together, fp)->told;

	told->entries++;
	told->at_entry = ret_ip;
	kp_save(&told->entry);
	return 0;
}

static void kp_rs_fprobe_exit(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			      struct pt_regs *regs, void *data)
{
	struct kp_told *told = &container_of(fp, struct kp_together, fp)->told;

	kp_rs_told_return(told, ret_ip, regs_return_value(regs), regs);
}

static int kp_rs_attach_fprobe(struct kp_together *client)
{
	unsigned long addr = kp_rs_address(client);

	memset(&client->fp, 0, sizeof(client->fp));
	client->fp.entry_handler = kp_rs_fprobe_entry;
	client->fp.exit_handler = kp_rs_fprobe_exit;
	return register_fprobe_ips(&client->fp, &addr, 1);
}

static void kp_rs_detach_fprobe(struct kp_together *client)
{
	unregister_fprobe(&client->fp);
}

static int kp_rs_graph_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *graph)
{
	struct kp_told *told = &container_of(graph, struct kp_together, graph)->told;

	told->entries++;
	kp_save(&told->entry);
	return 1;
}

static void kp_rs_graph_return(struct ftrace_graph_ret *trace, struct fgraph_ops *graph)
{
	struct kp_told *told = &container_of(graph, struct kp_together, graph)->told;

	told->returns++;
	kp_save(&told->ret);
}

/* Newer kernels pass the handlers one more argument, hence the casts. */
static int kp_rs_attach_graph(struct kp_together *client)
{
	unsigned long addr = kp_rs_address(client);
	int err;

	memset(&client->graph, 0, sizeof(client->graph));
	client->graph.entryfunc = (void *)kp_rs_graph_entry;
	client->graph.retfunc = (void *)kp_rs_graph_return;
	err = ftrace_set_filter_ip(&client->graph.ops, addr, 0, 0);
	return err ?: kernel.register_graph(&client->graph);
}

static void kp_rs_detach_graph(struct kp_together *client)
{
	kernel.unregister_graph(&client->graph);
	ftrace_free_filter(&client->graph.ops);
}

#define KP_CLIENT(l, kind, t)							\
	{ .letter = l, .tail = t, .attach = kp_rs_attach_##kind, .detach = kp_rs_detach_##kind }

/* The last three are attached to kp_rs_tail(), which jumps to the function of the other clients. */
static struct kp_together kp_together[] = {
	KP_CLIENT('r', return, false), KP_CLIENT('R', return, false),
	KP_CLIENT('f', fprobe, false), KP_CLIENT('F', fprobe, false), KP_CLIENT('g', graph, false),
	KP_CLIENT('t', return, true), KP_CLIENT('u', fprobe, true), KP_CLIENT('v', graph, true),
};

/*
 * Clients in the order in which they are attached and detached. At the entry of the function, the
 * client that was attached last is called first. But all return probes share one ftrace_ops: they
 * are called together, in the turn of the return probe that was attached first.
 */
static const char *const kp_rs_orders[] = {
	"r", "f", "g", "rR", "fF", "rf", "fr", "rg", "gr", "fg", "gf",
	"rfg", "rgf", "frg", "fgr", "grf", "gfr",
	"rfR", "frF", "rfF", "Ffr", "gfrF", "fgrF", "frgF", "frFg", "fgRrF",
};

/* Orders for which kp_rs_tail() jumps to the function */
static const char *const kp_rs_tail_orders[] = {
	"r", "f", "g", "tr", "tf", "tg", "ur", "uf", "ug", "vr", "vf", "vg",
	"tfr", "trf", "utrf", "tufr", "tvgr", "vtufgr", "tugrfF",
};

/* Does the function graph tracer call fprobes, as in newer kernels? */
#define KP_FPROBE_BY_GRAPH	false

static bool kp_rs_is_graph(const struct kp_together *client)
{
	return client->attach == kp_rs_attach_graph ||
	       (KP_FPROBE_BY_GRAPH && client->attach == kp_rs_attach_fprobe);
}

static struct kp_together *kp_rs_client(char letter)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_together); i++)
		if (kp_together[i].letter == letter)
			return &kp_together[i];
	return NULL;
}

/* Does the graph tracer trace calls of kp_rs_tail(), or of the function that it jumps to? */
static bool kp_rs_has_graph(const char *order, bool tail)
{
	for (; *order; order++)
		if (kp_rs_client(*order)->tail == tail && kp_rs_is_graph(kp_rs_client(*order)))
			return true;
	return false;
}

static void kp_rs_detach(const char *order, int nr)
{
	struct kp_together *client;
	int i;

	for (i = 0; i < nr; i++) {
		client = kp_rs_client(order[i]);
		client->detach(client);
	}
}

static void kp_rs_check_told(struct kunit *test, const char *order, struct kp_together *client,
			     const struct kp_trace *reference, unsigned int callers)
{
	unsigned long back = reference->entry[reference->nr - callers];
	/*
	 * Unwinders that use frame pointers miss the caller if a trace is taken while the function
	 * has no frame: by a tracer at the entry, or in the graph tracer's trampoline.
	 */
	bool graph = client->attach == kp_rs_attach_graph, framed = IS_ENABLED(CONFIG_UNWINDER_ORC);
	unsigned int at_entry = callers - !(framed || client->attach == kp_rs_attach_return);
	unsigned int at_return = callers - !(framed || !graph);
	bool both = kp_rs_has_graph(order, true) && kp_rs_has_graph(order, false);
	bool twice = both && !client->tail && kp_rs_is_graph(client);
	bool others = graph && both && client->told.returns == 2;
	struct kp_told *told = &client->told;
	char what[32];

	snprintf(what, sizeof(what), "%s, %c", order, client->letter);
	KUNIT_EXPECT_EQ_MSG(test, told->entries, 1, "%s", what);
	/*
	 * If both functions have a client of the graph tracer, the base kernel may give one of the
	 * two clients the index 0, for which function_graph_enter() marks each call: that client
	 * gets the returns of both functions.
	 */
	if (!others)
		KUNIT_EXPECT_EQ_MSG(test, told->returns, 1, "%s", what);
	/*
	 * The graph tracer records the call before its trampoline is on the stack. If the tracer
	 * already has a record of the function that has jumped here, unwinders use the new record
	 * where they need the older one.
	 */
	if (!twice && !kp_rs_same_end(&told->entry, reference, at_entry)) {
		KUNIT_FAIL(test, "%s: stack at the entry differs", what);
		kp_show(test, "entry", &told->entry);
	}
	if (!(KP_FPROBE_BY_GRAPH && others) && !kp_rs_same_end(&told->ret, reference, at_return)) {
		KUNIT_FAIL(test, "%s: stack at the return differs", what);
		kp_show(test, "return", &told->ret);
	}
	if (graph)
		return;
	if (!twice)
		KUNIT_EXPECT_EQ_MSG(test, told->at_entry, back, "%s: entry %pS", what,
				    (void *)told->at_entry);
	KUNIT_EXPECT_EQ_MSG(test, told->at_return, back, "%s: return %pS", what,
			    (void *)told->at_return);
	KUNIT_EXPECT_EQ_MSG(test, told->value, 6, "%s", what);
	if (!told->ip)
		return;
	KUNIT_EXPECT_EQ_MSG(test, told->ip, back, "%s: ip %pS", what, (void *)told->ip);
	if (told->regs.nr != callers || !kp_rs_same_end(&told->regs, reference, callers)) {
		KUNIT_FAIL(test, "%s: stack by registers differs", what);
		kp_show(test, "registers", &told->regs);
	}
}

static void kp_rs_together(struct kunit *test, const char *const *orders, int nr)
{
	struct kp_trace *reference = kp_zalloc(test, sizeof(*reference));
	unsigned int callers = 0;
	const char *order, *at;
	char name[KSYM_SYMBOL_LEN];
	int i, n, err;

	kernel.register_graph = kp_function(test, "register_ftrace_graph");
	kernel.unregister_graph = kp_function(test, "unregister_ftrace_graph");
	for (i = -1; i < nr; i++) {
		order = i < 0 ? "" : orders[i];
		for (n = 0; n < ARRAY_SIZE(kp_together); n++)
			memset(&kp_together[n].told, 0, sizeof(kp_together[n].told));
		err = 0;
		for (at = order; *at && !err; at++) {
			struct kp_together *client = kp_rs_client(*at);

			err = client->attach(client);
		}
		if (err) {
			KUNIT_FAIL(test, "%s: client %td: %d", order, at - order, err);
			kp_rs_detach(order, at - order - 1);
			break;
		}
		kp_rs_save = true;
		kp_rs_dump = true;
		pr_info("kp_ret_stacks: together %s\n", order);
		/* Prevent unrolling: return addresses must be the same in all rounds. */
		OPTIMIZER_HIDE_VAR(i);
		KUNIT_EXPECT_EQ(test, kp_rs_loop(5), 6);
		kp_rs_save = false;
		kp_rs_dump = false;
		pr_info("kp_ret_stacks: apart\n");
		kp_rs_detach(order, strlen(order));
		if (i < 0) {
			callers = kp_rs_callers(test);
			*reference = kp_rs_callee;
			continue;
		}
		for (at = order; *at; at++)
			kp_rs_check_told(test, order, kp_rs_client(*at), reference, callers);
		if (!kp_rs_same_end(&kp_rs_callee, reference, reference->nr)) {
			KUNIT_FAIL(test, "%s: stack in the function differs", order);
			kp_show(test, "function", &kp_rs_callee);
			kp_show(test, "without", reference);
		}
	}
	/* The callers that are compared must begin with kp_rs_inner(). */
	kp_rs_name(reference->entry[reference->nr - callers], name);
	KUNIT_EXPECT_STREQ(test, name, "kp_rs_inner");
}

KP_CASE(kp_rs_together_called, kp_rs_together(test, kp_rs_orders, ARRAY_SIZE(kp_rs_orders)))

static void kp_rs_together_jumped_to(struct kunit *test)
{
	/* With frame pointers, the compiler makes no tail calls. */
	if (IS_ENABLED(CONFIG_FRAME_POINTER))
		kunit_skip(test, "the compiler does not make it a jump");
	kp_rs_tailed = true;
	kp_rs_together(test, kp_rs_tail_orders, ARRAY_SIZE(kp_rs_tail_orders));
	kp_rs_tailed = false;
}

/*
 * An interrupt after the function's ret may overwrite the stack slot of the return address. The
 * graph tracer's trampoline writes the address there again, since unwinders need it.
 */
static void kp_rs_together_interrupted(struct kunit *test)
{
	static const char *const orders[] = { "g" };

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "no unwinder reads that word");
	kp_rs_interrupted = true;
	kp_rs_together(test, orders, ARRAY_SIZE(orders));
	kp_rs_interrupted = false;
}

#else

KP_CASE(kp_rs_together_called,
	kunit_skip(test, "CONFIG_FPROBE or CONFIG_FUNCTION_GRAPH_TRACER is off"))
KP_CASE(kp_rs_together_jumped_to,
	kunit_skip(test, "CONFIG_FPROBE or CONFIG_FUNCTION_GRAPH_TRACER is off"))
KP_CASE(kp_rs_together_interrupted,
	kunit_skip(test, "CONFIG_FPROBE or CONFIG_FUNCTION_GRAPH_TRACER is off"))

#endif

static struct kunit_case kp_rs_fprobe_cases[] = {
	KUNIT_CASE_SLOW(kp_rs_together_called),
	KUNIT_CASE_SLOW(kp_rs_together_jumped_to),
	KUNIT_CASE(kp_rs_together_interrupted),
	{}
};

KP_SUITE(kp_rs_fprobe, "kretprobes_fprobe");
