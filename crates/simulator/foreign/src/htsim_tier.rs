//! A tier of htsim's topology file, and its lines.

use incast_cc::FASTEST_LINE;

use super::ForeignError;
use super::text::{Word, refused};

/// A tier of switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tier {
    /// Rate of the links down, in Gb/s.
    pub gbps: u64,
    /// Latency of the links down in nanoseconds.
    pub link_ns: u64,
    /// Latency of each switch in nanoseconds.
    pub switch_ns: u64,
    /// The number of links down of each switch.
    pub down: u64,
    /// The number of links up of each switch.
    pub up: u64,
    /// Capacity down over capacity up.
    pub oversubscribed: u64,
    /// The number of parallel links to each switch below.
    pub bundle: u64,
    /// Bytes of the queue of each link up.
    pub queue_up: Option<u64>,
    /// Bytes of the queue of each link down.
    pub queue_down: Option<u64>,
    /// The line where the tier starts.
    pub line: usize,
}

/// The settings of a tier so far: values by key.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) line: usize,
    values: [Option<u64>; KEYS.len()],
}

const KEYS: [&str; 9] = [
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "radix_down",
    "radix_up",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
    "queue_up",
    "queue_down",
];

impl Seen {
    pub(super) const fn new(line: usize) -> Self {
        Self { line, values: [None; KEYS.len()] }
    }

    pub(super) fn set(
        &mut self,
        name: &str,
        key: Word<'_>,
        value: Word<'_>,
        number: u64,
    ) -> Result<(), ForeignError> {
        let place = KEYS.iter().position(|&known| known == name);
        let place = place.ok_or_else(|| key.unexpected(format!("one of {}", KEYS.join(", "))))?;
        // A product of two such numbers and a number of hosts fits into 64 bits.
        let most = match name {
            "queue_up" | "queue_down" => u64::MAX,
            // A link's delay is its own latency and half of that of both switches, at most a
            // second.
            "downlink_latency_ns" | "switch_latency_ns" => 300_000_000,
            _ => 1_000_000_000,
        };
        if number > most {
            return Err(value.unexpected(format!("a number up to {most}")));
        }
        if number == 0 && name != "switch_latency_ns" {
            return Err(value.unexpected("a number above zero"));
        }
        let most = FASTEST_LINE.as_bps() / 1_000_000_000;
        if name == "downlink_speed_gbps" && number > most {
            return Err(value.unexpected(format!("a speed of up to {most} Gb/s")));
        }
        if name.starts_with("radix") && number > 100_000 {
            return Err(value.unexpected("a radix of up to 100000"));
        }
        once(&mut self.values[place], key, number)
    }

    pub(super) fn tier(&self, file: &str, number: usize, top: bool) -> Result<Tier, ForeignError> {
        let get =
            |key: &str| KEYS.iter().position(|&known| known == key).and_then(|at| self.values[at]);
        let need = |key: &str| {
            get(key).ok_or_else(|| {
                refused(file, self.line, format!("tier {number} has no {key}; add it"))
            })
        };
        if let (true, Some(_)) = (top, get("radix_up")) {
            let reason = format!("tier {number} is the top and has no links up; take Radix_Up out");
            return Err(refused(file, self.line, reason));
        }
        Ok(Tier {
            gbps: need("downlink_speed_gbps")?,
            link_ns: need("downlink_latency_ns")?,
            switch_ns: get("switch_latency_ns").unwrap_or(0),
            down: need("radix_down")?,
            up: if top { 0 } else { need("radix_up")? },
            oversubscribed: get("oversubscribed").unwrap_or(1),
            bundle: get("bundle").unwrap_or(1),
            queue_up: get("queue_up"),
            queue_down: get("queue_down"),
            line: self.line,
        })
    }
}

/// Fills a slot, which must be empty.
pub(super) fn once(slot: &mut Option<u64>, key: Word<'_>, number: u64) -> Result<(), ForeignError> {
    if slot.replace(number).is_some() {
        return Err(key.refused(format!("{} is there twice", key.text)));
    }
    Ok(())
}
