//! Flows one by one.

use incast_cc::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::scenario::quantity;

/// Flows one by one: listed here, or in a file of another simulator.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowList {
    /// The flows.
    pub list: Vec<ListedFlow>,
    /// A file with more of them.
    pub file: Option<String>,
    /// What the file is.
    pub format: Option<FlowFormat>,
}

/// Formats of files of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowFormat {
    /// The flow file of the HPCC simulator and its descendants.
    Hpcc,
    /// A connection matrix of htsim.
    Htsim,
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
}

/// Flows that must have ended before another starts: all of them, or any. Their end must be seen by the host
/// that starts the other: it sent them, or it received them.
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
