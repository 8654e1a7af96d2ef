//! The delay line: forwards TCP connections to a server, and has what each side sends arrive later, as over a network.
//!
//! Each way has a delay, which may vary (jitter), and a bandwidth that all connections share. Nothing overtakes what
//! was sent before it on its connection. The time counts from when the kernel received the bytes, and what the line
//! itself takes to wake up and to write is learnt and taken off the delay, so that a round trip is right on average
//! (`lead`). The line's thread sleeps until something is due and never polls. Connecting costs one round trip more, as a network's handshake does.
//! What waits is bounded: a connection that has too much in the line is not read any further.

mod event_loop;
mod lead;
mod options;
mod pair;
mod path;
mod tally;
mod way;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::Waker;
use serde::Serialize;

use event_loop::EventLoop;

pub use options::{Distribution, LinkOptions, WayOptions};

/// How long the line's thread may take to answer its owner.
const ANSWER: Duration = Duration::from_secs(5);

/// A running line; it ends, and all its connections with it, when dropped.
#[derive(Debug)]
pub struct Link {
    port: u16,
    shared: Arc<Shared>,
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the line's thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    orders: Mutex<Vec<Order>>,
}

impl Shared {
    fn take_orders(&self) -> Vec<Order> {
        std::mem::take(&mut self.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the owner requires of the line's thread, and where the answer goes.
#[derive(Debug)]
enum Order {
    /// Lose so many connections, those first that were made first: both sides see a reset.
    Drop(usize, Sender<usize>),
    /// New connections lead there.
    LeadTo(SocketAddr, Sender<()>),
    Report(Sender<LinkReport>),
}

/// What the line did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkReport {
    /// That are open.
    pub connections: usize,
    /// Since the line began.
    pub accepted: u64,
    /// Since the line began, on command.
    pub dropped: u64,
    pub held_bytes: usize,
    /// Since the last report.
    pub wall_ns: u64,
    /// CPU of the line's thread since the last report.
    pub cpu_ns: u64,
    /// How long that thread was ready to run and had no CPU, since the last report; None where that is not known.
    pub waited_ns: Option<u64>,
    pub to_server: WayReport,
    pub to_client: WayReport,
}

/// One way, since the line began or since the last report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayReport {
    /// Since the line began.
    pub bytes: u64,
    /// That arrived since the last report: what was sent in one go is one, as far as it was received in one go.
    pub pieces: u64,
    /// By how much they arrived later than they were to, in nanoseconds; less than 0: earlier.
    pub late_mean_ns: f64,
    pub late_p50_ns: i64,
    pub late_p99_ns: i64,
    pub late_max_ns: i64,
}

impl Link {
    /// Listens and forwards in a thread of its own. Fails with `InvalidInput` naming an option that makes no sense,
    /// or with what the system says about an address.
    pub fn start(options: LinkOptions) -> io::Result<Link> {
        options.check()?;
        let shared = Arc::new(Shared::default());
        let event_loop = EventLoop::new(&options, Arc::clone(&shared))?;
        let (port, waker) = (event_loop.port()?, event_loop.waker()?);
        let thread = std::thread::Builder::new().name("link".into()).spawn(move || {
            crate::machine::affinity::exact_timers();
            crate::machine::affinity::short_slices();
            event_loop.run();
        })?;
        Ok(Link { port, shared, waker, thread: Mutex::new(Some(thread)) })
    }

    /// The port it listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Loses so many connections; how many there were to lose.
    pub fn drop_connections(&self, count: usize) -> io::Result<usize> {
        self.order(|answer| Order::Drop(count, answer))
    }

    /// New connections lead there from now on; those that there are stay.
    pub fn lead_to(&self, host: &str, port: u16) -> io::Result<()> {
        let address = address_of(host, port)?;
        self.order(|answer| Order::LeadTo(address, answer))
    }

    /// What it did; begins to count the pieces anew.
    pub fn report(&self) -> io::Result<LinkReport> {
        self.order(Order::Report)
    }

    /// Closes all connections and ends the thread. More than once is fine.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Without a wake-up the thread reads the flag when it next polls.
        let _ = self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn order<T>(&self, make: impl FnOnce(Sender<T>) -> Order) -> io::Result<T> {
        let (sender, receiver): (Sender<T>, Receiver<T>) = channel();
        self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner).push(make(sender));
        self.waker.wake()?;
        receiver.recv_timeout(ANSWER).map_err(|error| match error {
            RecvTimeoutError::Timeout => io::ErrorKind::TimedOut.into(),
            RecvTimeoutError::Disconnected => io::ErrorKind::BrokenPipe.into(),
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The first address of a host and port.
fn address_of(host: &str, port: u16) -> io::Result<SocketAddr> {
    (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("to_host: {host}: has no address")))
}

#[cfg(test)]
mod tests;
