/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CLIENTS_H
#define KP_CLIENTS_H

#include "kp_test.h"

int kp_cl_other_twice(int arg);

#endif
