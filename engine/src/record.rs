//! What came of a drive: what each thread records, and the types of a drive's record.

pub mod calls;
pub mod examples;
pub mod histogram;
pub mod outcome;
pub mod recorder;
pub mod slices;
pub mod stalls;
pub mod tally;
pub mod thread_end;
pub mod timeline;
