/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TIMELY (Mittal et al., SIGCOMM 2015), bit for bit as crates/core/cc/src/timely, which has the reasons.
 * Algorithm 1 is one call for each completion. Before it come the samples whose least is a
 * completion, behind it the window. RTTs and times are in nanoseconds, rates in bits per second;
 * fractions have 20 bits.
 */
#ifndef INCAST_CORE_TIMELY_H
#define INCAST_CORE_TIMELY_H

#include "integer.h"

/* The longest sample (2.1 s): longer ones count as this, so that no product overflows. */
#define TIMELY_MAX_RTT_NS ((1ULL << 31) - 1)
/* Most segments of one ACK whose serialization is left out of its sample. */
#define TIMELY_MOST_SEGMENTS 64

enum timely_hai_counts { TIMELY_HAI_RAW, TIMELY_HAI_SMOOTHED };
enum timely_time_scaling {
	TIMELY_SCALE_NEVER,
	TIMELY_SCALE_INCREASE_AND_T_HIGH,
	TIMELY_SCALE_ALWAYS,
};
enum timely_app_limited { TIMELY_APP_LIMITED_COUNTS, TIMELY_APP_LIMITED_LOWERS };
enum timely_serialization { TIMELY_SERIALIZATION_SEGMENT, TIMELY_SERIALIZATION_ACKED };
/* The branch of Algorithm 1 that the last completion took, for observers alone. */
enum timely_branch {
	TIMELY_NONE,
	TIMELY_BELOW_T_LOW,
	TIMELY_ABOVE_T_HIGH,
	TIMELY_ADDITIVE,
	TIMELY_HYPERACTIVE,
	TIMELY_GRADIENT,
};

struct timely_constants {
	__u64 alpha_q20;
	__u64 beta_q20;
	__u64 delta_bps;
	__u64 hai_delta_bps;
	__u64 t_low_ns;
	__u64 t_high_ns;
	__u64 min_rtt_ns;
	__u64 max_decrease_q20;
	__u64 loss_decrease_q20;
	__u64 min_bps;
	__u64 line_bps;
	__u32 hai_threshold;
	__u32 hai_counts;
	__u32 time_scaling;
	__u32 min_filter_acks;
	__u64 min_filter_ns;
	__u64 catch_up;
	__u64 window_ns;
	__u64 window_floor_segments;
	__u32 startup;
	__u32 app_limited;
	__u32 serialization;
	__u32 unused;
};

struct timely_state {
	__u64 rate_bps;
	__u64 updated_at_ns;
	__u64 previous_rtt_ns;
	/* The smoothed difference of successive RTTs, times 256. */
	__s64 difference_q8;
	__u32 falling;
	__u32 falling_smoothed;
	__u32 has_previous;
	__u32 branch;
};

/* The samples since the last completion. */
struct timely_completions {
	__u64 least_rtt_ns;
	__u32 samples;
	/* Whether data sent after the last completion has been acknowledged. */
	__u8 round_over;
	/* Whether all samples are application-limited. */
	__u8 app_limited;
	/* Whether the rate doubles: until an RTT above T_low, or a loss. */
	__u8 startup;
	__u8 unused;
};

static __always_inline void timely_start(struct timely_state *s, __u64 rate_bps, __u64 now_ns)
{
	s->rate_bps = rate_bps;
	s->updated_at_ns = now_ns;
	s->previous_rtt_ns = 0;
	s->difference_q8 = 0;
	s->falling = 0;
	s->falling_smoothed = 0;
	s->has_previous = 0;
	s->branch = TIMELY_NONE;
}

static __always_inline __u32 timely_one_more(__u32 count)
{
	return count == 0xffffffffU ? count : count + 1;
}

static __always_inline void timely_gradient(struct timely_state *s,
					    const struct timely_constants *k, __u64 rtt_ns)
{
	__s64 difference = s->has_previous ? (__s64)rtt_ns - (__s64)s->previous_rtt_ns : 0;
	__s64 step_q8;

	s->previous_rtt_ns = rtt_ns;
	s->has_previous = 1;
	/* The shift is arithmetic, and rounds towards minus infinity. */
	step_q8 = difference * 256 - s->difference_q8;
	s->difference_q8 += (step_q8 * (__s64)k->alpha_q20) >> Q20_BITS;
	s->falling = difference < 0 ? timely_one_more(s->falling) : 0;
	s->falling_smoothed = s->difference_q8 > 0 ? 0 : timely_one_more(s->falling_smoothed);
}

static __always_inline void timely_increase(struct timely_state *s,
					    const struct timely_constants *k, __u64 step_bps,
					    __u64 scale_q20)
{
	s->rate_bps = least(s->rate_bps + ((step_bps * scale_q20) >> Q20_BITS), k->line_bps);
}

static __always_inline void timely_decrease(struct timely_state *s,
					    const struct timely_constants *k, __u64 cut_q20,
					    __u64 scale_q20)
{
	cut_q20 = least((cut_q20 * scale_q20) >> Q20_BITS, k->max_decrease_q20);
	s->rate_bps = most(s->rate_bps - ((s->rate_bps * cut_q20) >> Q20_BITS), k->min_bps);
}

static __always_inline void timely_on_completion(struct timely_state *s,
						 const struct timely_constants *k, __u64 now_ns,
						 __u64 rtt_ns)
{
	__u64 elapsed_q20, outer_q20, gradient_q20;

	rtt_ns = least(rtt_ns, TIMELY_MAX_RTT_NS);
	timely_gradient(s, k, rtt_ns);

	elapsed_q20 = over(least(less(now_ns, s->updated_at_ns), k->min_rtt_ns) << Q20_BITS,
			   k->min_rtt_ns);
	s->updated_at_ns = now_ns;
	outer_q20 = k->time_scaling != TIMELY_SCALE_NEVER ? elapsed_q20 : ONE_Q20;
	gradient_q20 = k->time_scaling == TIMELY_SCALE_ALWAYS ? elapsed_q20 : ONE_Q20;

	if (rtt_ns < k->t_low_ns) {
		s->branch = TIMELY_BELOW_T_LOW;
		timely_increase(s, k, k->delta_bps, outer_q20);
	} else if (rtt_ns > k->t_high_ns) {
		__u64 over_q20 = over((rtt_ns - k->t_high_ns) << Q20_BITS, rtt_ns);

		s->branch = TIMELY_ABOVE_T_HIGH;
		timely_decrease(s, k, (k->beta_q20 * over_q20) >> Q20_BITS, outer_q20);
	} else if (s->difference_q8 <= 0) {
		__u32 falling = k->hai_counts == TIMELY_HAI_RAW ? s->falling : s->falling_smoothed;
		int hai = falling >= k->hai_threshold;

		s->branch = hai ? TIMELY_HYPERACTIVE : TIMELY_ADDITIVE;
		timely_increase(s, k, hai ? k->hai_delta_bps : k->delta_bps, outer_q20);
	} else {
		/* beta * gradient: 2^20 * 2^39 fits. The eight bits of the difference go last. */
		__u64 cut_q28 = over(k->beta_q20 * (__u64)s->difference_q8, k->min_rtt_ns);

		s->branch = TIMELY_GRADIENT;
		timely_decrease(s, k, least(cut_q28 >> 8, ONE_Q20), gradient_q20);
	}
}

/* Begins to collect samples for the next completion. */
static __always_inline void timely_begin(struct timely_completions *c)
{
	c->least_rtt_ns = ~0ULL;
	c->samples = 0;
	c->round_over = 0;
	c->app_limited = 1;
}

/*
 * The rate of a flow whose RTT is rtt_ns before its first sample: the initial window once per RTT,
 * up to line rate.
 */
static __always_inline __u64 timely_first_bps(const struct timely_constants *k,
					      __u64 window_bytes, __u64 rtt_ns)
{
	__u64 bps = over(least(window_bytes, 1ULL << 30) * 8000000000ULL, most(rtt_ns, 1));

	return most(least(bps, k->line_bps), k->min_bps);
}

/* The RTT of an ACK for `segments` of `mss` without their serialization; never 0. */
static __always_inline __u64 timely_network_rtt(const struct timely_constants *k, __u64 rtt_ns,
						__u64 segments, __u64 mss)
{
	segments = k->serialization == TIMELY_SERIALIZATION_ACKED ?
			   least(segments, TIMELY_MOST_SEGMENTS) :
			   1;
	return most(less(rtt_ns, over(segments * least(mss, 1 << 16) * 8000000000ULL,
				      most(k->line_bps, 1))), 1);
}

/* The rate after a late completion: an increase counts for the time that has passed. */
static __always_inline __u64 timely_caught_up(const struct timely_constants *k, __u64 before_bps,
					      __u64 after_bps, __u64 since_ns)
{
	__u64 steps = least(over(since_ns, most(k->min_rtt_ns, 1)), k->catch_up);

	if (after_bps <= before_bps || steps < 2)
		return after_bps;
	return least(before_bps + (after_bps - before_bps) * steps, k->line_bps);
}

/* Gives the law a completion, since_ns after the last one. */
static __always_inline void timely_complete(struct timely_state *s, struct timely_completions *c,
					    const struct timely_constants *k, __u64 now_ns,
					    __u64 since_ns)
{
	__u64 before_bps = s->rate_bps;

	timely_on_completion(s, k, now_ns, c->least_rtt_ns);
	if (k->catch_up > 1)
		s->rate_bps = timely_caught_up(k, before_bps, s->rate_bps, since_ns);
	if (c->startup) {
		if (c->least_rtt_ns >= k->t_low_ns)
			c->startup = 0;
		else if (!c->app_limited)
			s->rate_bps = least(before_bps * 2, k->line_bps);
	}
	if (c->app_limited && k->app_limited == TIMELY_APP_LIMITED_LOWERS)
		s->rate_bps = least(s->rate_bps, before_bps);
}

/* Takes in a sample; returns whether it ends a completion, with which the next round begins. */
static __always_inline int timely_on_sample(struct timely_state *s, struct timely_completions *c,
					    const struct timely_constants *k, __u64 now_ns,
					    __u64 rtt_ns, int app_limited)
{
	__u64 since_ns = less(now_ns, s->updated_at_ns);

	c->least_rtt_ns = least(c->least_rtt_ns, rtt_ns);
	c->samples = timely_one_more(c->samples);
	if (!app_limited)
		c->app_limited = 0;
	if (k->min_filter_ns && (!c->round_over || c->samples < k->min_filter_acks ||
				 since_ns < k->min_filter_ns))
		return 0;
	timely_complete(s, c, k, now_ns, since_ns);
	timely_begin(c);
	return 1;
}

/* Reduces the rate at the first loss of an episode, and ends the start of the connection. */
static __always_inline void timely_on_loss(struct timely_state *s, struct timely_completions *c,
					   const struct timely_constants *k)
{
	__u64 cut_bps = (s->rate_bps * k->loss_decrease_q20) >> Q20_BITS;

	c->startup = 0;
	s->rate_bps = most(s->rate_bps - cut_bps, k->min_bps);
}

/* The window for the rate, in segments. */
static __always_inline __u64 timely_window(const struct timely_state *s,
					   const struct timely_constants *k, __u64 mss)
{
	/* Microseconds, up to a second: rates below 2^42 b/s times 2^30 ns would not fit. */
	__u64 bits = s->rate_bps * least(k->window_ns / 1000, 1000000) / 1000000;

	return most(over(bits / 8, most(mss, 1)) + 1, most(k->window_floor_segments, 2));
}

/* Takes a reduction back whose losses were none. */
static __always_inline void timely_on_spurious_loss(struct timely_state *s, __u64 before_bps)
{
	s->rate_bps = most(s->rate_bps, before_bps);
}

#endif
