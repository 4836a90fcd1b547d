use serde_json::Value;
use std::path::Path;

#[test]
fn the_committed_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/settings.schema.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&crate::schema()).unwrap());
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == now, "{} is old: run this test with UPDATE=1", path.display());
}

#[test]
fn the_schema_knows_the_keys() {
    let schema = crate::schema();
    for key in ["preset", "filesystem", "network", "environment", "limits", "$schema"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    assert_eq!(schema["additionalProperties"], Value::Bool(false));
}
