//! The settings of hosts: keyword arguments, and their descriptions.

use incast_udp::settings::{Setting, Settings, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The settings that keyword arguments give.
pub(super) fn given(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Settings> {
    let mut settings = Settings::default();
    for (name, given) in arguments.into_iter().flatten() {
        let name: String = name.extract()?;
        let value = settings.value(&name).ok_or_else(|| {
            let known: Vec<_> = Settings::TABLE.iter().map(|one| one.name).collect();
            let known = known.join(", ");
            PyTypeError::new_err(format!("hosts have no setting '{name}'; there are {known}"))
        })?;
        set(value, &given).map_err(|error| {
            let py = given.py();
            if !error.is_instance_of::<PyTypeError>(py) {
                return error;
            }
            PyTypeError::new_err(format!("argument '{name}': {}", error.value(py)))
        })?;
    }
    Ok(settings)
}

/// Does the same with the value inside, whatever its type.
macro_rules! of_any {
    ($value:expr, $inside:ident => $does:expr) => {
        match $value {
            Value::File($inside) => $does,
            Value::Flag($inside) => $does,
            Value::Text($inside) => $does,
            Value::MaybeText($inside) => $does,
            Value::Texts($inside) => $does,
            Value::Number($inside) => $does,
            Value::Short($inside) => $does,
            Value::Count($inside) => $does,
        }
    };
}

fn set(value: Value<'_>, given: &Bound<'_, PyAny>) -> PyResult<()> {
    of_any!(value, inside => *inside = given.extract()?);
    Ok(())
}

/// The descriptions of the settings of hosts, with their defaults.
#[pyfunction]
pub(crate) fn udp_settings(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut defaults = Settings::default();
    let described = |&Setting { name, option, field, unit, range, doc }: &Setting| {
        let value = defaults
            .value(name)
            .map(|value| of_any!(value, inside => std::mem::take(inside).into_py_any(py)));
        let dict = PyDict::new(py);
        dict.set_item("name", name)?;
        dict.set_item("default", value.transpose()?)?;
        dict.set_item("unit", unit)?;
        dict.set_item("range", range)?;
        dict.set_item("option", option)?;
        dict.set_item("field", field)?;
        dict.set_item("doc", doc)?;
        Ok(dict)
    };
    Settings::TABLE.iter().map(described).collect()
}
