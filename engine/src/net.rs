//! Input and output: endpoints resolved, TLS, connections, the pool that assigns them, and the wait for events.

pub mod back_end;
pub mod connection;
pub mod event;
pub mod inbox;
pub mod poller;
pub mod pool;
pub mod resolve;
#[cfg(target_os = "linux")]
pub mod ring;
#[cfg(not(target_os = "linux"))]
#[path = "net/no_ring.rs"]
pub mod ring;
pub mod tls;
pub mod waiter;
