//! TIMELY: a rate, from the gradient of the RTT.

use std::mem::MaybeUninit;

use incast_cc::registry::AnyAlgorithm;
use incast_cc::timely;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};

use self::skeleton::TimelySkelBuilder;
use self::skeleton::types::{timely_constants, timely_knobs};
use super::{Object, Reading};
use crate::param::KernelParam;
use crate::shared::{FlowEvent, Record, Shared as _, put_name};
use crate::system::{self, Signature};
use crate::values::Values;
use crate::{Error, Result};

skeleton!(timely);
shared!(timely_knobs);

#[derive(Debug)]
pub(crate) struct Program;

const PARAMS: &[KernelParam] = &[KernelParam {
    name: "line_rate",
    default: "10Gbps",
    doc: "rate of the NIC: the most that a connection sends, and what delta and min_rate scale with",
}];

/// The least rate of a connection, whatever the knobs say (`bpf/intf.h`).
const LEAST_BPS: u64 = 1_000_000;

/// The parameters of hosts that time ACKs. Presets are sets of the law's constants, for NICs that
/// time segments.
const OF_HOSTS: &[&str] = &[
    "initial_rate",
    "serialization",
    "min_filter",
    "min_filter_acks",
    "catch_up",
    "app_limited",
    "startup",
    "window",
    "window_floor",
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

    fn host_params(&self) -> &'static [&'static str] {
        OF_HOSTS
    }

    fn knobs(&self, values: &Values) -> Result<Vec<u8>> {
        let AnyAlgorithm::Timely(params) = &values.law else {
            unreachable!("values are those of their program")
        };
        for (setting, refused, because, expected) in [
            (
                "window_rtt",
                !params.window_rtt.is_zero(),
                "is paced",
                "0ns, and `window` for what it may have in flight",
            ),
            (
                "learning",
                params.learning.is_on(),
                "has no measured segments to learn a path from",
                "off, and any preset but `auto`",
            ),
            ("window=0ns", params.window.is_zero(), "has a window", "the time of its data"),
        ] {
            if refused {
                return Err(Error::NotOnLinux { setting, because, expected });
            }
        }
        let mut law = constants(&timely::Constants::new(params, values.rate("line_rate")?));
        law.min_bps = law.min_bps.max(LEAST_BPS);
        let knobs = timely_knobs { timely: law, ..timely_knobs::default() };
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
        min_filter_acks: k.min_filter_acks,
        min_filter_ns: k.min_filter_ns,
        catch_up: k.catch_up,
        window_ns: k.window_ns,
        window_floor_segments: k.window_floor_segments,
        startup: k.startup.into(),
        app_limited: match k.app_limited {
            timely::AppLimited::Counts => 0,
            timely::AppLimited::Lowers => 1,
        },
        serialization: match k.serialization {
            timely::Serialization::Segment => 0,
            timely::Serialization::Acked => 1,
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

    #[test]
    fn a_path_that_is_learned_is_refused() {
        let mut settings = Settings::new(Algorithm(&Program));
        settings.set("preset=auto").unwrap();
        let error = settings.knobs().unwrap_err().to_string();
        let expected = "learning: Linux TCP has no measured segments to learn a path from; \
                        expected off, and any preset but `auto`";
        assert!(error.contains(expected), "{error}");
    }
}
