//! An engine thread that has no CPU for a while: the answers that came in meanwhile came in time.
#![cfg(target_os = "linux")]

use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use loadstone_engine::record::outcome::{DriveRecord, Stalled};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time that the engine gives an answer: enough for a busy machine to get as far as holding it.
const LIMIT: Duration = Duration::from_secs(1);

/// Held by each test: an engine's thread is found by its name, and there must be one of it.
static ONE_ENGINE: Mutex<()> = Mutex::new(());

static IS_HELD: AtomicBool = AtomicBool::new(false);
static IS_LET_GO: AtomicBool = AtomicBool::new(false);

/// Keeps the thread that takes the signal from running.
extern "C" fn hold(_signal: libc::c_int) {
    IS_HELD.store(true, Ordering::SeqCst);
    while !IS_LET_GO.load(Ordering::SeqCst) {
        // SAFETY: it only sleeps, and a signal's handler may call it.
        unsafe { libc::usleep(1000) };
    }
}

/// Does something while the engine's only thread is kept from running.
fn while_it_is_held(action: impl FnOnce()) {
    IS_HELD.store(false, Ordering::SeqCst);
    IS_LET_GO.store(false, Ordering::SeqCst);
    let thread = engine_thread();
    let handler = hold as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing that is not allowed in one, and the thread is of this process.
    unsafe {
        libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR1);
    }
    while !IS_HELD.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    action();
    IS_LET_GO.store(true, Ordering::SeqCst);
}

fn engine_thread() -> libc::pid_t {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let mut engines =
        tasks.filter(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|it| it == "engine-0\n"));
    engines.next().unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// Those that this system has.
fn back_ends() -> impl Iterator<Item = &'static str> {
    ["epoll", "io_uring"].into_iter().filter(|name| Drive::new(plan(1, name, "")).is_ok())
}

/// One user's two operations on one connection.
fn plan(port: u16, back_end: &str, timeouts: &str) -> Plan {
    let plan = format!(
        r#"{{"endpoints": [{{"port": {port}}}], "pool": {{"connections": 1}}, "timeouts": {{{timeouts}}},
        "model": {{"kind": "closed", "users": 1, "operations_per_user": 2}}, "phases": {{"warm_up_s": 0}},
        "back_end": "{back_end}",
        "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]}}"#
    );
    Plan::from_json(&plan).unwrap()
}

/// A drive against a server that hears a greeting and two operations, one after the other: `give` is called with the number
/// of each and with what answers it.
fn drive(back_end: &str, timeouts: &str, give: impl Fn(usize, &mut dyn FnMut()) + Send + 'static) -> Arc<DriveRecord> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = plan(listener.local_addr().unwrap().port(), back_end, timeouts);
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut heard = [0; 1000];
        for (number, answer) in ["+OK\r\n", "$-1\r\n", "$-1\r\n"].iter().enumerate() {
            let Ok(1..) = socket.read(&mut heard) else { return };
            give(number, &mut || socket.write_all(answer.as_bytes()).unwrap());
        }
        // The client closes.
        let _ = socket.read(&mut heard);
    });
    let drive = Drive::new(plan).unwrap();
    drive.start().unwrap();
    let record = drive.result(Duration::from_secs(60)).unwrap().expect("the drive ends in a minute");
    drop(drive);
    server.join().unwrap();
    record
}

/// Fault (limits): the engine gets no CPU for a while: replies that came meanwhile count by their arrival
/// What came in time, and the request that follows it: that has not been sent when the engine looks for what is late.
#[test]
fn what_came_in_while_the_engine_had_no_cpu_came_in_time() {
    let _alone = ONE_ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    let limit_ms = LIMIT.as_millis();
    let long_ms = 60_000;
    for back_end in back_ends() {
        // The first answer is to the greeting, the others to the operations.
        for (held_at, connect_ms, request_ms) in [(0, limit_ms, long_ms), (1, long_ms, limit_ms)] {
            let timeouts = format!(r#""connect_ms": {connect_ms}, "request_ms": {request_ms}"#);
            let record = drive(back_end, &timeouts, move |number, answer| {
                if number == held_at {
                    while_it_is_held(|| {
                        answer();
                        std::thread::sleep(LIMIT + LIMIT / 10);
                    });
                } else {
                    answer();
                }
            });
            let found = (record.total.ok, record.total.timeouts, record.connections.failed);
            assert_eq!(found, (2, 0, 0), "{back_end}: {timeouts}");
            let own: Vec<bool> = record.stalls.iter().map(|stall| stall.of == Stalled::Driver).collect();
            assert_eq!(own, vec![true; held_at], "{back_end}: of the load: {:?}", record.stalls);
            assert!(record.stalls.iter().all(|stall| stall.end_s - stall.begin_s >= 1.0 && stall.no_cpu_s < 0.5));
        }
    }
}

/// Fault: a server stops answering in a trial
/// A server that stands still while requests wait is told apart from that.
#[test]
fn nothing_that_came_while_the_engine_ran_is_the_servers_standing_still() {
    let _alone = ONE_ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
    for back_end in back_ends() {
        let record = drive(back_end, "", |number, answer| {
            std::thread::sleep(if number == 2 { LIMIT } else { Duration::ZERO });
            answer();
        });
        let [stall] = record.stalls.as_slice() else { panic!("{back_end}: {:?}", record.stalls) };
        assert_eq!((stall.of, stall.waiting), (Stalled::Server, 1), "{back_end}");
        assert!((0.9..5.0).contains(&(stall.end_s - stall.begin_s)), "{back_end}: {stall:?}");
    }
}
