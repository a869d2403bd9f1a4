/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The twin check: a list of events through an integer core, with the same code for BPF and for the
 * host. All of the state after each event is compared.
 */
#ifndef INCAST_TWIN_H
#define INCAST_TWIN_H

#include "core/dctcp.h"
#include "core/rtcp.h"
#include "core/timely.h"

#define TWIN_EVENTS 16384
/* The segment of TIMELY's events. */
#define TWIN_MSS 1448

enum twin_algorithm { TWIN_TIMELY, TWIN_RTCP, TWIN_DCTCP };

/*
 * An event, as four numbers.
 * TIMELY: time, RTT, flags, segments acked; flags 1: a loss in place of an ACK, 2: data sent after
 *	the last completion is acked, 4: application-limited, 8: no sample.
 * RTCP: queued bytes, whether there is a delay, delay,
 *	packets << 2 | timeout before << 1 | step due.
 * DCTCP: bytes acked, bytes marked, whether the round ends, window.
 */
struct twin_event {
	__u64 a, b, c, d;
};

/* The state after an event. */
struct twin_answer {
	__u64 value[8];
};

/* A run: the constants, the start, and the number of events. */
struct twin_setup {
	struct timely_constants timely;
	struct rtcp_constants rtcp;
	struct dctcp_constants dctcp;
	/*
	 * TIMELY: time and rate, and if that is 0, initial window in bytes and RTT. RTCP: weight and
	 * window.
	 */
	__u64 start[4];
	__u32 algorithm;
	__u32 count;
};

struct twin_state {
	struct timely_state timely;
	struct timely_completions completions;
	struct rtcp_state rtcp;
	struct dctcp_state dctcp;
	__u64 cwnd;
};

static __always_inline void twin_start(struct twin_state *s, const struct twin_setup *k)
{
	__u64 first_bps = timely_first_bps(&k->timely, k->start[2], k->start[3]);

	timely_start(&s->timely, k->start[1] ? k->start[1] : first_bps, k->start[0]);
	timely_begin(&s->completions);
	s->completions.startup = k->timely.startup != 0;
	rtcp_start(&s->rtcp, &k->rtcp, k->start[0]);
	dctcp_start(&s->dctcp, &k->dctcp);
	s->cwnd = k->start[1];
}

static __always_inline void twin_timely_ack(struct twin_state *s, const struct twin_setup *k,
					    const struct twin_event *e)
{
	__u64 rtt_ns;

	if (e->c & 2)
		s->completions.round_over = 1;
	if (e->c & 8)
		return;
	rtt_ns = timely_network_rtt(&k->timely, e->b, e->d, TWIN_MSS);
	timely_on_sample(&s->timely, &s->completions, &k->timely, e->a, rtt_ns, (e->c & 4) != 0);
}

static __always_inline void twin_timely(struct twin_state *s, const struct twin_setup *k,
					const struct twin_event *e, struct twin_answer *out)
{
	if (e->c & 1)
		timely_on_loss(&s->timely, &s->completions, &k->timely);
	else
		twin_timely_ack(s, k, e);
	out->value[0] = s->timely.rate_bps;
	out->value[1] = timely_window(&s->timely, &k->timely, TWIN_MSS);
	out->value[2] = (__u64)s->timely.difference_q8;
	out->value[3] = s->timely.falling;
	out->value[4] = s->timely.falling_smoothed;
	out->value[5] = s->timely.branch;
	out->value[6] = s->completions.least_rtt_ns;
	out->value[7] = (__u64)s->completions.samples << 3 | s->completions.round_over << 2 |
			s->completions.app_limited << 1 | s->completions.startup;
}

static __always_inline void twin_rtcp(struct twin_state *s, const struct twin_setup *k,
				      const struct twin_event *e, struct twin_answer *out)
{
	__u64 packets_q20 = least((e->d >> 2) << Q20_BITS, RTCP_MAX_PACKETS_Q20);

	/* As in TCP a timeout leaves one segment, whatever the floor. */
	if (e->d & 2)
		s->cwnd = 1;
	rtcp_measure(&s->rtcp, &k->rtcp, e->a, e->b != 0, e->c);
	rtcp_count(&s->rtcp, &k->rtcp, packets_q20, packets_q20);
	if (e->d & 1)
		s->cwnd = rtcp_step(&k->rtcp, rtcp_may_double(&s->rtcp), s->cwnd, 1ULL << 40);
	out->value[0] = s->cwnd;
	out->value[1] = s->rtcp.counter_q20;
	out->value[2] = s->rtcp.gamma_q20;
	out->value[3] = s->rtcp.price_q20;
	out->value[4] = s->rtcp.smoothed_q20;
	out->value[5] = out->value[6] = out->value[7] = 0;
}

static __always_inline void twin_dctcp(struct twin_state *s, const struct twin_setup *k,
				       const struct twin_event *e, struct twin_answer *out)
{
	dctcp_count(&s->dctcp, e->a, e->b);
	if (e->c)
		dctcp_end_round(&s->dctcp, &k->dctcp);
	out->value[0] = dctcp_reduced(&s->dctcp, e->d);
	out->value[1] = s->dctcp.alpha_q20;
	out->value[2] = s->dctcp.acked;
	out->value[3] = s->dctcp.marked;
	out->value[4] = out->value[5] = out->value[6] = out->value[7] = 0;
}

static __always_inline void twin_step(struct twin_state *s, const struct twin_setup *k,
				      const struct twin_event *e, struct twin_answer *out)
{
	if (k->algorithm == TWIN_TIMELY)
		twin_timely(s, k, e, out);
	else if (k->algorithm == TWIN_RTCP)
		twin_rtcp(s, k, e, out);
	else
		twin_dctcp(s, k, e, out);
}

#endif
