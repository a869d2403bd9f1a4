//! Reading of traffic from the text of a scenario, with the place of each setting.
//!
//! The settings of a kind stand beside the common ones. Their table is divided before serde sees
//! it, since serde loses the places of values in an enum with a `kind`.

use incast_schema::{Fault, suggestion};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use super::fields::fields_of;
use super::registry::{ENTRIES, Entry};
use super::{Common, TRAFFIC_KINDS, Traffic};

/// Reads the field `traffic` of a scenario as a list that stays empty; [`all`] fills it later.
pub(crate) fn later<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Traffic>, D::Error> {
    Vec::<IgnoredAny>::deserialize(input).map(|_| Vec::new())
}

/// Takes the elements of `traffic` out of a scenario, and leaves an empty list.
pub(crate) fn take<'a>(scenario: &mut DeTable<'a>) -> Vec<Spanned<DeValue<'a>>> {
    match scenario.get_mut("traffic").map(Spanned::get_mut) {
        Some(DeValue::Array(all)) => std::mem::replace(all, DeArray::new()).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The traffic of a scenario, from the elements of its list.
pub(crate) fn all(elements: Vec<Spanned<DeValue<'_>>>, text: &str) -> Result<Vec<Traffic>, Fault> {
    elements.into_iter().enumerate().map(|(number, element)| one(number, element, text)).collect()
}

fn one(number: usize, element: Spanned<DeValue<'_>>, text: &str) -> Result<Traffic, Fault> {
    let said = |error: toml::de::Error| Fault::of(&error, text);
    let span = element.span();
    let mut table = match element.into_inner() {
        DeValue::Table(table) => table,
        other => {
            let refused = Common::deserialize(ValueDeserializer::from(Spanned::new(span, other)));
            let Err(error) = refused else { unreachable!("these are settings of no traffic") };
            return Err(said(error));
        }
    };
    let entry = entry(number, &mut table)?;
    let (mut common, mut own) = (DeTable::new(), DeTable::new());
    let (common_fields, own_fields) = (common_of(entry), (entry.fields)());
    for (key, value) in table {
        let field = key.get_ref().as_ref();
        if own_fields.contains(&field) {
            own.insert(key, value);
        } else if common_fields.contains(&field) {
            common.insert(key, value);
        } else {
            let old = is_old_kind(field, &value);
            let message = if old { as_table(field) } else { unknown(entry, field) };
            return Err(Fault::Span(key.span(), message));
        }
    }
    let table = |table| ValueDeserializer::from(Spanned::new(span.clone(), DeValue::Table(table)));
    let common = Common::deserialize(table(common)).map_err(said)?;
    let kind = (entry.read)(table(own)).map_err(said)?;
    Ok(Traffic { common, kind })
}

/// The kind of a traffic, which is taken out of its table.
fn entry(number: usize, table: &mut DeTable<'_>) -> Result<&'static Entry, Fault> {
    let names = TRAFFIC_KINDS.join(", ");
    let Some(kind) = table.remove("kind") else {
        let named = table.iter().find(|(key, value)| is_old_kind(key.get_ref(), value));
        let message = match named {
            Some((old, _)) => as_table(old.get_ref()),
            None => format!(
                "no kind; expected one of {names}; connections that stay are kind = \"connections\""
            ),
        };
        return Err(Fault::at([&"traffic", &number], message));
    };
    let message = match kind.get_ref().as_str() {
        Some(name) => match ENTRIES.iter().find(|entry| entry.name == name) {
            Some(entry) => return Ok(entry),
            None => format!("unknown kind {name:?}{}", suggestion(name, TRAFFIC_KINDS)),
        },
        None => format!("no text; expected one of {names}"),
    };
    Err(Fault::Span(kind.span(), message))
}

/// The common settings of a kind.
pub(super) fn common_of(entry: &Entry) -> Vec<&'static str> {
    let all = fields_of::<Common>().iter().copied();
    all.filter(|field| !entry.without.contains(field)).collect()
}

/// The sentence for a field that the kind does not have, with a suggestion.
fn unknown(entry: &Entry, field: &str) -> String {
    let elsewhere = |other: &&Entry| (other.fields)().contains(&field);
    let others: Vec<_> = ENTRIES.iter().filter(elsewhere).map(|other| other.name).collect();
    if !others.is_empty() {
        let others = others.join(" and ");
        return format!("{} has no {field}, which is of {others}; take it out", entry.name);
    }
    if entry.without.contains(&field) {
        return format!("{} has no {field}; take it out", entry.name);
    }
    let known = [(entry.fields)(), &common_of(entry), &["kind"]].concat();
    format!("unknown field {field:?}{}", suggestion(field, &known))
}

/// Whether a field is a kind with its settings in a table of its own, as in an old format.
fn is_old_kind(field: &str, value: &Spanned<DeValue<'_>>) -> bool {
    TRAFFIC_KINDS.contains(&field) && matches!(value.get_ref(), DeValue::Table(_))
}

/// The sentence that says how such a kind is written now.
fn as_table(kind: &str) -> String {
    let example = format!("{kind} = {{ ... }}");
    format!("{example} is written kind = \"{kind}\", with what is in its braces beside it")
}
