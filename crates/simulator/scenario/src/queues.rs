//! The settings of queue management and disciplines in a scenario.

use std::fmt::Display;

use incast_queue::{discipline, management};
use incast_schema::Fault;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Finds what is wrong with the `aqm` and the `discipline` of `[switch]`, and of each class, in a
/// scenario that was parsed from `text`.
pub(super) fn fields(scenario: &DeTable<'_>, text: &str) -> Result<(), Fault> {
    if let Some(switch) = scenario.get("switch") {
        fields_of(text, switch, &[&"switch"])?;
    }
    if let Some(DeValue::Array(classes)) = scenario.get("class").map(Spanned::get_ref) {
        for (number, class) in classes.iter().enumerate() {
            fields_of(text, class, &[&"class", &number])?;
        }
    }
    Ok(())
}

/// Finds what is wrong with the queues of the table at `path`.
fn fields_of(text: &str, table: &Spanned<DeValue<'_>>, path: &[&dyn Display]) -> Result<(), Fault> {
    let DeValue::Table(table) = table.get_ref() else { return Ok(()) };
    if let Some(aqm) = table.get("aqm") {
        management::fields_of(text, aqm.clone(), &[path, &[&"aqm"]].concat())?;
    }
    if let Some(value) = table.get("discipline") {
        discipline::fields_of(text, value.clone(), &[path, &[&"discipline"]].concat())?;
    }
    Ok(())
}
