//! A server of plain threads that sends whatever a test says to each command of RESP.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A command as it came in: its number over all connections, from 1 and without greetings, and its arguments.
pub struct Received<'a> {
    pub number: u64,
    pub arguments: &'a [String],
}

type Behaviour = dyn Fn(&Received) -> Vec<Vec<u8>> + Send + Sync;

pub struct Server {
    pub port: u16,
    stop: Arc<AtomicBool>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    listening: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// `behaviour` gives what is sent after a command: each part in one piece. `CLIENT` is answered with OK.
    pub fn start(behaviour: impl Fn(&Received) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, sockets) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let numbers = Arc::new(AtomicU64::new(0));
        let listening = std::thread::spawn({
            let (stop, sockets) = (stop.clone(), sockets.clone());
            move || {
                for socket in listener.incoming().flatten() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    sockets.lock().unwrap().push(socket.try_clone().unwrap());
                    let (behaviour, numbers) = (behaviour.clone(), numbers.clone());
                    std::thread::spawn(move || serve(socket, &*behaviour, &numbers));
                }
            }
        });
        Self { port, stop, sockets, listening: Some(listening) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(listening) = self.listening.take() {
            listening.join().unwrap();
        }
        self.sockets.lock().unwrap().iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }
}

fn serve(mut socket: TcpStream, behaviour: &Behaviour, numbers: &AtomicU64) {
    socket.set_nodelay(true).unwrap();
    let (mut held, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = socket.read(&mut bytes) {
        held.extend_from_slice(&bytes[..count]);
        while let Some((arguments, length)) = command(&held) {
            held.drain(..length);
            let parts = if arguments[0] == "CLIENT" {
                vec![b"+OK\r\n".to_vec()]
            } else {
                let number = numbers.fetch_add(1, Ordering::SeqCst) + 1;
                behaviour(&Received { number, arguments: &arguments })
            };
            if parts.iter().any(|part| socket.write_all(part).is_err()) {
                return;
            }
        }
    }
}

/// The command at the beginning of `bytes`, and its length; None if it has not come whole.
fn command(bytes: &[u8]) -> Option<(Vec<String>, usize)> {
    let mut at = 0;
    let length_after = |kind: u8, at: &mut usize| -> Option<usize> {
        let end = *at + bytes.get(*at..)?.windows(2).position(|two| two == b"\r\n")?;
        assert_eq!(bytes[*at], kind);
        let length = std::str::from_utf8(&bytes[*at + 1..end]).unwrap().parse().unwrap();
        *at = end + 2;
        Some(length)
    };
    let count = length_after(b'*', &mut at)?;
    let mut arguments = Vec::new();
    for _ in 0..count {
        let length = length_after(b'$', &mut at)?;
        arguments.push(String::from_utf8(bytes.get(at..at + length)?.to_vec()).unwrap());
        at += length + 2;
    }
    (at <= bytes.len()).then_some((arguments, at))
}
