//! Whole drives against the null server: every operation is accounted for, whatever goes wrong.

mod acknowledged;
mod another;
mod closed;
mod cluster;
mod ending;
mod faults;
mod http;
mod http_plans;
mod http_server;
mod open;
mod pool;
mod resp_server;
mod rounds;
mod secure;
mod starting;
mod support;
