//! Tables, which leave the core through the Arrow C stream interface.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_schema::Schema;
use incast_table::arrow::batch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// A table of a run, or of another simulator's results.
///
/// `polars.DataFrame(table)` has its rows, and so has whatever else reads Arrow streams. The
/// metadata of each Arrow field has `unit` and `doc`, those of the schema `name` and `doc`.
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

    pub(crate) fn get(&self) -> &incast_sim::Table {
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
    /// The name, such as `flows`.
    #[getter]
    fn name(&self) -> &'static str {
        self.get().name
    }

    /// The meaning of a row, and unit and meaning of each column.
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

    /// The rows as an Arrow C stream; a value that does not exist is null.
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

    fn __repr__(&self) -> String {
        format!("Table({:?}, {} rows)", self.get().name, self.get().rows())
    }
}

/// The rows of another Arrow stream as an Arrow C stream, described as `Table` is.
///
/// `rows` has `__arrow_c_stream__`; `columns` has `unit` and `doc` of each column.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts dictionaries by value")]
pub(crate) fn described_stream<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    name: String,
    doc: String,
    columns: HashMap<String, HashMap<String, String>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = stream(rows)?;
    let plain = reader.schema();
    let fields = plain.fields().iter().map(|field| {
        let about = columns.get(field.name()).cloned().unwrap_or_default();
        field.as_ref().clone().with_metadata(about)
    });
    let about = HashMap::from([("name".to_owned(), name), ("doc".to_owned(), doc)]);
    let fields: Vec<_> = fields.collect();
    let schema = Arc::new(Schema::new(fields).with_metadata(about));
    let own = Arc::clone(&schema);
    let batches = reader.map(move |batch| batch?.with_schema(Arc::clone(&own)));
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The rows of an object that has `__arrow_c_stream__`.
pub(crate) fn stream(rows: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = rows.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    #[expect(unsafe_code, reason = "the Arrow C stream interface hands streams over by pointer")]
    // SAFETY: a capsule of this name points to a stream, which lives as long as the capsule. The
    // stream is moved out, and an empty one is left behind.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    RecordBatchStreamReader::try_new(stream)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
