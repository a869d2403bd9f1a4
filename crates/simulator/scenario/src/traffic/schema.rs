//! The JSON Schema of traffic: one alternative for each kind, with the settings that the kind has.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::registry::{ENTRIES, Entry};
use super::{Common, Traffic};

impl JsonSchema for Traffic {
    fn schema_name() -> Cow<'static, str> {
        "Traffic".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let common = Common::json_schema(generator);
        let kinds = ENTRIES.iter().map(|entry| alternative(entry, &common, generator));
        json_schema!({
            "description": "Who sends what to whom. The field `kind` chooses.",
            "oneOf": kinds.collect::<Vec<_>>(),
        })
    }
}

/// The schema of one kind's table: its own settings, and the common ones that it uses.
fn alternative(entry: &Entry, common: &Schema, generator: &mut SchemaGenerator) -> Value {
    let own = (entry.schema)(generator);
    let mut properties = Map::new();
    properties.insert("kind".into(), json!({ "type": "string", "const": entry.name }));
    let copied = |(field, schema): (&String, &Value)| (field.clone(), schema.clone());
    properties.extend(fields(&own).map(copied));
    let known = fields(common).filter(|(field, _)| !entry.without.contains(&field.as_str()));
    properties.extend(known.map(copied));
    let mut required = vec![json!("kind")];
    if !entry.without.contains(&"from") {
        required.push(json!("from"));
    }
    required.extend(own.get("required").and_then(Value::as_array).cloned().unwrap_or_default());
    json!({
        "type": "object",
        "description": own.get("description"),
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn fields(schema: &Schema) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}
