//! What the threads of other processes wait for, as far as it is seen from outside without being root: a disk, or a lock.
//!
//! Linux reports of each sleeping thread in which system call it sleeps (`/proc/PID/task/TID/syscall`, for processes of
//! the same user). In an fsync it waits for the disk. Several that sleep at one address of a futex wait for one thing: for
//! a lock that another has, or for work, as the idle threads of a pool do. Those were there before the load began, so that
//! only those beyond them count. Threads that each sleep at an address of their own (a JVM's, Go's) tell nothing.
//!
//! A main thread in state D waits for the disk, whatever it does there. The kernel counts that itself (delay accounting)
//! only where it was told to, and then for root alone; the state it reports to everyone.
//!
//! All is looked at by one native thread, on the CPUs that who made it may use: a look takes some microseconds.

use super::main_thread::MainThread;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at all threads, and at the main thread alone.
const CALLS_PERIOD: Duration = Duration::from_millis(50);
const MAIN_PERIOD: Duration = Duration::from_millis(10);
/// Looking at all threads takes such a part of a CPU at most, however many there are.
const CALLS_SHARE: u32 = 300;
/// Threads of processes whose number of threads did not change are listed anew so often.
const LISTED: Duration = Duration::from_secs(1);
/// Files of threads that stay open, of all that look together: opening one takes three times as long as reading it, but
/// the load needs the files that this process may open. Those of further threads are opened for each look.
const HELD_MAX: usize = 64;
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The number of futex, and those of pread, pwrite, fsync, fdatasync, msync, sync_file_range and their kin.
#[cfg(target_arch = "x86_64")]
const CALLS: Option<(i64, &[i64])> = Some((202, &[17, 18, 26, 74, 75, 277, 295, 296]));
#[cfg(target_arch = "aarch64")]
const CALLS: Option<(i64, &[i64])> = Some((98, &[67, 68, 69, 70, 81, 82, 83, 84, 227]));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: Option<(i64, &[i64])> = None;
/// Operations of a futex that wait, once its flags are masked.
const FUTEX_WAITS: [u64; 5] = [0, 6, 9, 11, 13];
const FUTEX_OPERATION: u64 = 0x7f;
/// So many at one address are no thread that sleeps by itself.
const SHARED: i64 = 2;

/// How often threads were looked at, and what was seen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Looks {
    pub all: u32,
    /// With a thread in a call that waits for the disk.
    pub at_disk: u32,
    /// With threads that waited for one lock, and how many these were, added up.
    pub at_lock: u32,
    pub waiters: u64,
    /// At the main thread, and with that in state D.
    pub main: u32,
    pub main_at_disk: u32,
}

#[derive(Debug, Default)]
struct State {
    pids: Vec<i32>,
    looks: Looks,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the threads of some processes many times a second, until it is dropped.
#[derive(Debug)]
pub struct Waits {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Waits {
    /// The load on these processes has not begun yet. `main`: of which of them the main thread is looked at, too.
    pub fn new(pids: Vec<i32>, main: Option<i32>) -> Self {
        let mut threads = Threads::default();
        threads.list(&pids);
        let idle = threads.asleep().at;
        let main = main.map(MainThread::of).filter(|main| main.is_at_the_disk().is_some());
        let shared = Arc::<Shared>::default();
        if threads.files.is_empty() && main.is_none() {
            return Self { shared, thread: None };
        }
        shared.state().pids = pids;
        let mut looking = Looking { threads, idle, shared_at: HashSet::new(), main };
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("waits".into()).spawn(move || looking.run(&own));
        Self { shared, thread: thread.ok() }
    }

    /// What was seen since this was asked last. From now on these processes are looked at.
    pub fn take(&self, pids: Vec<i32>) -> Looks {
        let mut state = self.shared.state();
        state.pids = pids;
        std::mem::take(&mut state.looks)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so on its own.
            let _ = thread.join();
        }
    }
}

/// Process and address of a futex: how many threads sleep there.
type At = HashMap<(i32, u64), i64>;

#[derive(Debug)]
struct Looking {
    threads: Threads,
    idle: At,
    /// Where several slept at one time or another.
    shared_at: HashSet<(i32, u64)>,
    main: Option<MainThread>,
}

impl Looking {
    fn run(&mut self, shared: &Shared) {
        let mut calls_due = Instant::now();
        let mut state = shared.state();
        while !state.is_over {
            let pids = state.pids.clone();
            drop(state);
            let seen = self.main.as_ref().and_then(MainThread::is_at_the_disk);
            let calls = (Instant::now() >= calls_due).then(|| {
                let (looks, took) = self.look(&pids);
                calls_due = Instant::now() + CALLS_PERIOD.max(took * CALLS_SHARE);
                looks
            });
            state = shared.state();
            state.looks.main += u32::from(seen.is_some());
            state.looks.main_at_disk += u32::from(seen == Some(true));
            if let Some(calls) = calls {
                state.looks.all += calls.all;
                state.looks.at_disk += calls.at_disk;
                state.looks.at_lock += calls.at_lock;
                state.looks.waiters += calls.waiters;
            }
            let pause =
                if self.main.is_some() { MAIN_PERIOD } else { calls_due.saturating_duration_since(Instant::now()) };
            if !state.is_over {
                state = shared.ended.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Looks once at all threads; also the CPU time that it took.
    fn look(&mut self, pids: &[i32]) -> (Looks, Duration) {
        let begun = thread_cpu();
        if self.threads.are_old() {
            self.threads.list(pids);
        }
        let Asleep { at, at_disk } = self.threads.asleep();
        let mut looks =
            Looks { all: u32::from(!self.threads.files.is_empty()), at_disk: u32::from(at_disk), ..Looks::default() };
        let beyond = |place: &(i32, u64), count: i64| count - self.idle.get(place).copied().unwrap_or(0);
        self.shared_at
            .extend(at.iter().filter(|&(place, &count)| beyond(place, count) >= SHARED).map(|(place, _)| *place));
        let at_shared = at.iter().filter(|(place, _)| self.shared_at.contains(place));
        let waiters = at_shared.map(|(place, &count)| beyond(place, count)).max().unwrap_or(0).max(0);
        looks.at_lock = u32::from(waiters > 0);
        looks.waiters = waiters as u64;
        (looks, thread_cpu().saturating_sub(begun))
    }
}

/// The threads of the processes, with their files.
#[derive(Debug, Default)]
struct Threads {
    files: HashMap<(i32, i32), Held>,
    /// Process and the number of links of its folder of threads: two more than there are threads.
    links: HashMap<i32, u64>,
    listed: Option<Instant>,
}

/// Of one look.
#[derive(Debug, Default)]
struct Asleep {
    at: At,
    at_disk: bool,
}

impl Threads {
    fn are_old(&self) -> bool {
        self.listed.is_none_or(|listed| listed.elapsed() >= LISTED)
            || self.links.iter().any(|(pid, links)| links_of(*pid) != Some(*links))
    }

    fn list(&mut self, pids: &[i32]) {
        self.listed = Some(Instant::now());
        self.links.clear();
        if CALLS.is_none() {
            return;
        }
        for &pid in pids {
            let Some((links, tasks)) = links_of(pid).zip(fs::read_dir(format!("/proc/{pid}/task")).ok()) else {
                continue;
            };
            self.links.insert(pid, links);
            for task in tasks.flatten() {
                let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                if !self.files.contains_key(&(pid, thread))
                    && let Ok(file) = open(pid, thread)
                {
                    self.files.insert((pid, thread), Held::of(file));
                }
            }
        }
    }

    fn asleep(&mut self) -> Asleep {
        let mut found = Asleep::default();
        let Some((futex, disk)) = CALLS else {
            return found;
        };
        self.files.retain(|&(pid, thread), held| {
            let mut buffer = [0; 200];
            let Ok(length) = held.read(pid, thread, &mut buffer) else {
                return false; // it ended
            };
            let mut words = std::str::from_utf8(&buffer[..length]).unwrap_or_default().split_ascii_whitespace();
            let number = words.next().and_then(|number| number.parse::<i64>().ok());
            let hexadecimal = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
            let arguments = (words.next().and_then(hexadecimal), words.next().and_then(hexadecimal));
            // Without a number it runs, or sleeps in no call.
            if let (Some(number), (Some(address), Some(operation))) = (number, arguments) {
                found.at_disk |= disk.contains(&number);
                if number == futex && FUTEX_WAITS.contains(&(operation & FUTEX_OPERATION)) {
                    *found.at.entry((pid, address)).or_default() += 1;
                }
            }
            true
        });
        found
    }
}

/// The file of a thread: kept open, unless enough others are.
#[derive(Debug)]
struct Held(Option<File>);

impl Held {
    fn of(file: File) -> Self {
        let is_kept =
            HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| (held < HELD_MAX).then_some(held + 1));
        Self(is_kept.is_ok().then_some(file))
    }

    fn read(&self, pid: i32, thread: i32, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &self.0 {
            Some(file) => file.read_at(buffer, 0),
            None => open(pid, thread)?.read_at(buffer, 0),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.0.is_some() {
            HELD.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn open(pid: i32, thread: i32) -> std::io::Result<File> {
    File::open(format!("/proc/{pid}/task/{thread}/syscall"))
}

fn links_of(pid: i32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/task")).ok().map(|folder| folder.nlink())
}

/// CPU time of the calling thread so far.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in what it is given, which is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_want_one_lock_are_seen_beyond_those_that_waited_before() {
        // Of this process: threads of the test harness may sleep, too, so only what this test adds is asserted.
        let pid = std::process::id() as i32;
        let lock = Arc::new(Mutex::new(()));
        let waits = Waits::new(vec![pid], Some(pid));
        let held = lock.lock().unwrap();
        let wanting: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                std::thread::spawn(move || drop(lock.lock().unwrap()))
            })
            .collect();
        let until = Instant::now() + Duration::from_secs(20);
        let (mut most, mut main) = (0, 0);
        while (most < 4 || main == 0) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(100));
            let looks = waits.take(vec![pid]);
            most = most.max(if looks.all > 0 { looks.waiters / u64::from(looks.all) } else { 0 });
            main += looks.main;
        }
        drop(held);
        wanting.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(most >= 4, "{most} of 4 were seen");
        assert!(main > 0);
    }

    #[test]
    fn of_a_process_that_is_gone_nothing_is_seen() {
        let waits = Waits::new(vec![1 << 22], Some(1 << 22));
        let looks = waits.take(vec![1 << 22]);
        assert_eq!((looks.all, looks.main), (0, 0));
    }
}
