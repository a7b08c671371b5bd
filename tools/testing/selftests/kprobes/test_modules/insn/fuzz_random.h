/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_RANDOM_H
#define FUZZ_RANDOM_H

/*
 * Random values for the kernel and for user mode. The file
 * that includes this one has to define u32, u64 and bool.
 */

struct fuzz_random {
	u64 state;
};

/* splitmix64: any state gives a sequence of its own */
static inline u64 fuzz_next(struct fuzz_random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline u32 fuzz_below(struct fuzz_random *r, u32 n)
{
	return ((fuzz_next(r) >> 32) * n) >> 32;
}

static inline bool fuzz_one_in(struct fuzz_random *r, u32 n)
{
	return !fuzz_below(r, n);
}

/*
 * Return the random sequence for encoding number @index of a run with @seed. Each encoding has its
 * own, so it can be repeated alone.
 */
static inline struct fuzz_random fuzz_random_of(u64 seed, u64 index)
{
	struct fuzz_random r = { seed };

	r.state = fuzz_next(&r) ^ index * 0xd1342543de82ef95ULL;
	fuzz_next(&r);
	return r;
}

/* Return a random value, sometimes one at which the carry, sign or zero flag changes. */
static inline u64 fuzz_value(struct fuzz_random *r)
{
	static const u64 edges[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, 0x7fffffffffffffffULL, 0x8000000000000000ULL, ~0ULL,
	};

	switch (fuzz_below(r, 4)) {
	case 0:
		return edges[fuzz_below(r, sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return fuzz_next(r) >> fuzz_below(r, 64);
	default:
		return fuzz_next(r);
	}
}

#endif
