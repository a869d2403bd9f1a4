//! A list of flows, in a scenario or in a file of another simulator.

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
use super::kind::Pairs;
use super::{Deadline, Kind, Settings};
use crate::foreign;
use crate::input::Files;

/// Flows one by one: listed here, or in a file of another simulator.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowList {
    /// The flows.
    pub list: Vec<ListedFlow>,
    /// A file with more flows.
    pub file: Option<String>,
    /// The format of the file.
    pub format: Option<foreign::Format>,
}

/// A flow: one message on a connection of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedFlow {
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// The start of the flow.
    #[serde(default, with = "quantity::OptionalTime")]
    pub start: Option<Span>,
    /// Other flows whose end starts this flow, instead of `start`.
    pub after: Option<After>,
    /// The payload; without end if absent.
    #[serde(default, with = "quantity::OptionalSize")]
    pub size: Option<Bytes>,
    /// The number that other flows use in `after`.
    pub id: Option<u64>,
    /// The traffic class; the class of the traffic if absent.
    pub class: Option<String>,
    /// The weight; the weight of the traffic if absent.
    pub weight: Option<u32>,
    /// The time that the flow has from posting to completion; as for the traffic if absent.
    pub deadline: Option<Deadline>,
    /// The line in the file, for a flow that was read from a file.
    #[serde(skip)]
    pub line: Option<usize>,
}

/// Flows that must end before another flow starts: all of them, or any. The host that starts the
/// flow must see their end: it sent or received them itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct After {
    /// All of these flows must end.
    pub all: Vec<u64>,
    /// Any of these flows must end.
    pub any: Vec<u64>,
    /// The event that counts as the end.
    pub event: AfterEvent,
}

/// The event that counts as the end of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterEvent {
    /// All payload has been acknowledged, which the sender sees.
    Sent,
    /// All payload has arrived, which the receiver sees.
    #[default]
    Received,
}

impl Settings for FlowList {
    const NAME: &'static str = "flows";
    const WITHOUT: &'static [&'static str] = &["from", "to", "stop"];
}

impl Kind for FlowList {
    fn read_files(&mut self, files: &mut Files) -> Result<(), Fault> {
        let (path, format) = match (&self.file, self.format) {
            (None, None) => return Ok(()),
            (Some(path), Some(format)) => (path, format),
            (Some(_), None) => {
                let names: Vec<_> = foreign::Format::NAMES.iter().map(|(name, _)| *name).collect();
                let message = format!("a file needs a format; expected {}", names.join(", "));
                return Err(Fault::at([&"file"], message));
            }
            (None, Some(_)) => {
                let message = "a format needs a file; set it, or take it out";
                return Err(Fault::at([&"format"], message.into()));
            }
        };
        let flows = files.flows(format, path);
        let flows = flows.map_err(|error| Fault::at([&"file"], error.to_string()))?;
        self.list.extend(flows.into_iter().map(ListedFlow::from));
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
        let sizes = self.list.iter().filter_map(|flow| flow.size).map(|size| size.get() as f64);
        let endless = if self.has_endless() { links.most } else { 0.0 };
        Sent { bytes: sizes.sum(), endless, messages: None }
    }

    fn has_endless(&self) -> bool {
        self.list.iter().any(|flow| flow.size.is_none())
    }

    fn waits(&self) -> bool {
        self.list.iter().any(|flow| flow.after.is_some())
    }

    fn has_deadlines(&self) -> bool {
        self.list.iter().any(|flow| flow.deadline.is_some())
    }

    fn pairs(&self) -> Option<Pairs<'_>> {
        Some(Box::new(self.list.iter().map(|flow| (flow.from.as_str(), flow.to.as_str()))))
    }
}

impl From<foreign::Flow> for ListedFlow {
    fn from(flow: foreign::Flow) -> Self {
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
