//! Commands of a recording, one after the other, as one thread sends them again.
//!
//! The file is prepared by the Python side and read while the load runs: only commands that wait to be sent are in
//! memory. It begins with [`MAGIC`]; then each command has, in little endian, nanoseconds since the recording began (8
//! bytes), the number of its client, the number of its operation, how many arguments it has, and their bytes (4 each).
//! The highest bit of the number of arguments says that no node of a cluster takes the command. An argument is 4 bytes,
//! its length times 4, and 1 more if it is a key, 2 if it is not sent, and then so many bytes. Keys get the plan's
//! prefix; what is not sent is a key of the command's transaction, for a command that has none. A client's commands go over one
//! connection, in their order; in a cluster over one to each node, see `worker/replaying.rs`.

mod arguments;
mod by_slots;

use crate::content::template::write_integer;
use crate::plan::{Plan, PlanError, Share};
use arguments::{Arguments, KEY, NOT_SENT};
use by_slots::BySlots;
use std::fs::File;
use std::io::{self, BufReader, Read};

pub const MAGIC: &[u8; 8] = b"recorded";
const HEAD_BYTES: usize = 24;
/// Read at a time.
const BUFFER_BYTES: usize = 1 << 18;
/// Of commands that wait to be sent, of all threads of an agent together: what comes beyond is dropped and counted.
const HELD_MAX_BYTES: usize = 256 << 20;
/// Room for a command that is given back once it was used.
const LARGE_BYTES: usize = 64 << 10;
/// Of the number of arguments: no node of a cluster has all keys of the command.
const OF_SEVERAL_SLOTS: u32 = 1 << 31;
/// So far ahead a thread reads that sends as fast as it can: commands, for each of its connections and at least.
const AHEAD_A_CONNECTION: usize = 16;
const AHEAD_LEAST: usize = 1024;

/// What stands before a command's arguments.
#[derive(Debug, Clone, Copy)]
struct Head {
    at_ns: u64,
    sequence: usize,
    operation: u16,
    arguments: u32,
    bytes: usize,
}

/// A command that waits to be sent, or was sent to a cluster, which may have it sent elsewhere.
#[derive(Debug, Default)]
struct Held {
    sequence: usize,
    arguments: u32,
    bytes: Vec<u8>,
    slot: u16,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Waits,
    /// Sent, and kept to be sent again.
    Kept,
    /// Sent, and not kept: there was no more room.
    Gone,
}

/// The commands of one thread.
#[derive(Debug)]
pub struct Recorded {
    reader: BufReader<File>,
    /// Which thread of all it is.
    share: Share,
    /// Of all threads: what is a connection to one server, and in a cluster one to each node.
    sequences: usize,
    own_sequences: usize,
    operations: usize,
    speed: f64,
    prefix: Vec<u8>,
    /// The next command of this thread, whose arguments were not read yet.
    next: Option<Head>,
    held: Vec<Held>,
    /// Places in `held` that are free.
    free: Vec<usize>,
    held_bytes: usize,
    held_max_bytes: usize,
    failure: Option<String>,
    /// In a cluster.
    by_slots: Option<BySlots>,
}

impl Recorded {
    /// Those of one thread of a plan; None if the plan has no recording. The error names its file.
    pub fn new(plan: &Plan, share: Share) -> Result<Option<Self>, PlanError> {
        let Some(recording) = &plan.recording else {
            return Ok(None);
        };
        let wrong = |why: String| PlanError::new("recording.path", format!("`{}`: {why}", recording.path));
        let file = File::open(&recording.path).map_err(|error| wrong(error.to_string()))?;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut magic = [0; MAGIC.len()];
        if reader.read_exact(&mut magic).is_err() || magic != *MAGIC {
            return Err(wrong("is no recording that was prepared for drivers".into()));
        }
        let (sequences, own_sequences) = (plan.sequences(), plan.own_sequences(share));
        let mut recorded = Self {
            reader,
            share,
            sequences,
            own_sequences,
            operations: plan.operations.len(),
            speed: if plan.model.is_open() { recording.speed } else { f64::INFINITY },
            prefix: plan.keys.prefix.as_bytes().to_vec(),
            next: None,
            held: Vec::new(),
            free: Vec::new(),
            held_bytes: 0,
            held_max_bytes: HELD_MAX_BYTES / plan.threads,
            failure: None,
            by_slots: plan.has_slots().then(|| BySlots::new(plan, own_sequences)),
        };
        recorded.find_next();
        recorded.failure.take().map_or(Ok(Some(recorded)), |why| Err(wrong(why)))
    }

    /// The sequences of this thread, among which clients are divided.
    pub fn own_sequences(&self) -> usize {
        self.own_sequences
    }

    /// When the next command is intended, in nanoseconds since the load began: 0 where all are sent as fast as they can
    /// be; None after the last one.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.next.map(|head| (head.at_ns as f64 / self.speed) as u64)
    }

    /// How many commands may wait of those that are sent as fast as they can be.
    pub fn ahead(&self) -> usize {
        let few = AHEAD_LEAST.max(AHEAD_A_CONNECTION * self.own_sequences);
        if self.held_bytes > self.held_max_bytes / 4 { 1 } else { few }
    }

    /// Whether those that wait take so much memory that no more may.
    pub fn is_full(&self) -> bool {
        self.held_bytes > self.held_max_bytes
    }

    /// Why the file could not be read to its end.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Takes the next command: its operation, and where it is held until it is sent or let go.
    pub fn take(&mut self) -> Option<(u16, usize)> {
        let head = self.next.take()?;
        let place = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            self.held.len() - 1
        });
        let held = &mut self.held[place];
        held.bytes.resize(head.bytes, 0);
        (held.sequence, held.arguments, held.state) = (head.sequence, head.arguments, State::Waits);
        self.held_bytes += head.bytes;
        if let Err(error) = self.reader.read_exact(&mut held.bytes) {
            self.failure = Some(error.to_string());
            self.let_go(place);
            return None;
        }
        if let Some(by_slots) = &mut self.by_slots {
            held.slot = by_slots.slot(held.sequence, &held.bytes);
        }
        self.find_next();
        Some((head.operation, place))
    }

    /// The sequence, among those of this thread, of a command that is held.
    #[inline]
    pub fn sequence(&self, place: usize) -> usize {
        self.held[place].sequence
    }

    /// The slot of a command that is held, which goes to a cluster.
    #[inline]
    pub fn slot(&self, place: usize) -> u16 {
        self.held[place].slot
    }

    /// Appends a command that is held, which is then no more, but for one that goes to a cluster: that is held until it
    /// is let go.
    pub fn write(&mut self, place: usize, out: &mut Vec<u8>) {
        let Held { arguments, bytes, .. } = &self.held[place];
        out.push(b'*');
        write_integer((*arguments).into(), out);
        for (kind, text) in Arguments(bytes).filter(|(kind, _)| *kind != NOT_SENT) {
            let prefix: &[u8] = if kind == KEY { &self.prefix } else { b"" };
            out.extend_from_slice(b"\r\n$");
            write_integer((prefix.len() + text.len()) as i128, out);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(prefix);
            out.extend_from_slice(text);
        }
        out.extend_from_slice(b"\r\n");
        if self.by_slots.is_some() { self.keep(place) } else { self.let_go(place) }
    }

    /// A command was sent to a cluster: it is kept as far as there is room.
    fn keep(&mut self, place: usize) {
        let (Some(by_slots), held) = (&mut self.by_slots, &mut self.held[place]) else { return };
        if held.state != State::Waits {
            return;
        }
        self.held_bytes -= held.bytes.len();
        if by_slots.kept_bytes + held.bytes.len() <= by_slots.kept_max_bytes {
            by_slots.kept_bytes += held.bytes.len();
            held.state = State::Kept;
        } else {
            held.bytes = Vec::new();
            held.state = State::Gone;
        }
    }

    /// Whether a command that was sent to a cluster can be sent again.
    pub fn is_kept(&self, place: usize) -> bool {
        self.held[place].state == State::Kept
    }

    /// A command that is held will not be sent, or not again.
    pub fn let_go(&mut self, place: usize) {
        let held = &mut self.held[place];
        match (held.state, &mut self.by_slots) {
            (State::Kept, Some(by_slots)) => by_slots.kept_bytes -= held.bytes.len(),
            _ => self.held_bytes -= held.bytes.len(),
        }
        held.bytes.clear();
        if held.bytes.capacity() > LARGE_BYTES {
            held.bytes = Vec::new();
        }
        self.free.push(place);
    }

    /// Reads on to the next command of this thread.
    fn find_next(&mut self) {
        match self.read_next() {
            Ok(next) => self.next = next,
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    fn read_next(&mut self) -> io::Result<Option<Head>> {
        loop {
            let mut bytes = [0; HEAD_BYTES];
            match self.reader.read(&mut bytes[..1])? {
                0 => return Ok(None),
                _ => self.reader.read_exact(&mut bytes[1..])?,
            }
            let number =
                |place: usize| u32::from_le_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]]);
            let (low, high) = (number(0), number(4));
            let sequence = number(8) as usize % self.sequences;
            let operation = u16::try_from(number(12)).ok().filter(|&place| usize::from(place) < self.operations);
            let Some(operation) = operation else {
                return Err(io::Error::other(format!("operation {} is none of the plan's", number(12))));
            };
            let length = number(20) as usize;
            let leaves_out = number(16) & OF_SEVERAL_SLOTS != 0 && self.by_slots.is_some();
            if sequence % self.share.of != self.share.number || leaves_out {
                self.reader.seek_relative(length as i64)?;
                continue;
            }
            return Ok(Some(Head {
                at_ns: u64::from(high) << 32 | u64::from(low),
                sequence: sequence / self.share.of,
                operation,
                arguments: number(16) & !OF_SEVERAL_SLOTS,
                bytes: length,
            }));
        }
    }
}

#[cfg(test)]
mod tests;
