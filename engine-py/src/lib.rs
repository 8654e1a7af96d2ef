//! The Python binding of the load engine, and nothing else: JSON in, JSON out, no lock held meanwhile.
//! Its contract is `python/loadstone/_engine.pyi`.

mod distributions;

use loadstone_engine::drive::{Drive, Opened};
use loadstone_engine::link::LinkOptions;
use loadstone_engine::machine::waits;
use loadstone_engine::net::back_end;
use loadstone_engine::null_server::NullOptions;
use loadstone_engine::plan::{Plan, PlanError};
use loadstone_engine::record::outcome::DriveError;
use loadstone_engine::rounds;
use pyo3::exceptions::{PyConnectionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long Python waits for the engine before it looks for signals.
const SIGNAL_TICK: Duration = Duration::from_millis(50);
const LEASE_MAX: Duration = Duration::from_secs(24 * 3600);

fn plan_error(error: PlanError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn drive_error(error: DriveError) -> PyErr {
    match error {
        DriveError::Plan(error) => plan_error(error),
        DriveError::Start(why) => PyConnectionError::new_err(why),
        DriveError::NotStarted | DriveError::Broken => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Of what listens: an option that makes no sense, or what the system says.
fn start_error(error: std::io::Error) -> PyErr {
    match error.kind() {
        ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
        _ => PyErr::from(error),
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn seconds(timeout_s: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(timeout_s)
        .map_err(|error| PyValueError::new_err(format!("timeout_s: {timeout_s}: {error}")))
}

/// The length of a lease.
fn lease(seconds: f64) -> PyResult<Duration> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(length) if !length.is_zero() && length <= LEASE_MAX => Ok(length),
        _ => Err(PyValueError::new_err(format!("seconds: {seconds}: must be above 0 and at most a day"))),
    }
}

/// Waits for what `next` brings, for so long in all, without the interpreter: that runs for signals alone, whose handlers
/// may raise.
fn ticking<T: Send>(
    py: Python<'_>,
    timeout_s: f64,
    next: impl Fn(Duration) -> Option<T> + Sync,
    is_over: impl Fn() -> bool + Sync,
) -> PyResult<Option<T>> {
    let until = Instant::now().checked_add(seconds(timeout_s)?);
    loop {
        let left = until.map_or(SIGNAL_TICK, |until| until.saturating_duration_since(Instant::now()));
        let found = py.detach(|| next(left.min(SIGNAL_TICK)));
        if found.is_some() || left.is_zero() || is_over() {
            return Ok(found);
        }
        py.check_signals()?;
    }
}

/// One drive. Runs in threads of its own.
#[pyclass(frozen, module = "loadstone._engine")]
struct Engine {
    drive: Drive,
    /// What is open, until it begins.
    opened: Mutex<Option<Opened>>,
}

impl Engine {
    fn opened(&self) -> MutexGuard<'_, Option<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Engine {
    #[new]
    fn new(py: Python<'_>, plan_json: &str) -> PyResult<Self> {
        let drive = py.detach(|| Plan::from_json(plan_json).and_then(Drive::new));
        Ok(Self { drive: drive.map_err(plan_error)?, opened: Mutex::default() })
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.drive.start()).map_err(drive_error)
    }

    fn open(&self, py: Python<'_>) -> PyResult<()> {
        let opened = py.detach(|| self.drive.open()).map_err(drive_error)?;
        *self.opened() = Some(opened);
        Ok(())
    }

    #[pyo3(signature = (at_monotonic_ns=None))]
    fn begin(&self, py: Python<'_>, at_monotonic_ns: Option<u64>) -> PyResult<u64> {
        let opened = self.opened().take().ok_or_else(|| PyRuntimeError::new_err("nothing is open that could begin"))?;
        py.detach(|| self.drive.begin_at(opened, at_monotonic_ns)).map_err(drive_error)
    }

    fn lease(&self, seconds: f64) -> PyResult<bool> {
        Ok(self.drive.lease(lease(seconds)?))
    }

    fn hold_intervals(&self, seconds: f64, from_s: f64) -> PyResult<()> {
        self.drive.hold_intervals(self::seconds(seconds)?, self::seconds(from_s)?.as_secs_f64());
        Ok(())
    }

    fn end_measure(&self, at_monotonic_ns: u64) {
        self.drive.end_measure_at(at_monotonic_ns);
    }

    fn next_interval(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        ticking(py, timeout_s, |tick| self.drive.next_interval(tick), || self.drive.finished())
    }

    fn finished(&self) -> bool {
        self.drive.finished()
    }

    fn stop(&self) {
        self.drive.stop();
    }

    fn result(&self, py: Python<'_>) -> PyResult<String> {
        loop {
            if let Some(record) = py.detach(|| self.drive.result(SIGNAL_TICK)).map_err(drive_error)? {
                return json(&*record);
            }
            py.check_signals()?;
        }
    }
}

/// Several drives that take turns. They run in threads of their own.
#[pyclass(frozen, module = "loadstone._engine")]
struct Rounds {
    rounds: rounds::Rounds,
    /// What is open, until it begins.
    opened: Mutex<Option<Vec<Opened>>>,
}

impl Rounds {
    fn opened(&self) -> MutexGuard<'_, Option<Vec<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Rounds {
    #[new]
    fn new(py: Python<'_>, plans_json: Vec<String>, options_json: &str) -> PyResult<Self> {
        let rounds = py.detach(|| rounds::Rounds::new(&plans_json, options_json));
        Ok(Self { rounds: rounds.map_err(plan_error)?, opened: Mutex::default() })
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.rounds.start()).map_err(drive_error)
    }

    fn open(&self, py: Python<'_>) -> PyResult<()> {
        let opened = py.detach(|| self.rounds.open()).map_err(drive_error)?;
        *self.opened() = Some(opened);
        Ok(())
    }

    #[pyo3(signature = (at_monotonic_ns=None))]
    fn begin(&self, py: Python<'_>, at_monotonic_ns: Option<u64>) -> PyResult<u64> {
        let opened = self.opened().take().ok_or_else(|| PyRuntimeError::new_err("nothing is open that could begin"))?;
        py.detach(|| self.rounds.begin_at(opened, at_monotonic_ns)).map_err(drive_error)
    }

    fn lease(&self, seconds: f64) -> PyResult<bool> {
        Ok(self.rounds.lease(lease(seconds)?))
    }

    fn next_interval(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<(usize, String)>> {
        let is_over = || self.rounds.finished() || self.rounds.is_resting();
        ticking(py, timeout_s, |tick| self.rounds.next_interval(tick), is_over)
    }

    fn is_resting(&self) -> bool {
        self.rounds.is_resting()
    }

    fn go_on(&self) {
        self.rounds.go_on();
    }

    fn finished(&self) -> bool {
        self.rounds.finished()
    }

    fn stop(&self) {
        self.rounds.stop();
    }

    fn result(&self, py: Python<'_>, drive: usize) -> PyResult<String> {
        if drive >= self.rounds.drives() {
            return Err(PyValueError::new_err(format!("drive: {drive}: there are {}", self.rounds.drives())));
        }
        loop {
            if let Some(record) = py.detach(|| self.rounds.result(drive, SIGNAL_TICK)).map_err(drive_error)? {
                return json(&*record);
            }
            py.check_signals()?;
        }
    }
}

/// Answers any command at once: the driver's ceiling.
#[pyclass(frozen, module = "loadstone._engine")]
struct NullServer {
    server: loadstone_engine::null_server::NullServer,
}

#[pymethods]
impl NullServer {
    #[new]
    fn new(options_json: &str) -> PyResult<Self> {
        let options: NullOptions =
            serde_json::from_str(options_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let server = loadstone_engine::null_server::NullServer::start(options).map_err(start_error)?;
        Ok(Self { server })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.server.port()
    }

    fn commands(&self) -> u64 {
        self.server.commands()
    }

    fn left_unix_ns(&self) -> Vec<u64> {
        self.server.left_unix_ns()
    }

    fn residence_ns(&self) -> Vec<u64> {
        self.server.residence_ns()
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.server.stop());
    }
}

/// Forwards connections to a server, and has what is sent arrive later.
#[pyclass(frozen, module = "loadstone._engine")]
struct Link {
    link: loadstone_engine::link::Link,
}

#[pymethods]
impl Link {
    #[new]
    fn new(options_json: &str) -> PyResult<Self> {
        let options = LinkOptions::from_json(options_json).map_err(plan_error)?;
        let link = loadstone_engine::link::Link::start(options).map_err(start_error)?;
        Ok(Self { link })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.link.port()
    }

    fn drop_connections(&self, py: Python<'_>, count: usize) -> PyResult<usize> {
        Ok(py.detach(|| self.link.drop_connections(count))?)
    }

    fn lead_to(&self, py: Python<'_>, host: &str, port: u16) -> PyResult<()> {
        Ok(py.detach(|| self.link.lead_to(host, port))?)
    }

    fn report(&self, py: Python<'_>) -> PyResult<String> {
        json(&py.detach(|| self.link.report())?)
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.link.stop());
    }
}

/// Looks at the threads of other processes, in a thread of its own, until it is dropped.
#[pyclass(frozen, module = "loadstone._engine")]
struct Waits {
    waits: waits::Waits,
}

#[pymethods]
impl Waits {
    #[new]
    #[pyo3(signature = (pids, main=None))]
    fn new(py: Python<'_>, pids: Vec<i32>, main: Option<i32>) -> Self {
        Self { waits: py.detach(|| waits::Waits::new(pids, main)) }
    }

    fn take(&self, pids: Vec<i32>) -> (u32, u32, u32, u64, u32, u32) {
        let waits::Looks { all, at_disk, at_lock, waiters, main, main_at_disk } = self.waits.take(pids);
        (all, at_disk, at_lock, waiters, main, main_at_disk)
    }
}

/// `version`, `profile` (release or debug), `backend` (io_uring, epoll, kqueue): what is used here where nothing else is
/// requested.
#[pyfunction]
fn build() -> BTreeMap<&'static str, &'static str> {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let backend = back_end::by_itself().name;
    BTreeMap::from([("version", env!("CARGO_PKG_VERSION")), ("profile", profile), ("backend", backend)])
}

/// Every operation costs the driver so much more CPU time from now on.
#[cfg(feature = "slowed")]
#[pyfunction]
fn set_slowed_ns(nanoseconds: u64) {
    loadstone_engine::slowed::set_ns(nanoseconds);
}

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::distributions::{beta_quantile, f_survival, student_t_quantile};
    #[cfg(feature = "slowed")]
    #[pymodule_export]
    use super::set_slowed_ns;
    #[pymodule_export]
    use super::{Engine, Link, NullServer, Rounds, Waits, build};
}
