/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257): the estimate of the marked fraction, and the
 * reduction of a marked window, bit for bit as crates/core/cc/src/dctcp.rs. Fractions have 20 bits.
 */
#ifndef INCAST_CORE_DCTCP_H
#define INCAST_CORE_DCTCP_H

#include "integer.h"

/* A bound of the bytes of one round, so that they fit 64 bits with their fraction. */
#define DCTCP_MAX_BYTES (1ULL << 43)

struct dctcp_constants {
	__u64 g_q20;
	__u64 initial_alpha_q20;
};

struct dctcp_state {
	__u64 alpha_q20;
	__u64 acked;
	__u64 marked;
};

static __always_inline void dctcp_start(struct dctcp_state *s, const struct dctcp_constants *k)
{
	s->alpha_q20 = k->initial_alpha_q20;
	s->acked = 0;
	s->marked = 0;
}

/* Counts acknowledged bytes, and those of them that came back marked. */
static __always_inline void dctcp_count(struct dctcp_state *s, __u64 acked, __u64 marked)
{
	s->acked = least(s->acked + least(acked, DCTCP_MAX_BYTES), DCTCP_MAX_BYTES);
	s->marked = least(s->marked + least(marked, DCTCP_MAX_BYTES), DCTCP_MAX_BYTES);
}

/* Ends a round: alpha = (1 - g) alpha + g F. */
static __always_inline void dctcp_end_round(struct dctcp_state *s, const struct dctcp_constants *k)
{
	__u64 total = most(s->acked, s->marked);
	__u64 fraction_q20;

	if (total == 0)
		return;
	fraction_q20 = over(s->marked << Q20_BITS, total);
	if (fraction_q20 >= s->alpha_q20)
		s->alpha_q20 += (k->g_q20 * (fraction_q20 - s->alpha_q20)) >> Q20_BITS;
	else
		s->alpha_q20 -= (k->g_q20 * (s->alpha_q20 - fraction_q20)) >> Q20_BITS;
	s->acked = 0;
	s->marked = 0;
}

/* The window after a marked one: cwnd (1 - alpha / 2), in bytes or segments, below 2^40. */
static __always_inline __u64 dctcp_reduced(const struct dctcp_state *s, __u64 cwnd)
{
	return cwnd - ((cwnd * (s->alpha_q20 / 2)) >> Q20_BITS);
}

#endif
