//! Whether a reply is right: held against the text that its key and version generate.

use serde::Deserialize;

use crate::plan::{Expect, Verify};
use crate::resp::{Items, Reply};
use crate::values::{CONSTANT_FIELDS, DocumentParts, ID_DIGITS, Values, digits, number};

use super::ErrorKind;

/// What a reply is held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub key: u64,
    /// The newest version of the key that was begun.
    pub newest: u32,
    /// The key was there for certain when it was asked for.
    pub known: bool,
    pub strict: Strict,
}

/// What must be there because nothing else was written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strict {
    /// Nothing in particular: any version that was begun.
    No,
    /// The document of this version.
    Document(u32),
    /// A document, or its field alone, with the field of this version.
    Field(u32),
    /// The value of this version.
    Value(u32),
}

/// The rules of one plan.
#[derive(Debug, Clone)]
pub(super) struct Judge {
    pub replies: bool,
    pub count_mismatch: bool,
    writes_fields: bool,
}

type Verdict = Result<(), ErrorKind>;

impl Judge {
    pub fn new(verify: &Verify, writes_fields: bool) -> Self {
        Self { replies: verify.replies, count_mismatch: verify.count_mismatch, writes_fields }
    }

    /// Judges `reply` (None: bytes that are no reply) to a command that expects `expect`.
    #[inline]
    pub fn judge(&self, values: &Values, expect: Expect, asked: &Asked, reply: Option<Reply>) -> Verdict {
        let reply = match reply {
            Some(Reply::Error(text)) => return Err(ErrorKind::of_server(text)),
            None => return Err(ErrorKind::Protocol),
            Some(reply) => reply,
        };
        if !self.replies {
            return Ok(());
        }
        let verdict = self.compare(values, expect, asked, reply);
        if self.count_mismatch { verdict } else { Ok(()) }
    }

    fn compare(&self, values: &Values, expect: Expect, asked: &Asked, reply: Reply) -> Verdict {
        match (expect, reply) {
            (Expect::Any, _) | (Expect::Integer, Reply::Integer(_)) | (Expect::Item, Reply::Text(_)) => Ok(()),
            (Expect::Item, Reply::Nothing) => Err(ErrorKind::NilReply),
            (Expect::Positive, Reply::Integer(text)) if !is_positive(text) => Err(ErrorKind::NotPositive),
            (Expect::Positive, Reply::Integer(_)) => Ok(()),
            (Expect::Ok, Reply::Status(text) | Reply::Text(text)) => right(text == b"OK"),
            (Expect::Value, Reply::Nothing) if asked.strict == Strict::No => Ok(()),
            (Expect::Value, Reply::Text(text)) => right(match asked.strict {
                Strict::Value(version) => self.same(text, values.value(asked.key, version)),
                _ => text.len() == values.payload_bytes(),
            }),
            (Expect::Document | Expect::Field | Expect::FieldArray | Expect::Value, Reply::Nothing) => absent(asked),
            (Expect::Document, Reply::Text(text)) => self.document(values, asked, text),
            (Expect::Field, Reply::Text(text)) => right(self.is_field(values, asked, text, None)),
            (Expect::FieldArray, Reply::Text(b"[]")) => absent(asked),
            (Expect::FieldArray, Reply::Text(text)) => {
                let field = text.strip_prefix(br#"[""#).and_then(|text| text.strip_suffix(br#""]"#));
                right(field.is_some_and(|field| self.is_field(values, asked, field, None)))
            }
            (Expect::Hash, Reply::Items(items)) if items.left == 0 => absent(asked),
            (Expect::Hash, Reply::Items(items)) => {
                let parts = hash_parts(items).ok_or(ErrorKind::WrongReply)?;
                right(self.are_parts(values, asked, &parts))
            }
            (Expect::Hash, Reply::Nothing) => absent(asked),
            _ => Err(ErrorKind::WrongType),
        }
    }

    fn document(&self, values: &Values, asked: &Asked, text: &[u8]) -> Verdict {
        let text = without_brackets(text);
        let loose;
        let parts = match values.read(text) {
            Some(parts) => parts,
            None => {
                loose = serde_json::from_slice::<LooseDocument>(text).map_err(|_| ErrorKind::WrongReply)?;
                loose.parts().ok_or(ErrorKind::WrongReply)?
            }
        };
        right(self.are_parts(values, asked, &parts))
    }

    /// Every comparison is made, whatever the others say: against the null server the work must be the same.
    fn are_parts(&self, values: &Values, asked: &Asked, parts: &DocumentParts) -> bool {
        let id = parts.id == digits::<ID_DIGITS>(asked.key);
        let version = number(parts.version).and_then(|version| u32::try_from(version).ok()).unwrap_or(0);
        let version_is_right = match asked.strict {
            Strict::Document(written) => version == written,
            _ => (1..=asked.newest).contains(&version),
        };
        let body = self.same(parts.body, values.body(asked.key, version));
        let field = self.is_field(values, asked, parts.field, Some(version));
        id & version_is_right & body & field
    }

    /// `version`: that of the document the field is in, if known.
    fn is_field(&self, values: &Values, asked: &Asked, text: &[u8], version: Option<u32>) -> bool {
        match (asked.strict, version) {
            (Strict::Field(written) | Strict::Document(written), _) => {
                self.same(text, values.field(asked.key, written))
            }
            (_, Some(version)) if !self.writes_fields => self.same(text, values.field(asked.key, version)),
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

fn right(is_right: bool) -> Verdict {
    if is_right { Ok(()) } else { Err(ErrorKind::WrongReply) }
}

/// Whether the digits of an integer, with its sign if it has one, are those of 1 or more.
fn is_positive(text: &[u8]) -> bool {
    !text.starts_with(b"-") && text.iter().any(|digit| matches!(digit, b'1'..=b'9'))
}

/// The key, or the field, is not there.
fn absent(asked: &Asked) -> Verdict {
    if asked.known || asked.strict != Strict::No { Err(ErrorKind::Missing) } else { Ok(()) }
}

/// A JSONPath answers with an array of what it found: `[{...}]`.
pub(super) fn without_brackets(text: &[u8]) -> &[u8] {
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
