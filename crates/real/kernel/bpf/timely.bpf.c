/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TIMELY on Linux TCP. All that it computes is in core/timely.h. This file turns events of TCP into
 * those of the core: it chooses the RTT samples that count, sets pacing and window of the socket,
 * and tells of losses. docs/guide/kernel.md has the rules, and the effect of each knob.
 */
#include "core/timely.h"
#include "flow.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct timely_knobs {
	struct common_knobs common;
	struct timely_constants timely;
};

KNOBS_OF(timely);

/* The state of a connection, in the private area of its socket. */
struct timely_sock {
	struct timely_state law;
	struct timely_completions completions;
	__u64 reported_ns;
	/* The rate before a loss, which may turn out to be packets out of order. */
	__u64 rate_before_loss_bps;
	/* The round ends with a sample of data sent when this many packets were delivered. */
	__u32 round_ends_at;
	__u32 unused;
};

_Static_assert(sizeof(struct timely_sock) <= 104, "icsk_ca_priv holds 104 bytes");

/* The rate within the bounds of every rate. */
static __always_inline __u64 bounded(__u64 rate_bps)
{
	return most(least(rate_bps, INCAST_MOST_BPS), INCAST_LEAST_BPS);
}

/* Sets the pacing rate and the window of the socket. */
static __always_inline void apply(struct sock *sk, const struct timely_knobs *knobs,
				  struct timely_sock *ca, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u64 rate_bps = ca->law.rate_bps = bounded(ca->law.rate_bps);
	__u64 cwnd = timely_window(&ca->law, &knobs->timely, tp->mss_cache);
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
	/* An ACK that the receiver may have held back says nothing about the network. */
	if (rs->rtt_us <= 0 || rs->is_ack_delayed)
		return 0;
	return timely_network_rtt(&knobs->timely, least(rs->rtt_us, 2000000) * 1000,
				  rs->acked_sacked, tp->mss_cache);
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
		ca->completions.round_over = 1;
	rtt_ns = sample(knobs, tp, rs);
	if (rtt_ns) {
		COUNT(timely, samples);
		if (timely_on_sample(&ca->law, &ca->completions, &knobs->timely, now_ns, rtt_ns,
				     rs->is_app_limited))
			ca->round_ends_at = tp->delivered;
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
	start_bps = timely_first_bps(&knobs->timely, (__u64)most(tp->snd_cwnd, 10) * tp->mss_cache,
				     srtt8_us * 125);
	timely_start(&ca->law, bounded(start_bps), now_ns);
	timely_begin(&ca->completions);
	ca->completions.startup = knobs->timely.startup != 0;
	ca->round_ends_at = tp->delivered;
	ca->reported_ns = 0;
	ca->rate_before_loss_bps = 0;
	tp->snd_ssthresh = 0x7fffffff;
	pace(sk);
	sk->sk_pacing_rate = least(ca->law.rate_bps / 8, sk->sk_max_pacing_rate);
}

SEC("struct_ops")
void BPF_PROG(timely_release, struct sock *sk)
{
	COUNT(timely, closed);
}

/* Reduces the rate at a loss, once for each episode. */
SEC("struct_ops")
void BPF_PROG(timely_set_state, struct sock *sk, __u8 new_state)
{
	struct timely_sock *ca = ca_of(sk);

	if (new_state != TCP_CA_Recovery && new_state != TCP_CA_Loss)
		return;
	if (ca_state(sk) == TCP_CA_Recovery || ca_state(sk) == TCP_CA_Loss)
		return;
	COUNT(timely, losses);
	ca->rate_before_loss_bps = ca->law.rate_bps;
	timely_on_loss(&ca->law, &ca->completions, &timely_knobs.timely);
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
