/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_BENCH_SCALE_H
#define KP_BENCH_SCALE_H

/* Functions; probed places in each; instructions of two bytes in each place */
#define KP_SCALE_ROWS	500
#define KP_SCALE_ROW	100
#define KP_SCALE_INSNS	3
/* Functions with one probed place, one function for each CPU */
#define KP_SCALE_CPUS	16

#ifndef __ASSEMBLY__
extern void (*const kp_scale_rows[KP_SCALE_ROWS])(void);
extern void (*const kp_scale_ones[KP_SCALE_CPUS])(void);
#endif

#endif
