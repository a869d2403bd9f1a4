//! Measurements at a host: RTT samples, deliveries, and the time series.

use incast_cc::{Bytes, CongestionControl, Rate, Time};
use incast_plan::application::Outcome;
use incast_transport::rate::RateComputation;
use incast_transport::{Event, Sample, Sender};

use super::{Delivery, Host};
use crate::metrics::Histogram;
use crate::trace::FlowRow;

/// The RTT samples of a connection that sends payload, since measurement started.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of samples.
    pub samples: u64,
    /// The sum of the samples, in nanoseconds.
    pub sum_ns: u64,
    /// The histogram of the samples, in nanoseconds. The samples of short flows are in the host's
    /// histogram instead.
    pub rtt: Option<Box<Histogram>>,
}

/// The tallies of connections that have samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    /// For each connection, its number among the tallies from 1, or 0 if it has no tally.
    pub(super) numbers: Box<[u32]>,
    all: Vec<Tally>,
}

impl Tallies {
    fn get(&self, connection: u32) -> Option<&Tally> {
        self.all.get((self.numbers[connection as usize] as usize).wrapping_sub(1))
    }

    /// The tally of a connection; a new one if it has none yet.
    #[inline]
    fn of(&mut self, connection: u32, new: impl FnOnce() -> Tally) -> &mut Tally {
        let number = &mut self.numbers[connection as usize];
        if *number == 0 {
            self.all.push(new());
            #[expect(clippy::cast_possible_truncation, reason = "no more than connections")]
            let last = self.all.len() as u32;
            *number = last;
        }
        &mut self.all[*number as usize - 1]
    }
}

impl Host {
    /// Starts the measurement: payload that has arrived so far does not count.
    pub(crate) fn start_measurement(&mut self) {
        let connections = 0..u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let delivered = connections.map(|own| (own, self.delivered_bytes(own)));
        self.delivered_before = delivered.filter(|&(_, bytes)| bytes > 0).collect();
    }

    /// The RTT samples of a connection's payload, if there are any.
    pub fn tally(&self, connection: u32) -> Option<&Tally> {
        self.tallies.get(connection)
    }

    /// The tallies of all connections that have any.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies.all
    }

    /// The payload of a connection that has arrived, over the network or over an island.
    pub fn delivered_bytes(&self, connection: u32) -> u64 {
        let over_island = self.berth.as_ref().map_or(0, |berth| berth.delivered(connection));
        self.endpoint.delivered_bytes(connection) + over_island
    }

    /// The payload of a connection that had arrived when measurement started.
    pub fn delivered_before(&self, connection: u32) -> u64 {
        let place = self.delivered_before.binary_search_by_key(&connection, |&(own, _)| own);
        place.map_or(0, |place| self.delivered_before[place].1)
    }

    /// Ends an interval of the time series.
    pub(crate) fn sample(&mut self) {
        for &connection in &self.lasting {
            let delivered = self.delivered_bytes(connection);
            let rate = self.endpoint.sender(connection).map_or(Rate::ZERO, Sender::pacing_rate);
            self.series.push((delivered, rate));
        }
    }

    #[inline]
    pub(super) fn read_events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Sampled { connection, sample } => {
                    self.note_sample(now, connection, &sample);
                }
                Event::Delivered { connection, message } => {
                    let flow = self.flow(connection);
                    let message = u32::try_from(message).unwrap_or(u32::MAX);
                    self.deliveries.push(Delivery { at: now, flow, message });
                    self.tell(now, connection, Outcome::Received);
                }
                Event::Completed { connection, .. } => {
                    self.outstanding -= i64::from(self.is_data(connection));
                    self.tell(now, connection, Outcome::Sent);
                }
            }
        }
    }

    /// Counts an RTT sample of a connection, if that carries payload.
    #[inline]
    pub(super) fn note_sample(&mut self, now: Time, connection: u32, sample: &Sample) {
        let (number, rtt) = (self.flow(connection), sample.measured);
        let flow = &self.flows[number as usize];
        if !flow.is_data(self.number, connection) {
            return;
        }
        if now >= self.start {
            let lasts = flow.is_lasting();
            let new = || Tally { rtt: lasts.then(Box::default), ..Tally::default() };
            let tally = self.tallies.of(connection, new);
            tally.samples += 1;
            tally.sum_ns += rtt.as_ns();
            tally.rtt.as_deref_mut().unwrap_or(&mut self.rtt).add_one(rtt.as_ns());
        } else {
            self.early_samples += 1;
            self.early_sum_ns += rtt.as_ns();
        }
        if self.trace.has_flows() {
            self.trace_sample(now, number, connection, sample);
        }
    }

    #[cold]
    fn trace_sample(&mut self, at: Time, flow: u32, connection: u32, sample: &Sample) {
        let sender = self.endpoint.sender(connection).map(Sender::rate);
        self.trace.flow(|| FlowRow {
            at,
            flow,
            rtt: sample.measured,
            rate: sample.rate,
            window: sender.map(|sender| sender.limits().cwnd).filter(|&window| window < Bytes::MAX),
            in_flight: sender.map(RateComputation::in_flight),
        });
        self.trace.gauges(at, flow, |emit| {
            if let Some(sender) = sender {
                sender.control().gauges(emit);
            }
        });
    }
}
