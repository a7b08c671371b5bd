/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_MODULE_H
#define KP_MODULE_H

/* The name of a function with its module's before it, if the suites are no part of the kernel. */
#ifdef MODULE
#define KP_QUALIFIED(symbol)	KBUILD_MODNAME ":" symbol
#else
#define KP_QUALIFIED(symbol)	symbol
#endif

#endif
