//! Whole drives against the null server: every operation is accounted for, whatever goes wrong.

mod acknowledged;
mod another;
mod back_ends;
mod closed;
mod cluster;
mod ending;
mod failover;
mod faults;
mod http;
mod http_plans;
mod http_server;
mod memcached;
mod open;
mod pool;
mod prepared;
mod recorded;
mod redirections;
mod replayed;
mod replicas;
mod resp_server;
mod rounds;
mod rounds_ending;
mod rounds_paused;
mod secure;
mod starting;
mod support;
