//! The import: makes the text of a scenario from a set of files.

mod detect;
mod hpcc;
mod hpcc_marking;
mod hpcc_scheme;
mod htsim;
mod job;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::{Bytes, Rate, Span};
use incast_scenario::{Document, ScenarioError};

use crate::htsim_triggers::last_end;
use crate::{Flow, ForeignError, Format, Graph, Start, not_rdma};
use detect::detect;
pub use job::{JobOptions, import_job};
use write::Draft;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// HPCC's configuration.
    HpccConfig,
    /// HPCC's topology.
    HpccTopology,
    /// HPCC's flows, or ConWeave's.
    HpccFlows,
    /// The flows of ns3-rdma.
    Ns3RdmaFlows,
    /// HPCC's selection of nodes to trace.
    HpccTrace,
    /// htsim's connection matrix.
    HtsimMatrix,
    /// htsim's topology.
    HtsimTopology,
}

impl Kind {
    /// The kinds by name.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("hpcc-config", Self::HpccConfig),
        ("hpcc-topology", Self::HpccTopology),
        ("hpcc-flows", Self::HpccFlows),
        ("ns3-rdma-flows", Self::Ns3RdmaFlows),
        ("hpcc-trace", Self::HpccTrace),
        ("htsim-matrix", Self::HtsimMatrix),
        ("htsim-topology", Self::HtsimTopology),
    ];

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    }

    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The simulator that the file is for.
    pub const fn format(self) -> Format {
        match self {
            Self::HpccConfig | Self::HpccTopology | Self::HpccFlows | Self::HpccTrace => {
                Format::Hpcc
            }
            Self::Ns3RdmaFlows => Format::Ns3Rdma,
            Self::HtsimMatrix | Self::HtsimTopology => Format::Htsim,
        }
    }
}

/// Options of an import, for facts that are not in the files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The kind of each file, in order; if empty, kinds are found from the content.
    pub kinds: Vec<Kind>,
    /// The simulator that the files are for, where their content leaves a choice.
    pub format: Option<Format>,
    /// The scenario's title; made from the names of the files if absent.
    pub title: Option<String>,
}

/// A scenario made from files.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The scenario. Comments in it tell where each value came from.
    pub scenario_toml: String,
    /// Files that the scenario reads, to be stored beside it: name and text.
    pub files: Vec<(String, String)>,
    /// Everything that was not converted, and every assumption; also comments in the scenario.
    pub notes: Vec<String>,
}

/// A file: the name and the text.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> Source<'a> {
    /// The name without the folder.
    fn base(self) -> &'a str {
        self.name.rsplit(['/', '\\']).next().unwrap_or(self.name)
    }

    /// The file as a scenario reads it: name, text and format.
    fn beside(self, format: Format) -> (String, String, Format) {
        (self.base().to_owned(), self.text.to_owned(), format)
    }
}

/// The largest number of links that are written into the scenario. With more, the scenario names
/// the topology's file.
const MOST_LINKS: usize = 1_000;
/// The largest number of flows that are written into the scenario. With more, the scenario names
/// their file.
const MOST_INLINE: usize = 10_000;

/// Makes a scenario from files, each a name and a text.
///
/// # Errors
/// A file is unknown or inconsistent, or the files together do not make a scenario.
pub fn import(files: &[(&str, &str)], options: &Options) -> Result<Imported, ForeignError> {
    let sources: Vec<_> = files.iter().map(|&(name, text)| Source { name, text }).collect();
    let kinds = match options.kinds.as_slice() {
        [] => detect(&sources, options.format)?,
        kinds => kinds.to_vec(),
    };
    if kinds.len() != sources.len() {
        let message = format!(
            "{} kinds for {} files; name one for each, or none",
            kinds.len(),
            sources.len()
        );
        return Err(ForeignError::Together(message));
    }
    if let Some(told) = options.format {
        same_simulator(told, &kinds, &sources)?;
    } else {
        let of_hpcc = kinds.iter().zip(&sources).filter(|(kind, _)| **kind == Kind::HpccFlows);
        for (_, source) in of_hpcc {
            not_rdma(source.name, source.text, "name them ns3-rdma-flows")?;
        }
    }
    let mut known: BTreeMap<Kind, Source<'_>> = BTreeMap::new();
    for (kind, source) in kinds.iter().zip(&sources) {
        if let Some(other) = known.insert(*kind, *source) {
            let message =
                format!("{} and {} are both {}; give one", other.name, source.name, kind.as_str());
            return Err(ForeignError::Together(message));
        }
    }
    let formats = |format| known.keys().any(|kind| kind.format() == format);
    let hpcc = formats(Format::Hpcc) || formats(Format::Ns3Rdma);
    let mut draft = match (hpcc, formats(Format::Htsim)) {
        (true, false) => hpcc::draft(&known)?,
        (false, true) => htsim::draft(&known)?,
        (true, true) => {
            let message = "files of HPCC's simulator and of htsim; give those of one";
            return Err(ForeignError::Together(message.into()));
        }
        (false, false) => {
            return Err(ForeignError::Together(
                "no files; give at least a topology and flows".into(),
            ));
        }
    };
    if let Some(title) = &options.title {
        draft.title.clone_from(title);
    }
    let (scenario_toml, mut notes, files) = draft.write();
    // The files may ask for more than can be run here: buffers below headroom, say.
    if files.is_empty()
        && let Err(error) = Document::parse(scenario_toml.clone(), "scenario")
    {
        notes.push(match error {
            ScenarioError::At { place, message } => {
                format!("line {} of the scenario cannot be run as it is: {message}", place.line)
            }
            error => format!("the scenario cannot be run as it is: {error}"),
        });
    }
    Ok(Imported { scenario_toml, files, notes })
}

/// Refuses files that are not of the simulator which the user named. All but the flows of ns3-rdma
/// and of HPCC's simulator are in the same formats.
fn same_simulator(
    told: Format,
    kinds: &[Kind],
    sources: &[Source<'_>],
) -> Result<(), ForeignError> {
    let fits = |kind: Kind| match (told, kind) {
        (Format::Ns3Rdma, Kind::HpccFlows) => false,
        (Format::Ns3Rdma, kind) => kind.format() != Format::Htsim,
        (told, kind) => kind.format() == told,
    };
    match kinds.iter().zip(sources).find(|(kind, _)| !fits(**kind)) {
        None => Ok(()),
        Some((kind, source)) => Err(ForeignError::Together(format!(
            "{} is {}, which is no file of {}; take out --as, or name another simulator",
            source.name,
            kind.as_str(),
            told.as_str()
        ))),
    }
}

/// The longest run.
const LONGEST: Span = Span::from_secs(1_000);

/// The additional milliseconds of a run where a flow has no end.
const ENDLESS: u64 = 10;

/// The simulated time where no file gives one: twice the time that the flows need at the rates of
/// the hosts' links, counted from the first start, in whole milliseconds. It is longer where flows
/// have no end, and no longer than until `all_ended`, when all flows have stopped. The `remedy`
/// ends the sentence on flows that need too long.
fn estimated_duration(
    graph: &Graph,
    flows: &[Flow],
    all_ended: Option<Span>,
    remedy: &str,
) -> Result<Span, ForeignError> {
    let hosts: BTreeSet<&str> = graph.hosts.iter().map(String::as_str).collect();
    let mut rates: BTreeMap<&str, Rate> = BTreeMap::new();
    for link in &graph.links {
        for end in &link.ends {
            if hosts.contains(end.as_str()) {
                rates.insert(end, link.rate);
            }
        }
    }
    let mut bytes: BTreeMap<(&str, bool), Bytes> = BTreeMap::new();
    for flow in flows {
        let size = flow.size.unwrap_or_default();
        *bytes.entry((&flow.from, true)).or_default() += size;
        *bytes.entry((&flow.to, false)).or_default() += size;
    }
    let time = |(&(host, _), &bytes): (&(&str, bool), &Bytes)| {
        rates.get(host).map_or(Span::ZERO, |rate| rate.time_for(bytes))
    };
    let busiest = bytes.iter().map(time).max().unwrap_or_default();
    let slowest = rates.values().min().copied().unwrap_or(Rate::from_gbps(1));
    let alone = last_end(flows, slowest).unwrap_or_default();
    let (first, last) = starts(flows);
    let end = alone.max(last + busiest);
    let whole = (first + (end - first) * 2).as_ps().div_ceil(1_000_000_000);
    // A flow without end needs additional time to settle.
    let more = if flows.iter().any(|flow| flow.size.is_none()) { ENDLESS } else { 1 };
    let duration = Span::from_ms(whole + more).min(all_ended.unwrap_or(Span::MAX));
    if duration > LONGEST {
        let message = format!(
            "the flows need more than 1000 s, the longest run, at the rates of their hosts: \
             {duration}; {remedy}"
        );
        return Err(ForeignError::Together(message));
    }
    Ok(duration)
}

/// The first and the last start among flows that start at a time.
fn starts(flows: &[Flow]) -> (Span, Span) {
    let times = flows.iter().filter_map(|flow| match flow.start {
        Start::At(start) => Some(start),
        Start::After(_) => None,
    });
    (times.clone().min().unwrap_or_default(), times.max().unwrap_or_default())
}

/// Ends the warmup at the start of the first flow: nothing happens before it.
fn warmup(draft: &mut Draft, end: &str) -> Result<(), ForeignError> {
    let (first, _) = starts(&draft.flows);
    if first >= draft.duration.0 {
        let message = format!(
            "the first flow starts at {first}, but the run ends at {}{end}",
            draft.duration.0
        );
        return Err(ForeignError::Together(message));
    }
    draft.warmup = first;
    Ok(())
}
