/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The maps of a program, and functions that every program uses. */
#ifndef INCAST_FLOW_H
#define INCAST_FLOW_H

#include "intf.h"
#include "kernel.h"

/*
 * The maps of a program. The knobs are a variable with a section of its own, so that a plain object
 * can bring their values along.
 */
#define KNOBS_OF(algorithm)                                   \
	struct algorithm##_knobs algorithm##_knobs SEC(".data.knobs"); \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);      \
		__uint(max_entries, 1);                       \
		__type(key, __u32);                           \
		__type(value, struct counters);               \
	} algorithm##_counters SEC(".maps");                     \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_RINGBUF);           \
		__uint(max_entries, 1 << 18);                 \
	} algorithm##_event SEC(".maps");                     \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_ARRAY);             \
		__uint(max_entries, 1);                       \
		__type(key, __u32);                           \
		__type(value, struct record);                 \
	} algorithm##_record SEC(".maps")

/* The only entry of a map. */
#define FIRST(map)                                            \
	({                                                    \
		__u32 zero = 0;                               \
		bpf_map_lookup_elem(&(map), &zero);           \
	})

/* Counts one more of `what`. */
#define COUNT(algorithm, what)                                \
	({                                                    \
		struct counters *counters = FIRST(algorithm##_counters); \
		if (counters)                                 \
			counters->what++;                     \
	})

/* Ties the record to the program: a map that no program uses goes with its loader. */
#define KEEP(algorithm)                                       \
	({                                                    \
		struct record *record = FIRST(algorithm##_record); \
		asm volatile("" : : "r"(record));             \
	})

/* Whether a connection may report, having done so last at *reported_ns; if so, notes the time. */
static __always_inline bool report_due(const struct common_knobs *knobs, __u64 now_ns,
				       __u64 *reported_ns)
{
	__u64 interval_ns = knobs->observe_interval_ns;

	if (interval_ns == 0 || now_ns - *reported_ns < interval_ns)
		return false;
	*reported_ns = now_ns;
	return true;
}

/* Fills in the fields of an event that follow from the socket. */
static __always_inline void describe(struct flow_event *event, const struct sock *sk, __u64 now_ns)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	event->time_ns = now_ns;
	event->cwnd_segments = tp->snd_cwnd;
	event->in_flight_segments = in_flight(tp);
	event->retransmissions = tp->total_retrans;
	event->family = sk->__sk_common.skc_family;
	event->local_port = sk->__sk_common.skc_num;
	event->remote_port = sk->__sk_common.skc_dport;
	event->state = ca_state(sk);
	if (event->family == AF_INET6) {
		__be32 *to = (__be32 *)event->remote_address;

		to[0] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0];
		to[1] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
		to[2] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2];
		to[3] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		*(__be32 *)event->remote_address = sk->__sk_common.skc_daddr;
	}
}

/*
 * A new event with the fields that follow from the socket; the others are zero, for the caller to
 * fill in before it submits the event. Null if the ring is full.
 */
static __always_inline struct flow_event *event_of(void *events, const struct sock *sk,
						   __u64 now_ns)
{
	struct flow_event *event = bpf_ringbuf_reserve(events, sizeof(*event), 0);

	if (!event)
		return 0;
	__builtin_memset(event, 0, sizeof(*event));
	describe(event, sk, now_ns);
	return event;
}

/* The rate of a window: cwnd per smoothed RTT. */
static __always_inline __u64 window_rate_bps(const struct tcp_sock *tp)
{
	return over((__u64)tp->snd_cwnd * tp->mss_cache * 64000000, tp->srtt_us);
}

/* Asks TCP's own timer to pace this socket: otherwise rates need the fq qdisc. */
static __always_inline void pace(struct sock *sk)
{
	__sync_val_compare_and_swap(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

#endif
