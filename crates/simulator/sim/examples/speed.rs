//! Packet-hops per second, instructions and memory of whole runs, each in its own process:
//!
//! ```text
//! cargo run --release --example speed -- \
//!     [--json | --against CHECKOUT [--pairs N]] [SCENARIO [SCHEME]] [key=value ...]
//! ```
//!
//! Without a scenario it runs those of the benchmark, which `docs/internals/performance.md`
//! describes. With `--json` it runs one in this process, for programs to read. With `--against` it
//! builds this example of another checkout too, and runs both in turn, N times (5). Seconds are
//! user CPU time, of the run alone. Instructions are counted by valgrind, where it is installed:
//! the difference of two short runs, so without building and reporting. The heap is counted by the
//! allocator, in bytes as requested.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(unsafe_code, reason = "an allocator that counts")]

#[path = "../tests/common/callgrind.rs"]
mod callgrind;
#[path = "../tests/common/counting.rs"]
mod counting;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use callgrind::instructions;
use counting::Counting;
use incast_cc::Span;
use incast_sim::scenario::Document;
use incast_sim::{LargePages, Simulation, TraceConfig};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

#[global_allocator]
static HEAP: Counting = Counting::new();

/// The scenarios of the benchmark, from the top of the repository, their schemes (without any,
/// those of the file), and the values changed in them.
const BENCHMARK: [(&str, &[&str], &[&str]); 13] = [
    ("bench/star.toml", &[], &[]),
    ("bench/leaf-spine-tcp.toml", &[], &[]),
    ("bench/leaf-spine-messages.toml", &[], &[]),
    ("scenarios/incast.toml", &[], &[]),
    ("scenarios/fat-tree-1024.toml", &[], &["run.duration=1ms", "run.warmup=0us"]),
    ("bench/fat-tree-128.toml", &[], &[]),
    ("bench/fat-tree-1024.toml", &[], &[]),
    ("scenarios/all-reduce.toml", &["hpcc"], &[]),
    ("scenarios/fat-tree-web-search.toml", &["dctcp", "hpcc"], &[]),
    ("scenarios/timely-clos-rpc.toml", &["timely"], &[]),
    ("scenarios/timely-network-imbalance.toml", &["timely"], &[]),
    ("scenarios/rtcp-over-subscription.toml", &["bbr:bbr-prime"], &[]),
    ("scenarios/dragonfly.toml", &["dctcp"], &[]),
];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let Arguments { against, pairs, .. } = &arguments;
    if arguments.json {
        let run = arguments.runs()?.into_iter().next().ok_or("no scheme; name one")?;
        println!("{}", measure(&run.document()?, &run.scheme)?);
    } else if let Some(checkout) = against {
        let [here, there] = [std::env::current_exe()?, built(checkout)?];
        comparison_heading();
        for run in arguments.runs()? {
            compare(&run, [&here, &there], *pairs)?;
        }
    } else {
        heading();
        for run in arguments.runs()? {
            let found = row(&run)?;
            if !arguments.names.is_empty() {
                details(&found);
            }
        }
    }
    Ok(())
}

/// The arguments of the command.
struct Arguments {
    json: bool,
    /// The checkout to compare with.
    against: Option<String>,
    /// The number of runs of either checkout.
    pairs: usize,
    /// The scenario, and the scheme.
    names: Vec<String>,
    assignments: Vec<String>,
}

impl Arguments {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let (names, assignments) = (Vec::new(), Vec::new());
        let mut read = Self { json: false, against: None, pairs: 5, names, assignments };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => read.json = true,
                "--against" => read.against = Some(args.next().ok_or("--against CHECKOUT")?),
                "--pairs" => {
                    let number = args.next().and_then(|number| number.parse().ok());
                    read.pairs = number.filter(|&pairs| pairs > 0).ok_or("--pairs N, from 1")?;
                }
                _ if arg.contains('=') => read.assignments.push(arg),
                _ => read.names.push(arg),
            }
        }
        Ok(read)
    }

    /// The runs that were asked for: those of the benchmark where no scenario is named.
    fn runs(&self) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        if let Some(file) = self.names.first() {
            let run = Run { file: file.clone(), scheme: String::new(), changes: Vec::new() };
            runs.push((run, self.names.iter().skip(1).cloned().collect::<Vec<_>>()));
        } else {
            for (file, schemes, changes) in BENCHMARK {
                let file = format!("{}/../../../{file}", env!("CARGO_MANIFEST_DIR"));
                let changes = changes.iter().map(ToString::to_string).collect();
                let run = Run { file, scheme: String::new(), changes };
                runs.push((run, schemes.iter().map(ToString::to_string).collect()));
            }
        }
        let mut all = Vec::new();
        for (mut run, mut schemes) in runs {
            run.changes.extend_from_slice(&self.assignments);
            if schemes.is_empty() {
                schemes.clone_from(&run.document()?.scenario().run.schemes);
            }
            all.extend(schemes.into_iter().map(|scheme| Run { scheme, ..run.clone() }));
        }
        Ok(all)
    }
}

/// A scenario with values changed, under a scheme.
#[derive(Clone)]
struct Run {
    file: String,
    scheme: String,
    changes: Vec<String>,
}

impl Run {
    fn document(&self) -> Result<Document> {
        Ok(Document::load(Path::new(&self.file))?.with_set(&self.changes)?)
    }

    fn name(&self) -> std::borrow::Cow<'_, str> {
        Path::new(&self.file).file_stem().unwrap_or_default().to_string_lossy()
    }

    /// The command that runs `program` with this run alone, and further values changed.
    fn command(&self, program: &Path, further: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(["--json", &self.file, &self.scheme]).args(&self.changes).args(further);
        command
    }

    /// Measures the run in its own process.
    fn measure(&self, program: &Path) -> Result<Value> {
        let output = self.command(program, &[]).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{} failed with {}", self.file, self.scheme).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The instructions per packet-hop between a twentieth and a tenth of the time.
    fn instructions(&self, program: &Path) -> Result<Option<f64>> {
        let document = self.document()?;
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
            let mut further = vec![format!("run.interval={interval}ps")];
            further.extend(all.map(|(name, span)| format!("run.{name}={}ps", span / part)));
            let Some((count_of_all, printed)) = instructions(&self.command(program, &further))?
            else {
                return Ok(None);
            };
            let hops = number(&serde_json::from_str(&printed)?, "packet_hops");
            *count = (count_of_all as f64, hops);
        }
        let [(less, few), (more, many)] = counts;
        Ok(Some((more - less) / (many - few)))
    }
}

/// This example of another checkout, built there.
fn built(checkout: &str) -> Result<PathBuf> {
    let checkout = Path::new(checkout);
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--example", "speed"]);
    cargo.args(["--target-dir", "target"]).current_dir(checkout);
    if !cargo.status()?.success() {
        return Err(format!("{} cannot be built", checkout.display()).into());
    }
    Ok(checkout.join("target/release/examples/speed").canonicalize()?)
}

fn comparison_heading() {
    println!("Each pair: the other checkout, then this one. Ratios are of this one to the other.");
    println!(
        "{:24} {:16} {:>17} {:>6} {:>13} {:>13} {:>6} {:>13} {:>6}",
        "scenario",
        "scheme",
        "Mhops/s",
        "times",
        "from, to",
        "instr/hop",
        "times",
        "peak MB",
        "times",
    );
}

/// Runs two builds in turn and prints the medians of both, and those of the ratios of each pair.
fn compare(run: &Run, [here, there]: [&Path; 2], pairs: usize) -> Result<()> {
    let (mut rates, mut peaks) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..pairs {
        let found = [run.measure(there)?, run.measure(here)?];
        for (of, found) in found.iter().enumerate() {
            let hops = number(found, "packet_hops");
            rates[of].push(hops / number(found, "user_s") / 1e6);
            peaks[of].push(number(found, "peak_mb"));
        }
        let [there, here] = found.map(|found| found["packet_hops"].clone());
        if there != here {
            println!("{} {}: {there} packet-hops there, {here} here", run.name(), run.scheme);
        }
    }
    let mut ratios: Vec<f64> = rates[1].iter().zip(&rates[0]).map(|(new, old)| new / old).collect();
    let [old, new] = rates.map(|mut rates| median(&mut rates));
    let [old_peak, new_peak] = peaks.map(|mut peaks| median(&mut peaks));
    let times = median(&mut ratios);
    let counts = [run.instructions(there)?, run.instructions(here)?];
    let [old_count, new_count] = counts.map(|count| count.unwrap_or(f64::NAN));
    println!(
        "{:24} {:16} {old:7.2}, {new:8.2} {times:6.2} {:6.2}-{:6.2} {old_count:6.0},{new_count:6.0} \
         {:6.3} {old_peak:6.1},{new_peak:6.1} {:6.2}",
        run.name(),
        run.scheme,
        ratios[0],
        ratios[ratios.len() - 1],
        new_count / old_count,
        new_peak / old_peak,
    );
    Ok(())
}

/// Sorts `values`; returns the middle one, or the mean of the two in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    f64::midpoint(values[last / 2], values[last.div_ceil(2)])
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
    let program = std::env::current_exe()?;
    let found = run.measure(&program)?;
    let of = |key| number(&found, key);
    let (hops, seconds) = (of("packet_hops"), of("user_s"));
    let instructions = run.instructions(&program)?;
    println!(
        "{:24} {:16} {hops:12} {:8.2} {:8.1} {:>10} {:8.1} {:9.3} {:8} {:8}",
        run.name(),
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
    let mut pages = LargePages::of(&run);
    pages.ask(&run);
    while run.advance(1 << 20) {
        pages.ask(&run);
    }
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
