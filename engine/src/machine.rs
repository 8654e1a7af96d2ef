//! What the engine needs of the machine: clocks, a CPU of its own, how long it waited for one, and what others used.

pub mod affinity;
pub mod clock;
pub mod cpu_times;
pub mod main_thread;
pub mod process_clock;
pub mod run_delay;
