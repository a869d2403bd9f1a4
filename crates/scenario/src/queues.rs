//! The places of queue management and disciplines in a scenario.

use std::fmt::Display;

use incast_queue::{discipline, management};
use incast_schema::Fault;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Finds what is wrong with the `aqm` and the `discipline` of `[switch]`, and of each class, in a
/// text.
pub(super) fn fields(text: &str) -> Result<(), Fault> {
    let Ok(parsed) = DeTable::parse(text) else { return Ok(()) };
    let mut parsed = parsed.into_inner();
    if let Some(switch) = parsed.remove("switch") {
        fields_of(text, switch, &[&"switch"])?;
    }
    if let Some(DeValue::Array(classes)) = parsed.remove("class").map(Spanned::into_inner) {
        for (number, class) in classes.into_iter().enumerate() {
            fields_of(text, class, &[&"class", &number])?;
        }
    }
    Ok(())
}

/// Finds what is wrong with the queues of the table at `path`.
fn fields_of(text: &str, table: Spanned<DeValue<'_>>, path: &[&dyn Display]) -> Result<(), Fault> {
    let DeValue::Table(mut table) = table.into_inner() else { return Ok(()) };
    if let Some(aqm) = table.remove("aqm") {
        management::fields_of(text, aqm, &[path, &[&"aqm"]].concat())?;
    }
    if let Some(value) = table.remove("discipline") {
        discipline::fields_of(text, value, &[path, &[&"discipline"]].concat())?;
    }
    Ok(())
}
