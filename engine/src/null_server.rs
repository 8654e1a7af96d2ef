//! The null server: answers any command or HTTP request at once with a reply of the correct kind and size, and
//! stores nothing.
//!
//! What a driver does against it is the driver's ceiling. It can also be slow in known ways (a delay, a service
//! time, a queue, a regular freeze), against which measurements are proved, and faulty in known ways for tests.

mod client;
mod command_reader;
mod event_loop;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod line_reader;
mod queueing;
mod replies;
mod request_reader;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use mio::Waker;
use serde::Deserialize;

use crate::content::values::ENVELOPE_BYTES;
use crate::plan::{Expect, PlanError};

use event_loop::EventLoop;

pub use queueing::Queue;

/// What a null server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NullProtocol {
    /// RESP2, and RESP3 once a client requires it.
    #[default]
    Resp,
    Http1,
    Memcached,
}

/// How a null server answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NullOptions {
    pub host: String,
    /// 0: any free port.
    pub port: u16,
    /// Listens at this path instead of a port.
    pub unix_path: Option<String>,
    pub protocol: NullProtocol,
    /// HTTP: the status of every reply.
    pub status: u16,
    /// HTTP: the length of every reply's body, which is JSON if it is long enough.
    pub body_bytes: usize,
    /// The CPU that the server's thread is pinned to.
    pub cpu: Option<usize>,
    /// Size of a document: its payload and 122 bytes.
    pub document_bytes: usize,
    /// Size of a document's field; when None 10, or less if the payload is shorter.
    pub field_bytes: Option<usize>,
    /// The kind of reply to a command, by its name; `OK` to any other.
    pub replies: BTreeMap<String, Expect>,
    /// Each reply leaves so long after its command arrived; any number may be pending.
    pub delay_us: f64,
    /// CPU time spent on each command, one after the other: what a neighbour takes comes on top, as for any server.
    pub busy_us: f64,
    /// Commands queue for servers that take a random time each. Together with none of the others.
    pub queue: Option<Queue>,
    /// In the last `freeze_s` of each `freeze_every_s` since the server started no reply leaves. Commands that
    /// arrive, or whose delay ends, in the freeze are answered (or, if busy, served) at its end.
    pub freeze_every_s: f64,
    pub freeze_s: f64,
    /// Keeps when each reply left; see `NullServer::left_unix_ns`.
    pub record: bool,
    /// What goes wrong, for tests.
    #[serde(skip)]
    pub fault: Option<Fault>,
}

impl Default for NullOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 0,
            unix_path: None,
            protocol: NullProtocol::Resp,
            status: 200,
            body_bytes: 100,
            cpu: None,
            document_bytes: 222,
            field_bytes: None,
            replies: BTreeMap::new(),
            delay_us: 0.0,
            busy_us: 0.0,
            queue: None,
            freeze_every_s: 0.0,
            freeze_s: 0.0,
            record: false,
            fault: None,
        }
    }
}

impl NullOptions {
    /// Reads options from JSON; what is left out has its default. The error names the option that is wrong.
    pub fn from_json(text: &str) -> Result<NullOptions, PlanError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            PlanError::new(if path == "." { "options".into() } else { path }, error.inner().to_string())
        })
    }
}

/// What goes wrong. Commands count from 1 over all connections, those of the handshake left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Each connection is closed once it has answered so many commands (0: at its first, unanswered).
    CloseAfter { commands: u64 },
    /// The n-th command is answered by bytes that are of no protocol.
    Garbage { nth: u64 },
    /// The n-th command is answered by this error of Redis (without the leading `-`).
    Error { nth: u64, text: String },
    /// The n-th command is answered by half a reply, then its connection is closed.
    HalfThenClose { nth: u64 },
    /// The n-th command is never answered.
    Silence { nth: u64 },
    /// Every reply leaves in pieces of so many bytes, with a pause after each.
    Pieces { bytes: usize, pause_us: u64 },
}

/// A running null server; it ends when dropped.
#[derive(Debug)]
pub struct NullServer {
    port: u16,
    state: Arc<State>,
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
    unix_path: Option<String>,
}

/// What the server's thread and its owner share.
#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    commands: AtomicU64,
    /// If the server records: when each reply left, as time since the epoch.
    left_unix_ns: Mutex<Vec<u64>>,
    /// And how long before that the command came, where the kernel stamps it.
    residence_ns: Mutex<Vec<u64>>,
}

impl State {
    #[cold]
    fn note_leaving(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.left_unix_ns.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(now.as_nanos() as u64);
    }

    #[cold]
    fn note_residence(&self, ago_ns: Option<u64>) {
        self.residence_ns.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(ago_ns);
    }
}

impl NullServer {
    /// Listens and answers in a thread of its own. Fails with `InvalidInput` naming an option that makes no sense,
    /// or with what the system says about the address.
    pub fn start(options: NullOptions) -> io::Result<NullServer> {
        check(&options)?;
        let state = Arc::new(State::default());
        let unix_path = options.unix_path.clone();
        let cpu = options.cpu;
        let event_loop = EventLoop::new(options, Arc::clone(&state))?;
        let (port, waker) = (event_loop.port()?, event_loop.waker()?);
        let thread = std::thread::Builder::new().name("null-server".into()).spawn(move || {
            if let Some(cpu) = cpu {
                crate::machine::affinity::pin_to(cpu);
            }
            crate::machine::affinity::exact_timers();
            event_loop.run();
        })?;
        Ok(NullServer { port, state, waker, thread: Mutex::new(Some(thread)), unix_path })
    }

    /// The port it listens at; 0 for a Unix socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Commands answered so far, those of the handshake (HELLO, AUTH, SELECT, CLIENT) left out.
    pub fn commands(&self) -> u64 {
        self.state.commands.load(Ordering::Relaxed)
    }

    /// When each reply left, in order, in nanoseconds since the epoch; those of the handshake left out. Empty unless the
    /// server records.
    pub fn left_unix_ns(&self) -> Vec<u64> {
        self.state.left_unix_ns.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// If the server records: how long each command was with it, in nanoseconds, from when the kernel had it until its reply
    /// had left; of commands that come one at a time on their connections. Those whose arrival was not stamped are left out.
    pub fn residence_ns(&self) -> Vec<u64> {
        self.state.residence_ns.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Closes all connections and ends the thread. More than once is fine.
    pub fn stop(&self) {
        self.state.stop.store(true, Ordering::SeqCst);
        // Without a wake-up the thread reads the flag when it next polls.
        let _ = self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(thread) = thread {
            let _ = thread.join();
            if let Some(path) = &self.unix_path {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn check(options: &NullOptions) -> io::Result<()> {
    let refuse = |message: String| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    if !(200..600).contains(&options.status) {
        return refuse(format!("status: {}: must be 200 to 599", options.status));
    }
    let least = ENVELOPE_BYTES + 2;
    let document = options.document_bytes;
    if document < least {
        return refuse(format!("document_bytes: {document}: must be at least {least}"));
    }
    if let Some(field) = options.field_bytes.filter(|field| !(1..document - ENVELOPE_BYTES).contains(field)) {
        return refuse(format!("field_bytes: {field}: must be at least 1 and smaller than document_bytes - 122"));
    }
    for (name, value) in [
        ("delay_us", options.delay_us),
        ("busy_us", options.busy_us),
        ("freeze_every_s", options.freeze_every_s),
        ("freeze_s", options.freeze_s),
    ] {
        if !(0.0..=1e9).contains(&value) {
            return refuse(format!("{name}: {value}: must be 0 to 1000000000"));
        }
    }
    if let Some(queue) = &options.queue {
        if let Some(problem) = queue.problem() {
            return refuse(problem);
        }
        if options.delay_us + options.busy_us + options.freeze_s > 0.0 {
            return refuse("queue: must stand alone: leave out delay_us, busy_us and freeze_s".into());
        }
    }
    if options.freeze_s > 0.0 && options.freeze_s >= options.freeze_every_s {
        return refuse(format!("freeze_s: {}: must be less than freeze_every_s", options.freeze_s));
    }
    Ok(())
}

/// The first address of a host and port.
fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("host: {host}: has no address")))
}

#[cfg(test)]
mod tests;
