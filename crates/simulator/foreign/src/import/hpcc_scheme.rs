//! The scheme for a `CC_MODE`, and its parameters.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{AnyAlgorithm, Bytes, Rate, Span};

use super::ForeignError;
use super::write::Setting;
use crate::hpcc_config::{Config, ENDS, Set};
use crate::text::refused;

/// A scheme of this project that corresponds to a `CC_MODE`.
#[derive(Debug)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) source: String,
    pub(super) parameters: Vec<Setting>,
    /// Whether switches stamp packets.
    pub(super) telemetry: bool,
    /// The bytes of the stamps in each packet: INT of five hops, or a time stamp.
    pub(super) stamp: u64,
    pub(super) cnp_interval: Option<Setting>,
    pub(super) notes: Vec<String>,
}

/// The keys that are converted.
#[derive(Debug, Default)]
pub(super) struct Used(BTreeSet<&'static str>);

impl Used {
    pub(super) fn take(&mut self, key: &'static str) -> &'static str {
        self.0.insert(key);
        key
    }

    pub(super) fn all(&mut self, keys: &[&'static str]) {
        self.0.extend(keys);
    }

    /// Notes on the keys of `config` that are not converted.
    pub(super) fn others(&self, config: &Config, file: &str, scheme: &str) -> Vec<String> {
        let numbers = [
            config.flags.keys().copied().collect::<Vec<_>>(),
            config.rates.keys().copied().collect(),
            config.times.keys().copied().filter(|key| !ENDS.contains(key)).collect(),
            config.counts.keys().copied().collect(),
            config.fractions.keys().copied().collect(),
            config.maps.keys().copied().collect(),
            config.marks.keys().copied().collect(),
        ];
        let known = numbers.concat().into_iter().filter(|key| !self.0.contains(key));
        let lossless =
            config.fractions.get("ERROR_RATE_PER_LINK").and_then(|text| text.parse::<f64>().ok())
                == Some(0.0);
        let known = known.filter(|key| !(lossless && *key == "ERROR_RATE_PER_LINK"));
        let known = known.filter(|key| *key != "ENABLE_IRN" || config.flag(key, false));
        let input = ["TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE"];
        let files = config.files.keys().map(String::as_str).filter(|key| !input.contains(key));
        // ConWeave's load balancing 0 is ECMP, as here.
        let others = config.others.iter().filter(|(key, value)| key != "LB_MODE" || value != "0");
        let others = others.map(|(key, _)| key.as_str());
        let mut reasons: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for key in known.chain(files).chain(others) {
            reasons.entry(why_not(key, scheme)).or_default().insert(key);
        }
        let note = |(why, keys): (String, BTreeSet<&str>)| {
            format!(
                "{file}: not taken over: {}: {why}",
                keys.into_iter().collect::<Vec<_>>().join(", ")
            )
        };
        reasons.into_iter().map(note).collect()
    }
}

/// The reason why a key is not converted.
fn why_not(key: &str, scheme: &str) -> String {
    match key {
        "L2_CHUNK_SIZE" | "L2_BACK_TO_ZERO" => {
            "what is lost is sent again alone here, not with all that followed it"
        }
        "HAS_WIN" | "GLOBAL_T" | "VAR_WIN" => {
            "what is in flight is bounded by the algorithm alone here"
        }
        "RATE_BOUND" | "INT_MULTI" | "MULTI_RATE" | "SAMPLE_FEEDBACK" | "PINT_LOG_BASE"
        | "PINT_PROB" => "variants of HPCC that are not here",
        "ERROR_RATE_PER_LINK" => "[[link]] has the loss of links here",
        "ENABLE_IRN" => "what is lost is sent again alone here, within the algorithm's bound",
        "LB_MODE" => "routing.kind has ECMP here, or spray, which draws a path for each packet",
        "LOAD" | "RANDOM_SEED" | "FLOWGEN_START_TIME" => "the flows are those of their file",
        _ if key.starts_with("CONWEAVE_") => "ConWeave's rerouting is not modelled here",
        "PAUSE_TIME" => "a pause lasts until the switch ends it",
        "TCP_FLOW_FILE" => "flows over TCP are not read",
        "DATA_RATE" | "LINK_DELAY" => "the topology has them for each link",
        "SW_MONITORING_INTERVAL" | "NIC_TOTAL_PAUSE_TIME" => "results are tables of a run here",
        _ if key.ends_with("_FILE") || key.starts_with("QLEN_MON") => {
            "results are tables of a run here"
        }
        "RATE_AI"
        | "RATE_HAI"
        | "MIN_RATE"
        | "ALPHA_RESUME_INTERVAL"
        | "RP_TIMER"
        | "RATE_DECREASE_INTERVAL"
        | "CLAMP_TARGET_RATE"
        | "FAST_RECOVERY_TIMES"
        | "EWMA_GAIN"
        | "DCTCP_GAIN"
        | "BYTE_COUNTER"
        | "CNP_INTERVAL"
        | "U_TARGET"
        | "MI_THRESH"
        | "FAST_REACT"
        | "DCTCP_RATE_AI" => return format!("{scheme} has no such parameter"),
        _ => "not known",
    }
    .to_owned()
}

/// The `MIN_RATE` of HPCC's simulator if its configuration has none.
const MIN_RATE: Rate = Rate::from_mbps(100);

impl Scheme {
    /// The scheme that `config` chooses.
    pub(super) fn of(config: &Config, file: &str, used: &mut Used) -> Result<Self, ForeignError> {
        let (mode, line, source) = match &config.cc_mode {
            Some(Set { value: 12, line }) => {
                (12, *line, "CC_MODE 12, which is no algorithm there: all send at once".to_owned())
            }
            Some(mode) => (mode.value, mode.line, format!("CC_MODE {}", mode.value)),
            None if config.is_rdma() => (0, 1, "ns3-rdma has no other".to_owned()),
            None => (1, 1, "CC_MODE 1 is the original's default".to_owned()),
        };
        let mut take = Take { config, used, parameters: vec![] };
        let mut notes = Vec::new();
        let (name, stamp) = match mode {
            0 if config.is_rdma() => (take.dcqcn_of_rdma(), 0),
            1 => (take.dcqcn(), 0),
            3 => (take.hpcc(), 42),
            7 => (take.timely(file, &mut notes), 8),
            8 => (take.dctcp(), 0),
            12 => ("line-rate", 0),
            10 => {
                let reason = "CC_MODE 10 is HPCC-PINT, whose sampled telemetry is not modelled \
                              here; 3 is HPCC with INT";
                return Err(refused(file, line, reason));
            }
            _ => {
                let reason = format!(
                    "CC_MODE {mode} is not known; expected 1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 \
                     (DCTCP) or 12 (ASTRA-sim's, no control)"
                );
                return Err(refused(file, line, reason));
            }
        };
        let parameters = take.parameters;
        check(name, &parameters, file)?;
        let cnp_interval = (mode == 0).then(|| {
            let interval = config.times.get(used.take("CNP_INTERVAL"));
            Setting::quoted(
                "cnp_interval",
                interval.copied().unwrap_or(Span::from_us(50)),
                "CNP_INTERVAL",
            )
        });
        let looks = (mode == 1).then(|| {
            let interval = config.times.get(used.take("RATE_DECREASE_INTERVAL"));
            let source = "RATE_DECREASE_INTERVAL, which the sender keeps there";
            let interval = interval.copied().unwrap_or(Span::from_us(4));
            Setting::quoted("cnp_interval", interval, source)
        });
        let cnp_interval = cnp_interval.or(looks);
        Ok(Self { name, source, parameters, telemetry: mode == 3, stamp, cnp_interval, notes })
    }
}

/// Converts parameters of a configuration.
struct Take<'a> {
    config: &'a Config,
    used: &'a mut Used,
    parameters: Vec<Setting>,
}

impl Take<'_> {
    fn rate(&mut self, parameter: &'static str, key: &'static str) {
        if let Some(&rate) = self.config.rates.get(self.used.take(key)) {
            self.parameters.push(Setting::quoted(parameter, rate, key));
        }
    }

    fn min_rate(&mut self) {
        let rate = self.config.rates.get(self.used.take("MIN_RATE")).copied();
        let source = if rate.is_some() { "MIN_RATE" } else { "the original's default" };
        self.parameters.push(Setting::quoted("min_rate", rate.unwrap_or(MIN_RATE), source));
    }

    fn time(&mut self, parameter: &'static str, key: &'static str) {
        if let Some(&time) = self.config.times.get(self.used.take(key)) {
            self.parameters.push(Setting::quoted(parameter, time, key));
        }
    }

    fn count(&mut self, parameter: &'static str, key: &'static str) {
        if let Some(&count) = self.config.counts.get(self.used.take(key)) {
            self.parameters.push(Setting::plain(parameter, count, key));
        }
    }

    fn fraction(&mut self, parameter: &'static str, key: &'static str) {
        if let Some(text) = self.config.fractions.get(self.used.take(key)) {
            // Text, since TOML does not write numbers as C does: ".95", "1.".
            self.parameters.push(Setting::quoted(parameter, text, key));
        }
    }

    /// Disables the scaling of a rate with a reference: rates are for the links as they are.
    fn as_they_stand(&mut self, parameter: &'static str) {
        self.parameters.push(Setting::quoted(parameter, "0bps", "rates are taken as they stand"));
    }

    /// The rates and timers of DCQCN, whose keys are HPCC's and ns3-rdma's.
    fn rates_and_timers(&mut self) {
        self.rate("rate_ai", "RATE_AI");
        self.rate("rate_hai", "RATE_HAI");
        self.min_rate();
        self.as_they_stand("reference");
        self.time("alpha_timer", "ALPHA_RESUME_INTERVAL");
        self.time("rate_timer", "RP_TIMER");
        if let Some(clamp) = self.config.flags.get(self.used.take("CLAMP_TARGET_RATE")) {
            let target = if *clamp { "always" } else { "after-increase" };
            self.parameters.push(Setting::quoted("target", target, "CLAMP_TARGET_RATE"));
        }
    }

    fn dcqcn(&mut self) -> &'static str {
        self.rates_and_timers();
        self.count("fast_recovery", "FAST_RECOVERY_TIMES");
        self.fraction("g", "EWMA_GAIN");
        "dcqcn:hpcc-simulator"
    }

    /// ns3-rdma's DCQCN. Its comparisons make a step less of fast recovery than the key says.
    fn dcqcn_of_rdma(&mut self) -> &'static str {
        self.rates_and_timers();
        self.fraction("g", "DCTCP_GAIN");
        let counts = &self.config.counts;
        if let Some(&bytes) = counts.get(self.used.take("BYTE_COUNTER")) {
            let bytes = Bytes::new(bytes.into());
            self.parameters.push(Setting::quoted("byte_counter", bytes, "BYTE_COUNTER"));
        }
        if let Some(steps) = counts.get(self.used.take("FAST_RECOVERY_TIMES")) {
            let source = "FAST_RECOVERY_TIMES, which counts one more";
            let steps = steps.saturating_sub(1);
            self.parameters.push(Setting::plain("fast_recovery", steps, source));
        }
        "dcqcn:ns3-rdma"
    }

    fn hpcc(&mut self) -> &'static str {
        self.fraction("eta", "U_TARGET");
        self.count("max_stage", "MI_THRESH");
        self.rate("rate_ai", "RATE_AI");
        self.min_rate();
        self.as_they_stand("reference");
        if !self.config.flag(self.used.take("FAST_REACT"), true) {
            self.parameters.push(Setting::quoted("reaction", "per-rtt", "FAST_REACT 0"));
        }
        "hpcc:hpcc-simulator"
    }

    fn timely(&mut self, file: &str, notes: &mut Vec<String>) -> &'static str {
        self.rate("delta", "RATE_AI");
        self.min_rate();
        self.as_they_stand("delta_reference");
        self.parameters.push(Setting::quoted("initial_rate", "line-rate", "as there"));
        let rates = &self.config.rates;
        if let (Some(step), Some(hyper)) =
            (rates.get("RATE_AI"), rates.get(self.used.take("RATE_HAI")))
        {
            let times = hyper.as_bps().checked_div(step.as_bps()).unwrap_or(0);
            if times > 0 && *step * times == *hyper {
                self.parameters.push(Setting::plain("hai_n", times, "RATE_HAI over RATE_AI"));
            } else {
                notes.push(format!(
                    "{file}: RATE_HAI of {hyper} is no multiple of RATE_AI of {step} and ignored"
                ));
            }
        }
        "timely:zhu"
    }

    fn dctcp(&mut self) -> &'static str {
        self.fraction("g", "EWMA_GAIN");
        "dctcp"
    }
}

/// Checks that the algorithm accepts the parameters. Otherwise the scenario would be refused, with
/// a place in the wrong file.
fn check(name: &str, parameters: &[Setting], file: &str) -> Result<(), ForeignError> {
    let (algorithm, preset) = name.split_once(':').unwrap_or((name, ""));
    let Some(mut algorithm) = AnyAlgorithm::named(algorithm) else { return Ok(()) };
    if !preset.is_empty() && algorithm.apply_preset(preset).is_err() {
        return Err(ForeignError::Together(format!("unknown scheme {name}")));
    }
    for Setting { key, value, source } in parameters {
        let value = value.trim_matches('"');
        if let Err(error) = algorithm.set(key, value) {
            return Err(ForeignError::Together(format!(
                "{file}: {source} as {key} of {name}: {value:?} {error}"
            )));
        }
    }
    Ok(())
}
