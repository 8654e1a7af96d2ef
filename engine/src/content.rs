//! What stands in a request: generated documents, rows of a data file, and the templates that they fill.

pub mod data;
pub mod keys;
pub mod message;
pub mod other_keys;
pub mod rng;
pub mod send_buffer;
pub mod template;
pub mod values;
