//! Headers by which switches tell senders explicitly how fast they may send.
//!
//! The sender writes a header into a data packet ([`CongestionControl::request`]). Each port on the
//! way reads and changes it. The receiver returns it with the ACK
//! ([`Ack::feedback`]).
//!
//! [`CongestionControl::request`]: crate::CongestionControl::request
//! [`Ack::feedback`]: crate::Ack::feedback

use crate::units::{Rate, Span, Time};

/// A header that a data packet takes through the ports on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "few exist, and all of a run are of one kind")]
pub enum Feedback {
    /// A request for a rate, and what each port has granted (D3).
    Request(Request),
    /// The fair rate of the port that has the least (RCP).
    FairRate(FairRate),
    /// The load of the busiest port (VCP).
    Load(Load),
}

/// A data packet that leaves, for which an algorithm may write a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leaving {
    /// The instant at which the packet leaves the NIC.
    pub now: Time,
    /// Whether the receiver answers this very packet, so that the header comes back.
    pub is_answered: bool,
    /// Whether the sender has nothing more to send after it.
    pub is_last: bool,
}

impl Leaving {
    /// A packet that leaves `now`, is answered, and is not the last one.
    pub const fn new(now: Time) -> Self {
        Self { now, is_answered: true, is_last: false }
    }
}

/// The number of ports of a path whose grants a request carries. Further ports grant nothing.
pub const MAX_PORTS: usize = 8;

/// The rates that ports have granted, each with the number of the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    ports: [u32; MAX_PORTS],
    rates: [Rate; MAX_PORTS],
    count: u8,
}

impl Grants {
    /// No grant of any port.
    pub const NONE: Self = Self { ports: [0; MAX_PORTS], rates: [Rate::ZERO; MAX_PORTS], count: 0 };

    /// Adds the grant of a port; returns whether there was room.
    pub fn push(&mut self, port: u32, rate: Rate) -> bool {
        let place = usize::from(self.count);
        if place == MAX_PORTS {
            return false;
        }
        (self.ports[place], self.rates[place]) = (port, rate);
        self.count += 1;
        true
    }

    /// Whether no port has granted anything.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The grants, first port first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Rate)> + '_ {
        self.ports.iter().copied().zip(self.rates.iter().copied()).take(usize::from(self.count))
    }

    /// The grant of a port.
    pub fn of(&self, port: u32) -> Option<Rate> {
        self.iter().find(|grant| grant.0 == port).map(|grant| grant.1)
    }

    /// The least rate granted.
    pub fn least(&self) -> Option<Rate> {
        self.iter().map(|grant| grant.1).min()
    }
}

/// A request of D3. Rates count payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The rate that meets the deadline; zero without one.
    pub desired: Rate,
    /// The desired rate of the request before.
    pub previous: Rate,
    /// The grants of the request before, which this one gives back.
    pub held: Grants,
    /// The grants of this request, which ports add.
    pub granted: Grants,
    /// The sender's round trip time, zero before it is known.
    pub rtt: Span,
    /// The longest time until the flow asks again, if it goes on. A flow that is later begins anew.
    pub again: Span,
    /// The rate at which the flow sends where it is granted less.
    pub base: Rate,
    /// Whether the flow was no flow of the ports before.
    pub begins: bool,
    /// Whether the flow gives back what it holds, and asks for nothing.
    pub ends: bool,
}

/// The header of RCP. The rate counts payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairRate {
    /// The least fair rate of the ports so far.
    pub rate: Rate,
    /// The sender's round trip time, zero before it is known.
    pub rtt: Span,
}

impl FairRate {
    /// The header of a sender whose round trip time is `rtt`.
    pub const fn new(rtt: Span) -> Self {
        Self { rate: Rate::MAX, rtt }
    }
}

/// The two-bit load code of VCP. Ports only raise it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// No port has written a code.
    #[default]
    Unknown,
    /// The load is low: below 80 % in the paper.
    Low,
    /// The load is high.
    High,
    /// The load is above the target.
    Overload,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_found_by_port_and_the_least_counts() {
        let mut grants = Grants::NONE;
        assert_eq!((grants.least(), grants.is_empty()), (None, true));
        for (port, mbps) in [(4, 300), (9, 100), (2, 200)] {
            assert!(grants.push(port, Rate::from_mbps(mbps)));
        }
        assert_eq!(grants.least(), Some(Rate::from_mbps(100)));
        assert_eq!((grants.of(2), grants.of(3)), (Some(Rate::from_mbps(200)), None));
        for port in 10..15 {
            assert!(grants.push(port, Rate::ZERO));
        }
        assert!(!grants.push(15, Rate::ZERO), "there is room for eight");
        assert_eq!(grants.iter().count(), MAX_PORTS);
    }

    #[test]
    fn codes_are_ordered() {
        assert!(Load::Unknown < Load::Low && Load::Low < Load::High && Load::High < Load::Overload);
    }
}
