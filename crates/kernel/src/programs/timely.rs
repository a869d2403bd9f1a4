//! TIMELY: a rate, from the gradient of the RTT.

use std::mem::MaybeUninit;

use incast_cc::registry::AnyAlgorithm;
use incast_cc::timely;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};

use self::skeleton::TimelySkelBuilder;
use self::skeleton::types::{timely_constants, timely_knobs};
use super::{Object, Reading};
use crate::param::{KernelParam, Takes};
use crate::shared::{FlowEvent, Record, Shared as _, put_name};
use crate::system::{self, Signature};
use crate::values::Values;
use crate::{Error, Result};

skeleton!(timely);
shared!(timely_knobs);

#[derive(Debug)]
pub(crate) struct Program;

const PARAMS: &[KernelParam] = &[
    KernelParam {
        name: "line_rate",
        default: "10Gbps",
        takes: Takes::Rate,
        doc: "rate of the NIC: the most that a connection sends, and what delta and min_rate \
              scale with",
    },
    KernelParam {
        name: "min_filter",
        default: "500us",
        takes: Takes::SpanOrZero,
        doc: "the least RTT of this time, and of a round, counts as one completion; 0ns: each \
              ACK's does",
    },
    KernelParam {
        name: "min_filter_acks",
        default: "4",
        takes: Takes::Number(1, 1_000),
        doc: "and of at least so many ACKs",
    },
    KernelParam {
        name: "catch_up",
        default: "16",
        takes: Takes::Number(1, 1_000),
        doc: "a completion that comes late adds a step for each min_rtt since the last, at \
              most so many",
    },
    KernelParam {
        name: "window",
        default: "500us",
        takes: Takes::Span,
        doc: "the window is what leaves in this time; half of it is the longest burst",
    },
    KernelParam {
        name: "window_floor",
        default: "6",
        takes: Takes::Number(2, 1_000_000),
        doc: "least window, in segments",
    },
    KernelParam {
        name: "startup",
        default: "on",
        takes: Takes::Switch,
        doc: "a new connection doubles its rate each round until T_low is passed: on or off",
    },
];

impl super::Program for Program {
    fn name(&self) -> &'static str {
        "timely"
    }

    /// The preset for hosts: their clocks and a path of a few hops take tens of microseconds that
    /// NICs do not.
    fn preset(&self) -> Option<&'static str> {
        Some("linux-tcp")
    }

    fn params(&self) -> &'static [KernelParam] {
        PARAMS
    }

    fn knobs(&self, values: &Values) -> Result<Vec<u8>> {
        let AnyAlgorithm::Timely(params) = &values.law else {
            unreachable!("values are those of their program")
        };
        if !params.window_rtt.is_zero() {
            return Err(Error::NotOnLinux {
                setting: "window_rtt",
                because: "is paced",
                expected: "0ns, and `window` for what it may have in flight",
            });
        }
        let knobs = timely_knobs {
            timely: constants(&timely::Constants::new(params, values.rate("line_rate")?)),
            min_filter_ns: values.span("min_filter")?.as_ns(),
            min_filter_acks: values.number("min_filter_acks")?,
            catch_up: values.number("catch_up")?,
            window_ns: values.span("window")?.as_ns(),
            window_floor_segments: values.number("window_floor")?,
            startup: u64::from(values.text("startup") == "on"),
            ..timely_knobs::default()
        };
        Ok(knobs.bytes().to_vec())
    }

    fn register(&self, name: &str, knobs: &[u8], record: &mut Record) -> Result<()> {
        let mut object = MaybeUninit::uninit();
        let mut open = TimelySkelBuilder::default().open(&mut object)?;
        let signature = system::signature()?;
        if signature == Signature::New {
            put_name(&mut open.struct_ops.timely_mut().name, name);
            open.maps.timely_old.set_autocreate(false)?;
            open.progs.timely_cong_control_old.set_autoload(false);
        } else {
            put_name(&mut open.struct_ops.timely_old_mut().name, name);
            open.maps.timely.set_autocreate(false)?;
            open.progs.timely_cong_control.set_autoload(false);
        }
        let mut skel = open.load()?;
        match signature {
            Signature::New => register!(skel, knobs, record, timely, timely_record),
            Signature::Old => register!(skel, knobs, record, timely_old, timely_record),
        }
        Ok(())
    }

    fn objects(&self) -> &'static [Object] {
        objects!["timely-6.10", "timely-before-6.10"]
    }

    /// The gauge is the gradient before it is divided by the minimum RTT, in microseconds.
    fn reading(&self, event: &FlowEvent) -> Reading {
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let gauge = event.gauge as f64 / 256.0 / 1e3;
        let branch = match event.branch {
            1 => "below T_low",
            2 => "above T_high",
            3 => "additive",
            4 => "HAI",
            5 => "gradient",
            _ => "",
        };
        Reading { gauge, counter: None, branch }
    }
}

/// The constants of `incast-cc` as the C core has them.
pub(crate) fn constants(k: &timely::Constants) -> timely_constants {
    timely_constants {
        alpha_q20: k.alpha.bits().into(),
        beta_q20: k.beta_q20,
        delta_bps: k.delta_bps,
        hai_delta_bps: k.hai_delta_bps,
        t_low_ns: k.t_low_ns,
        t_high_ns: k.t_high_ns,
        min_rtt_ns: k.min_rtt_ns,
        max_decrease_q20: k.max_decrease_q20,
        loss_decrease_q20: k.loss_decrease_q20,
        min_bps: k.min_bps,
        line_bps: k.line_bps,
        hai_threshold: k.hai_threshold,
        hai_counts: match k.hai_counts {
            timely::HaiCounts::Raw => 0,
            timely::HaiCounts::Smoothed => 1,
        },
        time_scaling: match k.time_scaling {
            timely::TimeScaling::Never => 0,
            timely::TimeScaling::IncreaseAndTHigh => 1,
            timely::TimeScaling::Always => 2,
        },
        unused: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Algorithm, Settings};

    #[test]
    fn a_window_in_place_of_a_rate_is_refused() {
        let mut settings = Settings::new(Algorithm(&Program));
        settings.set("window_rtt=1ms").unwrap();
        let error = settings.knobs().unwrap_err().to_string();
        assert!(error.contains("window_rtt: Linux TCP is paced; expected 0ns"), "{error}");
    }
}
