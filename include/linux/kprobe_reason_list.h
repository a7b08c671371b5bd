/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes: the list of reasons, for include/linux/kprobe_reason.h and
 * kernel/kprobes/reason.c, which define these macros before they include this file. The name of a
 * reason is KPROBE_REASON_ and the name here:
 *
 *	KPROBE_REFUSAL(name, errno, text)	why a probe is refused. The errno is 0 if it
 *						depends on what the architecture or ftrace returned.
 *	KPROBE_EXECUTION(name, text)		why an instruction is executed in a certain way
 *	KPROBE_JUMP(name, text)			why a probepoint is not optimised
 *
 * Debug messages of refused registrations, debugfs kprobes/explain and kprobes/optimizer, and
 * the error log of tracefs show the texts. Scripts compare them, and the manual lists them, so
 * a text must not change.
 */

/* Refusals: the arguments of the call */
KPROBE_REFUSAL(NO_PROBE, -EINVAL, "the call names no probe: a pointer is NULL, or the number is 0")
KPROBE_REFUSAL(REGISTERED, -EINVAL, "the probe is registered already")
KPROBE_REFUSAL(NO_LOCATION, -EINVAL, "neither an address nor a symbol is given, or both are")
KPROBE_REFUSAL(NO_MEMORY, -ENOMEM, "out of memory, or maxactive is too large")
KPROBE_REFUSAL(NO_FAULT_HANDLERS, -EOPNOTSUPP, "the kernel has no CONFIG_KPROBES_FAULT_HANDLER")
KPROBE_REFUSAL(RETURN_DATA, -E2BIG, "data_size is more than KRETPROBE_MAX_DATA_SIZE")
KPROBE_REFUSAL(JPROBE_HANDLER, -EINVAL, "the handler of a jprobe is not in kernel text")

/* Refusals: the location */
KPROBE_REFUSAL(NO_SYMBOL, -ENOENT, "there is no symbol of that name")
KPROBE_REFUSAL(AMBIGUOUS, -EINVAL, "several symbols have that name")
KPROBE_REFUSAL(OFFSET_WRAPS, -EINVAL, "the offset is beyond the end of the address space")
KPROBE_REFUSAL(OFFSET_BEYOND, -EINVAL,
	       "the offset is past the end of the symbol, in the middle of another")
KPROBE_REFUSAL(NO_FUNCTION, -EINVAL, "no symbol of the kernel or of a module contains the address")
KPROBE_REFUSAL(NO_TEXT, -EINVAL, "neither the kernel nor a module has text at the address")
KPROBE_REFUSAL(INIT_FREED, -EINVAL, "the init text of the kernel has been freed")
KPROBE_REFUSAL(MODULE_COMING, -ENOENT, "the module is being loaded, and cannot be probed yet")
KPROBE_REFUSAL(MODULE_INIT, -ENOENT, "the init text of the module is about to be freed")
KPROBE_REFUSAL(MODULE_GOING, -ENOENT, "the module is being unloaded")
KPROBE_REFUSAL(RETURN_INSIDE, -EINVAL, "a return probe must be at the entry of a function")
KPROBE_REFUSAL(RETURN_EXCLUDED, -EINVAL, "the function must not have return probes")
KPROBE_REFUSAL(JPROBE_INSIDE, -EINVAL, "a jprobe must be at the entry of a function")

/* Refusals: the text at the location */
KPROBE_REFUSAL(BLACKLISTED, -EINVAL, "the address is on the blacklist")
KPROBE_REFUSAL(JUMP_LABEL, -EINVAL, "the kernel patches the jump label there")
KPROBE_REFUSAL(STATIC_CALL, -EINVAL, "the kernel patches the static call there")
KPROBE_REFUSAL(BUG, -EINVAL, "the kernel identifies the trap of a BUG() or WARN() by its address")
KPROBE_REFUSAL(LOCK_PREFIX, -EINVAL,
	       "the kernel may patch the lock prefix when more CPUs come online")
KPROBE_REFUSAL(PADDING, -EINVAL, "the address is in the padding in front of a function")
KPROBE_REFUSAL(CFI_CHECK, -EINVAL, "the kernel decodes the instruction when a kCFI check fails")
KPROBE_REFUSAL(ENDBR, -EINVAL, "an indirect jump must find the endbr unchanged")
KPROBE_REFUSAL(NO_BOUNDARY, -EILSEQ, "no instruction begins at the address")
KPROBE_REFUSAL(UNDECODED, -EILSEQ, "an instruction at the address or before it cannot be decoded")

/* Refusals: the instruction */
KPROBE_REFUSAL(TRAP, -EINVAL, "the instruction exists to trap")
KPROBE_REFUSAL(UNKNOWN_OPCODE, -EOPNOTSUPP, "kprobes does not know the opcode")
KPROBE_REFUSAL(NOT_MOVABLE, -EOPNOTSUPP, "a copy elsewhere would not have the instruction's effect")
KPROBE_REFUSAL(NO_EMULATION, -EOPNOTSUPP, "this form of the instruction has no emulation")
KPROBE_REFUSAL(STI_SHADOW, -EOPNOTSUPP,
	       "the next instruction needs the interrupt shadow of the sti")
KPROBE_REFUSAL(FILLS_RSB, -EOPNOTSUPP, "the call only fills the return stack buffer")
KPROBE_REFUSAL(TOO_FAR, -EOPNOTSUPP, "instruction slots are too far from the operand")
KPROBE_REFUSAL(ARCH, 0, "the architecture's code refuses the instruction")
KPROBE_REFUSAL(ARCH_DECIDES, 0, "the architecture checks the instruction only at registration")

/* Refusals: ftrace */
KPROBE_REFUSAL(FTRACE_INSIDE, -EILSEQ, "the address is inside the bytes that ftrace patches")
KPROBE_REFUSAL(FTRACE_PATCHES, -EINVAL, "ftrace patches the instruction")
KPROBE_REFUSAL(FTRACE_OFF, -EBUSY, "the address belongs to ftrace, which is switched off")
KPROBE_REFUSAL(FTRACE_REDIRECTS, -EBUSY, "another user of ftrace may redirect the function")
KPROBE_REFUSAL(FTRACE_FAILED, -ENODEV, "the address belongs to ftrace, which has failed")
KPROBE_REFUSAL(FTRACE_REFUSES, 0, "ftrace refuses the address")
KPROBE_REFUSAL(EVENT_NOTRACE, -EINVAL, "kprobe events are refused in notrace functions")
KPROBE_REFUSAL(LOCKED_DOWN, -EPERM, "kprobe events are refused while the kernel is locked down")

/* Why the instruction is executed in a certain way */
KPROBE_EXECUTION(EXEC_FTRACE, "ftrace calls the probe, and there is no instruction to execute")
KPROBE_EXECUTION(EXEC_COPY, "the instruction has the same effect elsewhere")
KPROBE_EXECUTION(EXEC_BRANCH, "the slot has a branch with the same target")
KPROBE_EXECUTION(EXEC_RELATIVE, "the instruction depends on its address")
KPROBE_EXECUTION(EXEC_INDIRECT, "the instruction is an indirect jump or call")
KPROBE_EXECUTION(EXEC_RETURN, "the instruction is a return")
KPROBE_EXECUTION(EXEC_FLAGS, "the instruction uses flags that are different during a hit")
KPROBE_EXECUTION(EXEC_POST, "post_handlers cost less after emulation")
KPROBE_EXECUTION(EXEC_KERNEL, "kprobes itself depends on what the instruction reads or changes")
KPROBE_EXECUTION(EXEC_SEGMENT, "the function loads a data segment before the instruction")
KPROBE_EXECUTION(EXEC_BOOST_OFF, "the parameter kprobes.boost is off, so no copy is boosted")

/* Why a probepoint has no jump */
KPROBE_JUMP(JUMP_FTRACE, "the address belongs to ftrace")
KPROBE_JUMP(JUMP_GONE, "the text is being freed")
KPROBE_JUMP(JUMP_UNDECODED, "not all of the function can be decoded")
KPROBE_JUMP(JUMP_END, "the function ends before the jump does")
KPROBE_JUMP(JUMP_BRANCH, "a branch leads into the JTPR")
KPROBE_JUMP(JUMP_ADDRESS, "an address inside the JTPR is loaded")
KPROBE_JUMP(JUMP_FIXUP, "an exception fixup leads into the JTPR")
KPROBE_JUMP(JUMP_LABEL_INTO, "a jump label leads into the JTPR")
KPROBE_JUMP(JUMP_FAR_BRANCH, "a branch from another function leads into the JTPR")
KPROBE_JUMP(JUMP_FAR_ADDRESS, "another function loads an address inside the JTPR")
KPROBE_JUMP(JUMP_INDIRECT, "the targets of an indirect jump are not known")
KPROBE_JUMP(JUMP_ENDBR, "an indirect jump may lead into the DCR")
KPROBE_JUMP(JUMP_FAULT, "a task may sleep in a fault in the DCR")
KPROBE_JUMP(JUMP_BLACKLISTED, "the DCR has text on the blacklist")
KPROBE_JUMP(JUMP_CFI_CHECK, "the kernel decodes the DCR when a kCFI check fails")
KPROBE_JUMP(JUMP_NO_NEAR_FORM, "a branch in the DCR has no near form")
KPROBE_JUMP(JUMP_NOT_MOVABLE, "an instruction in the DCR cannot be moved")
KPROBE_JUMP(JUMP_SEGMENTS, "the function changes segments that handlers need")
KPROBE_JUMP(JUMP_PATCHED, "the kernel patches the DCR itself")
KPROBE_JUMP(JUMP_POST, "post_handlers cannot be called after the first instruction")
KPROBE_JUMP(JUMP_UNWANTED, "a probe has the flag KPROBE_FLAG_NO_JUMP")
KPROBE_JUMP(JUMP_EMPTY_POST, "an empty post_handler keeps the next instruction in the text")
KPROBE_JUMP(JUMP_REDIRECTED,
	    "a pre_handler has redirected execution, and may need the next instruction")
KPROBE_JUMP(JUMP_DETOUR, "no detour buffer can be made")
KPROBE_JUMP(JUMP_BOOST_OFF, "the parameter kprobes.boost is off, so no detour buffer is made")
KPROBE_JUMP(JUMP_BLOCKED, "another probepoint in the DCR is armed")
KPROBE_JUMP(JUMP_CHANGED, "other code has changed the text")
KPROBE_JUMP(JUMP_OFF, "the sysctl debug.kprobes-optimization is 0")
KPROBE_JUMP(JUMP_DISARMED, "debugfs kprobes/enabled is 0")
KPROBE_JUMP(JUMP_NEVER, "the architecture has no jump optimisation")
KPROBE_JUMP(JUMP_ARCH_DECIDES, "the architecture decides when the detour buffer is made")

#undef KPROBE_REFUSAL
#undef KPROBE_EXECUTION
#undef KPROBE_JUMP
