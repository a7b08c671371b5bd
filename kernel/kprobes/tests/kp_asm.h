/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_ASM_H
#define KP_ASM_H

/* What most assembly of the tests needs: functions, annotations for objtool, words of any width */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

#endif
