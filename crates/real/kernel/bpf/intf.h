/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The interface of the programs and user space: knobs, counters, events, records. User space finds
 * the maps of any process by their names: .data.knobs, <algorithm>_counters, _event, _record.
 */
#ifndef INCAST_INTF_H
#define INCAST_INTF_H

#include "core/integer.h"

/* The bounds of every rate, whatever the knobs say. */
#define INCAST_LEAST_BPS 1000000ULL
#define INCAST_MOST_BPS 400000000000ULL

/*
 * The knobs that every program has. One set of knobs is for all connections of a program, which
 * read it at each ACK, so it may change while they run. It is written field by field: for the time
 * of an ACK a connection may see a new value beside an old one.
 */
struct common_knobs {
	/* The least time between two events of a connection; 0 for no events: nobody observes. */
	__u64 observe_interval_ns;
};

/*
 * The record of an attached program, for other processes. It lives exactly as long as the program:
 * nothing is kept on a disk.
 */
struct record {
	/* The name of the algorithm. */
	char algorithm[16];
	/* The name under which sockets choose it. */
	char name[16];
	/* The default before this one, to be restored; empty if this was not made the default. */
	char previous_default[16];
	/* The time of attaching, in seconds of Unix time. */
	__u64 attached_at_s;
	/* The id of the struct_ops map, whose deletion detaches the program. */
	__u32 ops_map_id;
	/* The id of the cgroup's program; 0 for none. */
	__u32 cgroup_program_id;
	/* The directory of the cgroup. */
	char cgroup[256];
	/* The settings as given, preset and key=value, a line each: `set` starts from them. */
	char settings[2040];
	/*
	 * The id of the cgroup. At the end, where versions without it have zeros behind their settings:
	 * 0 for none, or for one that is not known.
	 */
	__u64 cgroup_id;
};

_Static_assert(sizeof(struct record) == 2368, "shared.rs has the same struct");

/* The counts of all connections since the program was attached. */
struct counters {
	__u64 opened;
	__u64 closed;
	__u64 samples;
	/* ACKs without a sample: none was measured, or the receiver may have held the ACK back. */
	__u64 skipped;
	__u64 losses;
	/* Losses that turned out to be packets out of order. */
	__u64 undone;
};

_Static_assert(sizeof(struct counters) == 48, "shared.rs has the same struct");

/* A report of a connection. Addresses and ports are as on the wire, but for local_port. */
struct flow_event {
	__u64 time_ns;
	__u64 rate_bps;
	__u64 rtt_ns;
	/* TIMELY: the smoothed difference of RTTs times 256; RTCP: the price; DCTCP: alpha. */
	__s64 gauge;
	/* RTCP: the counter. */
	__u64 counter;
	__u32 cwnd_segments;
	__u32 in_flight_segments;
	__u32 retransmissions;
	__u32 branch;
	__u8 remote_address[16];
	__u16 family;
	__u16 local_port;
	__u16 remote_port;
	__u16 state;
};

_Static_assert(sizeof(struct flow_event) == 80, "shared.rs has the same struct");

#endif
