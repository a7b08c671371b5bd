/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_SWITCH_H
#define KP_SWITCH_H

/*
 * Turn jump optimisation and boosting on or off. Some architectures have no jump optimisation, and
 * so no sysctl for it.
 */

#include "kp_test.h"

#define KP_OPT_SWITCH	"/proc/sys/debug/kprobes-optimization"

/* Open a file of procfs, sysfs or debugfs. */
static inline struct file *kp_open(const char *path, int flags)
{
	return filp_open(path, flags, 0);
}

static inline int kp_switch(const char *path, bool on)
{
	struct file *file = kp_open(path, O_WRONLY);
	loff_t pos = 0;
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_write(file, on ? "1\n" : "0\n", 2, &pos);
	filp_close(file, NULL);
	if (ret < 0)
		return ret;
	return 0;
}

static inline int kp_opt_switch(bool on)
{
	return kp_switch(KP_OPT_SWITCH, on);
}

/* Set kprobes.boost. While it is off, new probepoints on x86 single-step or emulate. */
static inline int kp_boost_switch(bool on)
{
	return kp_switch("/sys/module/kprobes/parameters/boost", on);
}

static inline bool kp_opt_available(void)
{
	struct file *file = kp_open(KP_OPT_SWITCH, O_RDONLY);

	if (IS_ERR(file))
		return false;
	filp_close(file, NULL);
	return true;
}

#endif
