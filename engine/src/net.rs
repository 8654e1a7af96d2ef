//! Input and output: endpoints resolved, TLS, connections, the pool that assigns them, and the wait for events.

pub mod connection;
pub mod inbox;
pub mod pool;
pub mod resolve;
pub mod tls;
pub mod waiter;
