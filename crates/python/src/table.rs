//! Tables, which leave the core through the Arrow C stream interface.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions, StringViewArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use incast_sim::{Column, Name, Values};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// A table of a run, or of another simulator's results.
#[pyclass(module = "incast._core", frozen)]
pub(crate) struct Table {
    all: Arc<[incast_sim::Table]>,
    place: usize,
}

impl Table {
    /// All tables of a run, which share their rows with the run.
    pub(crate) fn each(all: &Arc<[incast_sim::Table]>) -> Vec<Self> {
        (0..all.len()).map(|place| Self { all: Arc::clone(all), place }).collect()
    }

    fn get(&self) -> &incast_sim::Table {
        &self.all[self.place]
    }
}

impl From<incast_sim::Table> for Table {
    fn from(table: incast_sim::Table) -> Self {
        Self { all: Arc::new([table]), place: 0 }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &'static str {
        self.get().name
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for column in &self.get().columns {
            let about = PyDict::new(py);
            about.set_item("unit", column.unit)?;
            about.set_item("doc", column.doc)?;
            columns.set_item(column.name, about)?;
        }
        let info = PyDict::new(py);
        info.set_item("doc", self.get().doc)?;
        info.set_item("columns", columns)?;
        Ok(info)
    }

    /// The rows, through the Arrow `PyCapsule` interface. Their types stay the same whatever schema
    /// is requested, which the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let rows = py.detach(|| batch(self.get()));
        let schema = rows.schema();
        let stream =
            FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(rows)], schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The rows of a table, with the unit and meaning of each column in its field's metadata.
fn batch(table: &incast_sim::Table) -> RecordBatch {
    let fields: Vec<_> = table.columns.iter().map(field).collect();
    let about = [("name", table.name), ("doc", table.doc)];
    let schema = Schema::new(fields).with_metadata(metadata(about));
    let columns = table.columns.iter().map(values).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(table.rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &rows)
        .expect("columns have the same length, and the types of their fields")
}

fn field(column: &Column) -> Field {
    let kind = match column.values {
        Values::F64(_) => DataType::Float64,
        Values::U64(_) => DataType::UInt64,
        Values::Text(_) => DataType::Utf8View,
    };
    let nullable = matches!(column.values, Values::F64(_));
    let about = [("unit", column.unit), ("doc", column.doc)];
    Field::new(column.name, kind, nullable).with_metadata(metadata(about))
}

/// The values of a column. The core stores NaN where there is no value; NaN becomes null.
fn values(column: &Column) -> ArrayRef {
    match &column.values {
        Values::F64(values) => {
            let known = values.iter().map(|value| (!value.is_nan()).then_some(*value));
            Arc::new(known.collect::<Float64Array>())
        }
        Values::U64(values) => Arc::new(UInt64Array::from_iter_values(values.iter().copied())),
        Values::Text(names) => {
            Arc::new(StringViewArray::from_iter_values(names.iter().map(Name::as_str)))
        }
    }
}

fn metadata<const N: usize>(about: [(&str, &str); N]) -> HashMap<String, String> {
    about.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}
