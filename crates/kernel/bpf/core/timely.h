/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TIMELY, Algorithm 1 (Mittal et al., SIGCOMM 2015), bit for bit as crates/cc/src/timely.rs, which
 * has the reasons. There is one call for each completion. RTTs and times are in nanoseconds, rates
 * in bits per second; fractions have 20 bits.
 */
#ifndef INCAST_CORE_TIMELY_H
#define INCAST_CORE_TIMELY_H

#include "integer.h"

/* The longest sample (2.1 s): longer ones count as this, so that no product overflows. */
#define TIMELY_MAX_RTT_NS ((1ULL << 31) - 1)

enum timely_hai_counts { TIMELY_HAI_RAW, TIMELY_HAI_SMOOTHED };
enum timely_time_scaling {
	TIMELY_SCALE_NEVER,
	TIMELY_SCALE_INCREASE_AND_T_HIGH,
	TIMELY_SCALE_ALWAYS,
};
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

/* Reduces the rate at the first loss of an episode. */
static __always_inline void timely_on_loss(struct timely_state *s,
					   const struct timely_constants *k)
{
	__u64 cut_bps = (s->rate_bps * k->loss_decrease_q20) >> Q20_BITS;

	s->rate_bps = most(s->rate_bps - cut_bps, k->min_bps);
}

/* Takes a reduction back whose losses were none. */
static __always_inline void timely_on_spurious_loss(struct timely_state *s, __u64 before_bps)
{
	s->rate_bps = most(s->rate_bps, before_bps);
}

#endif
