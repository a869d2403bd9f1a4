//! Trimming: a data packet that finds no room is cut to its header, which travels on in another
//! class. The receiver learns at once which packet is missing, and asks for it again (NDP: Handley
//! and others, "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017, section 3.1; Cheng and others, "Catch the Whole Lot in an Action",
//! NSDI 2014).
//!
//! Packets leave in the order in which they came.
//!
//! Differences from NDP: the packet that comes is always the one to be cut, where NDP draws between
//! it and the last one of the queue. Headers wait in a class of the port, so the scheduler of
//! classes serves them, and their room is that of the class. A header without room is lost.

use incast_schema::suggestion;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fifo::{Fifo, FifoQueue};
use super::{Discipline, Job, Packet, Refusal, Settings};
use crate::Wrong;

/// First in, first out. Without room the payload of the arriving packet is cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trim {
    /// The name of the class in which headers travel on; the highest of the port by default.
    pub class: Option<String>,
    /// The number of that class, once the classes of ports are known.
    #[serde(skip)]
    number: Option<u8>,
}

impl Settings for Trim {
    type Queue<P: Packet> = Box<TrimQueue<P>>;

    const SUMMARY: &'static str = "First in, first out. Without room the payload of the arriving \
                                   packet is cut off (NDP, SIGCOMM 2017).";
    const IN_ORDER: bool = true;
    const TRIMS: bool = true;

    fn settle(&mut self, own: usize, classes: &[&str]) -> Result<(), Wrong> {
        let highest = classes.len().saturating_sub(1);
        let number = match &self.class {
            None => highest,
            Some(name) => classes.iter().position(|class| class == name).ok_or_else(|| {
                ("class", format!("unknown class {name:?}{}", suggestion(name, classes)))
            })?,
        };
        self.number = u8::try_from(number).ok();
        if number == own {
            let message = format!(
                "headers of packets of class {0:?} would stay in that class; name another one, or \
                 give {0:?} the discipline \"fifo\"",
                classes[own]
            );
            return Err(("class", message));
        }
        Ok(())
    }

    fn start<P: Packet>(&self) -> Box<TrimQueue<P>> {
        let class = self.number.unwrap_or(u8::MAX);
        Box::new(TrimQueue { packets: Fifo {}.start(), class })
    }
}

/// A queue in the order of arrival, whose packets are cut where room is short.
#[derive(Debug)]
pub struct TrimQueue<P> {
    packets: FifoQueue<P>,
    /// The class of headers.
    class: u8,
}

impl<P: Packet> Discipline<P> for TrimQueue<P> {
    fn push(&mut self, packet: P, job: impl FnOnce() -> Job) {
        self.packets.push(packet, job);
    }

    fn pop(&mut self) -> Option<P> {
        self.packets.pop()
    }

    fn head(&self) -> Option<&P> {
        self.packets.head()
    }

    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn refused(&self, packet: &P) -> Refusal {
        if packet.is_trimmable() { Refusal::Trim { class: self.class } } else { Refusal::Drop }
    }

    fn as_fifo(&mut self) -> Option<&mut FifoQueue<P>> {
        Some(&mut self.packets)
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &P> + '_> {
        self.packets.iter()
    }

    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut P> + '_> {
        self.packets.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{filled, order};
    use super::*;

    /// A packet that may be cut, or not.
    #[derive(Debug)]
    struct Data(bool);

    impl Packet for Data {
        fn wire(&self) -> u64 {
            1_500
        }

        fn is_trimmable(&self) -> bool {
            self.0
        }
    }

    /// The answer to data without room, in the class `own` of a port that has `classes`.
    fn settled(name: Option<&str>, own: usize, classes: &[&str]) -> Result<Refusal, Wrong> {
        let mut trim = Trim { class: name.map(ToOwned::to_owned), ..Trim::default() };
        trim.settle(own, classes)?;
        Ok(trim.start().refused(&Data(true)))
    }

    #[test]
    fn data_is_cut_and_all_else_is_dropped() {
        let queue = Trim::default().start();
        assert_eq!(queue.refused(&Data(true)), Refusal::Trim { class: u8::MAX });
        assert_eq!(queue.refused(&Data(false)), Refusal::Drop);
    }

    #[test]
    fn packets_leave_as_they_came_and_none_is_given_up() {
        let mut queue = filled(Trim::default().start(), &[(1, 5), (2, 3), (1, 1)]);
        assert_eq!(queue.evict(Job { flow: 3, remaining: 0 }), None);
        assert_eq!(order(queue), [0, 1, 2]);
    }

    #[test]
    fn headers_go_to_the_class_that_is_named_or_to_the_highest() {
        let classes = ["bulk", "headers", "ack"];
        assert_eq!(settled(None, 0, &classes), Ok(Refusal::Trim { class: 2 }));
        assert_eq!(settled(Some("headers"), 0, &classes), Ok(Refusal::Trim { class: 1 }));
    }

    #[test]
    fn a_class_that_is_not_there_or_is_its_own_is_refused() {
        let sentence = |name, own| settled(name, own, &["bulk", "ack"]).unwrap_err().1;
        assert_eq!(sentence(Some("bulks"), 1), "unknown class \"bulks\"; did you mean \"bulk\"?");
        let own = "headers of packets of class \"ack\" would stay in that class; name another one, \
                   or give \"ack\" the discipline \"fifo\"";
        assert_eq!([sentence(None, 1), sentence(Some("ack"), 1)], [own; 2]);
    }
}
