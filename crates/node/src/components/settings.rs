//! Settings of components as their classes get them.

use stead_app::components::{Setting, Settings};
use stead_python::Value;

/// Settings as the class gets them: those of the only `config`, or those of each by its name.
pub(super) fn settings(list: &[Settings]) -> Result<Value, String> {
    let values = |settings: &Settings| Value::Dict(settings.values.iter().map(pair).collect());
    Ok(match list {
        [only] => values(only),
        several => Value::Dict(several.iter().map(|s| (s.name.clone(), values(s))).collect()),
    })
}

fn pair((name, setting): &(String, Setting)) -> (String, Value) {
    (name.clone(), value(setting))
}

/// As deep as the file nests, which has a limit.
fn value(setting: &Setting) -> Value {
    match setting {
        Setting::Text(text) | Setting::File(text) => text.as_str().into(),
        Setting::Bool(value) => (*value).into(),
        Setting::Int(value) => (*value).into(),
        Setting::Float(value) => (*value).into(),
        Setting::List(list) => Value::List(list.iter().map(value).collect()),
        Setting::Map(map) => Value::Dict(map.iter().map(pair).collect()),
    }
}
