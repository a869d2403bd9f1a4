/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The common part of the integer cores. The same text is compiled for BPF and for the host, and
 * must give the same bits as crates/core/cc/src/parts. So there are no floats, no signed divisions, no
 * products above 64 bits, and no divisors of zero (x / 0 is 0 in BPF, and a fault in C and Rust).
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

/* x / y, or zero for a divisor of zero. No caller has one; this spares the proof. */
static __always_inline __u64 over(__u64 x, __u64 y)
{
	return y ? x / y : 0;
}

#endif
