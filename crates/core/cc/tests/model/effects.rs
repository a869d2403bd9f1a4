//! Every parameter does something: one that is read nowhere, or whose effect a clamp swallows,
//! would be swept in vain.

use incast_cc::registry::{AnyAlgorithm, NAMES};
use incast_cc::{Bytes, Flow, PathMetrics, Rate, Span, Time};

use crate::parameters::extremes;
use crate::sane::{self, Answers, Path, Step};

/// Ordinary flows: a stream, one across a continent, and messages on a path whose RTT the operator
/// knows.
fn flows() -> [Flow; 4] {
    let mut stream = Flow::new(Bytes::new(1_460), Rate::from_gbps(10));
    stream.active_flows = 3;
    let mut far = stream;
    far.base_rtt = Some(Span::from_ms(100));
    let mut messages = Flow::new(Bytes::from_kb(16), Rate::from_gbps(100));
    messages.base_rtt = Some(Span::from_us(20));
    let (at, least_rtt, rate) = (Time::ZERO, Span::from_us(10), Rate::from_gbps(10));
    let mut known = messages;
    known.path = Some(PathMetrics { at, least_rtt, rate });
    [stream, far, messages, known]
}

/// The answers in flows that take these steps.
fn trajectories<'a>(
    algorithm: &'a AnyAlgorithm,
    scripts: &'a [Vec<Step>],
) -> impl Iterator<Item = Vec<Answers>> + 'a {
    scripts.iter().flat_map(move |steps| flows().map(|flow| sane::run(algorithm, &flow, steps)))
}

/// The settings in which a parameter may come into play: with the values of each preset, or with
/// one other mechanism on, by a word or by a number that is zero otherwise.
fn contexts(defaults: AnyAlgorithm) -> Vec<AnyAlgorithm> {
    let mut contexts = Vec::new();
    for preset in defaults.presets() {
        let mut algorithm = defaults;
        algorithm.apply_preset(preset.name).unwrap();
        contexts.push(algorithm);
        for param in algorithm.params() {
            let mut value = String::new();
            algorithm.write(param.name, &mut value).unwrap();
            let values = match extremes(param) {
                words if param.unit == "word" => words,
                mut ends if value.trim_end_matches(char::is_alphabetic) == "0" => ends.split_off(1),
                _ => Vec::new(),
            };
            for value in values {
                let mut other = algorithm;
                other.set(param.name, &value).unwrap();
                contexts.push(other);
            }
        }
    }
    contexts
}

/// Whether one value and another make a difference in some context.
fn differ(contexts: &[AnyAlgorithm], name: &str, values: [&str; 2], scripts: &[Vec<Step>]) -> bool {
    contexts.iter().any(|context| {
        let [one, other] = values.map(|value| {
            let mut algorithm = *context;
            algorithm.set(name, value).unwrap();
            algorithm
        });
        trajectories(&one, scripts).ne(trajectories(&other, scripts))
    })
}

/// The scripts of flows: first in order, then by chance.
fn scripts() -> Vec<Vec<Step>> {
    // After a handshake the first data finds the queue of others.
    let queued = orderly().into_iter().skip_while(|step| !is_queued(step));
    let opened = [Step::Handshake, Step::Send { bursts: 250, patience: Span::from_ms(1) }];
    // A network that falls silent after megabytes.
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(Step::Send { bursts: 250, patience: Span::from_ms(1) });
        silent.push(Step::Deliver { bursts: 250, path: Path::queue(Span::ZERO) });
    }
    for _ in 0..12 {
        silent.extend([Step::Send { bursts: 1, patience: Span::from_ms(1) }, Step::Timeout]);
    }
    let mut scripts = vec![orderly(), silent, opened.into_iter().chain(queued).collect()];
    scripts.extend(sane::scripts(200, 40));
    scripts
}

const fn is_queued(step: &Step) -> bool {
    matches!(step, Step::Deliver { path, .. } if !path.queue.is_zero())
}

/// A window, acknowledged packet by packet, again and again: the queue comes and goes over minutes,
/// and nothing is lost. What chance does not bring about.
fn orderly() -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..60_u8 {
        let path =
            Path::queue(Span::from_us([0, 9_000, 2, 5, 500, 100][usize::from(round / 2 % 6)]));
        steps.push(Step::Send { bursts: 250, patience: Span::from_ms(1) });
        steps.extend([1; 20].map(|bursts| Step::Deliver { bursts, path }));
        steps.push(Step::Deliver { bursts: 250, path });
        if round % 8 == 7 {
            steps.push(Step::Wait(Span::from_secs(70)));
        }
    }
    steps
}

/// Each word differs from each other one, and each end of a range of numbers from the other.
#[test]
fn every_parameter_changes_what_some_flow_sends() {
    let scripts = scripts();
    let mut idle = Vec::new();
    for name in NAMES {
        let defaults = AnyAlgorithm::named(name).unwrap();
        let contexts = contexts(defaults);
        for param in defaults.params() {
            let values = extremes(param);
            for (i, one) in values.iter().enumerate() {
                for other in &values[i + 1..] {
                    if !differ(&contexts, param.name, [one, other], &scripts) {
                        idle.push(format!(
                            "{name}: {} does not tell {one} from {other}",
                            param.name
                        ));
                    }
                }
            }
        }
    }
    assert!(idle.is_empty(), "without an effect:\n  {}\n", idle.join("\n  "));
}

/// A preset that changes nothing is a name for another one, which only RTCP's experiments have.
#[test]
fn every_preset_with_values_of_its_own_changes_what_some_flow_sends() {
    let scripts = scripts();
    for name in NAMES {
        let defaults = AnyAlgorithm::named(name).unwrap();
        for preset in defaults.presets().iter().filter(|preset| !preset.values.is_empty()) {
            let mut algorithm = defaults;
            algorithm.apply_preset(preset.name).unwrap();
            let changes = trajectories(&algorithm, &scripts).ne(trajectories(&defaults, &scripts));
            assert!(changes, "{name}:{} is {name}", preset.name);
        }
    }
}
