//! What a server announces takes no memory before it has come, and more than the plan expects is an error.

use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use loadstone_engine::record::outcome::DriveRecord;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(now, Ordering::SeqCst);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests of this file measure the memory of the whole process: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A drive of 4 users with 2 operations each against a server that answers `greetings` times rightly and then sends
/// `reply` to whatever comes; `request_ms` is how long a reply is waited for. Returns what came of it, and the most memory that it took, in bytes.
fn drive(greetings: usize, reply: &[u8], request_ms: u32, plan: &str) -> (Arc<DriveRecord>, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reply: Arc<[u8]> = reply.into();
    // Ends with the process: it waits for connections that do not come.
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            socket.set_nodelay(true).unwrap();
            let reply = reply.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                let mut count = 0;
                while let Ok(1..) = socket.read(&mut bytes) {
                    count += 1;
                    let answer = if count <= greetings { b"+OK\r\n" } else { &*reply };
                    // In two pieces: room is made for the second one when the announced size is known.
                    let (first, last) = answer.split_at(answer.len() - 1);
                    for piece in [first, last] {
                        if socket.write_all(piece).is_err() {
                            return;
                        }
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
            });
        }
    });
    let text = format!(
        r#"{{"endpoints": [{{"port": {port}}}], "pool": {{"connections": 4}},
        "model": {{"kind": "closed", "users": 4, "operations_per_user": 2}}, "phases": {{"warm_up_s": 0, "measure_s": 50, "drain_s": 1}},
        "timeouts": {{"request_ms": {request_ms}, "connect_ms": 20000, "gone_s": 20}}, {plan}}}"#
    );
    let before = NOW.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    let drive = Drive::new(Plan::from_json(&text).unwrap()).unwrap();
    drive.start().unwrap();
    let record = drive.result(Duration::from_secs(60)).unwrap().expect("the drive ends in a minute");
    (record, PEAK.load(Ordering::SeqCst) - before)
}

const GET: &str = r#""operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}]"#;
/// Short, where no reply is to come; and so long that it is not over on any machine before a reply has come.
const SHORT_MS: u32 = 100;
const LONG_MS: u32 = 30_000;
const MIB: usize = 1024 * 1024;

/// Fault (replies): a reply announces a huge length, or has endless heads or attributes: bounded memory; an error
#[test]
fn a_size_that_is_only_announced_takes_no_memory() {
    let _turn = alone();
    let raised = r#", "verify": {"reply_max_bytes": 1073741824}"#;
    // What a drive takes in any case: histograms and texts.
    let (_, usual) = drive(1, b"$1\r\na\r\n", LONG_MS, &format!("{GET}{raised}"));
    for reply in
        ["$536870912\r\n", "$536870912\r\nabc", "*100000000\r\n", "*2\r\n$1\r\na\r\n$536870912\r\n", "=99999999\r\n"]
    {
        let (record, peak) = drive(1, reply.as_bytes(), SHORT_MS, &format!("{GET}{raised}"));
        assert!(record.total.timeouts + record.total.in_flight > 0, "it is waited for: {:?}", record.total);
        assert!(peak < usual + 2 * MIB, "{reply:?}: {} MiB", peak / MIB);
    }
}

/// Fault: a reply announces a huge length, or has endless heads or attributes
#[test]
fn more_than_the_plan_expects_is_an_error_at_once() {
    let _turn = alone();
    for reply in [
        "$536870912\r\n",
        "$67108865\r\n",
        "*1000000000\r\n",
        "%40000000\r\n",
        "~1\r\n$67108864\r\n",
        "!536870912\r\n",
        ">1\r\n$536870912\r\n",
        "|1\r\n+a\r\n$536870912\r\n",
        "$99999999999999999999\r\n",
    ] {
        let (record, _) = drive(1, reply.as_bytes(), LONG_MS, GET);
        assert_eq!(record.total.errors.get("protocol"), Some(&8), "{reply:?}: {:?}", record.total);
        assert_eq!(record.connections.lost, 8, "{reply:?}: each connection is closed");
    }
    let known =
        r#""operations": [{"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]}]"#;
    let (record, _) = drive(1, b"$2000000\r\n", LONG_MS, known);
    assert_eq!(record.total.errors.get("protocol"), Some(&8), "{:?}", record.total);
}

#[test]
fn a_large_reply_that_does_come_is_taken() {
    let _turn = alone();
    let large = [b"$5000000\r\n".as_slice(), &vec![b'x'; 5_000_000], b"\r\n"].concat();
    let (record, peak) = drive(1, &large, LONG_MS, GET);
    assert_eq!(record.total.ok, 8, "{:?}", record.total);
    assert!(peak < 5 * 32 * MIB, "{} MiB", peak / MIB);
}

/// Fault: a reply announces a huge length, or has endless heads or attributes
#[test]
fn an_http_body_has_a_limit_where_it_is_kept() {
    let _turn = alone();
    let kept = r#""protocol": "http1", "operations": [{"name": "get", "requests": [{"path": "/", "expect": {"contains": "x"}}]}]"#;
    let head = "HTTP/1.1 200 OK\r\n";
    for reply in [
        format!("{head}Content-Length: 99999999999999\r\n\r\n"),
        format!("{head}Content-Length: 99999999999999999999999\r\n\r\n"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
        format!("{head}X: {}", "a".repeat(70_000)),
        format!("{head}{}\r\n", "X: 1\r\n".repeat(200)),
    ] {
        let (record, _) = drive(0, reply.as_bytes(), LONG_MS, kept);
        assert_eq!(record.total.errors.get("malformed_reply"), Some(&8), "{:.60}: {:?}", reply, record.total);
    }
    // A chunk may announce what it likes: it is taken as it comes.
    let (_, usual) = drive(0, format!("{head}Content-Length: 1\r\n\r\nx").as_bytes(), LONG_MS, kept);
    let (record, peak) =
        drive(0, format!("{head}Transfer-Encoding: chunked\r\n\r\n3fffffff\r\nx").as_bytes(), SHORT_MS, kept);
    assert!(record.total.timeouts + record.total.in_flight > 0, "{:?}", record.total);
    assert!(peak < usual + 2 * MIB, "{} MiB", peak / MIB);
}
