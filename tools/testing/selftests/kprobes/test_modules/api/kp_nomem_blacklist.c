// SPDX-License-Identifier: GPL-2.0
/* A module with so many blacklisted functions that several allocations are needed to load it */
#include <asm/asm.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/objtool.h>

asm(".macro KP_NOMEM_BLACKLISTED\n"
	".type kp_nomem_blacklisted_\\@, @function\n"
	"kp_nomem_blacklisted_\\@:\n\t"
	ANNOTATE_NOENDBR "\n\t"
	ASM_RET
	".size kp_nomem_blacklisted_\\@, . - kp_nomem_blacklisted_\\@\n\t"
	".pushsection _kprobe_blacklist, \"aw\"\n\t"
	_ASM_PTR " kp_nomem_blacklisted_\\@\n\t"
	".popsection\n\t.endm\n\t"
	".pushsection .text, \"ax\"\n\t"
	".rept 64\n\tKP_NOMEM_BLACKLISTED\n\t.endr\n\t"
	".popsection");

MODULE_DESCRIPTION("many blacklisted functions");
MODULE_LICENSE("GPL");
