//! What a drive requests and when: users and arrivals say when an operation is intended, a [`Workload`] says which
//! one it is, which key it has, and what its reply must be.

mod acknowledged;
pub mod arrivals;
mod operations;
mod read_back;
mod recorded;
mod replicas;
mod routes;
mod shared;
pub mod slots;
pub mod users;
mod workload;

pub use operations::OperationInfo;
pub use read_back::ReadBackCounts;
pub use recorded::Recorded;
pub use shared::Shared;
pub use workload::{Request, Workload};
