/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TIMELY on Linux TCP. The control law is core/timely.h. This file turns events of TCP into those
 * of the law: it chooses the RTT samples that count, makes pacing and a window of a rate, and
 * answers losses. docs/guide/kernel.md has the rules, and the effect of each knob.
 */
#include "core/timely.h"
#include "flow.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct timely_knobs {
	struct common_knobs common;
	struct timely_constants timely;
	/*
	 * A completion is the least RTT of this time, of a round, and of `min_filter_acks` ACKs; 0
	 * makes each ACK a completion.
	 */
	__u64 min_filter_ns;
	__u64 min_filter_acks;
	/* The most steps of a late completion, which adds one for each min_rtt since the last. */
	__u64 catch_up;
	/* The window in time at the rate: it bounds bursts, to half of it, and losses. */
	__u64 window_ns;
	/* The least window, in segments. */
	__u64 window_floor_segments;
	/* Whether a new connection doubles its rate each round until T_low is passed. */
	__u64 startup;
};

KNOBS_OF(timely);

/* The state of a connection, in the private area of its socket. */
struct timely_sock {
	struct timely_state law;
	__u64 reported_ns;
	/* The least sample since the last completion. */
	__u64 least_rtt_ns;
	/* The time of the last completion. */
	__u64 completed_at_ns;
	/* The rate before a loss, which may turn out to be packets out of order. */
	__u64 rate_before_loss_bps;
	/* The number of samples since the last completion. */
	__u32 samples;
	/* The round ends with a sample of data sent when this many packets were delivered. */
	__u32 round_ends_at;
	__u8 round_over;
	/* Whether all samples since the last completion are application-limited. */
	__u8 app_limited;
	__u8 startup;
};

_Static_assert(sizeof(struct timely_sock) <= 104, "icsk_ca_priv holds 104 bytes");

/* The rate within the bounds of every rate. */
static __always_inline __u64 bounded(__u64 rate_bps)
{
	return most(least(rate_bps, INCAST_MOST_BPS), INCAST_LEAST_BPS);
}

/* The window for a rate, in segments. */
static __always_inline __u64 window(const struct timely_knobs *knobs, __u64 rate_bps, __u64 mss)
{
	/* Microseconds, up to a second: 400 Gb/s times 2^30 ns would not fit. */
	__u64 bits = rate_bps * least(knobs->window_ns / 1000, 1000000) / 1000000;

	return most(over(bits / 8, mss) + 1, most(knobs->window_floor_segments, 2));
}

/* Sets the pacing rate and the window of the socket. */
static __always_inline void apply(struct sock *sk, const struct timely_knobs *knobs,
				  struct timely_sock *ca, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u64 rate_bps = ca->law.rate_bps = bounded(ca->law.rate_bps);
	__u64 cwnd = window(knobs, rate_bps, tp->mss_cache);
	__u8 state = ca_state(sk);

	sk->sk_pacing_rate = least(rate_bps / 8, sk->sk_max_pacing_rate);
	/* While losses are repaired, no more enters the network than leaves it. */
	if (state == TCP_CA_Recovery || state == TCP_CA_Loss)
		cwnd = least(cwnd, most(in_flight(tp) + acked, 1));
	tp->snd_cwnd = least(cwnd, tp->snd_cwnd_clamp);
}

/* The sample in nanoseconds, less the time of the acknowledged bytes in the NIC; 0 for none. */
static __always_inline __u64 sample(const struct timely_knobs *knobs, const struct tcp_sock *tp,
				    const struct rate_sample *rs)
{
	__u64 rtt_ns, bytes;

	/* An ACK that the receiver may have held back says nothing about the network. */
	if (rs->rtt_us <= 0 || rs->is_ack_delayed)
		return 0;
	rtt_ns = least(rs->rtt_us, 2000000) * 1000;
	bytes = least(rs->acked_sacked, 64) * tp->mss_cache;
	return most(less(rtt_ns, over(bytes * 8000000000ULL, knobs->timely.line_bps)), 1);
}

/*
 * The rate after a late completion. A slow connection has few ACKs, and so late completions. If
 * each were worth one step, fast connections would gain on it; so an increase counts for the time
 * that has passed.
 */
static __always_inline __u64 caught_up(const struct timely_knobs *knobs, __u64 before_bps,
				       __u64 after_bps, __u64 elapsed_ns)
{
	__u64 steps = least(over(elapsed_ns, knobs->timely.min_rtt_ns), knobs->catch_up);

	if (after_bps <= before_bps || steps < 2)
		return after_bps;
	return least(before_bps + (after_bps - before_bps) * steps, knobs->timely.line_bps);
}

/* Gives the law a completion, and doubles the rate at the start of a connection. */
static __always_inline void on_completion(struct timely_sock *ca, const struct timely_knobs *knobs,
					  __u64 now_ns)
{
	__u64 before_bps = ca->law.rate_bps;
	__u64 elapsed_ns = less(now_ns, ca->law.updated_at_ns);

	timely_on_completion(&ca->law, &knobs->timely, now_ns, ca->least_rtt_ns);
	ca->law.rate_bps = caught_up(knobs, before_bps, ca->law.rate_bps, elapsed_ns);
	if (ca->startup) {
		if (ca->least_rtt_ns >= knobs->timely.t_low_ns)
			ca->startup = 0;
		else if (!ca->app_limited)
			ca->law.rate_bps = least(before_bps * 2, knobs->timely.line_bps);
	}
	/* A rate that the application did not use was not tried, and does not rise. */
	if (ca->app_limited)
		ca->law.rate_bps = least(ca->law.rate_bps, before_bps);
}

/* Begins to collect samples for the next completion. */
static __always_inline void begin(struct timely_sock *ca, __u64 now_ns, __u32 delivered)
{
	ca->least_rtt_ns = ~0ULL;
	ca->completed_at_ns = now_ns;
	ca->samples = 0;
	ca->round_ends_at = delivered;
	ca->round_over = 0;
	ca->app_limited = 1;
}

/*
 * Collects samples, the least of which is a completion. In the paper a completion is that of a
 * segment of tens of kilobytes, timed by NICs. ACKs are timed by hosts, where one sample in ten may
 * be that of a busy CPU, so the least of several stands for them. Their number is equal for all
 * connections: the least of more samples is less, and fast connections would see shorter queues
 * than slow ones.
 */
static __always_inline void on_sample(struct timely_sock *ca, const struct timely_knobs *knobs,
				      __u64 now_ns, __u64 rtt_ns, __u32 delivered, bool app_limited)
{
	ca->least_rtt_ns = least(ca->least_rtt_ns, rtt_ns);
	ca->samples += 1;
	if (!app_limited)
		ca->app_limited = 0;
	if (knobs->min_filter_ns && (!ca->round_over || ca->samples < knobs->min_filter_acks ||
				     now_ns - ca->completed_at_ns < knobs->min_filter_ns))
		return;
	on_completion(ca, knobs, now_ns);
	begin(ca, now_ns, delivered);
}

static __always_inline void report(const struct sock *sk, const struct timely_sock *ca,
				   __u64 now_ns, __u64 rtt_ns)
{
	struct flow_event *event = event_of(&timely_event, sk, now_ns);

	if (!event)
		return;
	event->rate_bps = ca->law.rate_bps;
	event->rtt_ns = rtt_ns;
	event->gauge = ca->law.difference_q8;
	event->branch = ca->law.branch;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void on_ack(struct sock *sk, const struct rate_sample *rs)
{
	const struct timely_knobs *knobs = &timely_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct timely_sock *ca = ca_of(sk);
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 rtt_ns;

	if (rs->delivered > 0 && !before(rs->prior_delivered, ca->round_ends_at))
		ca->round_over = 1;
	rtt_ns = sample(knobs, tp, rs);
	if (rtt_ns) {
		COUNT(timely, samples);
		on_sample(ca, knobs, now_ns, rtt_ns, tp->delivered, rs->is_app_limited);
	} else {
		COUNT(timely, skipped);
	}
	apply(sk, knobs, ca, rs->acked_sacked);
	if (report_due(&knobs->common, now_ns, &ca->reported_ns))
		report(sk, ca, now_ns, rtt_ns);
}

/* The signature of Linux 6.10 and later. */
#ifndef WITHOUT_NEW
SEC("struct_ops")
void BPF_PROG(timely_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	on_ack(sk, rs);
}
#endif

/* The signature of earlier kernels. */
#ifndef WITHOUT_OLD
SEC("struct_ops")
void BPF_PROG(timely_cong_control_old, struct sock *sk, const struct rate_sample *rs)
{
	on_ack(sk, rs);
}
#endif

SEC("struct_ops")
void BPF_PROG(timely_init, struct sock *sk)
{
	const struct timely_knobs *knobs = &timely_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct timely_sock *ca = ca_of(sk);
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 start_bps;
	/* Eight times the smoothed RTT of the handshake, or a millisecond without one. */
	__u64 srtt8_us = tp->srtt_us ? tp->srtt_us : 8000;

	KEEP(timely);
	COUNT(timely, opened);
	/* TCP's initial window once per RTT. The socket may come from another algorithm. */
	start_bps = over((__u64)most(tp->snd_cwnd, 10) * tp->mss_cache * 8 * 8000000, srtt8_us);
	timely_start(&ca->law, bounded(start_bps), now_ns);
	begin(ca, now_ns, tp->delivered);
	ca->reported_ns = 0;
	ca->rate_before_loss_bps = 0;
	tp->snd_ssthresh = 0x7fffffff;
	pace(sk);
	ca->startup = knobs->startup != 0;
	ca->law.rate_bps = bounded(least(ca->law.rate_bps, knobs->timely.line_bps));
	sk->sk_pacing_rate = least(ca->law.rate_bps / 8, sk->sk_max_pacing_rate);
}

SEC("struct_ops")
void BPF_PROG(timely_release, struct sock *sk)
{
	COUNT(timely, closed);
}

/* Reduces the rate at a loss, once for each episode, and ends the start of the connection. */
SEC("struct_ops")
void BPF_PROG(timely_set_state, struct sock *sk, __u8 new_state)
{
	struct timely_sock *ca = ca_of(sk);

	if (new_state != TCP_CA_Recovery && new_state != TCP_CA_Loss)
		return;
	if (ca_state(sk) == TCP_CA_Recovery || ca_state(sk) == TCP_CA_Loss)
		return;
	COUNT(timely, losses);
	ca->startup = 0;
	ca->rate_before_loss_bps = ca->law.rate_bps;
	timely_on_loss(&ca->law, &timely_knobs.timely);
	ca->law.rate_bps = bounded(ca->law.rate_bps);
}

/* The present window: the rate decides, not a threshold. */
SEC("struct_ops")
__u32 BPF_PROG(timely_ssthresh, struct sock *sk)
{
	return most(tcp_sk(sk)->snd_cwnd, 2);
}

/* Takes a reduction back: packets had only come out of order. */
SEC("struct_ops")
__u32 BPF_PROG(timely_undo_cwnd, struct sock *sk)
{
	struct timely_sock *ca = ca_of(sk);

	COUNT(timely, undone);
	timely_on_spurious_loss(&ca->law, ca->rate_before_loss_bps);
	ca->rate_before_loss_bps = 0;
	return tcp_sk(sk)->snd_cwnd;
}

#define OPS(variable, for_kernels)                                  \
	SEC(".struct_ops")                                          \
	struct tcp_congestion_ops variable = {                      \
		.init = (void *)timely_init,                        \
		.release = (void *)timely_release,                  \
		.cong_control = (void *)for_kernels,                \
		.set_state = (void *)timely_set_state,              \
		.ssthresh = (void *)timely_ssthresh,                \
		.undo_cwnd = (void *)timely_undo_cwnd,              \
		.flags = TCP_CONG_NON_RESTRICTED,                   \
		.name = "bpf_timely",                               \
	}

#ifndef WITHOUT_NEW
OPS(timely, timely_cong_control);
#endif
#ifndef WITHOUT_OLD
OPS(timely_old, timely_cong_control_old);
#endif
