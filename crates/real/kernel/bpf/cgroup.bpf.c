/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Gives each TCP connection of a cgroup an algorithm before its first data, on both sides. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SOL_TCP 6
#define TCP_CONGESTION 13

/* The name of the algorithm, set before the program is loaded. */
const volatile char algorithm[16];

SEC("sockops")
int incast_cgroup(struct bpf_sock_ops *ops)
{
	char name[16];

	if (ops->op != BPF_SOCK_OPS_TCP_CONNECT_CB &&
	    ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	for (int at = 0; at < 16; at++)
		name[at] = algorithm[at];
	bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	return 1;
}
