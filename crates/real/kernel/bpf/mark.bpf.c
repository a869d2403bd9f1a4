/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Marks packets (ECN) that find more than a threshold in the queue of the device by which they
 * leave, as a switch does. A tc egress program for the test bed's bottleneck, since not every
 * kernel has RED.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define TC_ACT_OK 0

/* The threshold, set before the program is loaded. */
const volatile __u32 threshold_bytes = 30000;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gnet_stats_queue {
	__u32 backlog;
};

struct Qdisc {
	struct gnet_stats_queue qstats;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

#pragma clang attribute pop

SEC("tc")
int incast_mark(struct __sk_buff *context)
{
	/* The kernel's own pointer to the packet. bpf_cast_to_kern_ctx needs Linux 6.2. */
	const struct sk_buff *packet = (const void *)context;

	if (BPF_CORE_READ(packet, dev, qdisc, qstats.backlog) > threshold_bytes)
		bpf_skb_ecn_set_ce(context);
	return TC_ACT_OK;
}
