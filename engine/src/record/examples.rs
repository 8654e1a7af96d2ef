//! For people: the beginning of one reply of each kind of error.

use crate::record::outcome::Phase;
use crate::wire::ErrorKind;
use crate::wire::example::EXAMPLE_BYTES;
use serde::Serialize;

/// The most that a thread keeps, however many operations a plan has.
const EXAMPLES_MAX: usize = 64;

/// The beginning of a reply that was counted as an error of this kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExampleRecord {
    pub operation: String,
    pub kind: &'static str,
    pub reply: String,
}

/// A reply that was not correct.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Example {
    operation: u16,
    kind: ErrorKind,
    /// Of an operation of the measure phase, which one of before gives way to.
    measured: bool,
    text: Vec<u8>,
}

/// The examples of one thread.
#[derive(Debug, Default)]
pub struct Examples(Vec<Example>);

impl Examples {
    /// Notes what `write` appends, if it is the first of its operation and kind.
    #[cold]
    pub fn note(&mut self, operation: u16, kind: ErrorKind, member: Phase, write: impl FnOnce(&mut Vec<u8>)) {
        let measured = member == Phase::Measure;
        let place = self.0.iter().position(|one| one.operation == operation && one.kind == kind);
        let is_new = place.is_none_or(|at| measured && !self.0[at].measured);
        if !is_new || (place.is_none() && self.0.len() >= EXAMPLES_MAX) {
            return;
        }
        let mut text = Vec::new();
        write(&mut text);
        text.truncate(EXAMPLE_BYTES);
        let example = Example { operation, kind, measured, text };
        match place {
            Some(at) => self.0[at] = example,
            None => self.0.push(example),
        }
    }

    /// Those of all threads, one of each operation and kind; `names` are those of the operations.
    pub fn of_all<'a>(threads: impl Iterator<Item = &'a Examples>, names: &[String]) -> Vec<ExampleRecord> {
        let mut all: Vec<&Example> = threads.flat_map(|thread| &thread.0).collect();
        all.sort_by_key(|example| (example.operation, example.kind, !example.measured));
        all.dedup_by_key(|example| (example.operation, example.kind));
        let record = |&Example { operation, kind, ref text, .. }: &Example| ExampleRecord {
            operation: names[usize::from(operation)].clone(),
            kind: kind.name(),
            reply: String::from_utf8_lossy(text).into_owned(),
        };
        all.into_iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_kind_is_kept_and_a_measured_one_in_the_place_of_one_of_before() {
        let note = |examples: &mut Examples, operation, kind, phase, text: &str| {
            examples.note(operation, kind, phase, |out| out.extend_from_slice(text.as_bytes()));
        };
        let (mut one, mut other) = (Examples::default(), Examples::default());
        note(&mut one, 0, ErrorKind::ServerOom, Phase::WarmUp, "OOM early");
        note(&mut one, 0, ErrorKind::ServerOom, Phase::Measure, "OOM measured");
        note(&mut one, 0, ErrorKind::ServerOom, Phase::Measure, "OOM later");
        note(&mut one, 0, ErrorKind::ServerErr, Phase::WarmUp, "ERR early");
        note(&mut other, 0, ErrorKind::ServerErr, Phase::Measure, "ERR of another thread");
        note(&mut other, 1, ErrorKind::WrongReply, Phase::Drain, &"x".repeat(2 * EXAMPLE_BYTES));
        let names = ["get".to_string(), "set".to_string()];
        let all = Examples::of_all([&one, &other].into_iter(), &names);
        let found: Vec<_> = all.iter().map(|one| (&one.operation[..], one.kind, &one.reply[..9])).collect();
        assert_eq!(
            found,
            [
                ("get", "server_err", "ERR of an"),
                ("get", "server_oom", "OOM measu"),
                ("set", "wrong_reply", "xxxxxxxxx")
            ]
        );
        assert_eq!(all[2].reply.len(), EXAMPLE_BYTES);
    }

    #[test]
    fn a_thread_keeps_few_of_however_many_operations() {
        let mut examples = Examples::default();
        for operation in 0..1000 {
            examples.note(operation, ErrorKind::ServerErr, Phase::Measure, |out| out.push(b'E'));
        }
        assert_eq!(examples.0.len(), EXAMPLES_MAX);
    }
}
