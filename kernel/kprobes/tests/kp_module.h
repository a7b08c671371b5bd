/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_MODULE_H
#define KP_MODULE_H

/* Qualify a symbol with its module, unless the suites are built in. */
#ifdef MODULE
#define KP_QUALIFIED(symbol)	KBUILD_MODNAME ":" symbol
#else
#define KP_QUALIFIED(symbol)	symbol
#endif

#endif
