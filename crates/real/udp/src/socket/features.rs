//! The features of the kernel's UDP, and how to tell what is missing.

/// The features that work here. Each has been tried, and none is assumed
/// ([`Features::probe`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, by itself")]
pub struct Features {
    /// The kernel cuts a send into datagrams (`UDP_SEGMENT`). Without it each datagram is a
    /// message of its own.
    pub segmentation: bool,
    /// The kernel hands over datagrams of one sender together (`UDP_GRO`).
    pub coalescing: bool,
    /// The kernel takes and tells the DSCP and the ECN bits of each datagram.
    pub traffic_class: bool,
    /// The kernel takes a priority for each datagram (Linux 6.14). Without it a datagram has the
    /// priority of its socket, or of its DSCP.
    pub priorities: bool,
    /// The kernel tells when a datagram came.
    pub receive_stamps: bool,
    /// The kernel tells when a datagram left.
    pub send_stamps: bool,
    /// A send may number its timestamp itself (Linux 6.13). Without it the kernel counts.
    pub stamp_keys: bool,
    /// The kernel sends datagrams that are longer than the path takes with "don't fragment", so
    /// that the path's MTU can be found.
    pub whole_datagrams: bool,
}

impl Features {
    /// No feature.
    pub const NONE: Self = Self {
        segmentation: false,
        coalescing: false,
        traffic_class: false,
        priorities: false,
        receive_stamps: false,
        send_stamps: false,
        stamp_keys: false,
        whole_datagrams: false,
    };

    /// A sentence for each feature that is missing, which says what is lost.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        [
            (self.segmentation, "UDP_SEGMENT does not work: each datagram costs a message."),
            (self.coalescing, "UDP_GRO does not work: each datagram arrives by itself."),
            (self.traffic_class, "DSCP and ECN bits do not arrive: no marks, no higher class."),
            (self.priorities, "SO_PRIORITY works for whole sockets alone, not for datagrams."),
            (
                self.receive_stamps,
                "The kernel does not say when datagrams came: RTTs include waits for processors.",
            ),
            (
                self.send_stamps,
                "The kernel does not say when datagrams left: RTTs include waits for processors.",
            ),
            (
                self.stamp_keys,
                "Timestamps are numbered by the kernel, which may count failed sends.",
            ),
            (self.whole_datagrams, "Datagrams may be fragmented: the path's MTU is not found."),
        ]
        .into_iter()
        .filter_map(|(works, sentence)| (!works).then_some(sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Features = Features {
        segmentation: true,
        coalescing: true,
        traffic_class: true,
        priorities: true,
        receive_stamps: true,
        send_stamps: true,
        stamp_keys: true,
        whole_datagrams: true,
    };

    #[test]
    fn each_missing_feature_has_a_sentence() {
        assert_eq!(ALL.missing().count(), 0);
        assert_eq!(Features::NONE.missing().count(), 8);
        let some = Features { coalescing: false, ..ALL };
        assert!(some.missing().all(|sentence| sentence.starts_with("UDP_GRO")));
    }
}
