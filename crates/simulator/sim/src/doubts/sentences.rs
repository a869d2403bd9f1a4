//! A sentence for each cause of doubt, of all schemes and points together.

use super::numbers::{number, significant, time, two_digits_up};
use super::{Counts, Doubt, Halves, Kind, Limit, Moving, Overflow, Stall};

/// The tolerated share: beyond it, the 99th percentile is of something that had not finished.
const TOLERATED: f64 = 0.01;
/// The standard errors by which a change is more than chance: 98 % of Student's t with 8 degrees.
const SURE: f64 = 3.0;
/// The change of a queue that matters, in KB: some packets.
const LEAST_KB: f64 = 10.0;
/// The most schemes that a sentence names.
const NAMED: usize = 3;

impl Moving {
    /// The change from half to half, as a part of the greater one, up to which a run is at rest.
    const fn moved(self) -> f64 {
        match self {
            Self::Rate => 0.05,
            Self::Queue => 0.25,
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "Gb/s",
            Self::Queue => "KB",
        }
    }
}

/// The doubts of a scheme's runs: its name, and those of each seed.
pub type OfScheme = (String, Vec<Vec<Doubt>>);
/// The doubts at a point of a study: its name, which is empty of a single one, and its schemes.
pub type Point = (String, Vec<OfScheme>);

/// A thing that a sentence tells of, which schemes and points share.
#[derive(PartialEq)]
enum Cause<'a> {
    Unfinished(Kind, &'a str),
    Drained,
    Moving(Moving),
    Dropped(&'a str),
    Stalled(&'a str),
}

/// A cause of doubt, of one scheme at one point.
struct Found<'a> {
    /// The extent, by which points are compared.
    size: f64,
    said: String,
    worst: Worst<'a>,
    at: &'a str,
}

/// The numbers that a sentence tells with its remedy.
#[derive(Clone, Copy)]
enum Worst<'a> {
    Counts(&'a Counts),
    Limit(&'a Limit),
    Halves(&'a Halves),
    Overflow(&'a Overflow),
    Stall(&'a Stall),
}

/// What was found of a cause, by scheme, point by point.
type OfSchemes<'a> = Vec<(&'a str, Vec<Found<'a>>)>;

/// A sentence for each cause, of the doubts by point, scheme and seed. Numbers are those of the
/// point at which they are worst, for each scheme.
pub fn sentences(points: &[Point]) -> Vec<String> {
    let mut causes: Vec<(Cause<'_>, OfSchemes<'_>)> = Vec::new();
    for (at, of_schemes) in points {
        for (scheme, of_seeds) in of_schemes {
            for (cause, found) in judged(of_seeds, scheme, at) {
                let of_schemes = entry(&mut causes, cause);
                entry(of_schemes, scheme.as_str()).push(found);
            }
        }
    }
    causes.iter().map(|(_, of_schemes)| sentence(of_schemes)).collect()
}

/// The value of a key, which is added if it is not there.
fn entry<K: PartialEq, V: Default>(pairs: &mut Vec<(K, V)>, key: K) -> &mut V {
    let place = pairs.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
        pairs.push((key, V::default()));
        pairs.len() - 1
    });
    &mut pairs[place].1
}

/// The causes of doubt of a scheme at a point: what its seeds say together.
fn judged<'a>(
    of_seeds: &'a [Vec<Doubt>],
    scheme: &str,
    at: &'a str,
) -> Vec<(Cause<'a>, Found<'a>)> {
    let mut counts: Vec<((Kind, &str), Vec<&Counts>)> = Vec::new();
    let mut limits: Vec<&Limit> = Vec::new();
    let mut halves: Vec<(Moving, Vec<&Halves>)> = Vec::new();
    let mut overflows: Vec<(&str, Vec<&Overflow>)> = Vec::new();
    let mut stalls: Vec<(&str, Vec<&Stall>)> = Vec::new();
    for doubt in of_seeds.iter().flatten() {
        match doubt {
            Doubt::Counts(one) => entry(&mut counts, (one.kind, &one.traffic)).push(one),
            Doubt::Limit(one) => limits.push(one),
            Doubt::Halves(one) => entry(&mut halves, one.figure).push(one),
            Doubt::Overflow(one) => entry(&mut overflows, &one.of_class).push(one),
            Doubt::Stall(one) => entry(&mut stalls, &one.traffic).push(one),
        }
    }
    let counts = counts.iter().map(|&((kind, traffic), ref same)| {
        (Cause::Unfinished(kind, traffic), unfinished(same, scheme))
    });
    let limits = (!limits.is_empty()).then(|| (Cause::Drained, Some(drained(&limits, scheme))));
    let halves =
        halves.iter().map(|&(figure, ref same)| (Cause::Moving(figure), moved(same, scheme)));
    let overflows = overflows
        .iter()
        .map(|&(class, ref same)| (Cause::Dropped(class), Some(dropped(same, scheme))));
    let stalls = stalls
        .iter()
        .map(|&(traffic, ref same)| (Cause::Stalled(traffic), Some(stalled(same, scheme))));
    let all = counts.chain(limits).chain(halves).chain(overflows).chain(stalls);
    let found = |(size, said, worst)| Found { size, said, worst, at };
    all.filter_map(|(cause, of)| Some((cause, found(of?)))).collect()
}

/// The extent of what was found, its words, and the worst of its seeds.
type Said<'a> = (f64, String, Worst<'a>);

fn unfinished<'a>(same: &[&'a Counts], scheme: &str) -> Option<Said<'a>> {
    let posted: u64 = same.iter().map(|one| one.posted).sum();
    let left = posted.saturating_sub(same.iter().map(|one| one.finished).sum());
    let share = left as f64 / posted as f64;
    let said = || format!("{:.1}% under {scheme} ({left} of {posted})", share * 100.0);
    let longest = first_of_most(same, |one| one.left_us.unwrap_or(0.0));
    (left as f64 > TOLERATED * posted as f64).then(|| (share, said(), Worst::Counts(longest)))
}

fn drained<'a>(same: &[&'a Limit], scheme: &str) -> Said<'a> {
    let worst = first_of_most(same, |one| one.left as f64);
    (worst.left as f64, format!("{} under {scheme}", worst.left), Worst::Limit(worst))
}

fn moved<'a>(same: &[&'a Halves], scheme: &str) -> Option<Said<'a>> {
    let (count, figure) = (same.len() as f64, same[0].figure);
    let first = same.iter().map(|one| one.first).sum::<f64>() / count;
    let second = same.iter().map(|one| one.second).sum::<f64>() / count;
    let error = same.iter().map(|one| one.error * one.error).sum::<f64>().sqrt() / count;
    let (change, most) = ((second - first).abs(), first.max(second));
    let more_than_chance = change > (figure.moved() * most).max(SURE * error);
    let percent = || format!(" ({:+.0}%)", (second / first - 1.0) * 100.0);
    let percent = if first == 0.0 { String::new() } else { percent() };
    let (from, to, unit) = (number(first), number(second), figure.unit());
    (more_than_chance && (figure == Moving::Rate || change > LEAST_KB)).then(|| {
        (
            change / most,
            format!("{from} to {to} {unit} under {scheme}{percent}"),
            Worst::Halves(same[0]),
        )
    })
}

fn dropped<'a>(same: &[&'a Overflow], scheme: &str) -> Said<'a> {
    let drops: u64 = same.iter().map(|one| one.drops).sum();
    let most = first_of_most(same, |one| one.drops as f64);
    let said = format!("{drops} packets under {scheme}, most at {}", most.port);
    (drops as f64, said, Worst::Overflow(most))
}

fn stalled<'a>(same: &[&'a Stall], scheme: &str) -> Said<'a> {
    let most = first_of_most(same, |one| one.hosts as f64);
    (most.hosts as f64, format!("{} under {scheme}", most.hosts), Worst::Stall(most))
}

/// The first of those for which a number is greatest, of one at least.
fn first_of_most<'a, T>(all: &[&'a T], size: impl Fn(&T) -> f64) -> &'a T {
    let more = |most: &'a T, one: &'a T| if size(one) > size(most) { one } else { most };
    all[1..].iter().fold(all[0], |most, one| more(most, one))
}

fn sentence(of_schemes: &OfSchemes<'_>) -> String {
    let worst = of_schemes.iter().map(|(_, points)| {
        let all: Vec<_> = points.iter().collect();
        (first_of_most(&all, |one| one.size), points.len())
    });
    let worst: Vec<_> = worst.collect();
    let texts = worst.iter().map(|(one, points)| match points {
        _ if one.at.is_empty() => one.said.clone(),
        1 => format!("{} at {}", one.said, one.at),
        _ => format!("{} at {}, the worst of {points} points", one.said, one.at),
    });
    let mut texts: Vec<_> = texts.collect();
    if texts.len() > NAMED {
        let more = texts.len() - NAMED;
        texts.truncate(NAMED);
        texts.push(format!("and under {more} more schemes"));
    }
    let schemes = texts.join(", ");
    let all: Vec<_> = worst.iter().map(|(one, _)| *one).collect();
    match first_of_most(&all, |one| one.size).worst {
        Worst::Counts(counts) => format!(
            "traffic {}: of the {} posted while measured had not finished by the end of the run: \
             {schemes}; percentiles count them as the slowest, means leave them out; {}",
            counts.traffic,
            counts.kind.as_str(),
            remedy(counts.left_us, counts.drain_us),
        ),
        Worst::Limit(limit) => format!(
            "run.drain: at its end after {} messages were still under way: {schemes}; {}",
            time(limit.drain_us),
            remedy(limit.left_us, limit.drain_us),
        ),
        Worst::Halves(halves) => {
            let what = match halves.figure {
                Moving::Rate => "flows: their rate together",
                Moving::Queue => "queues: the longest",
            };
            format!(
                "{what} has not come to rest: its mean went, from the first half of the measured \
                 time to the second, from {schemes}; measure later with run.warmup, and longer \
                 with run.duration"
            )
        }
        Worst::Overflow(overflow) => overflowed(overflow, &schemes),
        Worst::Stall(stall) => format!(
            "traffic {}: it cannot end, since every message has arrived and hosts still wait: \
             {schemes}; {}; give each receive its send (the table stalled has all steps that wait)",
            stall.traffic, stall.first,
        ),
    }
}

fn overflowed(overflow: &Overflow, schemes: &str) -> String {
    let Overflow { of_class, headroom_kb, needed_kb, .. } = overflow;
    let found = format!(
        "class {of_class}: PFC protects it, and yet switches dropped of it {schemes}; its headroom \
         there is {} KB",
        number(*headroom_kb)
    );
    if needed_kb <= headroom_kb {
        return format!(
            "{found}, which should hold what comes after a pause; the table lossless_drops has all \
             ports"
        );
    }
    let needed = significant((needed_kb * 10.0).ceil() / 10.0, 6);
    format!(
        "{found}, and {needed} KB come after a pause: leave out switch.pfc.headroom, or raise it to \
         \"{needed}KB\""
    )
}

/// The time that would do: twice the estimate, since a drain ends as soon as it may.
fn remedy(left_us: Option<f64>, drain_us: f64) -> String {
    let Some(left_us) = left_us else {
        return "give them time with run.drain, or with run.cooldown and a longer run.duration"
            .into();
    };
    let estimate = two_digits_up(left_us);
    let needs = format!("by what is left and the rate they need some {} more", time(estimate));
    if drain_us > 0.0 {
        return format!("{needs}: raise run.drain to \"{}\"", time(drain_us + 2.0 * estimate));
    }
    let twice = time(2.0 * estimate);
    format!("{needs}: set run.drain to \"{twice}\", or add that to run.cooldown and run.duration")
}
