/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The BPF half of the twin check, run by BPF_PROG_TEST_RUN, which struct_ops programs cannot be. */
#include "kernel.h"
#include "twin.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define ONE_ARRAY(name, entries, entry)                       \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_ARRAY);             \
		__uint(max_entries, entries);                 \
		__uint(map_flags, BPF_F_MMAPABLE);            \
		__type(key, __u32);                           \
		__type(value, entry);                         \
	} name SEC(".maps")

ONE_ARRAY(twin_setups, 1, struct twin_setup);
ONE_ARRAY(twin_states, 1, struct twin_state);
ONE_ARRAY(twin_events, TWIN_EVENTS, struct twin_event);
ONE_ARRAY(twin_answers, TWIN_EVENTS, struct twin_answer);

static long each(__u32 index, void *context)
{
	__u32 zero = 0;
	struct twin_setup *setup = bpf_map_lookup_elem(&twin_setups, &zero);
	struct twin_state *state = bpf_map_lookup_elem(&twin_states, &zero);
	struct twin_event *event = bpf_map_lookup_elem(&twin_events, &index);
	struct twin_answer *answer = bpf_map_lookup_elem(&twin_answers, &index);

	if (!setup || !state || !event || !answer)
		return 1;
	twin_step(state, setup, event, answer);
	return 0;
}

SEC("syscall")
int twin_run(void *context)
{
	__u32 zero = 0;
	struct twin_setup *setup = bpf_map_lookup_elem(&twin_setups, &zero);
	struct twin_state *state = bpf_map_lookup_elem(&twin_states, &zero);

	if (!setup || !state)
		return -1;
	twin_start(state, setup);
	return bpf_loop(least(setup->count, TWIN_EVENTS), each, NULL, 0);
}
