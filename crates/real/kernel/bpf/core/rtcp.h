/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Regulated TCP (Huang, Li and Walrand, IFIP 2020), bit for bit as crates/core/cc/src/rtcp.rs, which
 * explains the choices that the paper leaves open. Equation numbers are the paper's. Values with
 * the suffix _q20 have 20 fractional bits.
 */
#ifndef INCAST_CORE_RTCP_H
#define INCAST_CORE_RTCP_H

#include "integer.h"

#define RTCP_MAX_WEIGHT (1ULL << 20)
#define RTCP_MAX_BACKLOG_Q20 (1ULL << 43)
#define RTCP_MAX_PACKETS_Q20 (1ULL << 41)

enum rtcp_smooth { RTCP_SMOOTH_DELAY, RTCP_SMOOTH_BACKLOG };

struct rtcp_constants {
	__u64 alpha;
	__u64 delta;
	__u64 delay_unit_ns;
	__u64 queue_unit;
	__u64 g_q20;
	__u64 max_rate_q20;
	__u64 floor_segments;
	__u64 smooth;
};

struct rtcp_state {
	__u64 weight_q20;
	__u64 counter_q20;
	__u64 gamma_q20;
	__u64 smoothed_q20;
	__u64 price_q20;
};

static __always_inline void rtcp_set_weight(struct rtcp_state *s, __u64 weight)
{
	s->weight_q20 = most(least(weight, RTCP_MAX_WEIGHT), 1) << Q20_BITS;
}

static __always_inline void rtcp_start(struct rtcp_state *s, const struct rtcp_constants *k,
				       __u64 weight)
{
	rtcp_set_weight(s, weight);
	s->counter_q20 = 0;
	s->gamma_q20 = k->max_rate_q20;
	s->smoothed_q20 = 0;
	s->price_q20 = 0;
}

/* The backlog of the sender and of the path, delta times the delay, within bounds. */
static __always_inline __u64 rtcp_backlog(const struct rtcp_constants *k, __u64 queue_q20,
					  __u64 delay_q20)
{
	__u64 path_q20 = least(k->delta * delay_q20, RTCP_MAX_BACKLOG_Q20);

	return least(least(queue_q20, RTCP_MAX_BACKLOG_Q20) + path_q20, RTCP_MAX_BACKLOG_Q20);
}

/* Smooths the congestion (8) and prices it (7), with `queued` bytes that wait at the sender. */
static __always_inline void rtcp_measure(struct rtcp_state *s, const struct rtcp_constants *k,
					 __u64 queued, int has_delay, __u64 delay_ns)
{
	__u64 queue_q20 = over(least(queued, 1ULL << 43) << Q20_BITS, k->queue_unit);
	__u64 backlog_q20;

	if (has_delay) {
		__u64 newest_q20 = least(over(least(delay_ns, 1ULL << 43) << Q20_BITS,
					      k->delay_unit_ns),
					 RTCP_MAX_BACKLOG_Q20);

		if (k->smooth == RTCP_SMOOTH_BACKLOG)
			newest_q20 = rtcp_backlog(k, queue_q20, newest_q20);
		s->smoothed_q20 = (s->smoothed_q20 * k->g_q20 +
				   newest_q20 * (ONE_Q20 - k->g_q20)) >> Q20_BITS;
	}
	backlog_q20 = k->smooth == RTCP_SMOOTH_BACKLOG ?
			      s->smoothed_q20 :
			      rtcp_backlog(k, queue_q20, s->smoothed_q20);
	s->price_q20 = k->alpha * backlog_q20;
}

/*
 * Sets gamma (10), then moves the counter (1): up by gamma times the packets wanted, down by the
 * packets acknowledged.
 */
static __always_inline void rtcp_count(struct rtcp_state *s, const struct rtcp_constants *k,
				       __u64 wanted_q20, __u64 acked_q20)
{
	__u64 counter_q20 = s->counter_q20;
	__u64 room_q20, most_q20, gain_q20;

	if (counter_q20 == 0)
		s->gamma_q20 = k->max_rate_q20;
	else if (counter_q20 >= s->weight_q20)
		s->gamma_q20 = s->gamma_q20 / 2;
	else
		s->gamma_q20 = least(over(s->weight_q20 << Q20_BITS, counter_q20) - ONE_Q20,
				     k->max_rate_q20);
	room_q20 = most(s->weight_q20, counter_q20) + acked_q20 - counter_q20;
	if (wanted_q20 == 0) {
		gain_q20 = 0;
	} else {
		/* The comparison comes first: a product beyond the room may not fit 64 bits. */
		most_q20 = over(room_q20 << Q20_BITS, wanted_q20);
		gain_q20 = s->gamma_q20 > most_q20 ? room_q20 :
						     (s->gamma_q20 * wanted_q20) >> Q20_BITS;
	}
	s->counter_q20 = less(counter_q20 + gain_q20, acked_q20);
}

/* Whether the next step doubles the window; otherwise it halves it (9). */
static __always_inline int rtcp_may_double(const struct rtcp_state *s)
{
	return s->counter_q20 >= s->price_q20;
}

/*
 * The window after a step (9), in segments, between the floor and `most_segments`. The floor holds
 * in both directions, also where a timeout has left less. A window of one segment is acknowledged
 * when the receiver's delayed-ACK timer fires, so that time is its RTT, and it would be halved for
 * ever.
 */
static __always_inline __u64 rtcp_step(const struct rtcp_constants *k, int doubles, __u64 cwnd,
				       __u64 most_segments)
{
	__u64 floor = most(k->floor_segments, 1);

	return most(least(doubles ? cwnd * 2 : cwnd / 2, most_segments), floor);
}

#endif
