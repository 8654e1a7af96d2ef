//! The null server holds few bytes for clients that do not read, however long its replies are.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use loadstone_engine::null_server::{NullOptions, NullProtocol, NullServer};

struct Measuring;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

const CLIENTS: usize = 64;
const BODY_BYTES: usize = 4 << 20;
/// What stands in a body around its letters `x`, of which a head has none: `{"null":""}`.
const JSON_BYTES: usize = 11;
const SMALL_BODY_BYTES: usize = 1 << 10;
/// Enough to fill the sockets' buffers and more.
const SMALL_REQUESTS: usize = 20_000;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// What the allocator gave at most while clients sent so many requests each and read nothing; then one reads everything.
fn peak_bytes(options: NullOptions, clients: usize, requests: usize) -> usize {
    let body_bytes = options.body_bytes;
    let server = NullServer::start(NullOptions { protocol: NullProtocol::Http1, ..options }).unwrap();
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut streams: Vec<TcpStream> =
        (0..clients).map(|_| TcpStream::connect(("127.0.0.1", server.port())).unwrap()).collect();
    for stream in &mut streams {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&REQUEST.repeat(requests)).unwrap();
    }
    settle(&server, clients);
    let sent = REQUEST.len() * requests;
    let peak = (PEAK.load(Ordering::Relaxed) - before).saturating_sub(sent);
    let mut reader = streams.pop().unwrap();
    let (mut buffer, mut letters) = (vec![0; 1 << 16], 0);
    while letters < (body_bytes - JSON_BYTES) * requests {
        let length = reader.read(&mut buffer).unwrap();
        assert!(length > 0, "the end comes after {letters} letters of bodies");
        letters += buffer[..length].iter().filter(|&&letter| letter == b'x').count();
    }
    peak
}

/// Waits until the server has answered each client, and answers no more.
fn settle(server: &NullServer, clients: usize) {
    let (began, mut before) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(100));
        let now = server.commands();
        if now >= clients as u64 && now == before {
            return;
        }
        before = now;
    }
}

/// Fault: long replies for many threads, and clients that do not read
#[test]
fn what_is_not_read_yet_is_not_held() {
    let large = NullOptions { body_bytes: BODY_BYTES, ..NullOptions::default() };
    let peak = peak_bytes(large, CLIENTS, 2);
    assert!(peak < 16 << 20, "{CLIENTS} clients, two replies of {BODY_BYTES} bytes each: {peak} bytes");
    let small = NullOptions { body_bytes: SMALL_BODY_BYTES, delay_us: 50_000.0, ..NullOptions::default() };
    let peak = peak_bytes(small, 4, SMALL_REQUESTS);
    assert!(peak < 8 << 20, "{SMALL_REQUESTS} replies of {SMALL_BODY_BYTES} bytes that were delayed: {peak} bytes");
}
