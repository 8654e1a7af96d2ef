//! A recording whose commands are sent again, as a plan has it.

use super::{Plan, Share};
use serde::Deserialize;

/// Commands that were recorded, in the file that was prepared for drivers (see `load/recorded.rs`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub path: String,
    /// By how much faster they come than they were recorded.
    #[serde(default = "own_speed")]
    pub speed: f64,
    /// What the commands store, for those who look after the server's memory.
    #[serde(default)]
    pub stored_bytes: u64,
}

fn own_speed() -> f64 {
    1.0
}

impl Plan {
    /// Whether keys decide on the endpoint, by hash slots.
    pub fn has_slots(&self) -> bool {
        self.endpoints.iter().any(|endpoint| !endpoint.slots.is_empty())
    }

    /// Connections of which each client of a recording has so many: one to each node of a cluster.
    pub fn connections_a_sequence(&self) -> usize {
        if self.recording.is_some() && self.has_slots() { self.endpoints.len() } else { 1 }
    }

    /// The clients of a recording that are apart; others share theirs.
    pub fn sequences(&self) -> usize {
        (self.pool.connections as usize / self.connections_a_sequence()).max(1)
    }

    /// Those of one thread.
    pub fn own_sequences(&self, share: Share) -> usize {
        share.part_of(self.sequences())
    }

    /// The connections of one thread.
    pub fn own_connections(&self, share: Share) -> usize {
        self.own_sequences(share) * self.connections_a_sequence()
    }
}
