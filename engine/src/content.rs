//! What stands in a request: generated documents, rows of a data file, and the templates that they fill.

pub mod data;
pub mod message;
pub mod outbox;
pub mod template;
pub mod values;
