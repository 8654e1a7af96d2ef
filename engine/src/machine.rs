//! What the engine needs of the machine: clocks, a CPU of its own, how long it waited for one, what others used and wait
//! for, and that others stand still.

pub mod affinity;
pub mod clock;
pub mod cpu_times;
pub mod main_thread;
pub mod paused_process;
pub mod process_clock;
pub mod run_delay;
pub mod waits;
