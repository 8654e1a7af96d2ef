//! loadstone's load engine: it turns a [`plan::Plan`] into load and says what came of it.
//!
//! The way of an operation: [`users`] or [`arrival`] says when it is intended, [`pool`] gives it a
//! connection, [`protocol`] writes its bytes, [`connection`] sends them, and [`record`] keeps its
//! times. [`worker`] is the loop of one thread; [`drive`] starts the threads and merges what they saw.

pub mod affinity;
pub mod arrival;
pub mod clock;
pub mod collect;
pub mod conclude;
pub mod connection;
pub mod control;
pub mod data;
pub mod decoded;
pub mod drive;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod hand;
pub mod histogram;
pub mod http1;
pub mod keys;
pub mod null_server;
pub mod outcome;
pub mod plan;
mod plan_reading;
pub mod pool;
pub mod protocol;
pub mod record;
pub mod resolve;
pub mod resp;
pub mod rng;
pub mod run_delay;
pub mod slots;
#[cfg(feature = "slowed")]
pub mod slowed;
pub mod tally;
pub mod template;
pub mod timeline;
pub mod tls;
pub mod users;
pub mod values;
pub mod wait;
pub mod worker;

/// The part of `total` that falls to one of `parts`; the parts add up to `total` and differ by one at most.
fn share(total: usize, part: usize, parts: usize) -> usize {
    total / parts + usize::from(part < total % parts)
}
