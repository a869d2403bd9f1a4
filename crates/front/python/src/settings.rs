//! Assignments to a scenario from Python's values: text, numbers, lists and dictionaries.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyList, PyMapping, PyString, PyTuple};

use crate::errors::ParameterError;

/// The assignments `KEY=VALUE` in the arguments of `with_set`: texts as they are, mappings by key.
pub(crate) fn assignments(given: &Bound<'_, PyTuple>) -> PyResult<Vec<String>> {
    let mut found = Vec::new();
    for item in given {
        if let Ok(text) = item.cast::<PyString>() {
            found.push(text.to_cow()?.into_owned());
        } else if let Ok(mapping) = item.cast::<PyMapping>() {
            flatten(mapping, "", &mut found)?;
        } else {
            return Err(wrong("with_set", &item, "text such as run.duration=50ms, or a dict"));
        }
    }
    Ok(found)
}

fn flatten(mapping: &Bound<'_, PyMapping>, under: &str, found: &mut Vec<String>) -> PyResult<()> {
    for item in mapping.items()? {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        // Elements of lists are named by their number: {"traffic": {0: {...}}}.
        let key = key.str()?.to_cow()?.into_owned();
        if key.is_empty() || key.contains('=') {
            let message = format!("{under}{key}: expected a key such as run.duration");
            return Err(ParameterError::new_err(message));
        }
        let place = format!("{under}{key}");
        if let Ok(inner) = value.cast::<PyMapping>() {
            flatten(inner, &format!("{place}."), found)?;
        } else {
            found.push(format!("{place}={}", toml(&place, &value)?));
        }
    }
    Ok(())
}

/// A value as TOML writes it.
fn toml(place: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().to_string());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(quoted(&text.to_cow()?));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut fields = Vec::new();
        for item in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let key = key.str()?.to_cow()?.into_owned();
            fields.push(format!("{} = {}", quoted(&key), toml(place, &value)?));
        }
        return Ok(format!("{{ {} }}", fields.join(", ")));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: Vec<Bound<'_, PyAny>> = value.extract()?;
        let items: PyResult<Vec<_>> = items.iter().map(|item| toml(place, item)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    // NumPy's integers are of no type of Python, but are an index.
    if !value.is_instance_of::<PyFloat>()
        && let Ok(number) = value.extract::<i128>()
    {
        return Ok(number.to_string());
    }
    if let Ok(number) = value.extract::<f64>() {
        let text = format!("{number:?}");
        return Ok(text.replace("NaN", "nan"));
    }
    Err(wrong(place, value, "text, a number, True or False, a list or a dict"))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\0'..='\u{1f}' | '\u{7f}' => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn wrong(place: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let kind = value.get_type();
    let kind = kind.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    ParameterError::new_err(format!("{place}: expected {expected}, not {kind}"))
}
