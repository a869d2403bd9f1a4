/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The host half of the twin check. */
#include <stdint.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "twin.h"

void incast_twin_run(const struct twin_setup *setup, const struct twin_event *events,
		     struct twin_answer *answers)
{
	struct twin_state state;

	twin_start(&state, setup);
	for (uint32_t at = 0; at < setup->count; at++)
		twin_step(&state, setup, &events[at], &answers[at]);
}
