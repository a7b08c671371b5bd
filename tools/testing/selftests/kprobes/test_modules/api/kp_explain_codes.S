/* SPDX-License-Identifier: GPL-2.0 */
/* The same functions as in kp_opt: explain must say for each whether a jump is possible. */

#include "../opt/kp_opt_codes.S"
