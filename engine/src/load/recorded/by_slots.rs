//! Which slots the commands of a recording go to, and how many bytes of them are kept to be sent again.

use super::LARGE_BYTES;
use super::arguments::Arguments;
use crate::load::slots::slot_of;
use crate::plan::Plan;
use crate::wire::resp::SLOTS;

/// Of commands that were sent to a cluster, of all threads of an agent together: what comes beyond cannot be sent on.
const KEPT_MAX_BYTES: usize = 256 << 20;

/// Which slots the commands of a cluster go to.
#[derive(Debug)]
pub(super) struct BySlots {
    prefix: Vec<u8>,
    /// Of each sequence the slot of its last command that has one: the next one without keys goes there, too.
    last: Vec<u16>,
    pub kept_bytes: usize,
    pub kept_max_bytes: usize,
    key: Vec<u8>,
}

impl BySlots {
    pub fn new(plan: &Plan, sequences: usize) -> Self {
        Self {
            prefix: plan.keys.prefix.as_bytes().to_vec(),
            last: (0..sequences).map(|sequence| (SLOTS * sequence / sequences) as u16).collect(),
            kept_bytes: 0,
            kept_max_bytes: KEPT_MAX_BYTES / plan.threads,
            key: Vec::new(),
        }
    }

    /// The slot of a command's first key; without any, that of its sequence's command before it.
    pub fn slot(&mut self, sequence: usize, arguments: &[u8]) -> u16 {
        if let Some((_, text)) = Arguments(arguments).find(|(kind, _)| *kind != 0) {
            self.key.clear();
            self.key.extend_from_slice(&self.prefix);
            self.key.extend_from_slice(text);
            self.last[sequence] = slot_of(&self.key) as u16;
            if self.key.capacity() > LARGE_BYTES {
                self.key = Vec::new();
            }
        }
        self.last[sequence]
    }
}
