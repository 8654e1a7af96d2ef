//! An HTTP server of plain threads that does with each request whatever a test says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// A request as it came in.
pub struct Received {
    /// Number of the request, from 1, over all connections.
    pub number: u64,
    /// Request line and headers.
    pub head: String,
    pub body: String,
}

impl Received {
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

#[derive(Clone)]
pub enum Answer {
    Reply(String),
    /// A reply in pieces, with a pause after each.
    Pieces(Vec<String>),
    /// The last bytes on this connection.
    Last(String),
    /// A reply after which the connection idles, until it is closed just before the next reply on another one.
    Parting(String),
    /// The connection is reset.
    Reset,
    /// No reply, and no more sending; what the client sends is still read.
    HalfClose,
    /// No reply; the connection stays open.
    Stall,
}

/// A reply with a body.
pub fn reply(status: u16, body: &str) -> Answer {
    Answer::Reply(text(status, "", body))
}

pub fn text(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} Some text\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

type Behaviour = dyn Fn(&Received) -> Answer + Send + Sync;

pub struct Server {
    pub port: u16,
    stop: Arc<AtomicBool>,
    /// Each is closed as soon as its thread drops it.
    sockets: Arc<Mutex<Vec<Weak<TcpStream>>>>,
    listening: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub fn start(behaviour: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, sockets) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let numbers = Arc::new(AtomicU64::new(0));
        let parting = Arc::new(Mutex::new(Vec::new()));
        let listening = std::thread::spawn({
            let (stop, sockets) = (stop.clone(), sockets.clone());
            move || {
                for socket in listener.incoming().flatten() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let socket = Arc::new(socket);
                    sockets.lock().unwrap().push(Arc::downgrade(&socket));
                    let (behaviour, numbers, parting) = (behaviour.clone(), numbers.clone(), parting.clone());
                    std::thread::spawn(move || serve(&socket, &*behaviour, &numbers, &parting));
                }
            }
        });
        Self { port, stop, sockets, listening: Some(listening) }
    }

    /// Closes the listener and all connections.
    pub fn stop(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        listening.join().unwrap();
        for socket in self.sockets.lock().unwrap().drain(..).filter_map(|socket| socket.upgrade()) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(shared: &Arc<TcpStream>, behaviour: &Behaviour, numbers: &AtomicU64, parting: &Mutex<Vec<Arc<TcpStream>>>) {
    let mut socket = &**shared;
    socket.set_nodelay(true).unwrap();
    let mut held = Vec::new();
    while let Some((head, body)) = receive(socket, &mut held) {
        let number = numbers.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = behaviour(&Received { number, head, body });
        for idle in parting.lock().unwrap().drain(..) {
            let _ = idle.shutdown(Shutdown::Both);
        }
        match answer {
            Answer::Reply(text) => drop(socket.write_all(text.as_bytes())),
            Answer::Pieces(pieces) => {
                for piece in pieces {
                    let _ = socket.write_all(piece.as_bytes());
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Answer::Last(text) => {
                let _ = socket.write_all(text.as_bytes());
                let _ = socket.shutdown(Shutdown::Both);
                return;
            }
            Answer::Parting(text) => {
                parting.lock().unwrap().push(shared.clone());
                let _ = socket.write_all(text.as_bytes());
            }
            Answer::Reset => {
                reset(socket);
                return;
            }
            Answer::HalfClose => {
                let _ = socket.shutdown(Shutdown::Write);
                while socket.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {}
                return;
            }
            Answer::Stall => while socket.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {},
        }
    }
}

/// The next request; None at the end of the connection.
fn receive(mut socket: &TcpStream, held: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        if let Some(end) = held.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(held[..end + 2].to_vec()).unwrap();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "))
                .map_or(0, |length| length.parse().unwrap());
            if held.len() >= end + 4 + length {
                let body = String::from_utf8(held[end + 4..end + 4 + length].to_vec()).unwrap();
                held.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        let mut bytes = [0; 4096];
        match socket.read(&mut bytes) {
            Ok(count @ 1..) => held.extend_from_slice(&bytes[..count]),
            _ => return None,
        }
    }
}

/// Closes with a reset instead of an orderly end: nothing lingers.
fn reset(socket: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: an open socket, and a valid option of the size that is given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(done, 0);
}
