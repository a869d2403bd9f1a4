/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The types of the kernel, as far as the programs use them. Fields are found by name in the running
 * kernel's BTF when a program is loaded, so their order does not matter.
 */
#ifndef INCAST_KERNEL_H
#define INCAST_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define AF_INET 2
#define AF_INET6 10

/* Flags of tcp_congestion_ops. The first lets unprivileged processes and containers choose it. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2

enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
	__u32 sk_priority;
	refcount_t sk_wmem_alloc;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct {
		__u8 pending;
	} icsk_ack;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
};

struct minmax_sample {
	__u32 t;
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 mss_cache;
	__u32 srtt_us;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 total_retrans;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 max_packets_out;
	__u64 bytes_acked;
	struct minmax rtt_min;
	__u8 ecn_flags;
};

struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked;
	bool is_app_limited;
	bool is_ack_delayed;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
	__u32 flags;
};

#pragma clang attribute pop

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* The private area of a congestion control algorithm in its socket. */
static __always_inline void *ca_of(const struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u8 ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
}

/* Segments in flight, as the kernel counts them (tcp_packets_in_flight). */
static __always_inline __u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Whether a comes before b: sequence numbers or delivery counts, which wrap. */
static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

#endif
