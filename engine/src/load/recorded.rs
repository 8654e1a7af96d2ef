//! Commands of a recording, one after the other, as one thread sends them again.
//!
//! The file is prepared by the Python side and read while the load runs: only commands that wait to be sent are in
//! memory. It begins with [`MAGIC`]; then each command has, in little endian, nanoseconds since the recording began (8
//! bytes), the number of its client, the number of its operation, how many arguments it has, and their bytes (4 each).
//! An argument is 4 bytes, its length times 2, and 1 more if it is a key, and then so many bytes. Keys get the plan's
//! prefix. A client's commands go over one connection, in their order.

use crate::content::template::write_integer;
use crate::plan::{Model, Plan, PlanError};
use crate::share;
use std::fs::File;
use std::io::{self, BufReader, Read};

pub const MAGIC: &[u8; 8] = b"recorded";
const HEAD_BYTES: usize = 24;
/// Read at a time.
const BUFFER_BYTES: usize = 1 << 18;
/// Of commands that wait to be sent, of all threads together: what comes beyond is dropped and counted.
const HELD_MAX_BYTES: usize = 256 << 20;
/// So far ahead a thread reads that sends as fast as it can: commands, for each of its connections and at least.
const AHEAD_A_CONNECTION: usize = 16;
const AHEAD_LEAST: usize = 1024;

/// What stands before a command's arguments.
#[derive(Debug, Clone, Copy)]
struct Head {
    at_ns: u64,
    connection: usize,
    operation: u16,
    arguments: u32,
    bytes: usize,
}

/// A command that waits to be sent.
#[derive(Debug, Default)]
struct Held {
    connection: usize,
    arguments: u32,
    bytes: Vec<u8>,
}

/// The commands of one thread.
#[derive(Debug)]
pub struct Recorded {
    reader: BufReader<File>,
    thread: usize,
    threads: usize,
    connections: usize,
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
}

impl Recorded {
    /// Those of thread number `thread` of a plan; None if the plan has no recording. The error names its file.
    pub fn new(plan: &Plan, thread: usize) -> Result<Option<Self>, PlanError> {
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
        let mut recorded = Self {
            reader,
            thread,
            threads: plan.threads,
            connections: plan.pool.connections as usize,
            operations: plan.operations.len(),
            speed: if matches!(plan.model, Model::Open(_)) { recording.speed } else { f64::INFINITY },
            prefix: plan.keys.prefix.as_bytes().to_vec(),
            next: None,
            held: Vec::new(),
            free: Vec::new(),
            held_bytes: 0,
            held_max_bytes: HELD_MAX_BYTES / plan.threads,
            failure: None,
        };
        recorded.find_next();
        recorded.failure.take().map_or(Ok(Some(recorded)), |why| Err(wrong(why)))
    }

    /// The connections of this thread, among which clients are divided.
    pub fn own_connections(&self) -> usize {
        share(self.connections, self.thread, self.threads)
    }

    /// When the next command is intended, in nanoseconds since the load began: 0 where all are sent as fast as they can
    /// be; None after the last one.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.next.map(|head| (head.at_ns as f64 / self.speed) as u64)
    }

    /// How many commands may wait of those that are sent as fast as they can be.
    pub fn ahead(&self) -> usize {
        let few = AHEAD_LEAST.max(AHEAD_A_CONNECTION * self.own_connections());
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
        (held.connection, held.arguments) = (head.connection, head.arguments);
        self.held_bytes += head.bytes;
        if let Err(error) = self.reader.read_exact(&mut held.bytes) {
            self.failure = Some(error.to_string());
            self.let_go(place);
            return None;
        }
        self.find_next();
        Some((head.operation, place))
    }

    /// The connection, among those of this thread, of a command that is held.
    #[inline]
    pub fn connection(&self, place: usize) -> usize {
        self.held[place].connection
    }

    /// Appends a command that is held, which is then no more.
    pub fn write(&mut self, place: usize, out: &mut Vec<u8>) {
        let Held { arguments, bytes, .. } = &self.held[place];
        out.push(b'*');
        write_integer((*arguments).into(), out);
        let mut rest = bytes.as_slice();
        while let Some((size, after)) = rest.split_first_chunk::<4>() {
            let size = u32::from_le_bytes(*size);
            let (text, after) = after.split_at((size as usize >> 1).min(after.len()));
            let prefix: &[u8] = if size & 1 == 1 { &self.prefix } else { b"" };
            out.extend_from_slice(b"\r\n$");
            write_integer((prefix.len() + text.len()) as i128, out);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(prefix);
            out.extend_from_slice(text);
            rest = after;
        }
        out.extend_from_slice(b"\r\n");
        self.let_go(place);
    }

    /// A command that is held will not be sent.
    pub fn let_go(&mut self, place: usize) {
        self.held_bytes -= self.held[place].bytes.len();
        self.held[place].bytes.clear();
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
            let connection = number(8) as usize % self.connections;
            let operation = u16::try_from(number(12)).ok().filter(|&place| usize::from(place) < self.operations);
            let Some(operation) = operation else {
                return Err(io::Error::other(format!("operation {} is none of the plan's", number(12))));
            };
            let length = number(20) as usize;
            if connection % self.threads != self.thread {
                self.reader.seek_relative(length as i64)?;
                continue;
            }
            return Ok(Some(Head {
                at_ns: u64::from(high) << 32 | u64::from(low),
                connection: connection / self.threads,
                operation,
                arguments: number(16),
                bytes: length,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    struct Written(PathBuf);

    impl Drop for Written {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn row(at_ns: u64, client: u32, operation: u32, arguments: &[(&[u8], bool)]) -> Vec<u8> {
        let sized = |(text, is_key): &(&[u8], bool)| {
            [&((text.len() as u32) << 1 | u32::from(*is_key)).to_le_bytes()[..], text].concat()
        };
        let body: Vec<u8> = arguments.iter().flat_map(sized).collect();
        let mut row = at_ns.to_le_bytes().to_vec();
        for number in [client, operation, arguments.len() as u32, body.len() as u32] {
            row.extend(number.to_le_bytes());
        }
        [row, body].concat()
    }

    fn plan(name: &str, rows: &[Vec<u8>], model: &str, threads: usize) -> (Written, Plan) {
        let path = std::env::temp_dir().join(format!("loadstone-recorded-{}-{name}", std::process::id()));
        let written = Written(path);
        std::fs::write(&written.0, [&MAGIC[..], &rows.concat()].concat()).unwrap();
        let path = written.0.to_str().unwrap();
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {model}, "pool": {{"connections": 4}}, "threads": {threads},
            "recording": {{"path": "{path}", "speed": 2}}, "keys": {{"prefix": "p:"}},
            "operations": [{{"name": "set", "commands": [{{"args": ["SET"]}}]}}]}}"#
        );
        (written, Plan::from_json(&text).unwrap())
    }

    const OPEN: &str = r#"{"kind": "open", "rate_per_s": 1, "arrivals": "recorded"}"#;

    #[test]
    fn keys_have_the_prefix_and_bytes_are_as_recorded() {
        let rows = [row(5_000, 0, 0, &[(b"SET", false), (b"a", true), (b"v\0\r\n", false)])];
        let (_written, plan) = plan("keys", &rows, OPEN, 1);
        let mut recorded = Recorded::new(&plan, 0).unwrap().unwrap();
        assert_eq!(recorded.next_ns(), Some(2_500), "at twice the speed");
        let (operation, place) = recorded.take().unwrap();
        let mut out = Vec::new();
        recorded.write(place, &mut out);
        assert_eq!((operation, out), (0, b"*3\r\n$3\r\nSET\r\n$3\r\np:a\r\n$4\r\nv\0\r\n\r\n".to_vec()));
        assert_eq!((recorded.next_ns(), recorded.take(), recorded.held_bytes), (None, None, 0));
        assert!(recorded.failure().is_none());
    }

    #[test]
    fn each_client_has_its_thread_and_its_connection() {
        let rows: Vec<_> = (0..12).map(|client| row(client.into(), client, 0, &[(b"PING", false)])).collect();
        let (_written, plan) = plan("clients", &rows, r#"{"kind": "closed", "users": 4}"#, 2);
        for thread in 0..2 {
            let mut recorded = Recorded::new(&plan, thread).unwrap().unwrap();
            assert_eq!((recorded.own_connections(), recorded.next_ns()), (2, Some(0)), "as fast as possible");
            let places: Vec<usize> = std::iter::from_fn(|| recorded.take()).map(|(_, place)| place).collect();
            let connections: Vec<usize> = places.iter().map(|&place| recorded.connection(place)).collect();
            assert_eq!(connections, [0, 1, 0, 1, 0, 1]);
            places.into_iter().for_each(|place| recorded.let_go(place));
            assert_eq!(recorded.free.len(), 6);
        }
    }

    #[test]
    fn a_file_that_was_cut_or_is_another_one_is_an_error() {
        let whole = row(0, 0, 0, &[(b"PING", false)]);
        let (_cut, cut) = plan("cut", &[whole[..whole.len() - 1].to_vec()], OPEN, 1);
        let mut recorded = Recorded::new(&cut, 0).unwrap().unwrap();
        assert!(recorded.take().is_none() && recorded.failure().is_some());
        let (_unknown, unknown) = plan("unknown", &[row(0, 0, 1, &[])], OPEN, 1);
        assert!(Recorded::new(&unknown, 0).unwrap_err().message.contains("operation 1 is none of the plan's"));
        let (written, other) = plan("other", &[], OPEN, 1);
        std::fs::write(&written.0, "text").unwrap();
        assert!(Recorded::new(&other, 0).unwrap_err().message.contains("is no recording"));
    }
}
