/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DCTCP on Linux TCP, for kernels without it. The estimate is core/dctcp.h; windows grow as Reno's.
 * Receivers echo each change of marking at once (RFC 8257, section 3.2), so both ends have to run
 * it.
 */
#include "core/dctcp.h"
#include "flow.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct dctcp_knobs {
	struct common_knobs common;
	struct dctcp_constants dctcp;
};

KNOBS_OF(dctcp);

#define TCP_ECN_DEMAND_CWR 4
#define INET_CSK_ACK_TIMER 2
#define INET_CSK_ACK_NOW 16

struct dctcp_sock {
	struct dctcp_state law;
	__u64 reported_ns;
	__u32 old_delivered;
	__u32 old_delivered_ce;
	/* The sequence number whose acknowledgement ends the round. */
	__u32 round_ends_at;
	__u32 prior_cwnd;
	__u32 rtt_us;
	/* As a receiver: whether the last packet was marked. */
	__u32 ce_state;
	/* As a receiver: the next sequence number before the last packet. */
	__u32 prior_rcv_nxt;
};

_Static_assert(sizeof(struct dctcp_sock) <= 104, "icsk_ca_priv holds 104 bytes");

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static __always_inline void new_round(const struct tcp_sock *tp, struct dctcp_sock *ca)
{
	ca->round_ends_at = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = tp->delivered_ce;
}

static __always_inline void report(const struct sock *sk, const struct dctcp_sock *ca, __u64 now_ns)
{
	struct flow_event *event = event_of(&dctcp_event, sk, now_ns);

	if (!event)
		return;
	event->rate_bps = window_rate_bps(tcp_sk(sk));
	event->rtt_ns = (__u64)ca->rtt_us * 1000;
	event->gauge = ca->law.alpha_q20;
	bpf_ringbuf_submit(event, 0);
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	const struct dctcp_knobs *knobs = &dctcp_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_sock *ca = ca_of(sk);

	KEEP(dctcp);
	COUNT(dctcp, opened);
	ca->reported_ns = 0;
	ca->prior_cwnd = 0;
	ca->rtt_us = 0;
	ca->ce_state = 0;
	ca->prior_rcv_nxt = tp->rcv_nxt;
	new_round(tp, ca);
	dctcp_start(&ca->law, &knobs->dctcp);
}

SEC("struct_ops")
void BPF_PROG(dctcp_release, struct sock *sk)
{
	COUNT(dctcp, closed);
}

/* Moves the estimate at the end of each round. It counts packets, as the kernel does. */
SEC("struct_ops")
void BPF_PROG(dctcp_pkts_acked, struct sock *sk, const struct ack_sample *acked)
{
	const struct dctcp_knobs *knobs = &dctcp_knobs;
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_sock *ca = ca_of(sk);
	__u64 now_ns = bpf_ktime_get_ns();

	if (acked->rtt_us > 0) {
		ca->rtt_us = acked->rtt_us;
		COUNT(dctcp, samples);
	} else {
		COUNT(dctcp, skipped);
	}
	if (!before(tp->snd_una, ca->round_ends_at)) {
		dctcp_count(&ca->law, tp->delivered - ca->old_delivered,
			    tp->delivered_ce - ca->old_delivered_ce);
		dctcp_end_round(&ca->law, &knobs->dctcp);
		new_round(tp, ca);
	}
	if (report_due(&knobs->common, now_ns, &ca->reported_ns))
		report(sk, ca, now_ns);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

/* Sends an ACK that waits with the old mark before the new one holds (RFC 8257, figure 1). */
static __always_inline void echo(struct sock *sk, __u32 marked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_sock *ca = ca_of(sk);
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	if (ca->ce_state != marked) {
		if (icsk->icsk_ack.pending & INET_CSK_ACK_TIMER) {
			if (ca->ce_state)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= INET_CSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce_state = marked;
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		echo(sk, event == CA_EVENT_ECN_IS_CE);
}

/*
 * The window after a reduction. TCP asks once for each window with marks (CWR), which costs
 * alpha / 2 of it; a loss costs half of it.
 */
SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_sock *ca = ca_of(sk);

	ca->prior_cwnd = tp->snd_cwnd;
	return most(dctcp_reduced(&ca->law, tp->snd_cwnd), 2);
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_sock *ca = ca_of(sk);

	if (new_state != TCP_CA_Recovery && new_state != TCP_CA_Loss)
		return;
	COUNT(dctcp, losses);
	if (new_state == TCP_CA_Recovery && ca_state(sk) != TCP_CA_Recovery)
		tp->snd_ssthresh = most(ca->prior_cwnd / 2, 2);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	struct dctcp_sock *ca = ca_of(sk);

	return most(tcp_sk(sk)->snd_cwnd, ca->prior_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.release = (void *)dctcp_release,
	.pkts_acked = (void *)dctcp_pkts_acked,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "bpf_dctcp",
};
