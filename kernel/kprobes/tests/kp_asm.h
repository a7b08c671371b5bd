/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_ASM_H
#define KP_ASM_H

/* Headers that most assembly files of the tests need */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#endif
