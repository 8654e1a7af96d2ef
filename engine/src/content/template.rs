//! Templates: an argument with placeholders, parsed once into parts that are cheap to write.
//!
//! | placeholder | stands for |
//! |---|---|
//! | `{key}` | the key: prefix and 12-digit number |
//! | `{key2}` `{key3}` ... | other keys of the same operation, all different |
//! | `{document}` | the JSON text of the key's document |
//! | `{id}` `{version}` `{field}` `{body}` | its raw parts |
//! | `{field_json}` | the field as a JSON string |
//! | `{changed}` | the document in the last reply with its field replaced |
//! | `{value}` | `payload_bytes` of text |
//! | `{message}` | `payload_bytes` that name the time that the operation was intended, and its number |
//! | `{seq}` | the operation's number in the drive, from 0; the same in all its commands |
//! | `{uniform A..B}` | a random integer from A to B, both included |
//! | `{random N lowercase}` | N random small letters |
//! | `{number}` `{number2}` ... (HTTP) | the number of the key, and of the others, counted from 1, without leading zeros |
//! | `{data.FIELD}` | a field of the operation's row in the data file |
//!
//! `{{` and `}}` are literal braces. Random text depends on the seed and the operation's number alone.

use crate::content::data::Data;
use crate::content::message::{self, Intended, Stamp};
use crate::content::rng::{Rng, mix};
use crate::content::send_buffer::Sink;
use crate::content::values::{
    AFTER_BODY, BEFORE_BODY, BEFORE_FIELD, BEFORE_ID, BEFORE_VERSION, ID_DIGITS, VERSION_DIGITS, Values, digits,
    eight_digits,
};
use crate::plan::PlanError;

/// More letters than any document has bytes are a slip of the pen.
const RANDOM_MAX: usize = 64 * 1024 * 1024;
/// Keys of one operation.
pub const KEYS_OF_ONE_MAX: usize = 10_000;

/// A piece of a template. `salt` makes the random placeholders of one operation differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Literal(Vec<u8>),
    Id,
    /// The number of another key of the operation, by its place among these.
    Other(usize),
    Version,
    Field,
    Body,
    Value,
    Changed,
    Message,
    Seq,
    Number,
    /// As [`Part::Other`], as a number.
    OtherNumber(usize),
    /// A field of the operation's row, by its place.
    Data(usize),
    Uniform {
        low: i64,
        span: u64,
        salt: u64,
    },
    Random {
        letters: usize,
        salt: u64,
    },
}

/// What the placeholders of one request stand for.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    pub values: &'a Values,
    pub key: u64,
    pub version: u32,
    pub seq: u64,
    pub intended: Intended,
    /// The text of the last reply of the same operation.
    pub previous: &'a [u8],
    pub data: Option<&'a Data>,
    /// The numbers of the operation's other keys, as many as its requests name.
    pub others: &'a [u64],
}

impl Filling<'_> {
    /// The number of another key, by its place among these.
    fn other(&self, place: usize) -> u64 {
        self.others.get(place).copied().unwrap_or(self.key)
    }
}

/// The placeholders of a protocol.
#[derive(Debug)]
pub struct Placeholders {
    /// `{changed}`, which needs a reply that is a document.
    pub changed: bool,
    /// `{number}`.
    pub number: bool,
    /// `{message}`.
    pub message: bool,
    /// Every placeholder, as a person reads it in an error.
    pub list: &'static str,
}

/// Parses templates whose `{key}` begins with `prefix`.
#[derive(Debug)]
pub struct Parser<'a> {
    prefix: &'a str,
    salt: u64,
    placeholders: &'static Placeholders,
    data: Option<&'a Data>,
}

impl<'a> Parser<'a> {
    pub fn new(prefix: &'a str, placeholders: &'static Placeholders, data: Option<&'a Data>) -> Self {
        Self { prefix, salt: 0, placeholders, data }
    }

    /// What `{key}` begins with.
    pub fn prefix(&self) -> &'a str {
        self.prefix
    }

    /// The parts of `text`. The error names `field`, the place of `text` in the plan.
    pub fn parse(&mut self, text: &str, field: &str) -> Result<Vec<Part>, PlanError> {
        let error = |message: String| PlanError::new(field, format!("`{text}`: {message}"));
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            push_literal(&mut parts, before.as_bytes());
            if brace.starts_with("{{") || brace.starts_with("}}") {
                push_literal(&mut parts, &brace.as_bytes()[..1]);
                rest = &brace[2..];
                continue;
            }
            let inside = brace.strip_prefix('{').ok_or_else(|| error("a lone `}`; write }} for a brace".into()))?;
            let (name, after) =
                inside.split_once('}').ok_or_else(|| error("a `{` without its `}`; write {{ for a brace".into()))?;
            self.push_placeholder(&mut parts, name).map_err(error)?;
            rest = after;
        }
        push_literal(&mut parts, rest.as_bytes());
        Ok(parts)
    }

    fn push_placeholder(&mut self, parts: &mut Vec<Part>, text: &str) -> Result<(), String> {
        let (name, arguments) = text.split_once(' ').unwrap_or((text, ""));
        match (name, arguments) {
            ("key", "") => {
                push_literal(parts, self.prefix.as_bytes());
                parts.push(Part::Id);
            }
            (name, "") if name.starts_with("key") => {
                push_literal(parts, self.prefix.as_bytes());
                parts.push(Part::Other(other_place(name, "key")?));
            }
            ("document", "") => push_document(parts),
            ("field_json", "") => {
                push_literal(parts, b"\"");
                parts.push(Part::Field);
                push_literal(parts, b"\"");
            }
            ("id", "") => parts.push(Part::Id),
            ("version", "") => parts.push(Part::Version),
            ("field", "") => parts.push(Part::Field),
            ("body", "") => parts.push(Part::Body),
            ("changed", "") if self.placeholders.changed => parts.push(Part::Changed),
            ("number", "") if self.placeholders.number => parts.push(Part::Number),
            (name, "") if name.starts_with("number") && self.placeholders.number => {
                parts.push(Part::OtherNumber(other_place(name, "number")?));
            }
            (name, "") if name.starts_with("data.") => parts.push(self.data_field(name)?),
            ("message", "") if self.placeholders.message => parts.push(Part::Message),
            ("value", "") => parts.push(Part::Value),
            ("seq", "") => parts.push(Part::Seq),
            ("uniform", range) => parts.push(self.uniform(range)?),
            ("random", arguments) => parts.push(self.random(arguments)?),
            _ => return Err(format!("unknown placeholder {{{text}}}; there are {}", self.placeholders.list)),
        }
        Ok(())
    }

    fn data_field(&self, name: &str) -> Result<Part, String> {
        let data = self.data.ok_or_else(|| format!("{{{name}}} needs a data file; name its path under `data`"))?;
        let place = data.names().iter().position(|field| Some(field.as_str()) == name.strip_prefix("data."));
        place
            .map(Part::Data)
            .ok_or_else(|| format!("{{{name}}} is no field of the data file; it has {}", data.names().join(", ")))
    }

    fn uniform(&mut self, range: &str) -> Result<Part, String> {
        let ends = range.split_once("..").and_then(|(low, high)| {
            let (low, high) = (low.trim().parse::<i64>().ok()?, high.trim().parse::<i64>().ok()?);
            Some((low, u64::try_from(i128::from(high) - i128::from(low) + 1).ok().filter(|&span| span > 0)?))
        });
        let (low, span) = ends.ok_or_else(|| {
            format!("{{uniform {range}}} needs two integers, the smaller first, as in {{uniform 1..1000}}")
        })?;
        Ok(Part::Uniform { low, span, salt: self.next_salt() })
    }

    fn random(&mut self, arguments: &str) -> Result<Part, String> {
        let letters = arguments.strip_suffix(" lowercase").and_then(|count| count.trim().parse::<usize>().ok());
        let letters = letters.filter(|count| (1..=RANDOM_MAX).contains(count)).ok_or_else(|| {
            format!("{{random {arguments}}} needs a count from 1 to {RANDOM_MAX}, as in {{random 10 lowercase}}")
        })?;
        Ok(Part::Random { letters, salt: self.next_salt() })
    }

    fn next_salt(&mut self) -> u64 {
        self.salt += 1;
        mix(self.salt)
    }
}

/// The place among an operation's other keys of `{key2}`, or `{number2}`: 0 of the second key.
fn other_place(name: &str, what: &str) -> Result<usize, String> {
    let digits = &name[what.len()..];
    let number = digits.parse::<usize>().ok().filter(|_| !digits.starts_with(['0', '+']));
    number.filter(|number| (2..=KEYS_OF_ONE_MAX).contains(number)).map(|number| number - 2).ok_or_else(|| {
        format!(
            "{{{name}}} is no key of an operation; its keys are {{{what}}}, {{{what}2}} to {{{what}{KEYS_OF_ONE_MAX}}}"
        )
    })
}

/// How many other keys these arguments name.
pub fn others_named<'a>(parts: impl IntoIterator<Item = &'a Part>) -> usize {
    let place = |part: &Part| match part {
        Part::Other(place) | Part::OtherNumber(place) => place + 1,
        _ => 0,
    };
    parts.into_iter().map(place).max().unwrap_or(0)
}

/// Appends literal text, to the last part if that is literal too.
fn push_literal(parts: &mut Vec<Part>, text: &[u8]) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Literal(last)) => last.extend_from_slice(text),
        _ => parts.push(Part::Literal(text.to_vec())),
    }
}

fn push_document(parts: &mut Vec<Part>) {
    push_literal(parts, BEFORE_ID);
    parts.push(Part::Id);
    push_literal(parts, BEFORE_VERSION);
    parts.push(Part::Version);
    push_literal(parts, BEFORE_FIELD);
    parts.push(Part::Field);
    push_literal(parts, BEFORE_BODY);
    parts.push(Part::Body);
    push_literal(parts, AFTER_BODY);
}

impl Part {
    /// The length of what [`Part::write`] appends, where it is always the same.
    pub fn fixed_bytes(&self, values: &Values) -> Option<usize> {
        match self {
            Part::Literal(text) => Some(text.len()),
            Part::Id | Part::Other(_) => Some(ID_DIGITS),
            Part::Version => Some(VERSION_DIGITS),
            Part::Field => Some(values.field_bytes()),
            Part::Body => Some(values.payload_bytes() - values.field_bytes()),
            Part::Value | Part::Message => Some(values.payload_bytes()),
            Part::Changed => Some(values.document_bytes()),
            Part::Random { letters, .. } => Some(*letters),
            Part::Seq | Part::Number | Part::OtherNumber(_) | Part::Data(_) | Part::Uniform { .. } => None,
        }
    }

    /// The generated text that a field, a body or a value stands for; nothing for all else.
    #[inline]
    pub fn generated<'a>(&self, filling: &Filling<'a>) -> &'a [u8] {
        let Filling { values, key, version, .. } = *filling;
        match self {
            Part::Field => values.field(key, version),
            Part::Body => values.body(key, version),
            Part::Value => values.value(key, version),
            _ => &[],
        }
    }

    /// Appends what the part stands for.
    #[inline]
    pub fn write(&self, filling: &Filling, out: &mut impl Sink) {
        let Filling { values, key, version, seq, intended, previous, data, .. } = *filling;
        if let Part::Field | Part::Body | Part::Value = self {
            return out.push_generated(self.generated(filling), values);
        }
        let out = out.bytes();
        match self {
            Part::Field | Part::Body | Part::Value => {}
            Part::Literal(text) => out.extend_from_slice(text),
            Part::Id => out.extend_from_slice(&digits::<ID_DIGITS>(key)),
            Part::Other(place) => out.extend_from_slice(&digits::<ID_DIGITS>(filling.other(*place))),
            Part::Version => out.extend_from_slice(&digits::<VERSION_DIGITS>(version.into())),
            Part::Changed => values.write_changed(previous, key, version, out),
            Part::Message => message::write(Stamp { intended, seq }, values.value(key, version), out),
            Part::Seq => write_integer(seq.into(), out),
            Part::Number => write_integer(i128::from(key) + 1, out),
            Part::OtherNumber(place) => write_integer(i128::from(filling.other(*place)) + 1, out),
            Part::Data(field) => out.extend_from_slice(data.map_or(&[], |data| data.field(seq, key, *field))),
            Part::Uniform { low, span, salt } => {
                let offset = Rng::new(values.seed() ^ salt, seq).below(*span);
                write_integer(i128::from(*low) + i128::from(offset), out);
            }
            Part::Random { letters, salt } => {
                let mut rng = Rng::new(values.seed() ^ salt, seq);
                out.extend((0..*letters).map(|_| b'a' + rng.below(26) as u8));
            }
        }
    }
}

/// Appends `number` in decimal digits.
#[inline]
pub fn write_integer(number: i128, out: &mut Vec<u8>) {
    use std::io::Write as _;
    match u64::try_from(number) {
        Ok(number) => write_natural(number, out),
        // Writing to a vector cannot fail.
        Err(_) => drop(write!(out, "{number}")),
    }
}

fn write_natural(number: u64, out: &mut Vec<u8>) {
    if number >= 100_000_000 {
        write_natural(number / 100_000_000, out);
        return out.extend_from_slice(&eight_digits(number % 100_000_000));
    }
    let text = eight_digits(number);
    let zeros = text.iter().take_while(|&&digit| digit == b'0').count();
    out.extend_from_slice(&text[zeros.min(text.len() - 1)..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Documents;

    fn values() -> Values {
        Values::new(5, &Documents { payload_bytes: 20, field_bytes: 4, ..Documents::default() })
    }

    fn parser(prefix: &'static str) -> Parser<'static> {
        Parser::new(prefix, &crate::wire::exchange::PLACEHOLDERS, None)
    }

    fn render(text: &str, filling: &Filling) -> String {
        let parts = parser("app:").parse(text, "args[1]").unwrap();
        let mut out = Vec::new();
        for part in &parts {
            let before = out.len();
            part.write(filling, &mut out);
            if let Some(fixed) = part.fixed_bytes(filling.values) {
                assert_eq!(out.len() - before, fixed, "{part:?}");
            }
        }
        String::from_utf8(out).unwrap()
    }

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_placeholder_is_filled() {
        let values = values();
        let mut document = Vec::new();
        values.write_document(7, 3, &mut document);
        let filling = Filling {
            values: &values,
            key: 7,
            version: 3,
            seq: 12,
            intended: Default::default(),
            previous: &document,
            others: &[],
            data: None,
        };
        assert_eq!(render("{key}", &filling), "app:000000000007");
        assert_eq!(render("{id}/{version}", &filling), "000000000007/0000000003");
        assert_eq!(render("{document}", &filling), text(&document));
        assert_eq!(render("{field}", &filling), text(values.field(7, 3)));
        assert_eq!(render("{field_json}", &filling), format!("\"{}\"", text(values.field(7, 3))));
        assert_eq!(render("{body}", &filling), text(values.body(7, 3)));
        assert_eq!(render("{value}", &filling), text(values.value(7, 3)));
        assert_eq!(render("{seq}", &filling), "12");
        let several = Filling { others: &[3, 9], ..filling };
        assert_eq!(render("{key3}/{key}/{key2}", &several), "app:000000000009/app:000000000007/app:000000000003");
        assert_eq!(render("{changed}", &filling), text(&document));
        assert_eq!(render("", &filling), "");
        let newer = Filling { version: 4, ..filling };
        assert!(render("{changed}", &newer).contains(&format!(r#""field":"{}""#, text(values.field(7, 4)))));
        assert!(render("{changed}", &newer).contains("0000000003"));
    }

    #[test]
    fn integers_are_written_as_they_are_printed() {
        let powers = (0..39).map(|power| 10i128.pow(power));
        for number in powers.flat_map(|power| [power - 1, power, -power]).chain([i128::from(u64::MAX), i128::MIN]) {
            let mut out = b"a".to_vec();
            write_integer(number, &mut out);
            assert_eq!(text(&out), format!("a{number}"));
        }
    }

    #[test]
    fn double_braces_are_literal() {
        let values = values();
        let filling = Filling {
            values: &values,
            key: 7,
            version: 3,
            seq: 0,
            intended: Default::default(),
            previous: b"",
            others: &[],
            data: None,
        };
        assert_eq!(render(r#"{{"id":"{id}","in":{{}}}}"#, &filling), r#"{"id":"000000000007","in":{}}"#);
        assert_eq!(render("{{key}}", &filling), "{key}");
        assert_eq!(render("größe {{", &filling), "größe {");
    }

    #[test]
    fn random_parts_keep_to_their_range_and_differ() {
        let values = values();
        let at = |seq| Filling {
            values: &values,
            key: 1,
            version: 1,
            seq,
            intended: Default::default(),
            previous: b"",
            others: &[],
            data: None,
        };
        let mut distinct = std::collections::HashSet::new();
        for seq in 0..200 {
            let drawn: i64 = render("{uniform -2..2}", &at(seq)).parse().unwrap();
            assert!((-2..=2).contains(&drawn));
            distinct.insert(drawn);
            let letters = render("{random 10 lowercase}", &at(seq));
            assert!(letters.len() == 10 && letters.bytes().all(|letter| letter.is_ascii_lowercase()));
        }
        assert_eq!(distinct.len(), 5);
        let pair = render("{random 12 lowercase} {random 12 lowercase}", &at(3));
        let (one, two) = pair.split_once(' ').unwrap();
        assert_ne!(one, two);
        assert_eq!(pair, render("{random 12 lowercase} {random 12 lowercase}", &at(3)));
        assert_eq!(render("{uniform 5..5}", &at(9)), "5");
        let widest: i64 = render("{uniform -9223372036854775808..9223372036854775806}", &at(9)).parse().unwrap();
        assert_ne!(widest, i64::MIN);
    }

    #[test]
    fn neighbouring_literals_are_one_part() {
        let parts = parser("k:").parse("a{{{key}b", "args[0]").unwrap();
        assert_eq!(parts, [Part::Literal(b"a{k:".to_vec()), Part::Id, Part::Literal(b"b".to_vec())]);
    }

    #[test]
    fn errors_name_the_place_the_text_and_the_remedy() {
        let error = |text: &str| parser("k:").parse(text, "operations[0].commands[1].args[2]").unwrap_err();
        let unknown = error("x{colour}");
        assert_eq!(unknown.field, "operations[0].commands[1].args[2]");
        assert!(unknown.message.starts_with("`x{colour}`: unknown placeholder {colour}; there are {key}, "));
        assert!(unknown.message.contains("{random N lowercase}"));
        for (text, part) in [
            ("{", "without its `}`"),
            ("{key", "without its `}`"),
            ("a}", "a lone `}`"),
            ("{key x}", "unknown placeholder {key x}"),
            ("{}", "unknown placeholder {}"),
            ("{uniform}", "needs two integers"),
            ("{uniform 5..4}", "needs two integers"),
            ("{uniform 1..x}", "needs two integers"),
            ("{key1}", "{key1} is no key of an operation; its keys are {key}, {key2} to {key10000}"),
            ("{key10001}", "is no key of an operation"),
            ("{key02}", "is no key of an operation"),
            ("{keys}", "is no key of an operation"),
            ("{random 10}", "needs a count"),
            ("{random 0 lowercase}", "needs a count"),
            ("{random -1 lowercase}", "needs a count"),
        ] {
            assert!(error(text).message.contains(part), "{text}: {}", error(text));
        }
    }
}
