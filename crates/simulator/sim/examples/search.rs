//! A search for networks in which flows starve and nothing warns: schemes x transports x queues x
//! flows x rates x RTTs, drawn anew each time. `make search`, or
//! `cargo run --release --example search -- [--seed N] [--minutes M] [--cell K]`.
//!
//! Each cell follows from the seed and its number alone, so a line names both. With `--cell` only
//! that cell is run, and its scenario printed. A flow that is alone starves if it has less than
//! half of the link after the time that its algorithm's page states. One of several flows starves
//! if it has less than a twentieth of its fair share.
//!
//! The exit code is 0 if no such cell was found, 1 if one was found, 130 after an interrupt, 2 for
//! wrong arguments.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]
#![expect(clippy::disallowed_methods, reason = "it ends by the clock; cells do not know it")]

#[path = "../tests/common/cells.rs"]
mod cells;

use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cells::{Carrier, Cell, Claim, Verdict};
use incast_cc::param::Need;
use incast_cc::registry::NAMES;
use incast_cc::{AnyAlgorithm, Rate, Span};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The most packets of a cell: some seconds.
const MOST_PACKETS: f64 = 4e5;
/// The time between two lines of progress, unless a terminal shows a line that changes.
const QUIET: Duration = Duration::from_secs(30);

/// The arguments of the command line.
struct Arguments {
    seed: u64,
    minutes: f64,
    cell: Option<u64>,
}

/// The cells found so far.
#[derive(Default)]
struct Counts {
    ran: AtomicU64,
    warned: AtomicU64,
    /// Cells with a warning in which no flow starved.
    needless: AtomicU64,
    starving: AtomicU64,
    next: AtomicU64,
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    match arguments.cell {
        Some(number) => one(arguments.seed, number),
        None => search(&arguments),
    }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = u64::from(now.subsec_nanos()) ^ now.as_secs();
    let mut all = Arguments { seed, minutes: 3.0, cell: None };
    let mut seeded = false;
    while let Some(name) = given.next() {
        let value =
            given.next().ok_or_else(|| format!("{name} has no value; give one after it"))?;
        let whole = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name} {value:?} is no whole number from 0; give one"))
        };
        match name.as_str() {
            "--seed" => (all.seed, seeded) = (whole()?, true),
            "--cell" => all.cell = Some(whole()?),
            "--minutes" => {
                let minutes =
                    value.parse().ok().filter(|minutes| (0.01..=10_000.0).contains(minutes));
                all.minutes = minutes
                    .ok_or_else(|| format!("--minutes {value:?} is no time; give 0.01 to 10000"))?;
            }
            _ => {
                return Err(format!(
                    "unknown option {name:?}; there are --seed, --minutes and --cell"
                ));
            }
        }
    }
    if all.cell.is_some() && !seeded {
        return Err("a cell follows from the seed, too; give it with --seed".into());
    }
    Ok(all)
}

/// Draws cells until one does not take too long.
fn draw(seed: u64, number: u64) -> Cell {
    let mut random = Pcg64Mcg::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    loop {
        let cell = draw_any(&mut random);
        if cell.packets(Claim::of(cell.scheme)) <= MOST_PACKETS {
            return cell;
        }
    }
}

fn draw_any(random: &mut Pcg64Mcg) -> Cell {
    let scheme = pick(random, NAMES);
    let presets = AnyAlgorithm::named(scheme).map_or(&[][..], |algorithm| algorithm.presets());
    // The default preset, half of the time.
    let preset = if random.next_u64().is_multiple_of(2) { "" } else { pick_name(random, presets) };
    let carriers = [
        Carrier::Stream,
        Carrier::Stream,
        Carrier::Message(4_000),
        Carrier::Message(16_000),
        Carrier::Message(64_000),
    ];
    let carrier = pick(random, &carriers);
    let flows = pick(random, &[1, 1, 1, 2, 4, 10, 30, 100, 300]);
    let rate = Rate::from_bps(whole(between(random, 1e6, 4e11)));
    let rtt = Span::from_ps(whole(between(random, 1e6, 1e12)));
    let speedup = pick(random, &[1, 1, 4]);
    let mtu = pick(random, &[1_500, 1_500, 9_000]);
    let seed = random.next_u64() % 1_000_000;
    let cell = Cell { scheme, preset, carrier, flows, rate, speedup, rtt, queue: None, mtu, seed };
    // From a tenth of the bandwidth-delay product to ten times that, and at least ten packets.
    let queue = cell.bytes_on_the_way() * between(random, 0.1, 10.0);
    let queue = whole(queue.clamp(10.0 * mtu as f64, 4e9)) / 1_000 * 1_000;
    let lossless = cell.needs(Need::Lossless) || random.next_u64().is_multiple_of(4);
    Cell { queue: (!lossless).then_some(queue), ..cell }
}

/// A random element.
fn pick<T: Copy>(random: &mut Pcg64Mcg, all: &[T]) -> T {
    #[expect(clippy::cast_possible_truncation, reason = "below the number of things")]
    let number = (random.next_u64() % all.len() as u64) as usize;
    all[number]
}

fn pick_name(random: &mut Pcg64Mcg, presets: &[incast_cc::param::Preset]) -> &'static str {
    if presets.is_empty() { "" } else { pick(random, presets).name }
}

/// A random number, even by the order of magnitude, in two digits.
fn between(random: &mut Pcg64Mcg, low: f64, high: f64) -> f64 {
    let part = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let value = low * libm::pow(high / low, part);
    let unit = libm::pow(10.0, libm::floor(libm::log10(value)) - 1.0);
    libm::round(value / unit) * unit
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
fn whole(value: f64) -> u64 {
    libm::round(value) as u64
}

/// Runs one cell and prints all about it.
fn one(seed: u64, number: u64) -> ExitCode {
    let cell = draw(seed, number);
    let claim = Claim::of(cell.scheme);
    println!("{}", cell.toml(cell.measured(claim).1));
    println!("# {cell}");
    let warnings = match cell.warnings() {
        Ok(warnings) => warnings,
        Err(why) => {
            println!("# refused: {why}");
            return ExitCode::SUCCESS;
        }
    };
    for warning in &warnings {
        println!("# warning: {warning}");
    }
    let verdict = cell.run(claim, f64::INFINITY, &|| false);
    println!("# {verdict}");
    ExitCode::from(u8::from(verdict.starves() && warnings.is_empty()))
}

fn search(arguments: &Arguments) -> ExitCode {
    let &Arguments { seed, minutes, .. } = arguments;
    let (start, length) = (Instant::now(), Duration::from_secs_f64(minutes * 60.0));
    let (counts, interrupted) = (Counts::default(), std::sync::Arc::new(AtomicBool::new(false)));
    let flag = std::sync::Arc::clone(&interrupted);
    // The second interrupt ends at once: a cell may take seconds.
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("error: {error}; Ctrl-C will end the search without a summary");
    }
    println!("seed {seed}, {minutes} minutes; make search SEED={seed} draws the same cells");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let shown = Mutex::new(Instant::now());
    let ends = || interrupted.load(Ordering::Relaxed) || start.elapsed() >= length;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !ends() {
                    let number = counts.next.fetch_add(1, Ordering::Relaxed);
                    judge(seed, number, &counts, &ends);
                    progress(&counts, &shown, start.elapsed().as_secs_f64() / length.as_secs_f64());
                }
            });
        }
    });
    if stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let starving = of(&counts.starving);
    println!(
        "{} cells in {:.0} s: {} starve without a warning; {} were warned of, of which {} would not have starved",
        of(&counts.ran),
        start.elapsed().as_secs_f64(),
        starving,
        of(&counts.warned),
        of(&counts.needless),
    );
    match (starving, interrupted.load(Ordering::Relaxed)) {
        (_, true) => ExitCode::from(130),
        (0, false) => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}

/// Runs a cell, counts it, and prints it if a flow starves without a warning.
fn judge(seed: u64, number: u64, counts: &Counts, ends: &dyn Fn() -> bool) {
    let cell = draw(seed, number);
    let Ok(warnings) = cell.warnings() else { return };
    let verdict = cell.run(Claim::of(cell.scheme), MOST_PACKETS, ends);
    let Verdict::Ran { .. } = verdict else { return };
    let add = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
    add(&counts.ran);
    match (warnings.is_empty(), verdict.starves()) {
        (true, true) => {
            add(&counts.starving);
            let clear = if stderr().is_terminal() { "\r\x1b[K" } else { "" };
            eprint!("{clear}");
            println!("make search SEED={seed} CELL={number}: {cell}: {verdict}");
        }
        (true, false) => {}
        (false, starves) => {
            add(&counts.warned);
            if !starves {
                add(&counts.needless);
            }
        }
    }
}

/// Shows progress: a line that changes on a terminal, a line now and then elsewhere.
fn progress(counts: &Counts, shown: &Mutex<Instant>, part: f64) {
    let terminal = stderr().is_terminal();
    let every = if terminal { Duration::from_millis(200) } else { QUIET };
    let Ok(mut shown) = shown.try_lock() else { return };
    if shown.elapsed() < every {
        return;
    }
    *shown = Instant::now();
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (ran, starving) = (of(&counts.ran), of(&counts.starving));
    let line = format!("{:3.0} %  {ran} cells, {starving} starve unwarned", part.min(1.0) * 100.0);
    if terminal { eprint!("\r\x1b[K{line}") } else { eprintln!("{line}") }
}
