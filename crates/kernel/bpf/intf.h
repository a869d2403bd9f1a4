/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What programs and user space share: knobs, counters, events. User space finds the maps by these names,
 * in whatever process they were loaded: .data.knobs, <algorithm>_counters, _event, _record.
 */
#ifndef INCAST_INTF_H
#define INCAST_INTF_H

#include "core/integer.h"

/* No rate leaves these bounds, whatever the knobs say. */
#define INCAST_LEAST_BPS 1000000ULL
#define INCAST_MOST_BPS 400000000000ULL

/*
 * One set for all connections of an algorithm, read at each ACK: it may change while they run. It is
 * written field by field; a connection may see a new one beside an old one for the time of an ACK.
 */
struct common_knobs {
	/* Least time from one event of a connection to its next; 0: none, nobody observes. */
	__u64 observe_interval_ns;
};

/*
 * What user space has to know of what another process attached. It lives as long as the programs, and no
 * longer: nothing is left on a disk.
 */
struct record {
	/* Which of the three, and the name under which sockets find it. */
	char algorithm[16];
	char name[16];
	/* The default before this became it, to be restored; empty: it did not. */
	char previous_default[16];
	/* When it was attached, by the clock of the wall. */
	__u64 attached_at_s;
	/* Of the struct_ops map, whose deletion detaches, and of the cgroup's program; 0: none. */
	__u32 ops_map_id;
	__u32 cgroup_program_id;
	/* The cgroup's directory. */
	char cgroup[256];
	/* preset and key=value, a line each, as given: what `show` prints and `set` starts from. */
	char settings[2048];
};

_Static_assert(sizeof(struct record) == 2368, "shared.rs has the same struct");

/* Since it was attached. */
struct counters {
	__u64 opened;
	__u64 closed;
	__u64 samples;
	/* ACKs without a sample: none was measured, or the receiver may have held the ACK back. */
	__u64 skipped;
	__u64 losses;
	/* Of these, found to be none: packets out of order. */
	__u64 undone;
};

_Static_assert(sizeof(struct counters) == 48, "shared.rs has the same struct");

/* What a connection tells an observer. Addresses and ports as on the wire but local_port. */
struct flow_event {
	__u64 time_ns;
	__u64 rate_bps;
	__u64 rtt_ns;
	/* TIMELY: the smoothed difference times 256; RTCP: price; DCTCP: alpha. */
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
