//! In-band network telemetry: each port stamps its state into the packets that leave it (Li et al.,
//! "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 3). The sender's algorithm does
//! the rest. The stamps take no space in the packet.

use incast_cc::{Bytes, Hop, Rate};
use incast_transport::Stamps;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Departure, Law, Settings};

/// In-band network telemetry: queue, byte counter, time and rate of each port, for HPCC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Int {}

impl Settings for Int {
    type Law = IntLaw;

    const SUMMARY: &'static str =
        "In-band network telemetry: queue, byte counter, time and rate of each port, for HPCC.";
    const LISTENS: bool = false;

    fn start(&self, _rate: Rate) -> IntLaw {
        IntLaw
    }
}

/// The stamps of one port, which remembers nothing.
#[derive(Clone, Copy, Debug)]
pub struct IntLaw;

impl Law for IntLaw {
    fn on_departure(&mut self, departure: &Departure, stamps: &mut Stamps) {
        let mut hop = Hop::default();
        (hop.port, hop.at, hop.rate) = (departure.port, departure.now, departure.rate);
        (hop.queue, hop.sent) = (Bytes::new(departure.queued), Bytes::new(departure.sent));
        stamps.push(hop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::tests::departure;

    #[test]
    fn each_port_adds_its_state() {
        let mut stamps = Stamps::NONE;
        let mut law = Int {}.start(Rate::from_gbps(10));
        law.on_departure(&Departure { queued: 3_000, ..departure(1) }, &mut stamps);
        law.on_departure(&Departure { port: 8, ..departure(2) }, &mut stamps);
        let found: Vec<_> = stamps.hops().iter().map(|hop| (hop.port, hop.queue.get())).collect();
        assert_eq!(found, [(7, 3_000), (8, 0)]);
    }
}
