//! The three algorithms: parameters as everywhere else in incast, and a few that only a kernel needs.

use std::fmt::Write as _;

use incast_cc::param::{Need, SetError};
use incast_cc::registry::AnyAlgorithm;
use incast_cc::units::{Rate, Span};
use incast_cc::{dctcp, rtcp, timely};

use crate::programs::Shared;
use crate::programs::dctcp::types::{dctcp_constants, dctcp_knobs};
use crate::programs::rtcp::types::{rtcp_constants, rtcp_knobs};
use crate::programs::timely::types::{timely_constants, timely_knobs};
use crate::{Error, Result, fail};

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A rate, from the gradient of the RTT.
    Timely,
    /// Regulated TCP: a window, from a counter and the price of delay.
    Rtcp,
    /// A window, from the fraction of marked packets.
    Dctcp,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Timely, Self::Rtcp, Self::Dctcp];

    /// What incast calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timely => "timely",
            Self::Rtcp => "rtcp",
            Self::Dctcp => "dctcp",
        }
    }

    /// The preset that stands if none is named, none: the law's own defaults.
    pub const fn preset(self) -> Option<&'static str> {
        match self {
            Self::Timely => Some("linux-tcp"),
            Self::Rtcp => Some("testbed-websearch-1to1"),
            Self::Dctcp => None,
        }
    }

    /// The one of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
            Error(format!(
                "{name}: cannot be attached to Linux TCP; there is {}",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }
}

/// A parameter that only the kernel's side has.
#[derive(Clone, Copy, Debug)]
pub struct KernelParam {
    /// Its name.
    pub name: &'static str,
    /// Its value if none is given.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Of TIMELY.
const TIMELY: &[KernelParam] = &[
    KernelParam {
        name: "line_rate",
        default: "10Gbps",
        doc: "rate of the NIC: the most that a connection sends, and what delta and min_rate scale with",
    },
    KernelParam {
        name: "min_filter",
        default: "500us",
        doc: "the least RTT of this time, and of a round, counts as one completion; 0ns: each ACK's does",
    },
    KernelParam { name: "min_filter_acks", default: "4", doc: "and of at least so many ACKs" },
    KernelParam {
        name: "catch_up",
        default: "16",
        doc: "a completion that comes late adds a step for each min_rtt since the last, at most so many",
    },
    KernelParam {
        name: "window",
        default: "500us",
        doc: "the window is what leaves in this time; half of it is the longest burst",
    },
    KernelParam { name: "window_floor", default: "6", doc: "least window, in segments" },
    KernelParam {
        name: "startup",
        default: "on",
        doc: "a new connection doubles its rate each round until T_low is passed: on or off",
    },
];

/// Of Regulated TCP.
const RTCP: &[KernelParam] = &[KernelParam {
    name: "line_rate",
    default: "10Gbps",
    doc: "rate of the NIC, for the largest window (ceiling=line-rate)",
}];

/// An algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    algorithm: Algorithm,
    law: AnyAlgorithm,
    kernel: Vec<(KernelParam, String)>,
    /// What was given, to be given again.
    lines: Vec<String>,
}

impl Settings {
    /// The defaults of an algorithm on Linux TCP.
    ///
    /// TIMELY's are not the law's own: a host's clock and a path of a few hops take tens of microseconds that NICs
    /// do not. Regulated TCP's are those of its authors' testbed.
    ///
    /// # Panics
    /// If the registry lacks the algorithm.
    pub fn new(algorithm: Algorithm) -> Self {
        let mut settings = Self::plain(algorithm);
        if let Some(preset) = algorithm.preset() {
            settings.law.apply_preset(preset).expect("it has the preset");
        }
        settings
    }

    /// The law's own defaults, with those of the kernel's parameters.
    fn plain(algorithm: Algorithm) -> Self {
        let law = AnyAlgorithm::named(algorithm.name()).expect("the registry has all three");
        let own = match algorithm {
            Algorithm::Timely => TIMELY,
            Algorithm::Rtcp => RTCP,
            Algorithm::Dctcp => &[],
        };
        let kernel = own.iter().map(|param| (*param, param.default.to_owned())).collect();
        Self { algorithm, law, kernel, lines: Vec::new() }
    }

    /// Which algorithm.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The same that these lines made before: `preset=NAME` or `key=value`.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn from_lines(algorithm: Algorithm, lines: &str) -> Result<Self> {
        let mut settings = Self::new(algorithm);
        for line in lines.lines() {
            settings.set(line)?;
        }
        Ok(settings)
    }

    /// What has been set, a line each.
    pub fn lines(&self) -> String {
        self.lines.join("\n")
    }

    /// Sets one parameter, `key=value`; or `preset=NAME`, which begins anew with the values of a preset.
    ///
    /// # Errors
    /// There is no such parameter or preset, or the value is none for it.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let Some((name, value)) = assignment.split_once('=') else {
            fail!("--set {assignment}: expected KEY=VALUE");
        };
        if name == "preset" {
            let mut fresh = Self::plain(self.algorithm);
            fresh.law.apply_preset(value).map_err(|_| {
                let known: Vec<_> = self.law.presets().iter().map(|one| one.name).collect();
                Error(format!("preset={value}: no such preset; there is {}", known.join(", ")))
            })?;
            *self = fresh;
        } else if let Some(at) = self.kernel.iter().position(|(param, _)| param.name == name) {
            let before = std::mem::replace(&mut self.kernel[at].1, value.to_owned());
            if let Err(error) = self.check_kernel(name) {
                self.kernel[at].1 = before;
                return Err(error);
            }
        } else {
            let mut changed = self.law;
            changed.set(name, value).map_err(|error| self.refused(name, value, error))?;
            self.law = changed;
        }
        self.lines.retain(|line| line.split_once('=').is_none_or(|(key, _)| key != name));
        self.lines.push(assignment.to_owned());
        Ok(())
    }

    /// Whether the values fit together.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self) -> Result<()> {
        self.law.check().map_err(|conflict| {
            Error(format!("{} {} {}", conflict.name, conflict.rule, conflict.other))
        })
    }

    /// Every parameter with its value and what it does.
    pub fn all(&self) -> Vec<(String, String, String)> {
        let law = self.law.params().iter().map(|param| {
            let mut value = String::new();
            // Writing to a string does not fail, and the name is the parameter's own.
            let _ = self.law.write(param.name, &mut value);
            (param.name.to_owned(), value, param.doc.trim().to_owned())
        });
        let kernel = self
            .kernel
            .iter()
            .map(|(param, value)| (param.name.to_owned(), value.clone(), param.doc.to_owned()));
        law.chain(kernel).collect()
    }

    /// A sentence about what this law cannot do on a network that drops packets.
    pub fn warning(&self) -> Option<String> {
        self.law.needs().contains(&Need::Lossless).then(|| {
            format!(
                "{} does not slow down at losses, since loss_decrease=0 is for networks with PFC; \
                 without, set loss_decrease=0.5",
                self.algorithm.name()
            )
        })
    }

    /// The bytes of the program's knobs.
    ///
    /// # Errors
    /// A value does not fit a program.
    pub fn knobs(&self) -> Result<Vec<u8>> {
        Ok(match &self.law {
            AnyAlgorithm::Timely(params) => self.timely(params)?.bytes().to_vec(),
            AnyAlgorithm::Rtcp(params) => self.rtcp(params)?.bytes().to_vec(),
            AnyAlgorithm::Dctcp(params) => Self::dctcp(*params).bytes().to_vec(),
            _ => unreachable!("made of an Algorithm"),
        })
    }

    fn timely(&self, params: &timely::Timely) -> Result<timely_knobs> {
        if !params.window_rtt.is_zero() {
            fail!(
                "window_rtt: Linux TCP is paced; expected 0ns, and `window` for what it may have in flight"
            );
        }
        Ok(timely_knobs {
            timely: timely_twin(&timely::Constants::new(params, self.rate("line_rate")?)),
            min_filter_ns: self.span("min_filter")?.as_ns(),
            min_filter_acks: self.whole("min_filter_acks")?,
            catch_up: self.whole("catch_up")?,
            window_ns: self.span("window")?.as_ns(),
            window_floor_segments: self.whole("window_floor")?,
            startup: u64::from(self.text("startup") == "on"),
            ..timely_knobs::default()
        })
    }

    fn rtcp(&self, params: &rtcp::Rtcp) -> Result<rtcp_knobs> {
        let constants = rtcp::Constants::new(params);
        if constants.counter != rtcp::CounterClock::Ack {
            fail!("counter=time-clocked: Linux TCP counts packets; expected counter=ack-clocked");
        }
        let line_bps = match constants.ceiling {
            rtcp::Ceiling::LineRate => self.rate("line_rate")?.as_bps(),
            rtcp::Ceiling::Peer => 0,
        };
        Ok(rtcp_knobs {
            rtcp: rtcp_twin(&constants),
            w_urgent: constants.w_urgent,
            w_high_volume: constants.w_high_volume,
            urgent_below: constants.urgent_below,
            line_bps,
            sender_backlog: (constants.sender_backlog == rtcp::SenderBacklog::Counted).into(),
            total_rtt: (constants.delay == rtcp::DelaySignal::TotalRtt).into(),
            per_rtt: (constants.step == rtcp::Step::Rtt).into(),
            ..rtcp_knobs::default()
        })
    }

    fn dctcp(params: dctcp::Dctcp) -> dctcp_knobs {
        dctcp_knobs { dctcp: dctcp_twin(&dctcp::Constants::new(&params)), ..dctcp_knobs::default() }
    }

    fn refused(&self, name: &str, value: &str, error: SetError) -> Error {
        if error != SetError::Unknown {
            return Error(format!("{name}={value}: {error}"));
        }
        let mut known = String::new();
        for (name, _, _) in self.all() {
            let _ = write!(known, "{}{name}", if known.is_empty() { "" } else { ", " });
        }
        Error(format!("{name}: no such parameter of {}; there is {known}", self.algorithm.name()))
    }

    fn text(&self, name: &str) -> &str {
        self.kernel.iter().find(|(param, _)| param.name == name).map_or("", |(_, value)| value)
    }

    fn check_kernel(&self, name: &str) -> Result<()> {
        match name {
            "line_rate" => self.rate(name).map(|_| ()),
            "window" | "min_filter" => self.span(name).map(|_| ()),
            "window_floor" | "min_filter_acks" | "catch_up" => self.whole(name).map(|_| ()),
            _ if matches!(self.text(name), "on" | "off") => Ok(()),
            _ => fail!("{name}={}: expected on or off", self.text(name)),
        }
    }

    fn rate(&self, name: &str) -> Result<Rate> {
        let rate: Rate = self.parsed(name)?;
        let (least, most) = (Rate::from_mbps(1), Rate::from_gbps(400));
        if !(least..=most).contains(&rate) {
            fail!("{name}={}: is out of range; expected 1Mbps to 400Gbps", self.text(name));
        }
        Ok(rate)
    }

    fn span(&self, name: &str) -> Result<Span> {
        let span: Span = self.parsed(name)?;
        let none = name == "min_filter" && span.as_ns() == 0;
        if !none && !(Span::from_us(1)..=Span::from_secs(1)).contains(&span) {
            fail!("{name}={}: is out of range; expected 1us to 1s", self.text(name));
        }
        Ok(span)
    }

    fn whole(&self, name: &str) -> Result<u64> {
        let (least, most) = if name == "window_floor" { (2, 1_000_000) } else { (1, 1000) };
        match self.text(name).parse() {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            _ => fail!("{name}={}: expected a number from {least} to {most}", self.text(name)),
        }
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<T> {
        let text = self.text(name);
        text.parse().map_err(|error| Error(format!("{name}={text}: {error}")))
    }
}

/// The constants of `incast-cc` as the C core has them.
pub(crate) fn timely_twin(k: &timely::Constants) -> timely_constants {
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

/// The same of Regulated TCP.
pub(crate) fn rtcp_twin(k: &rtcp::Constants) -> rtcp_constants {
    rtcp_constants {
        alpha: k.alpha,
        delta: k.delta,
        delay_unit_ns: k.delay_unit_ns,
        queue_unit: k.queue_unit,
        g_q20: k.g_q20,
        max_rate_q20: k.max_rate_q20,
        floor_segments: k.floor_segments,
        smooth: (k.smooth == rtcp::Smooth::Backlog).into(),
    }
}

/// The same of DCTCP.
pub(crate) fn dctcp_twin(k: &dctcp::Constants) -> dctcp_constants {
    dctcp_constants { g_q20: k.g_q20, initial_alpha_q20: k.initial_alpha_q20 }
}
