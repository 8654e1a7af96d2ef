//! The parsers of bytes that others send, as functions of any bytes, and what must hold of each.
//!
//! `fuzz/` runs them under libFuzzer; the test below replays its corpus. An input's first byte says how the rest is cut
//! into pieces, its second one chooses among settings. What comes of a stream must not depend on the cuts, memory follows
//! what came, and nothing panics.

use crate::content::rng::Rng;
use crate::net::inbox::Inbox;

pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder in `fuzz/corpus`.
pub const TARGETS: &[(&str, Target)] = &[
    ("resp", crate::wire::fuzzing::resp),
    ("http", crate::wire::fuzzing::http),
    ("chunks", crate::wire::fuzzing::chunks),
    ("memcached", crate::wire::fuzzing::memcached),
    ("null_commands", crate::null_server::fuzzing::commands),
    ("null_requests", crate::null_server::fuzzing::requests),
    ("null_lines", crate::null_server::fuzzing::lines),
];

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, run)| *run)
}

/// An input taken apart: how it is cut, which settings are used, and the bytes that a stranger sends.
pub(crate) struct Input<'a> {
    cuts: u8,
    pub settings: u8,
    pub bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn of(data: &'a [u8]) -> Option<Self> {
        let [cuts, settings, bytes @ ..] = data else { return None };
        Some(Self { cuts: *cuts, settings: *settings, bytes })
    }

    /// The bytes in one piece, and cut as the input says: what comes of both must be the same.
    pub fn both_ways<T: PartialEq + std::fmt::Debug>(&self, bytes: &[u8], run: impl Fn(&[&[u8]]) -> T) {
        let whole = run(&[bytes]);
        let mut rng = Rng::new(u64::from(self.cuts), 0);
        let longest = 1 + u64::from(self.cuts % 32);
        let (mut pieces, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(1 + rng.below(longest) as usize));
            pieces.push(piece);
            rest = after;
        }
        assert_eq!(whole, run(&pieces), "cut into {:?}", pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>());
    }
}

/// Delivers pieces as a worker receives them; `consume` takes what it can, and is false once it takes no more.
pub(crate) fn receive_all(pieces: &[&[u8]], mut consume: impl FnMut(&mut Inbox) -> bool) -> Inbox {
    let mut inbox = Inbox::default();
    let mut came = 0;
    for mut piece in pieces.iter().copied() {
        while !piece.is_empty() {
            let count = inbox.fill(piece);
            (piece, came) = (&piece[count..], came + count);
            assert!(inbox.bytes.len() <= 32 * 1024 + 4 * came, "{} bytes for {came}", inbox.bytes.len());
            if !consume(&mut inbox) {
                return inbox;
            }
        }
    }
    inbox
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_input_of_the_corpus_keeps_what_must_hold() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
        for (name, run) in TARGETS {
            let inputs = std::fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut count = 0;
            for input in inputs.flatten() {
                println!("{}", input.path().display());
                run(&std::fs::read(input.path()).expect("an input can be read"));
                count += 1;
            }
            assert!(count > 0, "{name}: its corpus is empty");
        }
    }
}
