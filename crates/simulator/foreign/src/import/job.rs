//! Scenarios from the trace of a job: its ranks around one switch, or on the hosts of a topology.

use std::path::Path;

use incast_cc::{Bytes, Rate, Span};
use incast_scenario::AskedJob;
use incast_scenario::foreign::job::{JobFormat, JobGraph, Node};

use super::write::{Text, quote};
use super::{ForeignError, LONGEST};
use crate::{FORMATS, HtsimTopology};

/// The network and the scheme of a job, which no trace has.
#[derive(Clone, Copy, Debug)]
pub struct JobOptions<'a> {
    /// The folder of the scenario, from which paths count.
    pub folder: &'a Path,
    /// The rate of each host's link.
    pub rate: Rate,
    /// The delay of each link.
    pub delay: Span,
    /// A topology of htsim in place of one switch: path and text.
    pub topology: Option<(&'a str, &'a str)>,
    /// The scheme.
    pub scheme: &'a str,
}

impl Default for JobOptions<'_> {
    fn default() -> Self {
        let (rate, delay) = (Rate::from_gbps(400), Span::from_us(1));
        Self { folder: Path::new(""), rate, delay, topology: None, scheme: "dcqcn" }
    }
}

/// Makes a scenario of a job, and lists what it assumes.
///
/// # Errors
/// The trace is wrong, or has more ranks than the topology has hosts.
pub fn import_job(
    asked: &AskedJob<'_>,
    options: &JobOptions<'_>,
) -> Result<(String, Vec<String>), ForeignError> {
    let graph = FORMATS.read_job(options.folder, asked)?;
    let ranks = graph.ranks.len();
    let JobOptions { rate, delay, topology, scheme, .. } = *options;
    let mut hosts = ranks as u64;
    if let Some((path, text)) = topology {
        hosts = HtsimTopology::parse(path, text)?.nodes;
        if hosts < ranks as u64 {
            return Err(ForeignError::Together(format!(
                "{} has {ranks} ranks, and {path} {hosts} hosts; expected one for each rank",
                asked.path
            )));
        }
    }
    let mut notes = graph.notes.clone();
    notes.push(format!(
        "no network is in a trace: links, switches and the scheme {scheme} are this project's until \
         changed"
    ));
    let mut out = Text::default();
    out.line(format_args!("title = {}", quote(&format!("A job of {ranks} ranks: {}", asked.path))));
    let what = format!("Made from {}, which has {} nodes.", asked.path, graph.nodes());
    out.line(format_args!("description = {}", quote(&what)));
    for note in &notes {
        out.comment(note);
    }
    let duration = duration(&graph, rate);
    out.line(format_args!(
        "\n[run]\nduration = \"{duration}\" # twice what the busiest rank needs"
    ));
    out.line(format_args!("drain = \"{LONGEST}\" # the job ends the run"));
    out.line(format_args!("schemes = [{}]", quote(scheme)));
    out.line("\n[measure]\nseries = false # of a run that may drain for so long");
    match topology {
        None => out.line(format_args!(
            "\n[[network.star.hosts]]\nname = \"host\"\ncount = {ranks}\nrate = \"{rate}\"\ndelay = \
             \"{delay}\""
        )),
        Some((path, _)) => out.line(format_args!(
            "\n[network.file]\nformat = \"htsim\"\npath = {}",
            quote(path)
        )),
    }
    let buffer = Bytes::new(1_000_000 * (32 + hosts));
    out.line(format_args!(
        "\n[switch]\nbuffer = \"{buffer}\" # 1 MB for each host, and 32\n\n[switch.pfc]\nenabled = true"
    ));
    out.line(RED);
    out.line("\n[transport]\nsegment = \"4KB\"");
    out.line("\n[[traffic]]\nkind = \"job\"\nfrom = \"host\"");
    out.line(format_args!("file = {}", quote(asked.path)));
    for (key, value) in [("format", asked.format.map(JobFormat::as_str)), ("groups", asked.groups)]
    {
        if let Some(value) = value {
            out.line(format_args!("{key} = {}", quote(value)));
        }
    }
    if let Some(size) = asked.size {
        out.line(format_args!("size = \"{}\"", Bytes::new(size)));
    }
    Ok((out.0, notes))
}

/// The marking that DCQCN asks for.
const RED: &str = "
[switch.aqm]
kind = \"red\"
min = \"400KB\"
max = \"1600KB\"
rate = \"100Gbps\" # thresholds grow with the rate of the link
max_probability = 0.2
gentle = false
weight = 1
drop = false # PFC is there
at = \"departure\" # as in HPCC's simulator";

/// Twice the time that the busiest rank computes, sends and receives, in whole milliseconds.
fn duration(graph: &JobGraph, rate: Rate) -> Span {
    let busy = graph.ranks.iter().map(|rank| {
        let (mut computes, mut sent, mut received) = (0_u64, 0_u64, 0_u64);
        for node in rank.nodes() {
            match *node {
                Node::Compute { span, .. } => computes = computes.saturating_add(span.as_ps()),
                Node::Send { bytes, .. } => sent = sent.saturating_add(bytes),
                Node::Receive { bytes, .. } => received = received.saturating_add(bytes),
                Node::Collective { bytes, .. } => {
                    sent = sent.saturating_add(bytes.saturating_mul(2));
                }
            }
        }
        let bytes = Bytes::new(sent.max(received).min(1_000_000_000_000_000));
        rate.time_for(bytes).as_ps().saturating_add(computes)
    });
    let whole = busy.max().unwrap_or(0).saturating_mul(2).div_ceil(1_000_000_000);
    Span::from_ms(whole.saturating_add(1).min(LONGEST.as_ps() / 1_000_000_000))
}
