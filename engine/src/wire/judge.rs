//! Whether a reply is correct: compared with the text that its key and version generate.

mod stale;

use super::reply::Reply;
use super::resp::Items;
use super::{ErrorKind, Expected, Verdict};
use crate::content::template::Filling;
use crate::content::values::{CONSTANT_FIELDS, DocumentParts, ID_DIGITS, digits, number};
use crate::plan::{Expect, Verify, Writes};
use serde::Deserialize;

/// What must be there because nothing else was written since: that of the request's version, or whatever else is whole
/// where other agents write, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strict {
    /// Nothing in particular: any version that was begun.
    No,
    /// Of any version that others may have written since.
    There,
    Document,
    /// A document, or its field alone, with the field of this version.
    Field,
    Value,
}

impl Strict {
    /// For the read-back of an operation. `writes_value`: it writes `{value}` of its version; `others_write`: other agents
    /// write the same keys.
    pub fn of_read_back(writes: Writes, expect: Expect, writes_value: bool, others_write: bool) -> Self {
        match (writes, expect) {
            (Writes::Nothing, _) => Strict::No,
            (Writes::Field | Writes::Document, _) if others_write => Strict::There,
            (Writes::Field, _) => Strict::Field,
            (Writes::Document, Expect::Value) if writes_value => Strict::Value,
            (Writes::Document, Expect::Value) => Strict::No,
            (Writes::Document, _) => Strict::Document,
        }
    }
}

/// The rules of one plan.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    replies: bool,
    count_mismatch: bool,
    writes_fields: bool,
    others_write: bool,
}

impl Judge {
    /// `writes_fields`: fields change apart from their documents. `others_write`: other agents write the same keys, whose
    /// versions are not known here.
    pub fn new(verify: &Verify, writes_fields: bool, others_write: bool) -> Self {
        Self { replies: verify.replies, count_mismatch: verify.count_mismatch, writes_fields, others_write }
    }

    /// Judges `reply` (None: bytes that are no reply) to a command that expects `expect`. `expected` returns what it is
    /// compared with, `newest` the newest version of the key that was begun.
    #[inline(always)]
    pub fn judge<'a>(
        &self,
        expect: Expect,
        strict: Strict,
        expected: impl Fn() -> Expected<'a>,
        newest: impl Fn() -> u32,
        reply: Option<Reply>,
    ) -> Verdict {
        // What most replies are is correct whatever the plan's rules, and is found out without a call.
        let is_correct = match (expect, reply) {
            (Expect::Ok, Some(Reply::Status(b"OK"))) | (Expect::Any, Some(Reply::Text(_))) => true,
            (Expect::Value, Some(Reply::Text(text))) => {
                strict == Strict::No && text.len() == expected().filling.values.payload_bytes()
            }
            _ => false,
        };
        if is_correct { Ok(()) } else { self.judge_closely(expect, strict, &expected(), newest, reply) }
    }

    #[inline(never)]
    fn judge_closely(
        &self,
        expect: Expect,
        strict: Strict,
        expected: &Expected,
        newest: impl Fn() -> u32,
        reply: Option<Reply>,
    ) -> Verdict {
        let reply = match reply {
            Some(Reply::Error(text)) => return Err(ErrorKind::of_server(text)),
            None => return Err(ErrorKind::Protocol),
            Some(reply) => reply,
        };
        if !self.replies {
            return Ok(());
        }
        let verdict = self.compare(expect, strict, expected, newest, reply);
        if self.count_mismatch { verdict } else { Ok(()) }
    }

    fn compare(
        &self,
        expect: Expect,
        strict: Strict,
        expected: &Expected,
        newest: impl Fn() -> u32,
        reply: Reply,
    ) -> Verdict {
        let Filling { values, key, version, seq, data, .. } = expected.filling;
        // The key, or the field, is not there.
        let absent = || if expected.known || strict != Strict::No { Err(ErrorKind::Missing) } else { Ok(()) };
        match (expect, reply) {
            (Expect::Any, _) | (Expect::Integer, Reply::Integer(_)) | (Expect::Item, Reply::Text(_)) => Ok(()),
            (Expect::Item, Reply::Nothing) => Err(ErrorKind::NilReply),
            (Expect::Positive, Reply::Integer(text)) if !is_positive(text) => Err(ErrorKind::NotPositive),
            (Expect::Positive, Reply::Integer(_)) => Ok(()),
            (Expect::Ok, Reply::Status(text) | Reply::Text(text)) => correct(text == b"OK"),
            (Expect::Ok, Reply::NotStored) => Err(ErrorKind::NotStored),
            (Expect::Value, Reply::Nothing) if strict == Strict::No => Ok(()),
            (Expect::Value, Reply::Text(text)) => correct(match strict {
                Strict::Value => self.same(text, values.value(key, version)),
                _ => text.len() == values.payload_bytes(),
            }),
            (Expect::Document | Expect::Field | Expect::FieldArray | Expect::Value | Expect::Row, Reply::Nothing) => {
                absent()
            }
            (Expect::Row, Reply::Text(text)) => correct(data.is_some_and(|data| data.is_document(seq, key, text))),
            (Expect::Document, Reply::Text(text)) => self.document(strict, expected, newest, text),
            (Expect::Field, Reply::Text(text)) => correct(self.is_field(strict, expected, text, None)),
            (Expect::FieldArray, Reply::Text(b"[]")) => absent(),
            (Expect::FieldArray, Reply::Text(text)) => {
                let field = text.strip_prefix(br#"[""#).and_then(|text| text.strip_suffix(br#""]"#));
                correct(field.is_some_and(|field| self.is_field(strict, expected, field, None)))
            }
            (Expect::Hash, Reply::Items(items)) if items.left == 0 => absent(),
            (Expect::Hash, Reply::Items(items)) => {
                let parts = hash_parts(items).ok_or(ErrorKind::WrongReply)?;
                correct(self.are_parts(strict, expected, newest, &parts))
            }
            (Expect::Hash, Reply::Nothing) => absent(),
            _ => Err(ErrorKind::WrongType),
        }
    }

    fn document(&self, strict: Strict, expected: &Expected, newest: impl Fn() -> u32, text: &[u8]) -> Verdict {
        let text = without_brackets(text);
        match expected.filling.values.read(text) {
            Some(parts) => correct(self.are_parts(strict, expected, newest, &parts)),
            None => self.loose_document(strict, expected, newest, text),
        }
    }

    #[inline(never)]
    fn loose_document(&self, strict: Strict, expected: &Expected, newest: impl Fn() -> u32, text: &[u8]) -> Verdict {
        let loose = serde_json::from_slice::<LooseDocument>(text).map_err(|_| ErrorKind::WrongReply)?;
        let parts = loose.parts().ok_or(ErrorKind::WrongReply)?;
        correct(self.are_parts(strict, expected, newest, &parts))
    }

    /// Every comparison is made, whatever the others say: against the null server the work must be the same.
    fn are_parts(&self, strict: Strict, expected: &Expected, newest: impl Fn() -> u32, parts: &DocumentParts) -> bool {
        let Filling { values, key, version: due, .. } = expected.filling;
        let id = parts.id == digits::<ID_DIGITS>(key);
        let version = number(parts.version).and_then(|version| u32::try_from(version).ok()).unwrap_or(0);
        let version_is_correct = match strict {
            Strict::Document => version == due,
            _ => version >= 1 && (version <= newest() || self.others_write),
        };
        let body = self.same(parts.body, values.body(key, version));
        let field = self.is_field(strict, expected, parts.field, Some(version));
        id & version_is_correct & body & field
    }

    /// `version`: that of the document the field is in, if known.
    fn is_field(&self, strict: Strict, expected: &Expected, text: &[u8], version: Option<u32>) -> bool {
        let Filling { values, key, version: due, .. } = expected.filling;
        match (strict, version) {
            (Strict::Field | Strict::Document, _) => self.same(text, values.field(key, due)),
            (_, Some(version)) if !self.writes_fields => self.same(text, values.field(key, version)),
            _ => values.is_some_field(text),
        }
    }

    fn same(&self, one: &[u8], other: &[u8]) -> bool {
        if self.count_mismatch {
            return one == other;
        }
        // To the end, as if the texts were equal.
        let differ = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
        one.len() == other.len() && differ == 0
    }
}

fn correct(is_correct: bool) -> Verdict {
    if is_correct { Ok(()) } else { Err(ErrorKind::WrongReply) }
}

/// Whether the digits of an integer, with its sign if it has one, are those of 1 or more.
fn is_positive(text: &[u8]) -> bool {
    !text.starts_with(b"-") && text.iter().any(|digit| matches!(digit, b'1'..=b'9'))
}

/// A JSONPath answers with an array of what it found: `[{...}]`.
fn without_brackets(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text)
}

/// The document of a server that stores JSON in an order or with spaces of its own.
#[derive(Deserialize)]
struct LooseDocument<'a> {
    #[serde(borrow)]
    id: &'a str,
    version: &'a str,
    r#type: &'a str,
    author: &'a str,
    state: &'a str,
    field: &'a str,
    body: &'a str,
}

impl<'a> LooseDocument<'a> {
    fn parts(&self) -> Option<DocumentParts<'a>> {
        let constants = [self.r#type, self.author, self.state];
        (constants == CONSTANT_FIELDS.map(|(_, value)| value)).then_some(DocumentParts {
            id: self.id.as_bytes(),
            version: self.version.as_bytes(),
            field: self.field.as_bytes(),
            body: self.body.as_bytes(),
        })
    }
}

/// The parts of a document stored as a hash, in any order; its constant fields may be left out.
fn hash_parts(mut items: Items) -> Option<DocumentParts> {
    let [mut id, mut version, mut field, mut body] = [None; 4];
    while items.left > 0 {
        let (name, value) = (items.next_text()?, items.next_text()?);
        let place = match name {
            b"id" => &mut id,
            b"version" => &mut version,
            b"field" => &mut field,
            b"body" => &mut body,
            _ => {
                let constant = CONSTANT_FIELDS.iter().find(|(constant, _)| constant.as_bytes() == name)?;
                if constant.1.as_bytes() != value {
                    return None;
                }
                continue;
            }
        };
        *place = Some(value);
    }
    Some(DocumentParts { id: id?, version: version?, field: field?, body: body? })
}
