//! What came of a drive: each thread records, the collector merges, and the record concludes.

pub mod calls;
pub mod collector;
pub mod conclusion;
pub mod examples;
pub mod histogram;
pub mod outbox;
pub mod outcome;
pub mod recorder;
pub mod slices;
pub mod stalls;
pub mod tally;
