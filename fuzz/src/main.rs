//! One program for every target of the engine; the variable `TARGET` names it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_engine::fuzzing::{Target, target};
use std::sync::OnceLock;

static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("TARGET").unwrap_or_default();
        let found = target(&name).unwrap_or_else(|| panic!("TARGET={name}: no such target"));
        TARGET.set(found).expect("it is set once");
    },
    |data: &[u8]| {
        if let Some(run) = TARGET.get() {
            run(data);
        }
    }
);
