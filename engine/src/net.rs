//! Input and output: endpoints resolved, TLS, connections, the pool that assigns them, and the wait for events.

pub mod back_end;
pub mod event;
pub mod inbox;
pub mod line;
pub mod poller;
pub mod pool;
pub mod resolve;
#[cfg(all(target_os = "linux", not(feature = "without_io_uring")))]
pub mod ring;
#[cfg(any(not(target_os = "linux"), feature = "without_io_uring"))]
#[path = "net/no_ring.rs"]
pub mod ring;
#[cfg(test)]
pub mod simulated;
pub mod spin;
pub mod stamps;
pub mod tls;
pub mod waiter;
