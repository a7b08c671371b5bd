// SPDX-License-Identifier: GPL-2.0-only
/*
 * series/scripts/configs.sh compiles this file in every configuration for x86, to check that all of
 * these functions, or empty stubs of them, can be called in each.
 */
#include <linux/kprobes.h>
#include <asm/unwind.h>

int kp_stubs(struct kprobe *p, struct kprobe **ps, struct kretprobe *rp, struct kretprobe **rps,
	     struct kretprobe_instance *ri, struct jprobe *jp, struct jprobe **jps,
	     struct pt_regs *regs, void *addr);
int kp_stubs(struct kprobe *p, struct kprobe **ps, struct kretprobe *rp, struct kretprobe **rps,
	     struct kretprobe_instance *ri, struct jprobe *jp, struct jprobe **jps,
	     struct pt_regs *regs, void *addr)
{
	unsigned long ip = (unsigned long)addr;
	char type, name[KSYM_NAME_LEN];
	int sum = 0;

	sum += register_kprobe(p) + register_kprobes(ps, 1);
	sum += enable_kprobe(p) + disable_kprobe(p);
	unregister_kprobe(p);
	unregister_kprobes(ps, 1);
	sum += register_kretprobe(rp) + register_kretprobes(rps, 1);
	sum += enable_kretprobe(rp) + disable_kretprobe(rp);
	unregister_kretprobe(rp);
	unregister_kretprobes(rps, 1);
	sum += register_jprobe(jp) + register_jprobes(jps, 1);
	sum += enable_jprobe(jp) + disable_jprobe(jp);
	unregister_jprobe(jp);
	unregister_jprobes(jps, 1);
	jprobe_return();
	wait_for_kprobe_optimizer();

	sum += kprobe_gone(p) + kprobe_disabled(p) + kprobe_optimized(p) + kprobe_ftrace(p);
	sum += get_kprobe(addr) == p;
	sum += kprobe_running() == p;
	sum += get_kretprobe(ri) == rp;
	sum += get_kretprobe_retaddr(ri) == ip;
	sum += within_kprobe_blacklist(ip);
	sum += is_kprobe_insn_slot(ip) + is_kprobe_optinsn_slot(ip);
	sum += is_kretprobe_trampoline(ip);
	sum += kprobe_get_kallsym(0, &ip, &type, name);
	kprobe_busy_begin();
	kprobe_busy_end();
	kprobe_flush_task(current);
	kprobe_free_init_mem();
	kprobe_ftrace_kill();

	sum += kprobe_page_fault(regs, 14);
	sum += kprobe_fault_handler(regs, 14);
#ifdef CONFIG_X86_64
	{
		CLASS(kprobe_fault, fault)(regs, 14);

		sum += fault.handled;
	}
	sum += kprobe_regs_ip(regs, current) == ip;
	sum += kprobe_regs_ip(addr, current) == ip;
	sum += kprobe_regs_at_entry(regs, current);
	sum += kprobes_have_been_used();
#endif
	return sum;
}
