//! Connections that receive what the load sends: subscribers of channels, consumers of streams.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiverKind {
    /// Each subscribes to one channel, and gets every message of it.
    Subscribe,
    /// Each reads one stream as a consumer of its one group, which shares the stream's entries out.
    StreamGroup,
}

impl ReceiverKind {
    /// The command that sends to such receivers.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Subscribe => "PUBLISH",
            Self::StreamGroup => "XADD",
        }
    }
}

/// Receivers beside the pool, evenly over the plan's keys: number `i` has that of `i` modulo their count.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receivers {
    pub kind: ReceiverKind,
    pub connections: u32,
    /// The most entries of a stream that one read takes.
    #[serde(default = "default_count")]
    pub count: u32,
}

fn default_count() -> u32 {
    100
}

impl Receivers {
    /// How many receivers get each message.
    pub fn copies(&self, channels: u64) -> u64 {
        match self.kind {
            ReceiverKind::Subscribe => u64::from(self.connections) / channels,
            ReceiverKind::StreamGroup => 1,
        }
    }
}
