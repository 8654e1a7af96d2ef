//! What a driver has to do: the mirror of `python/loadstone/experiment/plan/drive_plan.py`.
//!
//! Same names, same defaults, unknown keys are errors. Units stand last in a name.

mod http;
mod receivers;
mod recording;
mod share;

pub use http::{DataFile, DataFormat, DataOrder, HttpExpect, HttpRequest, Method, Status, Statuses};
pub use receivers::{ReceiverKind, Receivers};
pub use recording::Recording;
pub use share::Share;

use serde::Deserialize;
use std::collections::BTreeMap;

/// A plan that cannot be driven: names the field, the value and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct PlanError {
    pub field: String,
    pub message: String,
}

impl PlanError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// How a TLS connection is verified. Without `ca_file` the machine's own roots are used.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    pub ca_file: Option<String>,
    pub server_name: Option<String>,
    pub verify: bool,
    pub cert_file: Option<String>,
    pub key_file: Option<String>,
}

impl Default for Tls {
    fn default() -> Self {
        Self { ca_file: None, server_name: None, verify: true, cert_file: None, key_file: None }
    }
}

/// Where a server listens: TCP host and port, or a Unix socket; and how to log in.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    pub unix_path: Option<String>,
    pub tls: Option<Tls>,
    pub username: Option<String>,
    pub password: Option<String>,
    pub database: u32,
    /// HTTP: stands before every path.
    pub base_path: String,
    /// HTTP: headers of every request whose values are secrets.
    pub secret_headers: BTreeMap<String, String>,
    /// Ranges of the hash slots of a node of a cluster, both ends included. Among others that have slots, one without
    /// any is a node that slots may move to.
    pub slots: Vec<(u16, u16)>,
    /// It takes the place of the primary when Sentinel says so, and gets nothing before.
    pub standby: bool,
    /// It is a Sentinel, and this is the name by which it knows the primary.
    pub sentinel_of: Option<String>,
    /// It is a replica of the endpoint with this number, and gets what only reads that one's keys.
    pub replica_of: Option<usize>,
    /// Its replicas get all that only reads.
    pub writes_only: bool,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 6379,
            unix_path: None,
            tls: None,
            username: None,
            password: None,
            database: 0,
            base_path: String::new(),
            secret_headers: BTreeMap::new(),
            slots: Vec::new(),
            standby: false,
            sentinel_of: None,
            replica_of: None,
            writes_only: false,
        }
    }
}

impl Endpoint {
    /// Whether the load goes there from the beginning.
    pub fn in_service(&self) -> bool {
        self.sentinel_of.is_none() && (!self.standby || self.replica_of.is_some())
    }

    /// The address as printed for people; never holds a secret.
    pub fn label(&self) -> String {
        self.unix_path.clone().unwrap_or_else(|| format!("{}:{}", self.host, self.port))
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.label())
    }
}

/// Users start in steps, as nGrinder does it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RampUp {
    pub initial_users: u32,
    pub step_users: u32,
    pub step_every_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkTime {
    #[default]
    Constant,
    Exponential,
}

/// Closed model: each virtual user waits for its reply, thinks, and sends its next request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    pub users: u32,
    #[serde(default)]
    pub think_time_ms: f64,
    #[serde(default)]
    pub think_time: ThinkTime,
    #[serde(default)]
    pub ramp_up: Option<RampUp>,
    #[serde(default)]
    pub operations_per_user: Option<u64>,
    /// The first so many users do one operation more than `operations_per_user`.
    #[serde(default)]
    pub operations_more: u32,
    /// As `Open::spin_us`.
    #[serde(default)]
    pub spin_us: Option<f64>,
}

/// One stretch of a schedule of arrival rates; the last one lasts until the end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    pub rate_per_s: f64,
    pub duration_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    #[default]
    Constant,
    Poisson,
    /// As the plan's recording has them.
    Recorded,
}

/// Open model: operations arrive on their own schedule, whether or not replies came.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    pub rate_per_s: f64,
    #[serde(default)]
    pub schedule: Vec<RateStep>,
    #[serde(default)]
    pub arrivals: Arrivals,
    #[serde(default = "default_backlog_max")]
    pub backlog_max: u64,
    /// The longest stretch of a wait that is spent awake; None, which is left to whoever knows the CPUs, is none.
    #[serde(default)]
    pub spin_us: Option<f64>,
}

fn default_backlog_max() -> u64 {
    1_000_000
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Model {
    Closed(Closed),
    Open(Open),
}

impl Model {
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// The longest stretch of a wait that is spent awake.
    pub fn spin_us(&self) -> f64 {
        let spin_us = match self {
            Self::Closed(closed) => closed.spin_us,
            Self::Open(open) => open.spin_us,
        };
        spin_us.unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolOrder {
    #[default]
    Lifo,
    Fifo,
}

/// A pool of connections shared by the users of a driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub connections: u32,
    #[serde(default)]
    pub min_idle: Option<u32>,
    #[serde(default)]
    pub max_idle: Option<u32>,
    #[serde(default)]
    pub order: PoolOrder,
}

/// Lengths of the phases, in order. Only operations intended in `measure` are measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Phases {
    pub ramp_up_s: f64,
    pub warm_up_s: f64,
    pub measure_s: f64,
    pub measure_operations: Option<u64>,
    pub measure_max_s: Option<f64>,
    pub drain_s: f64,
}

impl Default for Phases {
    fn default() -> Self {
        Self {
            ramp_up_s: 0.0,
            warm_up_s: 1.0,
            measure_s: 5.0,
            measure_operations: None,
            measure_max_s: None,
            drain_s: 2.0,
        }
    }
}

/// What a correct reply is; see `Expect` in `experiment/plan/drive_plan.py`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    #[default]
    Any,
    Ok,
    Integer,
    Document,
    Hash,
    Field,
    FieldArray,
    Value,
    Item,
    Positive,
    Row,
}

/// One command; `args[0]` is its name. Placeholders as in `experiment/plan/drive_plan.py`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub args: Vec<String>,
    #[serde(default)]
    pub expect: Expect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    #[default]
    Nothing,
    Document,
    Field,
}

/// One unit of work as the user counts it: one command or request, or several in a row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub name: String,
    #[serde(default = "default_weight")]
    pub weight: f64,
    #[serde(default)]
    pub commands: Vec<Command>,
    #[serde(default)]
    pub requests: Vec<HttpRequest>,
    #[serde(default)]
    pub writes: Writes,
    #[serde(default)]
    pub read_back: Option<Command>,
    /// All its commands only read: it may go to a replica.
    #[serde(default)]
    pub reads_only: bool,
}

fn default_weight() -> f64 {
    1.0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    Sequential,
    #[default]
    Uniform,
    Zipf,
    Gaussian,
    ExactlyOnce,
}

/// The key space: `prefix` followed by a 12-digit number from 0 to `count` - 1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keys {
    pub prefix: String,
    pub count: u64,
    pub distribution: Distribution,
    pub zipf_exponent: f64,
    pub gaussian_sd: f64,
    pub loaded: bool,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            prefix: "loadstone:".into(),
            count: 1000,
            distribution: Distribution::Uniform,
            zipf_exponent: 0.99,
            gaussian_sd: 0.15,
            loaded: false,
        }
    }
}

/// Generated documents: payload + 122 bytes of JSON; `field` is a part of the payload.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Documents {
    pub payload_bytes: usize,
    pub field_bytes: usize,
    pub content: Content,
}

/// Whether contents differ between keys and versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Each version of each key has its own.
    #[default]
    Random,
    /// All have the same.
    Repeat,
}

impl Default for Documents {
    fn default() -> Self {
        Self { payload_bytes: 100, field_bytes: 10, content: Content::Random }
    }
}

/// Whether replies are held against what was written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verify {
    pub replies: bool,
    pub count_mismatch: bool,
    pub read_back_max: u64,
    /// None: what the operations can expect.
    pub reply_max_bytes: Option<usize>,
}

impl Default for Verify {
    fn default() -> Self {
        Self { replies: true, count_mismatch: true, read_back_max: 64, reply_max_bytes: None }
    }
}

/// Limits after which waiting is given up and counted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    pub connect_ms: f64,
    pub request_ms: f64,
    pub gone_s: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 2000.0, request_ms: 5000.0, gone_s: 2.0 }
    }
}

/// By which interface of the system a driver sends, receives and waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackEnd {
    #[default]
    Auto,
    Epoll,
    IoUring,
}

/// The protocols that a plan may name; `wire` says what each can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireKind {
    #[default]
    Resp2,
    Resp3,
    Http1,
    Memcached,
}

/// What a driver does in one trial; of several agents each has the whole plan, and does its `share`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default = "default_format")]
    pub format: u32,
    #[serde(default = "default_seed")]
    pub seed: u64,
    #[serde(default)]
    pub protocol: WireKind,
    pub endpoints: Vec<Endpoint>,
    #[serde(default = "default_threads")]
    pub threads: usize,
    #[serde(default)]
    pub cpus: Vec<usize>,
    #[serde(default)]
    pub back_end: BackEnd,
    pub model: Model,
    pub pool: Pool,
    #[serde(default = "default_pipeline_depth")]
    pub pipeline_depth: usize,
    #[serde(default)]
    pub phases: Phases,
    pub operations: Vec<Operation>,
    #[serde(default)]
    pub data: Option<DataFile>,
    #[serde(default)]
    pub recording: Option<Recording>,
    #[serde(default)]
    pub receivers: Option<Receivers>,
    #[serde(default)]
    pub keys: Keys,
    #[serde(default)]
    pub documents: Documents,
    #[serde(default)]
    pub verify: Verify,
    #[serde(default)]
    pub acknowledged: bool,
    #[serde(default)]
    pub timeouts: Timeouts,
    #[serde(default = "default_interval_s")]
    pub interval_s: f64,
    #[serde(default)]
    pub start_at_unix_ns: Option<u64>,
    /// On this machine's CLOCK_MONOTONIC.
    #[serde(default)]
    pub start_at_monotonic_ns: Option<u64>,
    #[serde(default)]
    pub share: Option<Share>,
}

fn default_format() -> u32 {
    1
}

fn default_seed() -> u64 {
    1
}

fn default_threads() -> usize {
    1
}

fn default_pipeline_depth() -> usize {
    1
}

fn default_interval_s() -> f64 {
    1.0
}

impl Plan {
    /// Longest possible measure phase, in seconds.
    pub fn measure_max_s(&self) -> f64 {
        self.phases.measure_max_s.unwrap_or(self.phases.measure_s).max(self.phases.measure_s)
    }
}
