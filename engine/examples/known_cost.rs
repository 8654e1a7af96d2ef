//! A server of known cost, for `bench/judge/cost_truth.py`: GET and SET as Redis has them, each after so many steps of work.
//!
//! `known_cost PORT STEPS`: one thread, as Redis. A step is a shift, a XOR and a multiplication, each waiting for the one
//! before, so that steps take time as they take instructions. `SHUTDOWN` ends it.

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::time::Instant;

const LISTENER: Token = Token(usize::MAX);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u32> = std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let &[port, steps] = arguments.as_slice() else {
        return Err("give a port and the steps of work before each GET and SET".into());
    };
    let mut listener = TcpListener::bind(([127, 0, 0, 1], u16::try_from(port)?).into())?;
    let mut store = Store { port, steps, began: Some(Instant::now()), ..Store::default() };
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(256));
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut clients: HashMap<Token, Client> = HashMap::new();
    for number in 0.. {
        if store.is_over {
            break;
        }
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() != LISTENER {
                let goes_on = clients.get_mut(&event.token()).map(|client| client.serve(&mut store));
                if goes_on.is_some_and(|goes_on| !goes_on.unwrap_or(false)) {
                    clients.remove(&event.token());
                }
                continue;
            }
            while let Ok((mut stream, _)) = listener.accept() {
                stream.set_nodelay(true)?;
                let token = Token(number * 4096 + clients.len());
                poll.registry().register(&mut stream, token, Interest::READABLE)?;
                clients.insert(
                    token,
                    Client { stream, buffer: vec![0; 16 << 10], received: Vec::new(), replies: Vec::new() },
                );
            }
        }
    }
    Ok(())
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    received: Vec<u8>,
    replies: Vec<u8>,
}

impl Client {
    /// Answers all that has come; false once the client is gone.
    fn serve(&mut self, store: &mut Store) -> io::Result<bool> {
        let mut goes_on = true;
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => goes_on = false,
                Ok(length) => {
                    self.received.extend_from_slice(&self.buffer[..length]);
                    if length == self.buffer.len() {
                        continue;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            break;
        }
        let mut done = 0;
        while let Some((arguments, length)) = command(&self.received[done..]) {
            store.answer(&arguments, &mut self.replies);
            done += length;
        }
        self.received.drain(..done);
        while !self.replies.is_empty() {
            match self.stream.write(&self.replies) {
                Ok(length) => drop(self.replies.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Ok(goes_on)
    }
}

/// The arguments of the first command, and its length; None while it is not whole.
fn command(bytes: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let (count, mut at) = number(bytes, 0)?;
    let mut arguments = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, begin) = number(bytes, at)?;
        arguments.push(bytes.get(begin..begin + length)?);
        at = begin + length + 2;
    }
    (at <= bytes.len()).then_some((arguments, at))
}

/// The number behind the mark at `at`, and where its line ends.
fn number(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let end = at + bytes.get(at..)?.iter().position(|&byte| byte == b'\n')?;
    let digits = std::str::from_utf8(bytes.get(at + 1..end - 1)?).ok()?;
    Some((digits.parse().ok()?, end + 1))
}

#[derive(Default)]
struct Store {
    port: u32,
    steps: u32,
    values: HashMap<Vec<u8>, Vec<u8>>,
    calls: BTreeMap<String, u64>,
    worked: u64,
    began: Option<Instant>,
    is_over: bool,
}

impl Store {
    fn answer(&mut self, arguments: &[&[u8]], replies: &mut Vec<u8>) {
        let Some((&name, rest)) = arguments.split_first() else { return };
        match (name, rest) {
            (b"GET" | b"get", &[key]) => {
                self.worked = work(self.worked, self.steps);
                *self.calls.entry("get".into()).or_default() += 1;
                match self.values.get(key) {
                    Some(value) => bulk(value, replies),
                    None => replies.extend_from_slice(b"$-1\r\n"),
                }
            }
            (b"SET" | b"set", &[key, value, ..]) => {
                self.worked = work(self.worked, self.steps);
                *self.calls.entry("set".into()).or_default() += 1;
                self.values.insert(key.to_vec(), value.to_vec());
                replies.extend_from_slice(b"+OK\r\n");
            }
            _ => self.answer_other(&name.to_ascii_lowercase(), rest, replies),
        }
    }

    fn answer_other(&mut self, name: &[u8], rest: &[&[u8]], replies: &mut Vec<u8>) {
        *self.calls.entry(String::from_utf8_lossy(name).into()).or_default() += 1;
        match name {
            b"info" => bulk(self.info().as_bytes(), replies),
            b"del" | b"unlink" => {
                let removed = rest.iter().filter(|&&key| self.values.remove(key).is_some()).count();
                replies.extend_from_slice(format!(":{removed}\r\n").as_bytes());
            }
            b"exists" => {
                let there = rest.iter().filter(|&&key| self.values.contains_key(key)).count();
                replies.extend_from_slice(format!(":{there}\r\n").as_bytes());
            }
            b"dbsize" => replies.extend_from_slice(format!(":{}\r\n", self.values.len()).as_bytes()),
            b"scan" => {
                replies.extend_from_slice(format!("*2\r\n$1\r\n0\r\n*{}\r\n", self.values.len()).as_bytes());
                self.values.keys().for_each(|key| bulk(key, replies));
            }
            b"config" | b"module" | b"memory" => replies.extend_from_slice(b"*0\r\n"),
            b"ping" => replies.extend_from_slice(b"+PONG\r\n"),
            b"client" | b"select" => replies.extend_from_slice(b"+OK\r\n"),
            b"shutdown" => self.is_over = true,
            _ => replies.extend_from_slice(b"-ERR unknown command\r\n"),
        }
    }

    fn info(&self) -> String {
        let (pid, port, keys) = (std::process::id(), self.port, self.values.len());
        let up_s = self.began.map_or(0, |began| began.elapsed().as_secs());
        let calls: u64 = self.calls.values().sum();
        let by_name = self.calls.iter().map(|(name, calls)| format!("cmdstat_{name}:calls={calls},usec=0\r\n"));
        format!(
            "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nprocess_id:{pid}\r\nrun_id:{pid}\r\n\
             uptime_in_seconds:{up_s}\r\ntcp_port:{port}\r\n\
             # Replication\r\nrole:master\r\n# Stats\r\ntotal_commands_processed:{calls}\r\n\
             # Commandstats\r\n{}# Keyspace\r\ndb0:keys={keys},expires=0,avg_ttl=0\r\n",
            by_name.collect::<String>()
        )
    }
}

fn bulk(value: &[u8], replies: &mut Vec<u8>) {
    replies.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
    replies.extend_from_slice(value);
    replies.extend_from_slice(b"\r\n");
}

/// So many steps, from a number on.
#[inline(never)]
fn work(from: u64, steps: u32) -> u64 {
    let mut number = from | 1;
    for _ in 0..steps {
        number = (number ^ (number >> 29)).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(number)
}
