//! What the engine needs of the machine: clocks, a CPU of its own, and how long it waited for one.

pub mod affinity;
pub mod clock;
pub mod run_delay;
