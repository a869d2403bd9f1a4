//! The places of queue management in a scenario.

use incast_queue::management::fields_of;
use incast_schema::Fault;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Finds what is wrong with `[switch.aqm]`, and the `aqm` of each class, in a text.
pub(super) fn fields(text: &str) -> Result<(), Fault> {
    let Ok(parsed) = DeTable::parse(text) else { return Ok(()) };
    let mut parsed = parsed.into_inner();
    if let Some(DeValue::Table(mut switch)) = parsed.remove("switch").map(Spanned::into_inner)
        && let Some(aqm) = switch.remove("aqm")
    {
        fields_of(text, aqm, &[&"switch", &"aqm"])?;
    }
    if let Some(DeValue::Array(classes)) = parsed.remove("class").map(Spanned::into_inner) {
        for (number, class) in classes.into_iter().enumerate() {
            if let DeValue::Table(mut class) = class.into_inner()
                && let Some(aqm) = class.remove("aqm")
            {
                fields_of(text, aqm, &[&"class", &number, &"aqm"])?;
            }
        }
    }
    Ok(())
}
