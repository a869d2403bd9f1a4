//! Packet-hops per second, instructions and memory of whole runs, each in its own process:
//!
//! ```text
//! cargo run --release -p incast-sim --example speed -- \
//!     [--json] [SCENARIO [SCHEME]] [key=value ...]
//! ```
//!
//! Without a scenario it runs those of the benchmark, which `docs/internals/performance.md`
//! describes. With `--json` it runs one in this process, for programs to read. Seconds are user CPU
//! time, of the run alone. Instructions are counted by valgrind, where it is installed: the
//! difference of two short runs, so without building and reporting. The heap is counted by the
//! allocator, in bytes as requested.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(unsafe_code, reason = "an allocator that counts")]

#[path = "../tests/common/callgrind.rs"]
mod callgrind;
#[path = "../tests/common/counting.rs"]
mod counting;

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use callgrind::instructions;
use counting::Counting;
use incast_cc::Span;
use incast_sim::scenario::Document;
use incast_sim::{Simulation, TraceConfig};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

#[global_allocator]
static HEAP: Counting = Counting::new();

/// The scenarios of the benchmark, from the top of the repository, and the values changed in them.
const BENCHMARK: [(&str, &[&str]); 5] = [
    ("bench/star.toml", &[]),
    ("bench/leaf-spine-tcp.toml", &[]),
    ("bench/leaf-spine-messages.toml", &[]),
    ("scenarios/incast.toml", &[]),
    ("scenarios/fat-tree-1024.toml", &["run.duration=1ms", "run.warmup=0us"]),
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let (assignments, mut names): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|arg| arg.contains('='));
    let here = names.first().is_some_and(|first| first == "--json");
    if here {
        names.remove(0);
    }
    let Some(file) = names.first() else {
        heading();
        for (file, changes) in BENCHMARK {
            let file = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
            let changes: Vec<_> = changes
                .iter()
                .map(ToString::to_string)
                .chain(assignments.iter().cloned())
                .collect();
            for scheme in Document::load(Path::new(&file))?.scenario().run.schemes.clone() {
                row(&Run { file: file.clone(), scheme, assignments: changes.clone() })?;
            }
        }
        return Ok(());
    };
    let mut schemes = names[1..].to_vec();
    if schemes.is_empty() {
        let document = Document::load(Path::new(file))?.with_set(&assignments)?;
        schemes.clone_from(&document.scenario().run.schemes);
    }
    if here {
        let scheme = schemes.first().ok_or("run.schemes is empty; name a scheme")?;
        let document = Document::load(Path::new(file))?.with_set(&assignments)?;
        println!("{}", measure(&document, scheme)?);
        return Ok(());
    }
    heading();
    for scheme in schemes {
        let run = Run { file: file.clone(), scheme, assignments: assignments.clone() };
        details(&row(&run)?);
    }
    Ok(())
}

/// A scenario with values changed, under a scheme.
struct Run {
    file: String,
    scheme: String,
    assignments: Vec<String>,
}

impl Run {
    /// The command that runs this program with this run alone, and further values changed.
    fn command(&self, changes: &[String]) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--json", &self.file, &self.scheme]).args(&self.assignments).args(changes);
        Ok(command)
    }

    /// Measures the run in its own process.
    fn measure(&self) -> Result<Value> {
        let output = self.command(&[])?.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{} failed with {}", self.file, self.scheme).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The instructions per packet-hop between a twentieth and a tenth of the time.
    fn instructions(&self) -> Result<Option<f64>> {
        let document = Document::load(Path::new(&self.file))?.with_set(&self.assignments)?;
        let run = &document.scenario().run;
        let all = [
            ("duration", run.duration.as_ps()),
            ("warmup", run.warmup.as_ps()),
            ("cooldown", run.cooldown.as_ps()),
        ];
        // Otherwise a short run would take as many samples as a long one.
        let interval = run.interval.map_or(run.duration.as_ps() / 400, Span::as_ps);
        let mut counts = [(0.0, 0.0); 2];
        for (count, part) in counts.iter_mut().zip([20, 10]) {
            let mut changes = vec![format!("run.interval={interval}ps")];
            changes.extend(all.map(|(name, span)| format!("run.{name}={}ps", span / part)));
            let Some((count_of_all, printed)) = instructions(&self.command(&changes)?)? else {
                return Ok(None);
            };
            let hops = number(&serde_json::from_str(&printed)?, "packet_hops");
            *count = (count_of_all as f64, hops);
        }
        let [(less, few), (more, many)] = counts;
        Ok(Some((more - less) / (many - few)))
    }
}

fn heading() {
    println!(
        "{:24} {:16} {:>12} {:>8} {:>8} {:>10} {:>8} {:>9} {:>8} {:>8}",
        "scenario",
        "scheme",
        "packet-hops",
        "Mhops/s",
        "ns/hop",
        "instr/hop",
        "peak MB",
        "Gb/s",
        "pauses",
        "drops"
    );
}

fn row(run: &Run) -> Result<Value> {
    let found = run.measure()?;
    let of = |key| number(&found, key);
    let (hops, seconds) = (of("packet_hops"), of("user_s"));
    let instructions = run.instructions()?;
    println!(
        "{:24} {:16} {hops:12} {:8.2} {:8.1} {:>10} {:8.1} {:9.3} {:8} {:8}",
        Path::new(&run.file).file_stem().unwrap_or_default().to_string_lossy(),
        run.scheme,
        hops / seconds / 1e6,
        seconds * 1e9 / hops,
        instructions.map_or("no valgrind".to_owned(), |count| format!("{count:.0}")),
        of("peak_mb"),
        of("goodput_gbps"),
        of("pauses"),
        of("drops"),
    );
    Ok(found)
}

fn details(found: &Value) {
    let of = |key| number(found, key);
    println!(
        "  {} hosts, {} flows, {:.3} ms simulated; {} of the flows' messages came, slowdown {:.2} (p99 {:.2})",
        of("hosts"),
        of("flows"),
        of("simulated_s") * 1e3,
        of("messages"),
        of("slowdown_mean"),
        of("slowdown_p99"),
    );
    println!("  build  {:8.2} s elapsed {:10.1} MB of heap", of("build_s"), of("built_mb"));
    println!(
        "  run    {:8.2} s elapsed {:10.1} MB at its end, {:.1} MB at most; {:.1} ns per event",
        of("run_s"),
        of("ran_mb"),
        of("most_mb"),
        of("user_s") * 1e9 / of("events"),
    );
    println!("  report {:8.2} s elapsed {:10.1} MB at most", of("report_s"), of("reporting_mb"));
    println!("  {:.0} bytes per host without flows", of("bytes_per_host"));
    println!("  {:.0} bytes per flow before it starts", of("bytes_per_flow"));
}

fn number(found: &Value, key: &str) -> f64 {
    found[key].as_f64().unwrap_or(f64::NAN)
}

/// Measures a run in this process.
fn measure(document: &Document, scheme: &str) -> Result<Value> {
    let empty = empty_network(document, scheme)?;
    let mb = |bytes: usize| bytes as f64 / 1e6;
    let (scenario, before) = (document.scenario(), HEAP.used());
    HEAP.take_peak();
    let start = Instant::now();
    let mut run = Simulation::new(scenario, scheme, scenario.run.seed, TraceConfig::default())?;
    let build_s = start.elapsed().as_secs_f64();
    let built = HEAP.used() - before;
    let (hosts, flows) = (run.hosts(), run.flows());
    let (start, user) = (Instant::now(), user_seconds()?);
    while run.advance(1 << 20) {}
    let (run_s, user_s) = (start.elapsed().as_secs_f64(), user_seconds()? - user);
    let (events, ran, most) = (run.events(), HEAP.used() - before, HEAP.take_peak() - before);
    let start = Instant::now();
    let report = run.finish();
    let (report_s, reporting) = (start.elapsed().as_secs_f64(), HEAP.take_peak() - before);
    let summary = &report.summary;
    Ok(json!({
        "packet_hops": summary.packet_hops,
        "events": events,
        "user_s": user_s,
        "goodput_gbps": summary.throughput_gbps,
        "pauses": summary.pfc_pauses,
        "drops": summary.drops,
        "simulated_s": summary.simulated_s,
        "hosts": hosts,
        "flows": flows,
        "messages": summary.messages,
        "slowdown_mean": summary.slowdown_mean,
        "slowdown_p99": summary.slowdown_p99,
        "build_s": build_s,
        "run_s": run_s,
        "report_s": report_s,
        "built_mb": mb(built),
        "ran_mb": mb(ran),
        "most_mb": mb(most),
        "reporting_mb": mb(reporting),
        "bytes_per_host": empty / hosts.max(1),
        "bytes_per_flow": (built - empty.min(built)) / flows.max(1),
        "peak_mb": peak_of_process_mb(),
    }))
}

/// The bytes of the network of `document` without flows.
fn empty_network(document: &Document, scheme: &str) -> Result<usize> {
    let mut scenario = document.scenario().clone();
    scenario.traffic.clear();
    let before = HEAP.used();
    let network = Simulation::new(&scenario, scheme, 1, TraceConfig::default())?;
    let bytes = HEAP.used() - before;
    drop(network);
    Ok(bytes)
}

/// The user CPU time of this process so far, all threads together.
fn user_seconds() -> Result<f64> {
    let time = getrusage(UsageWho::RUSAGE_SELF)?.user_time();
    Ok(time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
}

/// The peak memory of this process as Linux reports it; NaN elsewhere.
fn peak_of_process_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib * 1_024.0 / 1e6)
}
