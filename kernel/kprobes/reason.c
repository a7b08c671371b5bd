// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the table of reasons.
 *
 * Debug messages of refused registrations, debugfs kprobes/explain and kprobes/optimizer, and
 * the error log of tracefs show the texts. Scripts compare them, and the manual lists them, so
 * a text must not change.
 */
#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kprobe_reason.h>

/**
 * struct reason - one line of the table
 * @kind: "refusal", "execution" or "jump"
 * @err: the errno of a registration that is refused for this reason; 0 if the reason is no
 *	refusal, or if the errno comes from an architecture or from ftrace
 * @text: the text that users see
 */
struct reason {
	const char *kind;
	int err;
	const char *text;
};

#define REFUSAL(err, text)	{ "refusal", (err), (text) }
#define EXECUTION(text)		{ "execution", 0, (text) }
#define JUMP(text)		{ "jump", 0, (text) }

static const struct reason reasons[NR_KPROBE_REASONS] = {
	[KPROBE_WHY_NONE] = { "", 0, "" },

	[KPROBE_WHY_NO_PROBE] =
		REFUSAL(-EINVAL, "the call names no probe: a pointer is NULL, or the number is 0"),
	[KPROBE_WHY_REGISTERED] =
		REFUSAL(-EINVAL, "the probe is registered already"),
	[KPROBE_WHY_NO_LOCATION] =
		REFUSAL(-EINVAL, "neither an address nor a symbol is given, or both are"),
	[KPROBE_WHY_NO_MEMORY] =
		REFUSAL(-ENOMEM, "out of memory, or maxactive is too large"),
	[KPROBE_WHY_RETURN_DATA] =
		REFUSAL(-E2BIG, "data_size is more than KRETPROBE_MAX_DATA_SIZE"),
	[KPROBE_WHY_JPROBE_HANDLER] =
		REFUSAL(-EINVAL, "the handler of a jprobe is not in kernel text"),

	[KPROBE_WHY_NO_SYMBOL] =
		REFUSAL(-ENOENT, "there is no symbol of that name"),
	[KPROBE_WHY_AMBIGUOUS] =
		REFUSAL(-EINVAL, "several symbols have the name"),
	[KPROBE_WHY_OFFSET_WRAPS] =
		REFUSAL(-EINVAL, "the offset leads beyond the end of the address space"),
	[KPROBE_WHY_OFFSET_BEYOND] =
		REFUSAL(-EINVAL, "the offset leads beyond the symbol, into the middle of another"),
	[KPROBE_WHY_NO_FUNCTION] =
		REFUSAL(-EINVAL, "no symbol of the kernel or of a module has the address"),
	[KPROBE_WHY_NO_TEXT] =
		REFUSAL(-EINVAL, "the address is in no text of the kernel or of a module"),
	[KPROBE_WHY_INIT_FREED] =
		REFUSAL(-EINVAL, "the init text of the kernel has been freed"),
	[KPROBE_WHY_MODULE_COMES] =
		REFUSAL(-ENOENT, "the module is being loaded, and cannot be probed yet"),
	[KPROBE_WHY_MODULE_INIT] =
		REFUSAL(-ENOENT, "the init text of the module is about to be freed"),
	[KPROBE_WHY_MODULE_GOES] =
		REFUSAL(-ENOENT, "the module is being unloaded"),
	[KPROBE_WHY_RETURN_INSIDE] =
		REFUSAL(-EINVAL, "a return probe must be at the entry of a function"),
	[KPROBE_WHY_RETURN_EXCLUDED] =
		REFUSAL(-EINVAL, "the function must not have return probes"),
	[KPROBE_WHY_JPROBE_INSIDE] =
		REFUSAL(-EINVAL, "a jprobe must be at the entry of a function"),

	[KPROBE_WHY_BLACKLISTED] =
		REFUSAL(-EINVAL, "the address is on the blacklist"),
	[KPROBE_WHY_JUMP_LABEL] =
		REFUSAL(-EINVAL, "the kernel patches the jump label there"),
	[KPROBE_WHY_STATIC_CALL] =
		REFUSAL(-EINVAL, "the kernel patches the static call there"),
	[KPROBE_WHY_BUG] =
		REFUSAL(-EINVAL, "the kernel knows the trap of a BUG() or a WARN() by its address"),
	[KPROBE_WHY_LOCK_PREFIX] =
		REFUSAL(-EINVAL, "the kernel may patch the lock prefix when more CPUs come online"),
	[KPROBE_WHY_PADDING] =
		REFUSAL(-EINVAL, "the address is in the padding in front of a function"),
	[KPROBE_WHY_CFI_CHECK] =
		REFUSAL(-EINVAL, "the kernel decodes the instruction when a kCFI check fails"),
	[KPROBE_WHY_ENDBR] =
		REFUSAL(-EINVAL, "an indirect jump must find the endbr unchanged"),
	[KPROBE_WHY_NO_BOUNDARY] =
		REFUSAL(-EILSEQ, "no instruction begins at the address"),
	[KPROBE_WHY_UNDECODED] =
		REFUSAL(-EILSEQ, "an instruction at the address or before it cannot be decoded"),

	[KPROBE_WHY_TRAP] =
		REFUSAL(-EINVAL, "the instruction exists to trap"),
	[KPROBE_WHY_UNKNOWN_OPCODE] =
		REFUSAL(-EOPNOTSUPP, "the opcode is in no opcode map of kprobes"),
	[KPROBE_WHY_NOT_MOVABLE] =
		REFUSAL(-EOPNOTSUPP, "a copy elsewhere would not have the instruction's effect"),
	[KPROBE_WHY_NO_EMULATION] =
		REFUSAL(-EOPNOTSUPP, "this form of the instruction has no emulation"),
	[KPROBE_WHY_STI_SHADOW] =
		REFUSAL(-EOPNOTSUPP, "the next instruction needs the interrupt shadow of the sti"),
	[KPROBE_WHY_FILLS_RSB] =
		REFUSAL(-EOPNOTSUPP, "the call only fills the return stack buffer"),
	[KPROBE_WHY_TOO_FAR] =
		REFUSAL(-EOPNOTSUPP, "instruction slots are too far from the operand"),
	[KPROBE_WHY_ARCH] =
		REFUSAL(0, "the code of the architecture refuses the instruction"),
	[KPROBE_WHY_ARCH_DECIDES] =
		REFUSAL(0, "the architecture looks at the instruction at a registration only"),

	[KPROBE_WHY_FTRACE_INSIDE] =
		REFUSAL(-EILSEQ, "the address is inside the bytes that ftrace patches"),
	[KPROBE_WHY_FTRACE_PATCHES] =
		REFUSAL(-EINVAL, "ftrace patches the instruction"),
	[KPROBE_WHY_FTRACE_OFF] =
		REFUSAL(-EBUSY, "the address belongs to ftrace, which is switched off"),
	[KPROBE_WHY_FTRACE_REDIRECTS] =
		REFUSAL(-EBUSY, "another user of ftrace may redirect the function"),
	[KPROBE_WHY_FTRACE_FAILED] =
		REFUSAL(-ENODEV, "the address belongs to ftrace, which has failed"),
	[KPROBE_WHY_FTRACE_REFUSES] =
		REFUSAL(0, "ftrace refuses the address"),
	[KPROBE_WHY_EVENT_NOTRACE] =
		REFUSAL(-EINVAL, "kprobe events are refused in notrace functions"),
	[KPROBE_WHY_LOCKED_DOWN] =
		REFUSAL(-EPERM, "kprobe events are refused while the kernel is locked down"),

	[KPROBE_WHY_EXEC_FTRACE] =
		EXECUTION("ftrace calls the probe, and there is no instruction to execute"),
	[KPROBE_WHY_EXEC_COPY] =
		EXECUTION("the instruction has the same effect elsewhere"),
	[KPROBE_WHY_EXEC_BRANCH] =
		EXECUTION("the slot has a branch with the same target"),
	[KPROBE_WHY_EXEC_RELATIVE] =
		EXECUTION("the instruction depends on its address"),
	[KPROBE_WHY_EXEC_INDIRECT] =
		EXECUTION("the instruction is an indirect jump or call"),
	[KPROBE_WHY_EXEC_RETURN] =
		EXECUTION("the instruction is a return"),
	[KPROBE_WHY_EXEC_FLAGS] =
		EXECUTION("the instruction uses flags that are different during a hit"),
	[KPROBE_WHY_EXEC_POST] =
		EXECUTION("post_handlers cost less after an emulation"),
	[KPROBE_WHY_EXEC_KERNEL] =
		EXECUTION("kprobes itself depends on what the instruction reads or changes"),
	[KPROBE_WHY_EXEC_SEGMENT] =
		EXECUTION("the function loads a data segment before the instruction"),
	[KPROBE_WHY_EXEC_BOOST_OFF] =
		EXECUTION("the parameter kprobes.boost is off, so no copy is boosted"),

	[KPROBE_WHY_JUMP_FTRACE] =
		JUMP("the address belongs to ftrace"),
	[KPROBE_WHY_JUMP_GONE] =
		JUMP("the text is being freed"),
	[KPROBE_WHY_JUMP_UNDECODED] =
		JUMP("not all of the function can be decoded"),
	[KPROBE_WHY_JUMP_END] =
		JUMP("the function ends before the jump does"),
	[KPROBE_WHY_JUMP_BRANCH] =
		JUMP("a branch leads into the JTPR"),
	[KPROBE_WHY_JUMP_ADDRESS] =
		JUMP("an address inside the JTPR is loaded"),
	[KPROBE_WHY_JUMP_FIXUP] =
		JUMP("an exception fixup leads into the JTPR"),
	[KPROBE_WHY_JUMP_LABEL_INTO] =
		JUMP("a jump label leads into the JTPR"),
	[KPROBE_WHY_JUMP_FAR_BRANCH] =
		JUMP("a branch from another function leads into the JTPR"),
	[KPROBE_WHY_JUMP_FAR_ADDRESS] =
		JUMP("another function loads an address inside the JTPR"),
	[KPROBE_WHY_JUMP_INDIRECT] =
		JUMP("the targets of an indirect jump are not known"),
	[KPROBE_WHY_JUMP_ENDBR] =
		JUMP("an indirect jump may lead into the DCR"),
	[KPROBE_WHY_JUMP_FAULT] =
		JUMP("a task may sleep in a fault in the DCR"),
	[KPROBE_WHY_JUMP_BLACKLISTED] =
		JUMP("the DCR has text on the blacklist"),
	[KPROBE_WHY_JUMP_CFI_CHECK] =
		JUMP("the kernel decodes the DCR when a kCFI check fails"),
	[KPROBE_WHY_JUMP_NO_NEAR_FORM] =
		JUMP("a branch in the DCR has no near form"),
	[KPROBE_WHY_JUMP_NOT_MOVABLE] =
		JUMP("an instruction of the DCR cannot be moved"),
	[KPROBE_WHY_JUMP_SEGMENTS] =
		JUMP("the function changes segments that handlers need"),
	[KPROBE_WHY_JUMP_PATCHED] =
		JUMP("the kernel patches the DCR itself"),
	[KPROBE_WHY_JUMP_POST] =
		JUMP("post_handlers cannot be called after the first instruction"),
	[KPROBE_WHY_JUMP_UNWANTED] =
		JUMP("a probe has the flag KPROBE_FLAG_NO_JUMP"),
	[KPROBE_WHY_JUMP_EMPTY_POST] =
		JUMP("an empty post_handler keeps the next instruction in the text"),
	[KPROBE_WHY_JUMP_REDIRECTED] =
		JUMP("a pre_handler has redirected execution, and may need the next instruction"),
	[KPROBE_WHY_JUMP_DETOUR] =
		JUMP("no detour buffer can be made"),
	[KPROBE_WHY_JUMP_BOOST_OFF] =
		JUMP("the parameter kprobes.boost is off, so no detour buffer is made"),
	[KPROBE_WHY_JUMP_BLOCKED] =
		JUMP("another probepoint in the DCR is armed"),
	[KPROBE_WHY_JUMP_CHANGED] =
		JUMP("other code has changed the text"),
	[KPROBE_WHY_JUMP_OFF] =
		JUMP("the sysctl debug.kprobes-optimization is 0"),
	[KPROBE_WHY_JUMP_DISARMED] =
		JUMP("debugfs kprobes/enabled is 0"),
	[KPROBE_WHY_JUMP_NEVER] =
		JUMP("the architecture has no jump optimisation"),
	[KPROBE_WHY_JUMP_ARCH_DECIDES] =
		JUMP("the architecture decides when the detour buffer is made"),
};

/**
 * kprobe_reason_errno() - get the errno that belongs to a reason
 * @why: the reason
 *
 * Return: the errno of a registration that is refused for @why; 0 if @why is no refusal, or has
 * no fixed errno.
 */
int kprobe_reason_errno(enum kprobe_reason why)
{
	return reasons[why].err;
}

/**
 * kprobe_reason_kind() - get the kind of a reason
 * @why: the reason
 *
 * Return: "refusal", "execution" or "jump".
 */
const char *kprobe_reason_kind(enum kprobe_reason why)
{
	return reasons[why].kind;
}

/**
 * kprobe_reason_text() - get the text of a reason
 * @why: the reason
 *
 * Return: a pointer to the entry with the text, as tracing_log_err() needs it.
 */
const char *const *kprobe_reason_text(enum kprobe_reason why)
{
	return &reasons[why].text;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_reason_text);
