//! The lists of kinds, and how a scenario's table of a kind is read.
//!
//! A line declares the module of a kind and registers its type. The module has the name that
//! scenarios give the kind. `management.rs`, `discipline.rs` and `feedback.rs`, each with its
//! `registry.rs`, make everything else from the lists.

use std::fmt::Display;

use incast_schema::{Fault, suggestion};
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

macro_rules! managements {
    ($make:ident) => {
        $make! {
            // A probability that follows the length of the queue.
            red::Red,
            pi::Pi,

            // A law on the time that packets wait.
            pie::Pie,
            codel::Codel,

            // A law on the use of the link.
            phantom::Phantom,
        }
    };
}

macro_rules! disciplines {
    ($make:ident) => {
        $make! {
            fifo::Fifo,
            srpt::Srpt,
            trim::Trim,
        }
    };
}

macro_rules! feedbacks {
    ($make:ident) => {
        $make! {
            // The state of the port, for the sender to judge.
            int::Int,

            // A rate, or the load.
            d3::D3,
            rcp::Rcp,
            vcp::Vcp,
        }
    };
}

/// Reads the fields of a kind by its name; [`None`] if there is no such kind.
pub(crate) type Read = fn(&str, ValueDeserializer<'_>) -> Option<Result<(), toml::de::Error>>;

/// Finds what is wrong with the table at `path` of `text`, and where. This is a second reading:
/// once serde knows the kind, it no longer knows the places of the fields.
pub(crate) fn fields_of(
    text: &str,
    value: Spanned<DeValue<'_>>,
    path: &[&dyn Display],
    kinds: &[&str],
    read: Read,
) -> Result<(), Fault> {
    let fault = |path: &[&dyn Display], message| {
        Fault::Path(path.iter().map(ToString::to_string).collect(), message)
    };
    let span = value.span();
    let DeValue::Table(mut table) = value.into_inner() else { return Ok(()) };
    let Some(kind) = table.remove("kind") else {
        return Err(fault(path, format!("no kind; expected one of {}", kinds.join(", "))));
    };
    let message = if let Some(name) = kind.get_ref().as_str() {
        let fields = ValueDeserializer::from(Spanned::new(span, DeValue::Table(table)));
        match read(name, fields) {
            Some(read) => return read.map_err(|error| Fault::of(&error, text)),
            None => format!("unknown kind {name:?}{}", suggestion(name, kinds)),
        }
    } else {
        format!("no text; expected one of {}", kinds.join(", "))
    };
    Err(fault(&[path, &[&"kind"]].concat(), message))
}
