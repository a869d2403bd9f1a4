//! Tables as files, and parts of them to be shown and drawn.

use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use incast_table::arrow::batch;
use incast_table::{Column, Name, Table, Values};
use serde_json::{Value, json};

/// A table as comma-separated values: a line of names, and numbers in as few digits as tell them
/// from all others. A value that does not exist is empty.
pub(crate) fn csv(table: &Table) -> Vec<u8> {
    let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
    let mut text = names.join(",");
    text.push('\n');
    for row in 0..table.rows() {
        for (place, column) in table.columns.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            text.push_str(&quoted(cell(column, row)));
        }
        text.push('\n');
    }
    text.into_bytes()
}

/// A table as an Arrow file, with units and meanings in the metadata of its fields.
pub(crate) fn arrow(table: &Table) -> Result<Vec<u8>, ArrowError> {
    let batch = batch(table);
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// The description of a table.
pub(crate) fn described(table: &Table) -> Value {
    let columns = table.columns.iter().map(|column| {
        let kind = match &column.values {
            Values::F64(_) => "number",
            Values::U64(_) => "count",
            Values::Text(_) => "text",
        };
        json!({ "name": column.name, "unit": column.unit, "doc": column.doc, "kind": kind })
    });
    json!({
        "name": table.name,
        "doc": table.doc,
        "rows": table.rows(),
        "columns": columns.collect::<Vec<_>>(),
    })
}

/// Some rows of a table, as text.
pub(crate) fn rows(table: &Table, from: usize, count: usize) -> Value {
    let until = from.saturating_add(count).min(table.rows());
    let row = |row| table.columns.iter().map(|column| cell(column, row)).collect::<Vec<_>>();
    (from..until).map(row).collect::<Vec<_>>().into()
}

/// A column as numbers, or as names.
pub(crate) fn column(column: &Column) -> Value {
    match &column.values {
        Values::F64(values) => json!(values),
        Values::U64(values) => json!(values),
        Values::Text(names) => names.iter().map(Name::as_str).collect::<Vec<_>>().into(),
    }
}

/// The values of a column as bytes, the least first; none of text.
pub(crate) fn bytes(column: &Column) -> Option<Vec<u8>> {
    match &column.values {
        Values::F64(values) => Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Values::U64(values) => Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Values::Text(_) => None,
    }
}

fn cell(column: &Column, row: usize) -> String {
    match &column.values {
        Values::F64(values) if values[row].is_nan() => String::new(),
        Values::F64(values) => values[row].to_string(),
        Values::U64(values) => values[row].to_string(),
        Values::Text(names) => names[row].as_str().to_owned(),
    }
}

fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_lines_with_what_is_special_quoted() {
        let rows = [("a,b", 0.1, 3_u64), ("c\"d", f64::NAN, u64::MAX)];
        let table = Table::new("t", "a row")
            .column(("name", "", "a name"), &rows, |row| row.0.to_owned())
            .column(("x_us", "us", "a number"), &rows, |row| row.1)
            .column(("n", "", "a count"), &rows, |row| row.2);
        let text = String::from_utf8(csv(&table)).unwrap();
        assert_eq!(text, "name,x_us,n\n\"a,b\",0.1,3\n\"c\"\"d\",,18446744073709551615\n");
    }
}
