//! loadstone's load engine: it turns a [`plan::Plan`] into load and reports what came of it.
//!
//! The way of an operation: [`load`] says when it is intended and which one it is, [`net`] gives it a connection,
//! [`wire`] writes its bytes and judges its reply, and [`record`] keeps its times. [`worker`] is the loop of one
//! thread, [`receivers`] get what it sends; [`drive`] starts the threads and merges their reports; [`rounds`] has several drives that take turns.

pub mod content;
pub mod control;
pub mod drive;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod link;
pub mod load;
pub mod machine;
pub mod net;
pub mod null_server;
pub mod plan;
mod reading;
pub mod receivers;
pub mod record;
pub mod rounds;
#[cfg(feature = "slowed")]
pub mod slowed;
pub mod wire;
pub mod worker;
