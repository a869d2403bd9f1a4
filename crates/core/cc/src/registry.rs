//! The algorithms by name.
//!
//! Adding one costs a line in `algorithms.rs`. The modules, the enums that the hot path dispatches
//! on, the lists of the command line, and the tests that run over every algorithm follow from it.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

use crate::caution::{Caution, PathFacts};
use crate::contract::{
    Ack, Algorithm, CongestionControl, Demand, Flow, Limits, Loss, LossDetection, Notification,
    PathMetrics, Place, Reads, Sent, Spurious,
};
use crate::feedback::{Feedback, Leaving};
#[cfg(feature = "alloc")]
use crate::guest::{Guest, GuestControl};
use crate::param::{Configurable, Conflict, Info, Need, Param, Preset, SetError};
use crate::units::{Bytes, Span, Time};

macro_rules! registry {
    ($($module:ident::$type:ident,)+) => {
        $(use crate::$module::$type;)+

        /// Any of the algorithms, with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum AnyAlgorithm {
            $($type($type),)+
            #[cfg(feature = "alloc")]
            Guest(Guest),
        }

        /// A flow under any of the algorithms, dispatched without a pointer.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum AnyControl {
            $($type(<$type as Algorithm>::Control),)+
            #[cfg(feature = "alloc")]
            Guest(Box<dyn GuestControl>),
        }

        /// The names of all algorithms, by family.
        pub const NAMES: &[&str] = &[$(<$type as Algorithm>::NAME),+];

        impl AnyAlgorithm {
            /// The algorithm called `name`, with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == <$type as Algorithm>::NAME {
                    return Some(Self::$type(<$type>::default()));
                })+
                None
            }

            /// The description of the algorithm.
            pub fn info(&self) -> &'static Info {
                match self {
                    $(Self::$type(_) => &<$type as Configurable>::INFO,)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.info(),
                }
            }

            /// The needs of the network that remain with these values; see [`Configurable::needs`].
            pub fn needs(&self) -> &'static [Need] {
                match self {
                    $(Self::$type(algorithm) => algorithm.needs(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.needs(),
                }
            }

            /// Whether the size of its bursts changes; see [`Configurable::burst_varies`].
            pub fn burst_varies(&self) -> bool {
                match self {
                    $(Self::$type(algorithm) => algorithm.burst_varies(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.burst_varies(),
                }
            }

            /// The parameters of the algorithm.
            pub fn params(&self) -> &'static [Param] {
                match self {
                    $(Self::$type(_) => <$type as Configurable>::PARAMS,)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.params(),
                }
            }

            /// The published sets of values.
            pub fn presets(&self) -> &'static [Preset] {
                match self {
                    $(Self::$type(_) => <$type as Configurable>::PRESETS,)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(_) => &[],
                }
            }

            /// Sets a parameter by name; see [`Configurable::set`].
            ///
            /// # Errors
            /// As there.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
                match self {
                    $(Self::$type(algorithm) => algorithm.set(name, text),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.set(name, text),
                }
            }

            /// Writes a parameter's value; see [`Configurable::write`].
            ///
            /// # Errors
            /// As there.
            pub fn write(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
                match self {
                    $(Self::$type(algorithm) => algorithm.write(name, out),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.write(name, out),
                }
            }

            /// Whether the values fit together; see [`Configurable::check`].
            ///
            /// # Errors
            /// As there.
            pub fn check(&self) -> Result<(), Conflict> {
                match self {
                    $(Self::$type(algorithm) => algorithm.check(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.check(),
                }
            }

            /// Calls `emit` with each reason why a flow cannot have its share of a path; see
            /// [`Configurable::cautions`].
            pub fn cautions(&self, path: &PathFacts, emit: &mut dyn FnMut(Caution)) {
                match self {
                    $(Self::$type(algorithm) => algorithm.cautions(path, emit),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(_) => {},
                }
            }

            /// A new flow.
            pub fn start(&self, flow: &Flow) -> AnyControl {
                match self {
                    $(Self::$type(algorithm) => AnyControl::$type(algorithm.start(flow)),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => AnyControl::Guest(guest.start(flow)),
                }
            }
        }

        impl CongestionControl for AnyControl {
            fn on_ack(&mut self, ack: &Ack<'_>) {
                match self {
                    $(Self::$type(control) => control.on_ack(ack),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_ack(ack),
                }
            }
            fn on_loss(&mut self, loss: &Loss) {
                match self {
                    $(Self::$type(control) => control.on_loss(loss),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_loss(loss),
                }
            }
            fn limits(&self) -> Limits {
                match self {
                    $(Self::$type(control) => control.limits(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.limits(),
                }
            }
            fn on_sent(&mut self, sent: &Sent) {
                match self {
                    $(Self::$type(control) => control.on_sent(sent),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_sent(sent),
                }
            }
            fn on_demand(&mut self, demand: &Demand) {
                match self {
                    $(Self::$type(control) => control.on_demand(demand),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_demand(demand),
                }
            }
            fn on_restart(&mut self, now: Time, idle: Span) {
                match self {
                    $(Self::$type(control) => control.on_restart(now, idle),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_restart(now, idle),
                }
            }
            fn on_spurious_loss(&mut self, spurious: &Spurious) {
                match self {
                    $(Self::$type(control) => control.on_spurious_loss(spurious),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_spurious_loss(spurious),
                }
            }
            fn on_notification(&mut self, notification: &Notification) {
                match self {
                    $(Self::$type(control) => control.on_notification(notification),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_notification(notification),
                }
            }
            fn on_timer(&mut self, now: Time) {
                match self {
                    $(Self::$type(control) => control.on_timer(now),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_timer(now),
                }
            }
            #[inline]
            fn next_timer(&self) -> Option<Time> {
                match self {
                    $(Self::$type(control) => control.next_timer(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.next_timer(),
                }
            }
            fn request(&mut self, leaving: &Leaving) -> Option<Feedback> {
                match self {
                    $(Self::$type(control) => control.request(leaving),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.request(leaving),
                }
            }
            fn reads(&self) -> Reads {
                match self {
                    $(Self::$type(control) => control.reads(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.reads(),
                }
            }
            fn level(&self, place: &Place) -> u8 {
                match self {
                    $(Self::$type(control) => control.level(place),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.level(place),
                }
            }
            fn loss_detection(&self) -> LossDetection {
                match self {
                    $(Self::$type(control) => control.loss_detection(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.loss_detection(),
                }
            }
            fn metrics(&self) -> Option<PathMetrics> {
                match self {
                    $(Self::$type(control) => control.metrics(),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.metrics(),
                }
            }
            fn on_mss_change(&mut self, mss: Bytes) {
                match self {
                    $(Self::$type(control) => control.on_mss_change(mss),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.on_mss_change(mss),
                }
            }
            fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
                match self {
                    $(Self::$type(control) => control.gauges(emit),)+
                    #[cfg(feature = "alloc")]
                    Self::Guest(guest) => guest.gauges(emit),
                }
            }
        }
    };
}

algorithms!(registry);

impl AnyAlgorithm {
    /// The name by which it is found.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// Sets all values of the preset called `name`, over the defaults.
    ///
    /// # Errors
    /// [`SetError::Unknown`] when there is no such preset.
    pub fn apply_preset(&mut self, name: &str) -> Result<(), SetError> {
        let preset =
            self.presets().iter().find(|preset| preset.name == name).ok_or(SetError::Unknown)?;
        for &(param, value) in preset.values {
            self.set(param, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    #[test]
    fn every_name_is_found_and_unique() {
        for (i, name) in NAMES.iter().enumerate() {
            assert_eq!(AnyAlgorithm::named(name).map(|a| a.name()), Some(*name));
            assert!(!NAMES[i + 1..].contains(name), "{name} is there twice");
        }
        assert!(AnyAlgorithm::named("timley").is_none());
    }

    #[test]
    fn every_parameter_is_documented_and_reads_back_what_it_writes() {
        for name in NAMES {
            let mut algorithm = AnyAlgorithm::named(name).unwrap();
            let before = algorithm;
            for param in algorithm.params() {
                assert!(!param.doc.trim().is_empty() && !param.source.is_empty(), "{}", param.name);
                let mut text = String::new();
                algorithm.write(param.name, &mut text).unwrap();
                assert_eq!(
                    algorithm.set(param.name, &text),
                    Ok(()),
                    "{name}.{} = {text}",
                    param.name
                );
            }
            assert_eq!(algorithm, before, "{name} changed by writing its own values back");
        }
    }

    #[test]
    fn every_preset_is_accepted_and_consistent() {
        for name in NAMES {
            let defaults = AnyAlgorithm::named(name).unwrap();
            assert!(!defaults.presets().is_empty(), "{name} names no source of its values");
            for preset in defaults.presets() {
                let mut algorithm = defaults;
                assert_eq!(algorithm.apply_preset(preset.name), Ok(()), "{name}:{}", preset.name);
                assert_eq!(algorithm.check(), Ok(()), "{name}:{}", preset.name);
            }
        }
    }
}
