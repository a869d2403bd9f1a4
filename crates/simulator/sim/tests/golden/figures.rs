//! The figures of a run as lines that a person can review.

use incast_sim::{Report, digest};

/// The figures of `report`, and a digest of all its tables.
pub(crate) fn figures(report: &Report) -> String {
    let s = &report.summary;
    format!(
        "throughput {:.6} Gb/s, Jain's index {:.6}\n\
         RTT mean {:.6} us, p50 {:.6} us, p99 {:.6} us, {} samples\n\
         queue mean {:.6} KB, p99 {:.6} KB, max {:.3} KB\n\
         {} PFC pauses, links paused for {:.6} us, {} drops, {} marks, {} retransmissions\n\
         {} packet-hops, digest {:016x}\n",
        s.throughput_gbps,
        s.jain_index,
        s.rtt_mean_us,
        s.rtt_p50_us,
        s.rtt_p99_us,
        s.rtt_samples,
        s.queue_mean_kb,
        s.queue_p99_kb,
        s.queue_max_kb,
        s.pfc_pauses,
        s.pfc_paused_us,
        s.drops,
        s.ecn_marks,
        s.retransmissions,
        s.packet_hops,
        digest(&report.tables),
    )
}
