//! Packets of spaced bursts, which leave ahead of time in the order of their send times.
//!
//! An algorithm may space the packets of a burst by more than the line rate. The NIC rests between
//! them, and other connections send in the gaps. While none of them is ready, the next packet is
//! that of the earliest send time, and the ones after it follow in the same way: the pacing engine
//! has the plan. A connection that gets an earlier send time breaks it
//! ([`Endpoint::breaks_plan`]).

use incast_cc::{CongestionControl, Time};

use super::{Connection, Endpoint};
use crate::config::Config;
use crate::connection::Opening;
use crate::early::{Early, EarlyNic};
use crate::halves::Sender;
use crate::packet::Header;

impl<C: CongestionControl> Endpoint<C> {
    /// Gives `nic` up to `most` packets of spaced bursts, while no connection is ready: all in the
    /// order of their send times. `times` are now, the time at which the NIC is free, and the end of
    /// starts. Returns the time at which the NIC is free then, and the number of packets; [`None`] if
    /// none may leave.
    #[inline]
    pub(super) fn leave_spaced(
        &mut self,
        (now, mut free, until): (Time, Time, Time),
        most: u32,
        nic: &mut impl EarlyNic,
    ) -> Option<(Time, u32)> {
        if nic.has_data() {
            return None;
        }
        let Self { connections, config, pacing, .. } = self;
        let mut count = 0;
        while count < most {
            let (place, at) = pacing.first_waiting();
            let start = free.max(at);
            // What is due now is released first.
            if at <= now || start >= until {
                break;
            }
            if !pacing.may_plan(at, start) {
                break;
            }
            let connection = &mut connections[place as usize];
            let Some((early, next)) = next_spaced(connection, (now, start), config) else { break };
            pacing.plan_first(at, next);
            free = nic.take_spaced(start, &early, place, at);
            count += 1;
        }
        (count > 0).then_some((free, count))
    }

    /// Gives `nic` the next packet of the connection at `place`, which is ready and served next. It
    /// has a spaced burst. `times` are as for [`leave_spaced`](Self::leave_spaced). Returns the time
    /// at which the NIC is free then; [`None`] if the packet may not leave.
    #[inline]
    pub(super) fn leave_first_spaced(
        &mut self,
        (now, free, until): (Time, Time, Time),
        place: u32,
        nic: &mut impl EarlyNic,
    ) -> Option<Time> {
        let start = free.max(now);
        if start > now && start >= until || nic.has_data() || !self.pacing.may_plan(now, start) {
            return None;
        }
        let Self { connections, config, pacing, .. } = self;
        let connection = &mut connections[place as usize];
        let (early, next) = next_spaced(connection, (now, start), config)?;
        let at = pacing.plan_ready(place, next);
        Some(nic.take_spaced(start, &early, place, at))
    }

    /// Begins to note what changes the order of spaced packets that leave ahead of time from now on.
    #[inline]
    pub fn begin_plan(&mut self) {
        self.pacing.begin_plan();
    }

    /// Whether a connection sends before spaced packets that have left ahead of time.
    #[inline]
    pub fn breaks_plan(&self) -> bool {
        self.pacing.breaks_plan()
    }

    /// Takes a packet of a spaced burst back that has left ahead of time, and whose send time is
    /// `at`; the last one first.
    pub fn put_back_spaced(&mut self, now: Time, place: u32, at: Time, header: &Header) {
        if let Some(Sender::Message(sender)) =
            self.connections[place as usize].sender.as_deref_mut()
        {
            sender.put_back_spaced(at, header);
            self.pacing.take_from_plan(now, place, at);
        }
    }
}

/// The next packet of a connection with a spaced burst, which starts at `start`, and the send time
/// of the one after it; [`None`] if it may not leave ahead of time.
#[inline]
fn next_spaced<C: CongestionControl>(
    connection: &mut Connection<C>,
    (now, start): (Time, Time),
    config: &Config,
) -> Option<(Early, Time)> {
    let Opening { peer, address, ref terms, .. } = connection.opening;
    let class = terms.class;
    let sender = connection.sender.as_deref_mut().filter(|sender| !sender.chooses_class())?;
    let Sender::Message(sender) = sender else { return None };
    let (header, begins, next) = sender.leave_spaced(now, start, peer, config)?;
    Some((Early { header, address, class, connection: connection.index, begins }, next))
}
