//! Tables as Arrow record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringViewArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::{Column, Name, Table, Values};

/// The rows of a table, with the unit and meaning of each column in its field's metadata.
///
/// # Panics
/// The columns have not the same length.
pub fn batch(table: &Table) -> RecordBatch {
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

/// The rows of batches as a table without units and meanings. It has those of the columns that
/// there are and whose values are 64-bit numbers or text views. Numbers that are null become NaN,
/// names that are null empty.
///
/// # Errors
/// A batch cannot be read.
pub fn table(
    name: &'static str,
    columns: &[&'static str],
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
) -> Result<Table, ArrowError> {
    let mut table = Table::new(name, "");
    for batch in batches {
        let batch = batch?;
        for &name in columns {
            let Some(part) = batch.column_by_name(name).and_then(read) else { continue };
            match table.columns.iter_mut().find(|column| column.name == name) {
                Some(column) => append(&mut column.values, part),
                None => table.columns.push(Column { name, unit: "", doc: "", values: part }),
            }
        }
    }
    Ok(table)
}

fn read(array: &ArrayRef) -> Option<Values> {
    if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
        return Some(numbers.iter().map(|number| number.unwrap_or(f64::NAN)).collect());
    }
    let names = array.as_string_view_opt()?;
    Some(names.iter().map(|name| name.unwrap_or_default().to_owned()).collect())
}

fn append(values: &mut Values, part: Values) {
    match (values, part) {
        (Values::F64(values), Values::F64(part)) => values.extend(part),
        (Values::U64(values), Values::U64(part)) => values.extend(part),
        (Values::Text(values), Values::Text(part)) => values.extend(part),
        // The batches of a stream have one schema.
        _ => {}
    }
}
