//! Buffers and marking of switches in files of HPCC's simulator and of ns3-rdma.

use std::collections::BTreeMap;

use incast_cc::Rate;

use super::ForeignError;
use super::hpcc_scheme::Used;
use super::write::Setting;
use crate::HpccTopology;
use crate::hpcc_config::Config;
use crate::text::{refused, shortened};

/// The source of marks at departure.
const DEQUEUE: &str = "by what a packet leaves behind, as there";

/// The buffer of each switch.
pub(super) fn buffer(config: &Config) -> Setting {
    match config.buffer {
        // 16 MiB is exactly 16777216 B, which no decimal unit writes shorter.
        Some(buffer) if buffer.get() % (1 << 20) == 0 => {
            Setting::quoted("buffer", format!("{}MiB", buffer.get() >> 20), "BUFFER_SIZE")
        }
        Some(buffer) => Setting::quoted("buffer", buffer, "BUFFER_SIZE"),
        None if config.is_rdma() => Setting::quoted("buffer", "9MB", "as in ns3-rdma"),
        None => Setting::quoted("buffer", "16MiB", "the original's default"),
    }
}

/// The marking of the switches as RED, for the rate that most of their ports have. NVSwitches mark
/// nothing there.
pub(super) fn marking(
    config: &Config,
    file: &str,
    topology: &HpccTopology,
    (switch, aqm): (&mut Vec<Setting>, &mut Vec<Setting>),
    notes: &mut Vec<String>,
    used: &mut Used,
) -> Result<(), ForeignError> {
    const MAPS: [&str; 3] = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"];
    used.all(&MAPS);
    if config.is_rdma() {
        return marking_of_rdma(config, file, (switch, aqm), used);
    }
    if !topology.nv_switches.is_empty() {
        notes.push(format!(
            "{file}: NVSwitches mark as the other switches do; there they mark nothing"
        ));
    }
    let [Some(min), Some(max), Some(probability)] = MAPS.map(|key| config.maps.get(key)) else {
        notes
            .push(format!("{file}: without KMIN_MAP, KMAX_MAP and PMAX_MAP switches mark nothing"));
        return Ok(());
    };
    let marks = |node: &&u32| !topology.is_host(**node) && !topology.nv_switches.contains(node);
    let mut ports: BTreeMap<Rate, usize> = BTreeMap::new();
    for link in topology.routed() {
        let marking = link.ends.iter().filter(marks).count();
        if marking > 0 {
            *ports.entry(link.rate).or_default() += marking;
        }
    }
    for rate in ports.keys() {
        for (key, map) in MAPS.iter().zip([min, max, probability]) {
            if !map.value.contains_key(&rate.as_bps()) {
                let reason = format!("{key} has no value for links of {rate}; add it");
                return Err(refused(file, map.line, reason));
            }
        }
    }
    // The lowest rate among those with the most ports: rates ascend, and `max_by_key` takes the
    // last.
    let Some((rate, _)) = ports.iter().rev().max_by_key(|(_, ports)| **ports) else {
        return Ok(());
    };
    let at = |rate: &Rate| [min, max, probability].map(|map| map.value[&rate.as_bps()]);
    let own = at(rate);
    let from = MAPS.map(|key| format!("{key} at {rate}"));
    let follows = |other: &&Rate| in_proportion((rate, own), (other, at(other)));
    let of_rate = (ports.len() > 1 && ports.keys().all(|other| follows(&other))).then_some(*rate);
    ramp(own, of_rate, &from, (file, min.line), (switch, aqm))?;
    let bytes = incast_cc::Bytes::new;
    let alike = |other: &&Rate| of_rate.is_some() || at(other) == own;
    let others = ports.keys().filter(|other| !alike(other)).map(|other| {
        let [low, high, most] = at(other);
        format!("{} to {} with up to {} at {other}", bytes(low), bytes(high), millionths(most))
    });
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        notes.push(format!(
            "{file}: all ports mark as those of {rate} do, which most ports have; there it is {}",
            shortened(&others)
        ));
    }
    Ok(())
}

/// Whether the thresholds of two rates are in proportion to them, and the probabilities equal.
fn in_proportion(
    (rate, [low, high, most]): (&Rate, [u64; 3]),
    (other, [other_low, other_high, other_most]): (&Rate, [u64; 3]),
) -> bool {
    let equal = |own: u64, others: u64| {
        u128::from(own) * u128::from(other.as_bps())
            == u128::from(others) * u128::from(rate.as_bps())
    };
    equal(low, other_low) && equal(high, other_high) && most == other_most
}

/// The marking of ns3-rdma's switches, which is one for all rates: `KMIN` and `KMAX` count packets
/// of 1,030 B.
fn marking_of_rdma(
    config: &Config,
    file: &str,
    settings: (&mut Vec<Setting>, &mut Vec<Setting>),
    used: &mut Used,
) -> Result<(), ForeignError> {
    const KEYS: [&str; 3] = ["KMIN", "KMAX", "PMAX"];
    used.all(&KEYS);
    // 60 packets of both, and all of them, are its defaults.
    let [low, high, most] = [("KMIN", 61_800), ("KMAX", 61_800), ("PMAX", 1_000_000)]
        .map(|(key, default)| config.marks.get(key).copied().unwrap_or(default));
    ramp([low, high, most], None, &KEYS.map(String::from), (file, 1), settings)
}

/// RED from `low` to `high` with at most `most` millionths, whose sources are `from`. Both are for
/// links of `rate` and in proportion at others, or for links of all rates.
fn ramp(
    [low, high, most]: [u64; 3],
    rate: Option<Rate>,
    from: &[String; 3],
    (file, line): (&str, usize),
    (switch, aqm): (&mut Vec<Setting>, &mut Vec<Setting>),
) -> Result<(), ForeignError> {
    let bytes = incast_cc::Bytes::new;
    let [min, max, probability] = from;
    if low > high {
        let reason = format!("{min} is {}, above {max}, which is {}", bytes(low), bytes(high));
        return Err(refused(file, line, reason));
    }
    if high == 0 || most > 1_000_000 {
        let reason = format!(
            "{max} is {} and {probability} {}; expected {max} above 0 and {probability} up to 1",
            bytes(high),
            millionths(most)
        );
        return Err(refused(file, line, reason));
    }
    // A ramp starts at one byte or more; no queue with a packet is shorter.
    let low = low.max(1);
    if low == high && rate.is_none() {
        // A queue above KMAX marks every packet.
        switch.push(Setting::quoted("ecn_threshold", bytes(high), max));
        switch.push(Setting::quoted("ecn_at", "departure", DEQUEUE));
        return Ok(());
    }
    aqm.push(Setting::quoted("kind", "red", "between the thresholds below"));
    aqm.push(Setting::quoted("min", bytes(low), min));
    aqm.push(Setting::quoted("max", bytes(high), max));
    if let Some(rate) = rate {
        aqm.push(Setting::quoted("rate", rate, "the maps are in proportion to the rate"));
    }
    aqm.push(Setting::plain("max_probability", millionths(most), probability));
    aqm.push(Setting::plain("gentle", false, "above KMAX all are marked"));
    aqm.push(Setting::plain("weight", 1, "the queue as it is"));
    aqm.push(Setting::plain("drop", false, "ACKs are not dropped"));
    aqm.push(Setting::quoted("at", "departure", DEQUEUE));
    Ok(())
}

fn millionths(value: u64) -> String {
    let (whole, rest) = (value / 1_000_000, value % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}
