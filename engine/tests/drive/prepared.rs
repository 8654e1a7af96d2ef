//! Files of recorded commands, as they are prepared for drivers.

use crate::support::{lay_over, plan};
use loadstone_engine::plan::Plan;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Of the number of arguments: no node of a cluster takes the command.
pub const NOT_IN_A_CLUSTER: u32 = 1 << 31;

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text = 0,
    Key = 1,
    NotSent = 2,
}

/// A command of a client, at a time in milliseconds. Its operation is that with its name among `NAMES`.
pub struct Command {
    pub at_ms: u64,
    pub client: u32,
    pub flags: u32,
    pub arguments: Vec<(String, Kind)>,
}

pub const NAMES: [&str; 6] = ["SET", "GET", "PING", "MULTI", "EXEC", "MSET"];

impl Command {
    /// The arguments with blanks between them; a key has `@` before it, what is not sent `~`.
    pub fn new(at_ms: u64, client: u32, text: &str) -> Self {
        let argument = |text: &str| match text.as_bytes()[0] {
            b'@' => (text[1..].to_string(), Kind::Key),
            b'~' => (text[1..].to_string(), Kind::NotSent),
            _ => (text.to_string(), Kind::Text),
        };
        Self { at_ms, client, flags: 0, arguments: text.split(' ').map(argument).collect() }
    }

    fn bytes(&self) -> Vec<u8> {
        let operation = NAMES.iter().position(|name| *name == self.arguments[0].0).unwrap();
        let argument = |(text, kind): &(String, Kind)| {
            [&((text.len() as u32) << 2 | *kind as u32).to_le_bytes()[..], text.as_bytes()].concat()
        };
        let body: Vec<u8> = self.arguments.iter().flat_map(argument).collect();
        let sent = self.arguments.iter().filter(|(_, kind)| *kind != Kind::NotSent).count() as u32;
        let mut bytes = (self.at_ms * 1_000_000).to_le_bytes().to_vec();
        for number in [self.client, operation as u32, sent | self.flags, body.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        [bytes, body].concat()
    }
}

/// A file of commands; it is removed with this.
pub struct Prepared(PathBuf);

impl Prepared {
    pub fn new(name: &str, commands: &[Command]) -> Self {
        let path = std::env::temp_dir().join(format!("loadstone-replay-{}-{name}", std::process::id()));
        let mut bytes = b"recorded".to_vec();
        commands.iter().for_each(|command| bytes.extend(command.bytes()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// A plan that sends it again, to one server if `changes` do not say otherwise.
    pub fn plan(&self, port: u16, model: Value, changes: Value) -> Plan {
        let mut all = json!({
            "model": model, "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_max_s": 20.0},
            "recording": {"path": self.path()}, "keys": {"prefix": "p:"},
        });
        let operation = |name: &&str| json!({"name": name.to_lowercase(), "commands": [{"args": [name]}]});
        all["operations"] = NAMES.iter().map(operation).collect();
        lay_over(&mut all, changes);
        plan(port, all)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Arrivals as they were recorded.
pub fn recorded() -> Value {
    json!({"kind": "open", "rate_per_s": 1000.0, "arrivals": "recorded"})
}
