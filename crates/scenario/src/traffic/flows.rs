//! Flows one by one, listed in a scenario or in a file of another simulator.

mod chain;
mod check;
mod plan;

use incast_cc::{Bytes, Span};
use incast_plan::Plan;
use incast_schema::{Fault, quantity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::amount::{Links, Sent};
use super::checked::{Checked, Counts};
use super::context::Context;
use super::kind::{Pairs, ReadFile};
use super::{Kind, Settings};
use crate::foreign;

/// Flows one by one: listed here, or in a file of another simulator.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowList {
    /// The flows.
    pub list: Vec<ListedFlow>,
    /// A file with more of them.
    pub file: Option<String>,
    /// What the file is.
    pub format: Option<foreign::Format>,
}

/// One flow: one message on a connection of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedFlow {
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// When it starts.
    #[serde(default, deserialize_with = "quantity::optional_time")]
    #[schemars(with = "Option<String>")]
    pub start: Option<Span>,
    /// It starts when others have ended, instead.
    pub after: Option<After>,
    /// Its payload; absent is without end.
    #[serde(default, deserialize_with = "quantity::optional_size")]
    #[schemars(with = "Option<String>")]
    pub size: Option<Bytes>,
    /// What others call it in `after`.
    pub id: Option<u64>,
    /// Its traffic class; that of the traffic if absent.
    pub class: Option<String>,
    /// Its weight; that of the traffic if absent.
    pub weight: Option<u32>,
    /// It should be complete so long after it was posted; as the traffic has it if absent.
    #[serde(default, deserialize_with = "quantity::optional_duration")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Span>,
    /// Of a flow that was read from a file: its line there.
    #[serde(skip)]
    pub line: Option<usize>,
}

/// Flows that must have ended before another starts: all of them, or any. The host that starts the
/// other must see their end: it sent them, or it received them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct After {
    /// All of these.
    pub all: Vec<u64>,
    /// One of these.
    pub any: Vec<u64>,
    /// What is their end.
    pub event: AfterEvent,
}

/// When a flow has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterEvent {
    /// All of it has been acknowledged: its sender sees that.
    Sent,
    /// All of it has arrived: its receiver sees that.
    #[default]
    Received,
}

impl Settings for FlowList {
    const NAME: &'static str = "flows";
    const WITHOUT: &'static [&'static str] = &["from", "to", "stop"];
}

impl Kind for FlowList {
    fn read_files(&mut self, read: &mut ReadFile<'_>) -> Result<(), (&'static str, String)> {
        let (path, format) = match (&self.file, self.format) {
            (None, None) => return Ok(()),
            (Some(path), Some(format)) => (path, format),
            (Some(_), None) => {
                return Err(("file", "a file needs a format; expected hpcc or htsim".into()));
            }
            (None, Some(_)) => {
                return Err(("format", "a format needs a file; set it, or take it out".into()));
            }
        };
        let flows = read(path).and_then(|text| ListedFlow::foreign(format, path, &text));
        self.list.extend(flows.map_err(|message| ("file", message))?);
        Ok(())
    }

    fn check(&self, checked: &Checked<'_>) -> Result<Counts, Fault> {
        check::check(checked, self)
    }

    fn plan(&self, context: &Context<'_>, plan: &mut Plan) -> Option<f64> {
        plan::plan(context, plan, self);
        None
    }

    fn lasting_flows(&self, _: &Context<'_>) -> usize {
        self.list.iter().filter(|flow| flow.size.is_none()).count()
    }

    fn sent(&self, links: &Links<'_>) -> Sent {
        let sizes =
            self.list.iter().map(|flow| flow.size.map_or(links.most, |size| size.get() as f64));
        Sent { bytes: sizes.sum(), messages: None }
    }

    fn pairs(&self) -> Option<Pairs<'_>> {
        Some(Box::new(self.list.iter().map(|flow| (flow.from.as_str(), flow.to.as_str()))))
    }
}

impl ListedFlow {
    /// The flows in a file of another simulator.
    pub(crate) fn foreign(
        format: foreign::Format,
        file: &str,
        text: &str,
    ) -> Result<Vec<Self>, String> {
        let flows = foreign::flows(format, file, text).map_err(|error| error.to_string())?;
        let listed = |flow: foreign::Flow| {
            let (start, after) = match flow.start {
                foreign::Start::At(at) => (Some(at), None),
                foreign::Start::After(after) => (None, Some(after.into())),
            };
            Self {
                from: flow.from,
                to: flow.to,
                start,
                after,
                size: flow.size,
                id: flow.id.map(u64::from),
                class: None,
                weight: None,
                deadline: None,
                line: Some(flow.line),
            }
        };
        Ok(flows.into_iter().map(listed).collect())
    }
}

impl From<foreign::After> for After {
    fn from(after: foreign::After) -> Self {
        let ids: Vec<_> = after.ids.into_iter().map(u64::from).collect();
        let (all, any) = if after.all { (ids, Vec::new()) } else { (Vec::new(), ids) };
        let event = match after.what {
            foreign::What::Sent => AfterEvent::Sent,
            foreign::What::Received => AfterEvent::Received,
        };
        Self { all, any, event }
    }
}
