/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of kp_opt whose branches lead into the JTPR of a probed instruction, or not */

#include "../opt/kp_opt_codes.S"
