//! The sending and the receiving half of a connection, of any transport.

use incast_cc::param::Transport;
use incast_cc::{CongestionControl, Feedback, Flow, Leaving, Rate, Time};

use crate::backlog::Posted;
use crate::config::Config;
use crate::connection::{Delivered, Path, Sample};
use crate::directory::Remains;
use crate::engines::Engines;
use crate::half::{Facts, Receiving, Sending};
use crate::packet::{Body, Header, Next};
use crate::rate::{RateComputation, Report};
use crate::rtt::RttMeasurement;
use crate::transports::transports;
use crate::{message, stream};

macro_rules! halves {
    ($d:tt $($name:ident: $module:ident,)+) => {
        /// The sending half of a connection.
        #[derive(Clone, Debug)]
        #[expect(clippy::large_enum_variant, reason = "one per connection, all of one kind as a rule")]
        pub enum Sender<C> {
            $(
                #[doc = concat!("[`", stringify!($module), "`](crate::", stringify!($module), ")")]
                $name($module::Sender<C>),
            )+
        }

        /// The receiving half of a connection.
        #[derive(Clone, Debug)]
        pub enum Receiver {
            $(
                #[doc = concat!("[`", stringify!($module), "`](crate::", stringify!($module), ")")]
                $name($module::Receiver),
            )+
        }

        /// Facts about a transport.
        pub const fn facts(transport: Transport) -> &'static Facts {
            match transport {
                $(Transport::$name => &$module::FACTS,)+
            }
        }

        /// Asks a half, whichever transport it is of.
        macro_rules! either {
            ($d on:expr, $d half:ident => $d what:expr) => {
                match $d on {
                    $(Self::$name($d half) => $d what,)+
                }
            };
        }

        impl<C: CongestionControl> Sender<C> {
            /// The facts that the algorithm of a new flow is told.
            pub(crate) fn flow(
                transport: Transport,
                line_rate: Rate,
                config: &Config,
                path: &Path,
            ) -> Flow {
                match transport {
                    $(Transport::$name => {
                        type Half<C> = $module::Sender<C>;
                        let mut flow = Flow::new(Half::<C>::segment(config), line_rate);
                        Half::<C>::prepare(&mut flow, config, path);
                        flow
                    })+
                }
            }

            /// A sender that has nothing to send yet.
            pub(crate) fn new(
                transport: Transport,
                rate: RateComputation<C>,
                rtt: RttMeasurement,
                config: &Config,
                path: &Path,
                now: Time,
            ) -> Self {
                match transport {
                    $(Transport::$name => {
                        Self::$name(Sending::new(rate, rtt, config, path, now))
                    })+
                }
            }

            /// Takes in an answer of the peer, made at `made_ns`. Returns an RTT sample, and the
            /// number of messages that are now acknowledged: none for a packet of another transport.
            pub(crate) fn on_answer(
                &mut self,
                now: Time,
                (answer, made_ns): (&Body, u32),
                config: &Config,
                report: Report<'_>,
                nic_backlog: u64,
            ) -> (Option<Sample>, u32) {
                match (self, answer) {
                    $((Self::$name(sender), Body::$name(answer)) => {
                        sender.on_answer(now, (answer, made_ns), config, report, nic_backlog)
                    })+
                    (sender, Body::Notification) => {
                        sender.on_notification(now, config);
                        (None, 0)
                    }
                    (sender, &Body::Credit(bytes)) => {
                        sender.on_credit(now, bytes, config);
                        (None, 0)
                    }
                    _ => (None, 0),
                }
            }

            /// Whether the clock of timeouts starts with the first packet of a burst.
            #[inline]
            pub(crate) const fn clock_starts_first(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$module::Sender<C> as Sending<C>>::CLOCK_STARTS_FIRST,)+
                }
            }
        }

        impl Receiver {
            /// A receiver. Where the transport delays ACKs, one waits for `delayed_ack` packets.
            pub(crate) fn new(transport: Transport, delayed_ack: u32) -> Self {
                match transport {
                    $(Transport::$name => Self::$name(Receiving::new(delayed_ack)),)+
                }
            }

            /// The receiver that has left these remains.
            pub(crate) fn revived(
                transport: Transport,
                delayed_ack: u32,
                remains: &Remains,
            ) -> Self {
                match transport {
                    $(Transport::$name => Self::$name(Receiving::revived(delayed_ack, remains)),)+
                }
            }

            /// Takes in data, which was `marked` or not. Returns whether it is of this transport.
            #[inline]
            pub(crate) fn take(
                &mut self,
                now: Time,
                (body, marked): (&Body, bool),
                config: &Config,
                answers: &mut Vec<Body>,
                messages: &mut Vec<Delivered>,
            ) -> bool {
                match (self, body) {
                    $((Self::$name(receiver), Body::$name(body)) => {
                        receiver.take(
                            now,
                            (body, marked),
                            config,
                            |answer| answers.push(Body::$name(answer)),
                            |message| messages.push(message),
                        );
                        true
                    })+
                    _ => false,
                }
            }

            /// Whether an answer may wait for more data or for a timer.
            #[inline]
            pub(crate) const fn delays(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$module::Receiver as Receiving>::DELAYS,)+
                }
            }

            /// The answer that is due.
            pub(crate) fn on_timer(&mut self, now: Time, config: &Config) -> Option<Body> {
                match self {
                    $(Self::$name(receiver) => receiver.on_timer(now, config).map(Body::$name),)+
                }
            }
        }
    };
}
transports!(halves $);

impl<C: CongestionControl> Sender<C> {
    fn engines(&self) -> &Engines<C> {
        either!(self, sender => sender.engines())
    }

    /// The rate computation engine.
    pub fn rate(&self) -> &RateComputation<C> {
        &self.engines().rate
    }

    /// The RTT measurement engine.
    pub fn rtt(&self) -> &RttMeasurement {
        &self.engines().rtt
    }

    /// The rate at which data leaves: the algorithm's, or its window over the RTT.
    pub fn pacing_rate(&self) -> Rate {
        self.engines().pacing_rate()
    }

    /// The number of packets sent again.
    pub fn retransmissions(&self) -> u64 {
        u64::from(self.engines().retransmissions)
    }

    /// The time since which the next packet waits in the NIC, `now` at the latest.
    #[cold]
    pub(crate) fn waits_since(&self, now: Time) -> Time {
        either!(self, sender => sender.waits_since()).unwrap_or(now)
    }

    /// The payload that is not acknowledged, as the next packet would tell it.
    #[cold]
    pub(crate) fn remaining(&self) -> u32 {
        either!(self, sender => sender.remaining())
    }

    /// A sequence number near those that answers acknowledge.
    #[inline]
    pub(crate) fn acknowledged(&self) -> u64 {
        either!(self, sender => sender.acknowledged())
    }

    /// Whether the next packet may be given to the NIC with a start that is still to come.
    #[inline]
    pub(crate) fn may_leave_ahead(&self, config: &Config) -> bool {
        either!(self, sender => sender.may_leave_ahead(config))
    }

    /// Takes back a packet that has left ahead of time; the last one first.
    pub(crate) fn put_back(&mut self, now: Time, header: &Header) {
        either!(self, sender => sender.put_back(now, header));
    }

    /// Whether everything posted has been acknowledged.
    pub fn is_idle(&self) -> bool {
        either!(self, sender => sender.is_idle())
    }

    /// Whether everything posted has been cut into segments.
    pub(crate) fn is_drained(&self) -> bool {
        self.engines().messages.is_empty()
    }

    /// Whether everything posted has been acknowledged and nothing waits in the NIC.
    pub(crate) fn is_done(&self) -> bool {
        self.is_idle() && self.queued() == 0
    }

    pub(crate) fn post(&mut self, now: Time, posted: &Posted, config: &Config) {
        either!(self, sender => sender.post(now, posted, config));
    }

    /// Takes the unsent payload of a message back, which was posted before the last `after` ones.
    /// Returns its length; [`None`] if all has left, or where a transport takes nothing back.
    pub(crate) fn withdraw(&mut self, after: usize) -> Option<u64> {
        either!(self, sender => sender.withdraw(after))
    }

    /// The start of the oldest payload that is not acknowledged, in all payload posted; [`None`]
    /// where sequence numbers say it.
    pub fn oldest_payload(&self) -> Option<u64> {
        either!(self, sender => Sending::oldest_payload(sender))
    }

    /// The start of a packet's payload in all payload posted; [`None`] where sequence numbers say
    /// it, and once it is acknowledged.
    pub(crate) fn payload_at(&self, sequence: u64, config: &Config) -> Option<u64> {
        either!(self, sender => sender.payload_at(sequence, config))
    }

    /// Notes the stamp of a packet's departure.
    pub(crate) fn on_sent_at(&mut self, sequence: u64, attempt: u8, stamp: Time) {
        either!(self, sender => sender.on_sent_at(sequence, attempt, stamp));
    }

    /// The class of the next packet that waits in the NIC, where the algorithm chooses it; `class`
    /// is that of the traffic.
    #[inline]
    pub(crate) fn class_below(&self, class: u8, config: &Config) -> Option<u8> {
        if !self.chooses_class() {
            return None;
        }
        self.chosen_class(class, config)
    }

    /// Whether the algorithm chooses the class of each packet.
    #[inline]
    pub(crate) fn chooses_class(&self) -> bool {
        self.engines().chooses_class()
    }

    #[cold]
    fn chosen_class(&self, class: u8, config: &Config) -> Option<u8> {
        let level = either!(self, sender => sender.level(config));
        level.map(|level| class.saturating_sub(level))
    }

    pub(crate) fn send_time(&self, config: &Config) -> Option<Time> {
        either!(self, sender => sender.send_time(config))
    }

    /// Starts the next burst, whose send time was `from`, as the pacer counts.
    pub(crate) fn start_burst(&mut self, now: Time, from: Time, config: &Config) {
        either!(self, sender => sender.start_burst(now, from, config));
    }

    #[inline]
    pub(crate) fn next_packet(&mut self, now: Time, peer: u32, config: &Config) -> Option<Next> {
        either!(self, sender => sender.next_packet(now, peer, config))
    }

    /// The time at which the endpoint should look at the sender. It may be [`None`] if that is not
    /// before `armed`.
    #[inline]
    pub(crate) fn alarm_before(&self, armed: Time, config: &Config) -> Option<Time> {
        either!(self, sender => sender.alarm_before(armed, config))
    }

    pub(crate) fn on_alarm(&mut self, now: Time, config: &Config) {
        either!(self, sender => sender.on_alarm(now, config));
    }

    fn on_notification(&mut self, now: Time, config: &Config) {
        either!(self, sender => sender.on_notification(now, config));
    }

    fn on_credit(&mut self, now: Time, bytes: u32, config: &Config) {
        either!(self, sender => sender.on_credit(now, bytes, config));
    }

    /// The header that the algorithm writes into a packet that leaves.
    pub(crate) fn request(&mut self, leaving: &Leaving) -> Option<Feedback> {
        either!(self, sender => sender.engines_mut().rate.request(leaving))
    }

    /// Payload that waits in the NIC.
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        either!(self, sender => sender.queued())
    }
}

impl Receiver {
    /// The remains of the receiver, unless it has something left to say of its own accord.
    pub(crate) fn remains(&self) -> Option<Remains> {
        either!(self, receiver => receiver.remains())
    }

    /// The sequence number that comes next, if nothing is lost.
    #[inline]
    pub(crate) fn expects(&self) -> u64 {
        either!(self, receiver => receiver.expects())
    }

    /// Payload that has arrived, each byte counted once.
    pub fn delivered_bytes(&self) -> u64 {
        either!(self, receiver => receiver.delivered_bytes())
    }

    /// The number of packets that arrived more than once.
    pub fn duplicates(&self) -> u64 {
        either!(self, receiver => receiver.duplicates())
    }

    pub(crate) fn alarm(&self) -> Option<Time> {
        either!(self, receiver => receiver.alarm())
    }
}
