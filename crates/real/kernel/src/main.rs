//! The command behind `incast kernel`.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use incast_kernel::algorithm::{Algorithm, Parameter, Settings};
use incast_kernel::attached::{self, Attached, CgroupState, Sockets};
use incast_kernel::lab::{load, mark, probe};
use incast_kernel::observe::{Output, observe};
use incast_kernel::{Error, object, system};
use serde_json::json;

/// TIMELY, Regulated TCP and DCTCP on Linux TCP.
#[derive(Parser)]
#[command(name = "incast kernel", version, disable_help_subcommand = true, max_term_width = 80)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Attach an algorithm, so that sockets can choose it; or a cgroup's, or all that choose none.
    Attach {
        #[command(flatten)]
        chosen: Chosen,
        /// The name for sockets, of at most 15 characters; bpf_ and the algorithm's if not given.
        #[arg(long)]
        name: Option<String>,
        /// Use it for all TCP connections of this cgroup (version 2) from now on.
        #[arg(long, value_name = "DIR")]
        cgroup: Option<PathBuf>,
        /// Make it the default of this machine; detach restores the one before.
        #[arg(long)]
        default: bool,
        /// Do not ask before the default is changed.
        #[arg(long, short)]
        yes: bool,
    },
    /// List what is attached.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show all parameters and the counters of one.
    Show {
        /// The name; not needed if only one is attached.
        name: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change parameters while connections run.
    Set {
        /// `KEY=VALUE`, such as `t_low=20us`; several are taken together, or none of them.
        #[arg(required = true, value_name = "KEY=VALUE")]
        assignments: Vec<String>,
        /// The name; not needed if only one is attached.
        #[arg(long)]
        name: Option<String>,
    },
    /// Take one away; connections that run keep it until they end.
    Detach {
        /// The name; not needed if only one is attached.
        name: Option<String>,
        /// Detach all of them.
        #[arg(long)]
        all: bool,
    },
    /// Watch connections: rate, RTT, gradient, branch, retransmissions.
    Observe {
        /// The name; not needed if only one is attached.
        name: Option<String>,
        /// The time to watch, such as 10s; until Ctrl-C if not given.
        #[arg(long, value_parser = duration)]
        duration: Option<Duration>,
        /// The least time between two reports of a connection.
        #[arg(long, value_parser = duration, default_value = "100ms")]
        interval: Duration,
        /// Print a line of JSON for each report.
        #[arg(long)]
        json: bool,
        /// Write each report to this file, too, as a line of JSON.
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
    },
    /// Write objects that `bpftool struct_ops register` takes, with these settings in them.
    Object {
        #[command(flatten)]
        chosen: Chosen,
        /// The directory; earlier objects in it are replaced.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// List the algorithms that can be attached, with their defaults on Linux TCP.
    Algorithms {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say whether this machine can run congestion control in BPF.
    Check,
    /// The tools of a test bed, for use inside its network namespaces.
    #[command(subcommand)]
    Part(Part),
}

/// An algorithm with its settings.
#[derive(Args)]
struct Chosen {
    #[arg(help = Algorithm::ALL.map(Algorithm::name).join(", "))]
    algorithm: String,
    /// Values from a source, such as authors-snippet, which --set changes.
    #[arg(long)]
    preset: Option<String>,
    /// Change one parameter, such as `t_high=100us`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Chosen {
    fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::new(Algorithm::named(&self.algorithm)?);
        let preset = self.preset.as_ref().map(|name| format!("preset={name}"));
        for assignment in preset.iter().chain(&self.set) {
            settings.set(assignment)?;
        }
        Ok(settings)
    }
}

#[derive(Subcommand)]
enum Part {
    /// Answer requests, each for a number of bytes, until killed.
    Serve {
        /// Address and port.
        address: SocketAddr,
        /// The algorithm of its sockets; the default if not given.
        #[arg(long)]
        algorithm: Option<String>,
    },
    /// Send the requests of a plan (standard input, a line of JSON each), and print the result of
    /// each.
    Load {
        /// The algorithm of the client's sockets; the default if not given.
        #[arg(long)]
        algorithm: Option<String>,
        /// The time to wait for answers after the last request was posted.
        #[arg(long, value_parser = duration, default_value = "5s")]
        patience: Duration,
    },
    /// Mark (ECN) packets that find more than a threshold in the queue of a device, until the
    /// device goes.
    Mark {
        /// The device, in this network namespace.
        device: String,
        /// The threshold in bytes.
        bytes: u32,
    },
    /// Send datagrams back, with the time that this took, until killed.
    Reflect {
        /// Address and port.
        address: SocketAddr,
    },
    /// Measure round-trip times to a reflector; prints a line of JSON each.
    Probe {
        /// The reflector's address and port.
        address: SocketAddr,
        /// The time from one datagram to the next.
        #[arg(long, value_parser = duration, default_value = "1ms")]
        interval: Duration,
        /// The time to probe.
        #[arg(long, value_parser = duration, default_value = "10s")]
        duration: Duration,
    },
}

/// A failure of this command.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Kernel(#[from] Error),
    #[error("--default changes all new connections of this machine, now {before}: add --yes")]
    NeedsYes { before: String },
    #[error("nothing was changed")]
    Declined,
}

type Result<T> = std::result::Result<T, Failure>;

static STOPPED: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

fn main() -> ExitCode {
    let handler: extern "C" fn(libc::c_int) = stop;
    // SAFETY: the handler only stores a flag.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
    // libbpf's own messages are for those who write programs; errors say what matters.
    libbpf_rs::set_print(None);
    match run(Command::parse().what) {
        Ok(()) if STOPPED.load(Ordering::Relaxed) => ExitCode::from(130),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(what: What) -> Result<()> {
    match what {
        What::Attach { chosen, name, cgroup, default, yes } => {
            let settings = chosen.settings()?;
            if default && !yes {
                confirm()?;
            }
            let name = attached::attach(&settings, &Sockets { name, cgroup, default })?;
            warn(&settings);
            println!("{name}: attached");
        }
        What::List { json } => list(&attached::all()?, json)?,
        What::Show { name, json } => show(&attached::find(name.as_deref())?, json)?,
        What::Set { assignments, name } => {
            let mut found = attached::find(name.as_deref())?;
            found.set(&assignments)?;
            println!("{}: {}", found.name, assignments.join(", "));
        }
        What::Detach { name, all } => {
            let found = if all { attached::all()? } else { vec![attached::find(name.as_deref())?] };
            for one in found {
                let name = one.name.clone();
                one.detach()?;
                println!("{name}: detached");
            }
        }
        What::Observe { name, duration, interval, json, record } => {
            let found = attached::find(name.as_deref())?;
            let mut outputs = vec![Output::standard(json)];
            if let Some(path) = &record {
                outputs.push(Output::file(path)?);
            }
            let goes_on = || !STOPPED.load(Ordering::Relaxed);
            observe(&found, interval, duration, &mut outputs, goes_on)?;
        }
        What::Object { chosen, out } => {
            let settings = chosen.settings()?;
            for path in object::write(&settings, &out)? {
                println!("{}: written", path.display());
            }
            warn(&settings);
        }
        What::Algorithms { json } => algorithms(json),
        What::Part(what) => part(what)?,
        What::Check => {
            system::check()?;
            println!("good: BPF congestion control, cong_control {:?}", system::signature()?);
        }
    }
    Ok(())
}

fn part(what: Part) -> Result<()> {
    match what {
        Part::Serve { address, algorithm } => load::serve(address, algorithm.as_deref())?,
        Part::Reflect { address } => probe::reflect(address)?,
        Part::Mark { device, bytes } => mark::mark(&device, bytes)?,
        Part::Load { algorithm, patience } => {
            let (plan, out) = (std::io::stdin().lock(), std::io::stdout().lock());
            load::run(plan, algorithm.as_deref(), patience, out)?;
        }
        Part::Probe { address, interval, duration } => {
            let (samples, lost) = probe::probe(address, interval, duration)?;
            for sample in samples {
                println!("{}", json!(sample));
            }
            println!("{}", json!({ "lost": lost }));
        }
    }
    Ok(())
}

fn warn(settings: &Settings) {
    if let Some(warning) = settings.warning() {
        eprintln!("warning: {warning}");
    }
}

/// Asks a person to agree: the default changes every new connection of the machine.
fn confirm() -> Result<()> {
    let before = system::default()?;
    if !std::io::stdin().is_terminal() {
        return Err(Failure::NeedsYes { before });
    }
    print!("All new connections of this machine, now {before}, will use it. Go on? [y/N] ");
    std::io::stdout().flush().ok();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok();
    if !answer.trim().eq_ignore_ascii_case("y") {
        return Err(Failure::Declined);
    }
    Ok(())
}

fn algorithms(as_json: bool) {
    if as_json {
        let items: Vec<_> = Algorithm::ALL
            .into_iter()
            .map(|one| {
                json!({
                    "name": one.name(),
                    "preset": one.preset(),
                    "line_rate": one.knows_line_rate(),
                    "ecn": one.needs_ecn(),
                    "host_params": one.host_params().collect::<BTreeMap<_, _>>(),
                    "parameters": values(&Settings::new(one)),
                })
            })
            .collect();
        println!("{}", json!(items));
        return;
    }
    println!("{:<9} {:<22} set line_rate", "name", "default preset");
    for one in Algorithm::ALL {
        let line_rate = if one.knows_line_rate() { "yes" } else { "no" };
        println!("{:<9} {:<22} {line_rate}", one.name(), one.preset().unwrap_or("-"));
    }
}

/// The value of each parameter by its name.
fn values(settings: &Settings) -> serde_json::Map<String, serde_json::Value> {
    let pairs = settings.parameters().into_iter();
    pairs.map(|parameter| (parameter.name.to_owned(), json!(parameter.value))).collect()
}

fn list(found: &[Attached], as_json: bool) -> Result<()> {
    let default = system::default()?;
    if as_json {
        let items: Vec<_> =
            found.iter().map(|one| described(one, &default)).collect::<Result<_>>()?;
        println!("{}", json!(items));
        return Ok(());
    }
    if found.is_empty() {
        println!("Nothing is attached.");
        return Ok(());
    }
    println!("{:<16} {:<9} {:>9} {:>9}  used by", "name", "algorithm", "opened", "closed");
    for one in found {
        let counts = one.counters()?;
        let mut used = vec!["sockets that choose it".to_owned()];
        if default == one.name {
            used.push("the default".to_owned());
        }
        if let Some(group) = &one.cgroup {
            let state = match one.cgroup_state() {
                Some(CgroupState::Gone) => " (gone)",
                Some(CgroupState::MadeAnew) => {
                    " (made anew since, so its connections do not: detach, and attach again)"
                }
                Some(CgroupState::There) | None => "",
            };
            used.push(format!("{}{state}", group.display()));
        }
        println!(
            "{:<16} {:<9} {:>9} {:>9}  {}",
            one.name,
            one.algorithm.name(),
            counts.opened,
            counts.closed,
            used.join(", ")
        );
    }
    Ok(())
}

fn described(one: &Attached, default: &str) -> Result<serde_json::Value> {
    let counts = one.counters()?;
    Ok(json!({
        "name": one.name,
        "algorithm": one.algorithm.name(),
        "attached_at_s": one.attached_at_s,
        "default": one.name == default,
        "previous_default": one.previous_default,
        "cgroup": one.cgroup,
        "cgroup_state": one.cgroup_state().map(CgroupState::word),
        "parameters": values(&one.settings),
        "opened": counts.opened,
        "closed": counts.closed,
        "rtt_samples": counts.samples,
        "acks_without_sample": counts.skipped,
        "loss_episodes": counts.losses,
        "loss_episodes_undone": counts.undone,
    }))
}

fn show(one: &Attached, as_json: bool) -> Result<()> {
    if as_json {
        println!("{}", described(one, &system::default()?)?);
        return Ok(());
    }
    let counts = one.counters()?;
    println!("{} ({})", one.name, one.algorithm.name());
    println!("  connections opened {}, closed {}", counts.opened, counts.closed);
    println!("  RTT samples {}, ACKs without one {}", counts.samples, counts.skipped);
    println!("  loss episodes {}, of these undone {}", counts.losses, counts.undone);
    for Parameter { name, value, doc } in one.settings.parameters() {
        println!("  {name:<20} {value:<20} {}", doc.lines().next().unwrap_or_default().trim());
    }
    Ok(())
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    let span: incast_cc::Span = text.parse().map_err(|error| format!("{error}"))?;
    if span.is_zero() {
        return Err("expected more than nothing".to_owned());
    }
    Ok(Duration::from_nanos(span.as_ns()))
}
