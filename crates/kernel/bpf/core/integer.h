/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the integer cores share. The same text is compiled for BPF and for the host, and must give the
 * same bits as crates/cc/src/parts: no floats, no signed division, no product above 64 bits, no divisor
 * of zero (BPF makes 0 of x / 0, C and Rust make a fault of it).
 */
#ifndef INCAST_CORE_INTEGER_H
#define INCAST_CORE_INTEGER_H

#include <linux/types.h>

#define Q20_BITS 20
#define ONE_Q20 (1ULL << Q20_BITS)

static __always_inline __u64 least(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 most(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* a - b, or zero. */
static __always_inline __u64 less(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

/* x / y, or zero for a divisor of zero: no caller has one, and no reader has to prove it. */
static __always_inline __u64 over(__u64 x, __u64 y)
{
	return y ? x / y : 0;
}

#endif
