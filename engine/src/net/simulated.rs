//! A network, a server behind it, and the time, all of one seed: what whole drives of tests run on.
//!
//! It stands behind the seams that sockets, polls and the clock are: a read brings all that has come, as Linux does it, and
//! what is sent and received comes in pieces that the seed draws. A thread has one network, and drives by itself.

use super::event::Event;
use crate::content::rng::Rng;
use crate::machine::clock::simulated as time;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, ErrorKind};

thread_local! {
    static NETWORK: RefCell<Option<Network>> = const { RefCell::new(None) };
}

const MS_NS: u64 = 1_000_000;

/// How often something goes wrong, as one of so many; 0 is never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Of commands: the connection ends before it, after it, or within its reply.
    pub ends: u64,
    /// Of commands: its reply is another one, an error, or no reply at all.
    pub wrong: u64,
    /// Of commands: a reply comes that nothing asked for.
    pub unrequested: u64,
    /// Of commands: the server stands still, for up to so many ms.
    pub stands: u64,
    pub stands_ms: u64,
    /// Of connections: refused, and never answered.
    pub refused: u64,
    /// Of waits: the thread has no CPU for up to so many ms.
    pub held_up: u64,
    pub held_up_ms: u64,
}

/// What really happened.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    /// Commands that reached the server whole.
    pub executed: u64,
    /// Those of them whose right reply came back whole, and the sum, least and greatest of how long each was on its way.
    pub answered: u64,
    pub answered_ns: u64,
    pub least_ns: u64,
    pub most_ns: u64,
    /// Replies that were not what was asked for.
    pub wrong: u64,
    pub unrequested: u64,
    pub lost: u64,
    pub refused: u64,
    pub bytes_taken: u64,
    pub bytes_read: u64,
    /// When the last byte was taken from the drive.
    pub last_taken_ns: u64,
    /// The longest that the thread was held up, and how often.
    pub held_up_ns: u64,
    pub held_up: u64,
    /// Sends that found no room.
    pub blocked: u64,
    /// Things that happened.
    pub steps: u64,
}

/// What is to happen.
enum What {
    Connects,
    /// The bytes of a send are at the server; when the kernel took them.
    Arrives(Vec<u8>, u64),
    /// A piece of replies can be read.
    Replies(Vec<u8>),
    /// A reply is there as a whole: when its command was taken.
    Answered(u64),
    /// The server closed the connection in order, or broke it off.
    Ends {
        in_order: bool,
    },
    /// Whatever a test does at this time.
    Calls(Call),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    Refused,
    Open,
    /// The server ended it, with what it sent before left to be read, or without.
    Ended,
    BrokenOff,
}

/// One connection.
#[derive(Debug)]
struct End {
    number: usize,
    state: State,
    is_dropped: bool,
    /// What has come and was not read.
    inbound: VecDeque<u8>,
    /// Room for what is sent, and whether it was found full.
    room: usize,
    lacks_room: bool,
    readable: bool,
    writable: bool,
    /// What the server has not parsed, and whether it reads no more.
    request: Vec<u8>,
    is_deaf: bool,
    /// When the last of what it was sent, and of its replies, arrives.
    sent_ns: u64,
    replied_ns: u64,
}

type Call = Box<dyn FnOnce()>;

pub struct Network {
    rng: Rng,
    faults: Faults,
    ends: Vec<End>,
    /// Of which connection what happens, by its time and then in the order in which it was planned.
    agenda: BTreeMap<(u64, u64), (usize, What)>,
    planned: u64,
    stands_until_ns: u64,
    stored: HashMap<Vec<u8>, Vec<u8>>,
    truth: Truth,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Network").field("ends", &self.ends.len()).field("truth", &self.truth).finish()
    }
}

/// A socket of the network.
#[derive(Debug)]
pub struct Socket(usize);

fn with<T>(act: impl FnOnce(&mut Network) -> T) -> T {
    NETWORK.with_borrow_mut(|network| act(network.as_mut().expect("this thread has a network")))
}

/// Gives this thread a network, whose time begins at a second.
pub fn begin(seed: u64, faults: Faults) {
    time::set(1_000 * MS_NS);
    let network = Network {
        rng: Rng::new(seed, 77),
        faults,
        ends: Vec::new(),
        agenda: BTreeMap::new(),
        planned: 0,
        stands_until_ns: 0,
        stored: HashMap::new(),
        truth: Truth { least_ns: u64::MAX, ..Truth::default() },
    };
    NETWORK.set(Some(network));
}

/// Takes the network away again; what happened on it.
pub fn end() -> Truth {
    NETWORK.take().expect("this thread has a network").truth
}

/// Commands that reached the server whole by now.
pub fn executed() -> u64 {
    with(|network| network.truth.executed)
}

/// Has something done so many ms from now on.
pub fn call_in(ms: f64, call: impl FnOnce() + 'static) {
    let at_ns = time::reached() + (ms * MS_NS as f64) as u64;
    with(|network| network.plan(at_ns, usize::MAX, What::Calls(Box::new(call))));
}

/// Waits for events until an instant at the latest; it may return earlier with none.
pub fn wait(events: &mut Vec<Event>, until_ns: u64) {
    events.clear();
    if let Some(call) = with(|network| network.go_on(events, until_ns)) {
        call();
    }
}

impl Network {
    fn one_of(&mut self, many: u64) -> bool {
        many > 0 && self.rng.below(many) == 0
    }

    fn plan(&mut self, at_ns: u64, end: usize, what: What) {
        self.agenda.insert((at_ns, self.planned), (end, what));
        self.planned += 1;
    }

    /// Lets time pass until something is to be handled; a call that is due, if that is what came first.
    fn go_on(&mut self, events: &mut Vec<Event>, until_ns: u64) -> Option<Call> {
        if self.one_of(self.faults.held_up) {
            let held_up_ns = self.rng.below(self.faults.held_up_ms * MS_NS);
            self.truth.held_up_ns = self.truth.held_up_ns.max(held_up_ns);
            self.truth.held_up += 1;
            time::set(time::reached() + held_up_ns);
        }
        if self.one_of(50) {
            return None;
        }
        loop {
            let now_ns = time::reached();
            while let Some(next) = self.agenda.first_entry().filter(|next| next.key().0 <= now_ns) {
                let ((at_ns, _), (end, what)) = next.remove_entry();
                self.truth.steps += 1;
                if let What::Calls(call) = what {
                    return Some(call);
                }
                self.happen(end, what, at_ns);
            }
            for end in self.ends.iter_mut().filter(|end| !end.is_dropped && (end.readable || end.writable)) {
                let closed = matches!(end.state, State::Ended | State::BrokenOff | State::Refused);
                events.push(Event { number: end.number, readable: end.readable, writable: end.writable, closed });
                (end.readable, end.writable) = (false, false);
            }
            if !events.is_empty() {
                return None;
            }
            let next_ns = self.agenda.first_key_value().map_or(u64::MAX, |(&(at_ns, _), _)| at_ns);
            assert!(next_ns.min(until_ns) < u64::MAX, "the drive waits for ever");
            time::set(now_ns.max(next_ns.min(until_ns)));
            if next_ns > until_ns {
                return None;
            }
        }
    }

    fn happen(&mut self, number: usize, what: What, at_ns: u64) {
        let end = &mut self.ends[number];
        match what {
            What::Connects => {
                (end.readable, end.writable) = (end.state == State::Refused, true);
                if end.state == State::Connecting {
                    end.state = State::Open;
                }
            }
            What::Arrives(bytes, taken_ns) => {
                end.room += bytes.len();
                end.writable |= std::mem::take(&mut end.lacks_room);
                if end.state == State::Open && !end.is_deaf {
                    end.request.extend(bytes);
                    self.serve(number, taken_ns, at_ns);
                }
            }
            What::Replies(bytes) => {
                end.readable = true;
                end.inbound.extend(bytes);
            }
            What::Answered(taken_ns) => {
                if !end.is_dropped && matches!(end.state, State::Open | State::Ended) {
                    let truth = &mut self.truth;
                    truth.answered += 1;
                    truth.answered_ns += at_ns - taken_ns;
                    truth.least_ns = truth.least_ns.min(at_ns - taken_ns);
                    truth.most_ns = truth.most_ns.max(at_ns - taken_ns);
                }
            }
            What::Ends { in_order } => {
                self.truth.lost += u64::from(!end.is_dropped);
                (end.readable, end.writable) = (true, true);
                end.state = if in_order { State::Ended } else { State::BrokenOff };
                if !in_order {
                    end.inbound.clear();
                }
            }
            What::Calls(_) => unreachable!("calls are made outside of the network"),
        }
    }

    /// Executes what came whole, in order.
    fn serve(&mut self, number: usize, taken_ns: u64, at_ns: u64) {
        while let Some((command, length)) = parsed(&self.ends[number].request) {
            self.ends[number].request.drain(..length);
            if self.one_of(self.faults.stands) {
                self.stands_until_ns = at_ns + self.rng.below(self.faults.stands_ms * MS_NS);
            }
            let begin_ns = self.ends[number].replied_ns.max(at_ns).max(self.stands_until_ns);
            let at_ns = begin_ns + 2_000 + self.rng.below(60_000);
            let breaks = self.one_of(self.faults.ends);
            let in_order = self.rng.below(2) == 0;
            if breaks && self.rng.below(3) == 0 {
                self.plan(at_ns, number, What::Ends { in_order });
                self.ends[number].is_deaf = true;
                return;
            }
            let is_load = matches!(command[0].as_slice(), b"GET" | b"SET" | b"INCR");
            self.truth.executed += u64::from(is_load);
            let mut reply = self.execute(&command);
            let is_wrong = is_load && self.one_of(self.faults.wrong);
            if is_wrong {
                self.truth.wrong += 1;
                reply = match self.rng.below(3) {
                    0 => b"-ERR it is out of order\r\n".to_vec(),
                    1 => b"$5\r\nother\r\n".to_vec(),
                    _ => b"*1\r\n:7\r\n".to_vec(),
                };
            }
            let whole = reply.len();
            if breaks {
                reply.truncate(self.rng.below(whole as u64 + 1) as usize);
            }
            let is_whole = reply.len() == whole;
            let last_ns = self.send(number, reply, at_ns);
            if is_whole && is_load && !is_wrong {
                self.plan(last_ns, number, What::Answered(taken_ns));
            }
            if is_load && self.one_of(self.faults.unrequested) {
                self.truth.unrequested += 1;
                self.send(number, b"+OK\r\n".to_vec(), last_ns + 1);
            }
            if breaks {
                self.plan(last_ns + 1, number, What::Ends { in_order });
                self.ends[number].is_deaf = true;
                return;
            }
        }
    }

    /// Sends a reply in pieces, behind those before it; when its last byte is there.
    fn send(&mut self, number: usize, mut reply: Vec<u8>, from_ns: u64) -> u64 {
        let mut at_ns = from_ns.max(self.ends[number].replied_ns + 1);
        while self.rng.below(4) == 0 && reply.len() > 1 {
            let rest = reply.split_off(1 + self.rng.below(reply.len() as u64 - 1) as usize);
            self.plan(at_ns, number, What::Replies(reply));
            reply = rest;
            at_ns += 1 + self.rng.below(30_000);
        }
        if !reply.is_empty() {
            self.plan(at_ns, number, What::Replies(reply));
        }
        self.ends[number].replied_ns = at_ns;
        at_ns
    }

    fn execute(&mut self, command: &[Vec<u8>]) -> Vec<u8> {
        match (command[0].as_slice(), &command[1..]) {
            (b"SET", [key, value]) => {
                self.stored.insert(key.clone(), value.clone());
                b"+OK\r\n".to_vec()
            }
            (b"GET", [key]) => match self.stored.get(key) {
                Some(value) => [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat(),
                None => b"$-1\r\n".to_vec(),
            },
            (b"INCR", [key]) => {
                let stored = self.stored.entry(key.clone()).or_insert_with(|| b"0".to_vec());
                let number: u64 = std::str::from_utf8(stored).unwrap().parse().unwrap();
                *stored = (number + 1).to_string().into_bytes();
                format!(":{}\r\n", number + 1).into_bytes()
            }
            _ => b"+OK\r\n".to_vec(),
        }
    }
}

/// The first command, and how many bytes it has; None until it is whole.
fn parsed(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let mut at = 0;
    let mut line = |mark: u8| {
        let end = at + bytes.get(at..)?.windows(2).position(|two| two == b"\r\n")?;
        assert_eq!(bytes[at], mark, "a command of RESP");
        let number: usize = std::str::from_utf8(&bytes[at + 1..end]).unwrap().parse().unwrap();
        at = end + 2;
        if mark == b'*' {
            return Some((number, at..at));
        }
        let text = at..at + number;
        at += number + 2;
        (bytes.len() >= at).then_some((number, text))
    };
    let (count, _) = line(b'*')?;
    let parts: Vec<Vec<u8>> =
        (0..count).map(|_| line(b'$').map(|(_, text)| bytes[text].to_vec())).collect::<Option<_>>()?;
    Some((parts, at))
}

impl Socket {
    /// Begins to connect, as number so much.
    pub fn connect(number: usize) -> Self {
        with(|network| {
            let refused = network.one_of(network.faults.refused);
            let is_silent = refused && network.rng.below(3) == 0;
            network.truth.refused += u64::from(refused);
            let room = 1 + network.rng.below(4000) as usize;
            let now_ns = time::reached();
            network.ends.push(End {
                number,
                state: if refused && !is_silent { State::Refused } else { State::Connecting },
                is_dropped: false,
                inbound: VecDeque::new(),
                room,
                lacks_room: false,
                readable: false,
                writable: false,
                request: Vec::new(),
                is_deaf: false,
                sent_ns: now_ns,
                replied_ns: now_ns,
            });
            let end = network.ends.len() - 1;
            if !is_silent {
                let at_ns = now_ns + 1_000 + network.rng.below(MS_NS);
                network.plan(at_ns, end, What::Connects);
            }
            Self(end)
        })
    }

    /// As `getpeername` and `SO_ERROR` have it.
    pub fn is_connected(&self) -> io::Result<bool> {
        with(|network| match network.ends[self.0].state {
            State::Connecting => Ok(false),
            State::Refused => Err(ErrorKind::ConnectionRefused.into()),
            State::BrokenOff => Err(ErrorKind::ConnectionReset.into()),
            State::Open | State::Ended => Ok(true),
        })
    }

    /// Receives what is there.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        with(|network| {
            if network.one_of(60) {
                return Err(ErrorKind::Interrupted.into());
            }
            let end = &mut network.ends[self.0];
            if end.state == State::BrokenOff {
                return Err(ErrorKind::ConnectionReset.into());
            }
            let count = end.inbound.len().min(buffer.len());
            if count == 0 {
                return if end.state == State::Ended { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
            }
            for (place, byte) in buffer.iter_mut().zip(end.inbound.drain(..count)) {
                *place = byte;
            }
            network.truth.bytes_read += count as u64;
            Ok(count)
        })
    }

    /// Sends what there is room for.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        with(|network| {
            if network.one_of(60) {
                return Err(ErrorKind::Interrupted.into());
            }
            let end = &mut network.ends[self.0];
            if !matches!(end.state, State::Open | State::Ended) {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let count = bytes.len().min(end.room);
            if count == 0 {
                end.lacks_room = true;
                network.truth.blocked += 1;
                return Err(ErrorKind::WouldBlock.into());
            }
            end.room -= count;
            let now_ns = time::now_ns();
            let at_ns = (now_ns + 1_000 + network.rng.below(20_000)).max(network.ends[self.0].sent_ns + 1);
            network.ends[self.0].sent_ns = at_ns;
            network.truth.bytes_taken += count as u64;
            network.truth.last_taken_ns = now_ns;
            network.plan(at_ns, self.0, What::Arrives(bytes[..count].to_vec(), now_ns));
            Ok(count)
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        NETWORK.with_borrow_mut(|network| {
            if let Some(network) = network {
                network.ends[self.0].is_dropped = true;
            }
        });
    }
}
