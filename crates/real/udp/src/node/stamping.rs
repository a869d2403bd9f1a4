//! The timestamps on the way to a peer, which the kernel or a device may not give.

/// The answers after which a path without any RTT by timestamps counts as one that has none.
pub(super) const ANSWERS: u32 = 64;

/// The reason for which RTTs are times of user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The kernel of this host gives no timestamps, not even over the loopback device.
    Kernel,
    /// No timestamps come on the way to this peer, though the kernel gives them over the loopback
    /// device.
    Path,
}

/// The timestamps on the way to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamping {
    /// No RTT came yet, after so many answers.
    Unknown(u32),
    /// RTTs by timestamps have come.
    There,
    /// There are none: RTTs are times of user space from now on.
    Lacking(Lack),
}

impl Stamping {
    /// The timestamps on a way of which nothing is known, by whether the kernel gives any.
    pub(super) const fn begin(kernel_stamps: bool) -> Self {
        if kernel_stamps { Self::Unknown(0) } else { Self::Lacking(Lack::Kernel) }
    }

    /// The reason for which RTTs are times of user space; [`None`] where they are not.
    pub(super) const fn lack(self) -> Option<Lack> {
        if let Self::Lacking(lack) = self { Some(lack) } else { None }
    }

    /// Takes note of an answer; it may bring an RTT.
    pub(super) const fn answered(&mut self) {
        if let Self::Unknown(answers) = self {
            *answers = answers.saturating_add(1);
        }
    }

    /// Decides whether timestamps lack. Not sooner than all RTTs are noted that answers have
    /// brought.
    pub(super) fn decide(&mut self) {
        if matches!(self, Self::Unknown(answers) if *answers >= ANSWERS) {
            *self = Self::Lacking(Lack::Path);
        }
    }

    /// Takes note of an RTT.
    pub(super) fn sampled(&mut self) {
        if matches!(self, Self::Unknown(_)) {
            *self = Self::There;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bytes::Bytes;

    use super::*;
    use crate::Statistics;
    use crate::node::testing::node;
    use crate::node::{Event, Node, PeerId};
    use crate::socket::{self, Features, Socket};

    #[test]
    fn a_path_lacks_stamps_after_so_many_answers_without_one() {
        let mut stamping = Stamping::Unknown(0);
        (1..ANSWERS).for_each(|_| stamping.answered());
        stamping.decide();
        assert_eq!(stamping, Stamping::Unknown(ANSWERS - 1));
        let mut there = stamping;
        stamping.answered();
        stamping.decide();
        assert_eq!(stamping, Stamping::Lacking(Lack::Path));
        // RTTs that come now are times of user space.
        stamping.sampled();
        assert_eq!(stamping, Stamping::Lacking(Lack::Path));
        there.sampled();
        (0..1_000).for_each(|_| there.answered());
        there.decide();
        assert_eq!(there, Stamping::There);
    }

    /// Makes calls one after the other until the state of the peer is as wanted.
    fn call_until(
        client: &mut Node,
        server: &mut Node,
        peer: PeerId,
        sees: impl Fn(&Statistics) -> bool,
    ) {
        let end = Instant::now() + Duration::from_secs(20);
        let body = Bytes::from_static(&[7; 8]);
        client.call(peer, body.clone(), None).unwrap();
        while !client.statistics(peer).is_some_and(|state| sees(&state)) {
            assert!(Instant::now() < end, "{:?}", client.statistics(peer));
            client.turn(Some(Instant::now() + Duration::from_micros(200)), None).unwrap();
            server.turn(None, None).unwrap();
            while let Some(event) = server.poll_event() {
                if let Event::Called { call, body, .. } = event {
                    server.reply(call, body).unwrap();
                }
            }
            while let Some(event) = client.poll_event() {
                if let Event::Replied { .. } = event {
                    client.call(peer, body.clone(), None).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_device_without_stamps_is_noticed_and_rtts_are_times_of_user_space() {
        let features = Features::probe().unwrap();
        let local = "127.0.0.1:0".parse().unwrap();
        let (mut client, mut server) = (node(), node());
        // As on a device that gives no stamps: the node believes in them, and none come.
        let none = Features { receive_stamps: false, send_stamps: false, ..features };
        client.port.socket = Socket::open(&socket::Options::at(local), none).unwrap();
        let peer = client.connect(server.address().unwrap(), None).unwrap();
        call_until(&mut client, &mut server, peer, |state| state.lacks_stamps == Some(Lack::Path));
        call_until(&mut client, &mut server, peer, |state| state.least_rtt.is_some());
        let state = client.statistics(peer).unwrap();
        let said = state.warning().unwrap();
        assert!(said.contains("64 answers brought no RTT by timestamps"), "{said}");

        let mut other = node();
        let peer = other.connect(server.address().unwrap(), None).unwrap();
        call_until(&mut other, &mut server, peer, |state| state.least_rtt.is_some());
        assert_eq!(other.statistics(peer).unwrap().warning(), None);
    }
}
