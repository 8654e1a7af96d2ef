//! The plans that every language is tested against: what Python writes, Rust reads.

use loadstone_engine::load::{Shared, Workload};
use loadstone_engine::plan::{Model, Plan};
use std::path::Path;
use std::sync::Arc;

#[test]
fn every_example_is_read_and_can_be_driven() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/examples/plan");
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of examples is there").flatten() {
        let name = entry.file_name().into_string().expect("names are text");
        if !name.ends_with(".json") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("an example can be read");
        let mut plan = Plan::from_json(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The examples' paths begin at the top folder.
        let from_here = |path: &str| folder.join("../../..").join(path).to_str().expect("paths are text").to_string();
        if let Some(data) = &mut plan.data {
            data.path = from_here(&data.path);
        }
        if let Some(recording) = &mut plan.recording {
            recording.path = from_here(&recording.path);
        }
        let kind = if matches!(plan.model, Model::Open(_)) { "open" } else { "closed" };
        let value: serde_json::Value = serde_json::from_str(&text).expect("an example is JSON");
        assert_eq!(value["model"]["kind"], kind, "{name}");
        let shared = Arc::new(Shared::new(&plan).unwrap_or_else(|error| panic!("{name}: {error}")));
        Workload::new(&plan, shared, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
        read += 1;
    }
    assert!(read > 0, "no example in {}", folder.display());
}
