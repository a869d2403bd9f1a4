/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Regulated TCP on Linux TCP. The counter and the price are core/rtcp.h; TCP's own Reno answers
 * losses, as in the paper. docs/guide/kernel.md has the rules, and the effect of each knob.
 */
#include "core/rtcp.h"
#include "flow.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct rtcp_knobs {
	struct common_knobs common;
	struct rtcp_constants rtcp;
	__u64 w_urgent;
	__u64 w_high_volume;
	/* The acknowledged bytes up to which a connection is urgent. */
	__u64 urgent_below;
	/* The rate of the NIC, for the largest window; 0 leaves that to the peer. */
	__u64 line_bps;
	__u32 sender_backlog;
	__u32 total_rtt;
	__u32 per_rtt;
	__u32 unused;
};

KNOBS_OF(rtcp);

struct rtcp_sock {
	struct rtcp_state law;
	__u64 reported_ns;
	/* The RTT of the last ACK that had one. */
	__u32 rtt_us;
	/* The round ends when this many packets are delivered. */
	__u32 round_ends_at;
	/* The window before the last loss, in case that was none. */
	__u32 prior_cwnd;
	/* Whether a step is due. */
	__u32 due;
};

_Static_assert(sizeof(struct rtcp_sock) <= 104, "icsk_ca_priv holds 104 bytes");

/*
 * The weight of the flow: w of its class, which is urgent until `urgent_below` bytes are
 * acknowledged, times its SO_PRIORITY where the application sets one from 2 on.
 */
static __always_inline __u64 weight(const struct sock *sk, const struct rtcp_knobs *knobs)
{
	__u64 class = tcp_sk(sk)->bytes_acked < knobs->urgent_below ? knobs->w_urgent :
								      knobs->w_high_volume;
	__u64 priority = least(sk->sk_priority, 1000);

	return class * most(priority, 1);
}

/* The bytes of this socket in the host's queues. One of the count is the socket's own reference. */
static __always_inline __u64 queued(const struct sock *sk, const struct rtcp_knobs *knobs)
{
	int bytes = sk->sk_wmem_alloc.refs.counter - 1;

	return knobs->sender_backlog && bytes > 0 ? bytes : 0;
}

/* The largest window after a step: line rate times the smoothed RTT, in segments. */
static __always_inline __u64 most_segments(const struct rtcp_knobs *knobs,
					   const struct tcp_sock *tp)
{
	__u64 srtt_us = tp->srtt_us >> 3;
	__u64 bits = least(knobs->line_bps, INCAST_MOST_BPS) * least(srtt_us, 1000000) / 1000000;

	if (knobs->line_bps == 0 || srtt_us == 0)
		return tp->snd_cwnd_clamp;
	return least(over(bits / 8, tp->mss_cache) + 1, tp->snd_cwnd_clamp);
}

static __always_inline void report(const struct sock *sk, const struct rtcp_sock *ca, __u64 now_ns)
{
	struct flow_event *event = event_of(&rtcp_event, sk, now_ns);

	if (!event)
		return;
	event->rate_bps = window_rate_bps(tcp_sk(sk));
	event->rtt_ns = (__u64)ca->rtt_us * 1000;
	event->gauge = ca->law.price_q20;
	event->counter = ca->law.counter_q20;
	event->branch = rtcp_may_double(&ca->law);
	bpf_ringbuf_submit(event, 0);
}

/* Measures and counts at each ACK of new data, and notes whether a step is due. */
SEC("struct_ops")
void BPF_PROG(rtcp_pkts_acked, struct sock *sk, const struct ack_sample *acked)
{
	const struct rtcp_knobs *knobs = &rtcp_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct rtcp_sock *ca = ca_of(sk);
	__u32 min_rtt_us = tp->rtt_min.s[0].v;
	__u64 packets_q20, now_ns = bpf_ktime_get_ns();
	__u64 delay_us = 0;
	bool has_rtt = acked->rtt_us > 0;

	rtcp_set_weight(&ca->law, weight(sk, knobs));
	if (has_rtt) {
		COUNT(rtcp, samples);
		ca->rtt_us = acked->rtt_us;
		delay_us = knobs->total_rtt ? acked->rtt_us : less(acked->rtt_us, min_rtt_us);
	} else {
		COUNT(rtcp, skipped);
	}
	rtcp_measure(&ca->law, &knobs->rtcp, queued(sk, knobs), has_rtt, delay_us * 1000);
	packets_q20 = least((__u64)acked->pkts_acked << Q20_BITS, RTCP_MAX_PACKETS_Q20);
	rtcp_count(&ca->law, &knobs->rtcp, packets_q20, packets_q20);
	if (!before(tp->delivered, ca->round_ends_at)) {
		ca->round_ends_at = tp->delivered + in_flight(tp);
		ca->due = 1;
	} else if (!knobs->per_rtt) {
		ca->due = 1;
	}
	if (report_due(&knobs->common, now_ns, &ca->reported_ns))
		report(sk, ca, now_ns);
}

/*
 * Steps the window (9). TCP calls this when it would raise the window: not in fast recovery, nor
 * while it reduces the window for marks, but after a timeout, which has left one segment.
 */
SEC("struct_ops")
void BPF_PROG(rtcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	const struct rtcp_knobs *knobs = &rtcp_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct rtcp_sock *ca = ca_of(sk);
	bool doubles = rtcp_may_double(&ca->law);
	bool in_use = tp->max_packets_out * 2 >= tp->snd_cwnd;
	__u64 cwnd;

	if (!ca->due)
		return;
	ca->due = 0;
	/* A window that was not in use does not grow. */
	if (doubles && !in_use)
		return;
	cwnd = least(rtcp_step(&knobs->rtcp, doubles, tp->snd_cwnd, most_segments(knobs, tp)),
		     tp->snd_cwnd_clamp);
	if (in_use || cwnd < tp->snd_cwnd)
		tp->snd_cwnd = cwnd;
}

SEC("struct_ops")
void BPF_PROG(rtcp_init, struct sock *sk)
{
	const struct rtcp_knobs *knobs = &rtcp_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct rtcp_sock *ca = ca_of(sk);

	KEEP(rtcp);
	COUNT(rtcp, opened);
	ca->reported_ns = 0;
	ca->rtt_us = 0;
	ca->round_ends_at = tp->delivered;
	ca->prior_cwnd = 0;
	ca->due = 0;
	/* Another algorithm may have paced the socket; TCP sets the rate again from the window. */
	rtcp_start(&ca->law, &knobs->rtcp, weight(sk, knobs));
}

SEC("struct_ops")
void BPF_PROG(rtcp_release, struct sock *sk)
{
	COUNT(rtcp, closed);
}

/* The window after a loss: half, as in NewReno. */
SEC("struct_ops")
__u32 BPF_PROG(rtcp_ssthresh, struct sock *sk)
{
	struct rtcp_sock *ca = ca_of(sk);

	COUNT(rtcp, losses);
	ca->prior_cwnd = tcp_sk(sk)->snd_cwnd;
	return most(tcp_sk(sk)->snd_cwnd / 2, 2);
}

SEC("struct_ops")
__u32 BPF_PROG(rtcp_undo_cwnd, struct sock *sk)
{
	struct rtcp_sock *ca = ca_of(sk);

	return most(tcp_sk(sk)->snd_cwnd, ca->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops rtcp = {
	.init = (void *)rtcp_init,
	.release = (void *)rtcp_release,
	.pkts_acked = (void *)rtcp_pkts_acked,
	.cong_avoid = (void *)rtcp_cong_avoid,
	.ssthresh = (void *)rtcp_ssthresh,
	.undo_cwnd = (void *)rtcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "bpf_rtcp",
};
