//! The text of a scenario.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use incast_cc::{Rate, Span};

use super::{MOST_INLINE, MOST_LINKS};
use crate::{Flow, Format, Graph, Start};

/// A `key = value` and its source.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) key: &'static str,
    /// The value in TOML.
    pub(super) value: String,
    pub(super) source: String,
}

impl Setting {
    /// A quantity or word, in quotes.
    pub(super) fn quoted(
        key: &'static str,
        value: impl Display,
        source: impl Into<String>,
    ) -> Self {
        Self::plain(key, format!("\"{value}\""), source)
    }

    /// A number or a boolean.
    pub(super) fn plain(key: &'static str, value: impl Display, source: impl Into<String>) -> Self {
        Self { key, value: value.to_string(), source: source.into() }
    }
}

/// A link that fails completely or partly.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Span,
    pub(super) link: [String; 2],
    /// The rate that is left; [`None`] if nothing is left.
    pub(super) rate: Option<Rate>,
    pub(super) source: String,
}

/// A scenario before it is written.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) title: String,
    pub(super) description: String,
    /// The duration and its source.
    pub(super) duration: (Span, String),
    /// The limit until which the run goes on behind the duration, until all flows have finished.
    pub(super) drain: Option<Span>,
    pub(super) warmup: Span,
    /// The scheme and its source.
    pub(super) scheme: (String, String),
    /// The nodes whose packets were traced, and the source.
    pub(super) traced: Option<(Vec<String>, String)>,
    pub(super) graph: Graph,
    /// The source of the graph.
    pub(super) graph_source: String,
    /// The file of the graph, if there is one: name, text and format.
    pub(super) graph_file: Option<(String, String, Format)>,
    pub(super) failures: Vec<Event>,
    /// The settings of each table, such as `switch.pfc`, in the order of writing.
    pub(super) tables: Vec<(&'static str, Vec<Setting>)>,
    /// The classes from the lowest to the highest: the name, whether it shares bandwidth with its
    /// neighbours, and the source.
    pub(super) classes: Vec<(String, bool, String)>,
    pub(super) flows: Vec<Flow>,
    /// The file of the flows: name, text and format.
    pub(super) flow_file: (String, String, Format),
    /// Whether the flows differ from those that the scenario would read from this file.
    pub(super) flows_differ: bool,
    /// The parameters of the scheme.
    pub(super) parameters: Vec<Setting>,
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// The text, the notes, and the files that belong to the scenario.
    pub(super) fn write(mut self) -> (String, Vec<String>, Vec<(String, String)>) {
        let few = self.flows.len() <= MOST_INLINE;
        let inline = few || self.flows_differ || !self.classes.is_empty();
        let mut files = vec![];
        let mut stays = |(name, text, _): &(String, String, Format), what: String| {
            files.push((name.clone(), text.clone()));
            format!("{name} has {what} and stays a file of its own, which the scenario reads")
        };
        let links = self.graph.links.len();
        self.graph_file = self.graph_file.filter(|_| links > MOST_LINKS);
        self.notes
            .extend(self.graph_file.as_ref().map(|file| stays(file, format!("{links} links"))));
        if !inline {
            self.notes.push(stays(&self.flow_file, format!("{} flows", self.flows.len())));
        }
        let mut out = Text::default();
        out.line(format_args!("title = {}", quote(&self.title)));
        out.line(format_args!("description = {}", quote(&self.description)));
        for note in &self.notes {
            out.comment(note);
        }
        self.run(&mut out);
        self.network(&mut out);
        for (table, settings) in &self.tables {
            out.table(table, settings);
        }
        for (name, shares, source) in &self.classes {
            out.line("\n[[class]]");
            out.comment(source);
            out.line(format_args!("name = \"{name}\""));
            if *shares {
                out.line("weight = 1");
            }
        }
        self.traffic(&mut out, inline);
        if !self.parameters.is_empty() {
            let table = format!("cc.{}", quote(&self.scheme.0));
            out.table(&table, &self.parameters);
        }
        (out.0, self.notes, files)
    }

    fn run(&self, out: &mut Text) {
        let mut settings = vec![Setting::quoted("duration", self.duration.0, &self.duration.1)];
        if !self.warmup.is_zero() {
            settings.push(Setting::quoted("warmup", self.warmup, "when the first flow starts"));
        }
        if let Some(drain) =
            self.drain.filter(|_| self.flows.iter().any(|flow| flow.size.is_some()))
        {
            let source =
                "as there, the run goes on until all flows have finished; the limit of that";
            settings.push(Setting::quoted("drain", drain, source));
        }
        settings.push(Setting::plain(
            "schemes",
            format!("[{}]", quote(&self.scheme.0)),
            &self.scheme.1,
        ));
        out.table("run", &settings);
        if let Some((nodes, source)) = &self.traced {
            let names: Vec<_> = nodes.iter().map(|name| quote(name)).collect();
            out.line("\n[measure]");
            out.line(format_args!("trace = [{}] # {source}", names.join(", ")));
        }
    }

    fn network(&self, out: &mut Text) {
        if let Some((name, _, format)) = &self.graph_file {
            out.line("\n[network.file]");
            out.comment(&self.graph_source);
            out.line(format_args!("format = \"{}\"\npath = {}", word(*format), quote(name)));
        } else {
            self.graph(out);
        }
        let source = "flows are spread over paths of equal length by a hash, as there";
        out.table("routing", &[Setting::quoted("kind", "ecmp", source)]);
        for Event { at, link: [a, b], rate, source } in &self.failures {
            out.line("\n[[event]]");
            out.comment(source);
            out.line(format_args!("at = \"{at}\""));
            out.line(format_args!("link = [\"{a}\", \"{b}\"]"));
            match rate {
                Some(rate) => out.line(format_args!("rate = \"{rate}\"")),
                None => out.line("state = \"down\""),
            }
        }
    }

    fn graph(&self, out: &mut Text) {
        out.line("\n[network.graph]");
        out.comment(&self.graph_source);
        let hosts = self.graph.hosts.iter().map(String::as_str);
        let switches = self.graph.switches.iter().map(|switch| switch.name.as_str());
        out.nodes("hosts", hosts.collect());
        out.nodes("switches", switches.collect());
        out.line("links = [");
        for link in &self.graph.links {
            let [a, b] = &link.ends;
            let loss =
                if link.loss > 0.0 { format!(", loss = {}", link.loss) } else { String::new() };
            out.line(format_args!(
                "  {{ ends = [\"{a}\", \"{b}\"], rate = \"{}\", delay = \"{}\"{loss} }},",
                link.rate, link.delay
            ));
        }
        out.line("]");
    }

    fn traffic(&self, out: &mut Text, inline: bool) {
        let (name, _, format) = &self.flow_file;
        out.line("\n[[traffic]]\nkind = \"flows\"\nname = \"flows\"");
        if !inline {
            out.line(format_args!("file = {}\nformat = \"{}\"", quote(name), word(*format)));
            return;
        }
        out.comment(&format!("{} flows of {name}", self.flows.len()));
        out.line("list = [");
        for flow in &self.flows {
            out.line(format_args!("  {{ {} }},", self.flow(flow)));
        }
        out.line("]");
    }

    fn flow(&self, flow: &Flow) -> String {
        let mut fields = vec![format!("from = \"{}\"", flow.from), format!("to = \"{}\"", flow.to)];
        fields.push(match &flow.start {
            Start::At(start) => format!("start = \"{start}\""),
            Start::After(after) => format!(
                "after = {{ {} = {:?}, event = \"{}\" }}",
                if after.all { "all" } else { "any" },
                after.ids,
                after.what.as_str()
            ),
        });
        fields.extend(flow.size.map(|size| format!("size = \"{size}\"")));
        fields.extend(flow.id.map(|id| format!("id = {id}")));
        if let (false, Some(group)) = (self.classes.is_empty(), flow.group) {
            fields.push(format!("class = \"{}\"", class_name(group)));
        }
        fields.join(", ")
    }
}

/// The word of scenarios for a format.
fn word(format: Format) -> &'static str {
    Format::NAMES.iter().find(|(_, known)| *known == format).map_or("", |(word, _)| word)
}

/// The class of a priority group.
pub(super) fn class_name(group: u32) -> String {
    format!("group{group}")
}

/// The text of a scenario, line by line.
#[derive(Default)]
pub(super) struct Text(pub(super) String);

impl Text {
    pub(super) fn line(&mut self, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    pub(super) fn comment(&mut self, text: &str) {
        self.line(format_args!("# {}", printable(text)));
    }

    fn table(&mut self, name: &str, settings: &[Setting]) {
        self.line(format_args!("\n[{name}]"));
        for Setting { key, value, source } in settings {
            if source.is_empty() {
                self.line(format_args!("{key} = {value}"));
            } else {
                self.line(format_args!("{key} = {value} # {}", printable(source)));
            }
        }
    }

    /// Writes nodes. Names that end in 0, 1 and so on become a group, the others stand for
    /// themselves.
    fn nodes(&mut self, key: &str, names: Vec<&str>) {
        let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let mut stems: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut order = Vec::new();
        for name in names {
            let members = stems.entry(stem(name)).or_default();
            if members.is_empty() {
                order.push(stem(name));
            }
            members.push(name);
        }
        self.line(format_args!("{key} = ["));
        for stem in order {
            let members = &stems[&stem];
            if (0..).zip(members).all(|(i, name)| **name == format!("{stem}{i}")) {
                self.line(format_args!("  {{ name = \"{stem}\", count = {} }},", members.len()));
                continue;
            }
            for name in members {
                self.line(format_args!("  {{ name = \"{name}\" }},"));
            }
        }
        self.line("]");
    }
}

/// A string in TOML.
pub(super) fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The text without characters that a comment cannot contain.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
