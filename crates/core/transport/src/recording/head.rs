//! The head of a recording: the algorithm with all its parameters, and the settings.

use std::collections::BTreeMap;

use incast_cc::AnyAlgorithm;
use serde::{Deserialize, Serialize};

use super::broken::BrokenRecording;
use crate::config::Config;

/// The word by which a recording is known.
const FORMAT: &str = "incast recording";
/// The version of the format.
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
struct Mark {
    format: String,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    mark: Mark,
    algorithm: String,
    parameters: BTreeMap<String, String>,
    settings: Config,
}

/// The first line of a recording.
pub(super) fn write(config: &Config, algorithm: &AnyAlgorithm) -> String {
    let written = |name| {
        let mut value = String::new();
        // A string takes everything.
        algorithm.write(name, &mut value).ok();
        value
    };
    let head = Head {
        mark: Mark { format: FORMAT.to_owned(), version: VERSION },
        algorithm: algorithm.name().to_owned(),
        parameters: algorithm
            .params()
            .iter()
            .map(|of| (of.name.into(), written(of.name)))
            .collect(),
        settings: *config,
    };
    serde_json::to_string(&head).unwrap_or_else(|_| unreachable!("all keys are text")) + "\n"
}

/// Reads the first line of a recording, and returns the lines behind it, too.
pub(super) fn read(text: &str) -> Result<(Config, AnyAlgorithm, &str), BrokenRecording> {
    let (line, rest) = text.split_once('\n').ok_or(BrokenRecording::Foreign)?;
    let mark: Mark = serde_json::from_str(line).map_err(|_| BrokenRecording::Foreign)?;
    if mark.format != FORMAT {
        return Err(BrokenRecording::Foreign);
    }
    if mark.version != VERSION {
        return Err(BrokenRecording::Version(mark.version.to_string()));
    }
    let broken = BrokenRecording::Settings;
    let head: Head = serde_json::from_str(line)
        .map_err(|error| broken(format!("its head cannot be read: {error}")))?;
    head.settings.check().map_err(|error| broken(error.to_string()))?;
    let mut algorithm = AnyAlgorithm::named(&head.algorithm)
        .ok_or_else(|| broken(format!("no algorithm is called {:?}", head.algorithm)))?;
    for name in algorithm.params().iter().map(|param| param.name) {
        let text = head.parameters.get(name);
        let text = text.ok_or_else(|| broken(format!("its head has no parameter `{name}`")))?;
        algorithm
            .set(name, text)
            .map_err(|error| broken(format!("{text:?} of parameter `{name}` {error}")))?;
    }
    algorithm.check().map_err(|conflict| {
        broken(format!("{} {} {}", conflict.name, conflict.rule, conflict.other))
    })?;
    Ok((head.settings, algorithm, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{InitialTimeout, Nic, Serialization};
    use incast_cc::registry::NAMES;
    use incast_cc::{Rate, Span};

    #[test]
    fn the_head_of_each_algorithm_with_each_preset_reads_back() {
        for name in NAMES {
            let default = AnyAlgorithm::named(name).unwrap();
            for preset in default.presets() {
                let mut algorithm = default;
                algorithm.apply_preset(preset.name).unwrap();
                let config = Config {
                    ack_class: Some(2),
                    weights: [0, 1, 2, 3, 4, 5, 6, 65_535],
                    reordering: Span::from_ps(300_000_001),
                    rate_cap: Rate::from_gbps(3),
                    serialization: Serialization::Nothing,
                    nic: Nic::Segments,
                    rto_initial: InitialTimeout::Fixed(Span::from_ms(50)),
                    notification_interval: Some(Span::from_us(50)),
                    seed: u64::MAX,
                    oldest_first: true,
                    ..Config::default()
                };
                let text = write(&config, &algorithm);
                assert_eq!(read(&text).unwrap(), (config, algorithm, ""), "{text}");
            }
        }
    }

    #[test]
    fn a_head_that_is_broken_is_named() {
        let text = write(&Config::default(), &AnyAlgorithm::named("timely").unwrap());
        for (from, to, words) in [
            (r#""version":1"#, r#""version":4"#, "version 4"),
            ("incast recording", "something else", "no recording"),
            ("\n", "", "no recording"),
            (r#""segment":"64KB""#, r#""segment":"64 bytes""#, "\"64 bytes\" is no quantity"),
            (r#""segment":"64KB","#, "", "missing field `segment`"),
            (r#""segment":"64KB""#, r#""segment":"0B""#, "the segment must be above zero"),
            (r#""weights":[0,"#, r#""weights":["#, "of length 8"),
            (r#""nic":"packets""#, r#""nic":"pigeons""#, "unknown variant `pigeons`"),
            (r#""algorithm":"timely""#, r#""algorithm":"timley""#, "no algorithm is called"),
            (r#""beta":"0.8""#, r#""beta":"x""#, "parameter `beta`"),
            (r#""beta":"0.8","#, "", "no parameter `beta`"),
        ] {
            assert!(text.contains(from), "{from} {text}");
            let said = read(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(said.contains(words), "{from}: {said}");
        }
    }
}
