//! The contents of documents, fields and values: text that depends on `(seed, key, version)` alone.
//!
//! All text is cut out of one random block, at a place hashed from the seed, the key and the version. So a
//! fresh document costs a copy, any reply can be checked by a comparison with the block, nothing is stored,
//! and the same seed gives the same bytes on every machine.

use crate::content::rng::{Rng, mix};
use crate::plan::{self, Documents};
use std::sync::Arc;

/// What a document holds besides its payload (the contents of `field` and `body`).
pub const ENVELOPE_BYTES: usize = 122;
/// Digits of a key's number in its key and in its document.
pub const ID_DIGITS: usize = 12;
/// Digits of a version in a document.
pub const VERSION_DIGITS: usize = 10;
/// Fields that are the same in every document: they fill it up to `ENVELOPE_BYTES`.
pub const CONSTANT_FIELDS: [(&str, &str); 3] = [("type", "document"), ("author", "loadstone"), ("state", "current")];

/// The JSON text of a document around its four variable parts.
pub const BEFORE_ID: &[u8] = br#"{"id":""#;
pub const BEFORE_VERSION: &[u8] = br#"","version":""#;
pub const BEFORE_FIELD: &[u8] = br#"","type":"document","author":"loadstone","state":"current","field":""#;
pub const BEFORE_BODY: &[u8] = br#"","body":""#;
pub const AFTER_BODY: &[u8] = br#""}"#;

const VERSION_AT: usize = BEFORE_ID.len() + ID_DIGITS + BEFORE_VERSION.len();
const FIELD_AT: usize = VERSION_AT + VERSION_DIGITS + BEFORE_FIELD.len();
const _: () = assert!(FIELD_AT + BEFORE_BODY.len() + AFTER_BODY.len() == ENVELOPE_BYTES);

/// Length of the stretch in which a text begins: a power of two, so that a place costs a mask, and short enough to stay in a
/// cache of the CPU beside all else.
const PLACES: usize = 1 << 16;
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Makes and recognises the generated texts of one plan.
#[derive(Debug)]
pub struct Values {
    block: Arc<[u8]>,
    seed: u64,
    payload_bytes: usize,
    field_bytes: usize,
    /// Contents begin in so many places: a power of two.
    places: usize,
}

/// The variable parts of a document's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentParts<'a> {
    pub id: &'a [u8],
    pub version: &'a [u8],
    pub field: &'a [u8],
    pub body: &'a [u8],
}

#[derive(Clone, Copy)]
enum Content {
    Field,
    Body,
    Value,
}

impl Values {
    /// Takes 64 KiB and the payload's length of memory.
    pub fn new(seed: u64, documents: &Documents) -> Self {
        let places = match documents.content {
            plan::Content::Random => PLACES,
            plan::Content::Repeat => 1,
        };
        let mut rng = Rng::new(seed, u64::MAX);
        let mut block = vec![0; PLACES + documents.payload_bytes];
        for chunk in block.chunks_mut(8) {
            for (letter, random) in chunk.iter_mut().zip(rng.next_u64().to_le_bytes()) {
                *letter = ALPHABET[(usize::from(random) * ALPHABET.len()) >> 8];
            }
        }
        Self {
            block: block.into(),
            seed,
            payload_bytes: documents.payload_bytes,
            field_bytes: documents.field_bytes,
            places,
        }
    }

    /// Length of a document's JSON text.
    pub fn document_bytes(&self) -> usize {
        self.payload_bytes + ENVELOPE_BYTES
    }

    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    pub fn field_bytes(&self) -> usize {
        self.field_bytes
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What all texts are cut out of.
    pub fn block(&self) -> Arc<[u8]> {
        self.block.clone()
    }

    /// Where in the block a field, a body or a value begins.
    #[inline]
    pub fn place_of(&self, text: &[u8]) -> usize {
        text.as_ptr().addr() - self.block.as_ptr().addr()
    }

    /// The content of the field of version `version` of a key.
    #[inline]
    pub fn field(&self, key: u64, version: u32) -> &[u8] {
        self.cut(key, version, Content::Field, self.field_bytes)
    }

    /// The content of the body of version `version` of a key.
    #[inline]
    pub fn body(&self, key: u64, version: u32) -> &[u8] {
        self.cut(key, version, Content::Body, self.payload_bytes - self.field_bytes)
    }

    /// `payload_bytes` of text.
    #[inline]
    pub fn value(&self, key: u64, version: u32) -> &[u8] {
        self.cut(key, version, Content::Value, self.payload_bytes)
    }

    #[inline]
    fn cut(&self, key: u64, version: u32, content: Content, length: usize) -> &[u8] {
        let of_key = mix(self.seed ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let place = mix(of_key ^ (u64::from(version) << 2 | content as u64)) as usize & (self.places - 1);
        &self.block[place..place + length]
    }

    /// Appends the JSON text of a document.
    pub fn write_document(&self, key: u64, version: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(BEFORE_ID);
        out.extend_from_slice(&digits::<ID_DIGITS>(key));
        out.extend_from_slice(BEFORE_VERSION);
        out.extend_from_slice(&digits::<VERSION_DIGITS>(version.into()));
        out.extend_from_slice(BEFORE_FIELD);
        out.extend_from_slice(self.field(key, version));
        out.extend_from_slice(BEFORE_BODY);
        out.extend_from_slice(self.body(key, version));
        out.extend_from_slice(AFTER_BODY);
    }

    /// Appends `text` with the content of its field replaced by that of `version`. Appends the whole document
    /// of `version` instead if `text` is none of ours.
    pub fn write_changed(&self, text: &[u8], key: u64, version: u32, out: &mut Vec<u8>) {
        if self.read(text).is_none() {
            return self.write_document(key, version, out);
        }
        out.extend_from_slice(&text[..FIELD_AT]);
        out.extend_from_slice(self.field(key, version));
        out.extend_from_slice(&text[FIELD_AT + self.field_bytes..]);
    }

    /// The parts of `text` if it is laid out as a document of this plan; their contents are not judged.
    #[inline]
    pub fn read<'a>(&self, text: &'a [u8]) -> Option<DocumentParts<'a>> {
        if text.len() != self.document_bytes() {
            return None;
        }
        let rest = text.strip_prefix(BEFORE_ID)?;
        let (id, rest) = rest.split_at(ID_DIGITS);
        let rest = rest.strip_prefix(BEFORE_VERSION)?;
        let (version, rest) = rest.split_at(VERSION_DIGITS);
        let rest = rest.strip_prefix(BEFORE_FIELD)?;
        let (field, rest) = rest.split_at(self.field_bytes);
        let body = rest.strip_prefix(BEFORE_BODY)?.strip_suffix(AFTER_BODY)?;
        Some(DocumentParts { id, version, field, body })
    }

    /// Whether `text` could be the field of some version: its length, letters and digits.
    pub fn is_some_field(&self, text: &[u8]) -> bool {
        // Without an early exit the loop is vectorised.
        text.len() == self.field_bytes && text.iter().fold(true, |all, byte| all & byte.is_ascii_alphanumeric())
    }
}

/// The last `N` (8 to 16) decimal digits of `number`, with leading zeros.
#[inline]
pub fn digits<const N: usize>(number: u64) -> [u8; N] {
    const { assert!(N >= 8 && N <= 16) };
    let mut text = [0; N];
    text.copy_from_slice(&last_digits::<N>(number).to_le_bytes()[..N]);
    text
}

/// Them in one word, which is returned in registers: bytes that were stored in one width are slow to load in another.
/// Not inlined: a loop that may need them would work them out before it knows.
#[inline(never)]
fn last_digits<const N: usize>(number: u64) -> u128 {
    // Most numbers have no more than eight digits.
    let high = if number < 100_000_000 { [b'0'; 8] } else { eight_digits(number / 100_000_000 % 100_000_000) };
    let low = eight_digits(number % 100_000_000);
    let all = u128::from(u64::from_le_bytes(low)) << 64 | u128::from(u64::from_le_bytes(high));
    all >> (8 * (16 - N))
}

/// The digits of a number below 100,000,000, all at once in one word: two numbers of four digits, four of two, eight
/// of one. The products are quotients by 100 and by 10 for numbers that small.
#[inline]
pub fn eight_digits(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - 10 * tens) << 8);
    (ones | u64::from_le_bytes([b'0'; 8])).to_le_bytes()
}

/// The number that `text` spells in decimal digits alone; None for anything else or beyond `u64`.
#[inline]
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| sum * 10 + u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(payload_bytes: usize, field_bytes: usize) -> Values {
        Values::new(5, &Documents { payload_bytes, field_bytes, ..Documents::default() })
    }

    fn document(values: &Values, key: u64, version: u32) -> Vec<u8> {
        let mut text = Vec::new();
        values.write_document(key, version, &mut text);
        text
    }

    #[test]
    fn documents_have_the_exact_sizes_of_the_study_and_are_json() {
        for (payload, whole) in [(10, 132), (100, 222), (500, 622), (1000, 1122), (10_000, 10_122), (100_000, 100_122)]
        {
            for field in [1, payload / 2, payload - 1] {
                let values = values(payload, field);
                let text = document(&values, 999_999_999_999, u32::MAX);
                assert_eq!(text.len(), whole);
                assert_eq!(values.document_bytes(), whole);
                let json: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text).unwrap();
                assert_eq!(json["id"], "999999999999");
                assert_eq!(json["version"], "4294967295");
                assert_eq!(json["field"].as_str().unwrap().as_bytes(), values.field(999_999_999_999, u32::MAX));
                assert_eq!(json["body"].as_str().unwrap().as_bytes(), values.body(999_999_999_999, u32::MAX));
                assert_eq!(json["field"].as_str().unwrap().len(), field);
                assert_eq!(json["body"].as_str().unwrap().len(), payload - field);
                assert_eq!(json.len(), 4 + CONSTANT_FIELDS.len());
                assert!(CONSTANT_FIELDS.iter().all(|(name, value)| json[*name] == *value));
            }
        }
    }

    #[test]
    fn the_smallest_document_is_laid_out_as_documented() {
        let values = values(2, 1);
        let (field, body) = (values.field(7, 3)[0] as char, values.body(7, 3)[0] as char);
        let expected = format!(
            r#"{{"id":"000000000007","version":"0000000003","type":"document","author":"loadstone","state":"current","field":"{field}","body":"{body}"}}"#
        );
        assert_eq!(String::from_utf8(document(&values, 7, 3)).unwrap(), expected);
    }

    #[test]
    fn keys_and_versions_have_their_own_texts() {
        let values = values(100, 10);
        let mut bodies = std::collections::HashSet::new();
        for key in 0..100 {
            bodies.extend((1..10).map(|version| values.body(key, version).to_vec()));
        }
        // Of 900 places among 2^16 a few coincide; the documents still differ, as they name key and version.
        assert!(bodies.len() > 880, "{}", bodies.len());
        assert!(bodies.iter().flatten().all(u8::is_ascii_alphanumeric));
        assert_ne!(values.body(1, 1), Values::new(6, &Documents::default()).body(1, 1));
    }

    #[test]
    fn the_same_seed_gives_the_same_text_in_every_version_of_the_program() {
        let values = values(100, 10);
        assert_eq!(String::from_utf8_lossy(values.field(1, 1)), "ANMC1TMIAC");
        assert_eq!(String::from_utf8_lossy(values.value(2, 9)).get(..10), Some("2lkh3T6MQg"));
    }

    #[test]
    fn contents_that_repeat_are_the_same_for_every_key_and_version() {
        let documents = Documents { payload_bytes: 100, field_bytes: 10, content: plan::Content::Repeat };
        let values = Values::new(5, &documents);
        assert_eq!(values.value(1, 1), values.value(2, 9));
        assert_ne!(document(&values, 1, 1), document(&values, 1, 2), "documents name their key and version");
    }

    #[test]
    fn reading_finds_the_parts_and_refuses_another_layout() {
        let values = values(100, 10);
        let text = document(&values, 42, 7);
        let parts = values.read(&text).unwrap();
        assert_eq!((parts.id, parts.version), (&b"000000000042"[..], &b"0000000007"[..]));
        assert_eq!((parts.field, parts.body), (values.field(42, 7), values.body(42, 7)));
        for length in 0..text.len() {
            assert_eq!(values.read(&text[..length]), None);
        }
        let mut wrong = text.clone();
        wrong[3] = b'x';
        assert_eq!(values.read(&wrong), None);
    }

    #[test]
    fn changing_replaces_the_field_and_nothing_else() {
        let values = values(100, 10);
        let old = document(&values, 42, 7);
        let mut new = Vec::new();
        values.write_changed(&old, 42, 8, &mut new);
        let (before, after) = (values.read(&old).unwrap(), values.read(&new).unwrap());
        assert_eq!(after.field, values.field(42, 8));
        assert_eq!(DocumentParts { field: before.field, ..after }, before);
    }

    #[test]
    fn what_is_no_document_is_replaced_by_a_whole_one() {
        let values = values(100, 10);
        let mut new = Vec::new();
        values.write_changed(b"", 42, 8, &mut new);
        assert_eq!(new, document(&values, 42, 8));
    }

    #[test]
    fn a_field_is_recognised_by_length_and_letters() {
        let values = values(100, 3);
        assert!(values.is_some_field(b"aZ9"));
        assert!(!values.is_some_field(b"aZ"));
        assert!(!values.is_some_field(b"aZ9x"));
        assert!(!values.is_some_field(b"a\"9"));
    }

    #[test]
    fn digits_are_those_that_are_printed() {
        let powers = (0..16).map(|power| 10u64.pow(power));
        let numbers = powers.flat_map(|power| [power - 1, power, power + 1]).chain((0..1_000_000).step_by(7));
        for number in numbers.chain((0..10_000).map(|number| number * 10_001)).chain([123_456_789_012_345]) {
            assert_eq!(std::str::from_utf8(&digits::<16>(number)), Ok(format!("{number:016}").as_str()));
        }
        assert_eq!(&digits::<8>(1_234_567_890), b"34567890", "the last ones");
    }

    #[test]
    fn digits_and_numbers_are_inverse() {
        assert_eq!(&digits::<12>(0), b"000000000000");
        assert_eq!(&digits::<12>(999_999_999_999), b"999999999999");
        assert_eq!(&digits::<10>(1_234_567_890), b"1234567890");
        assert_eq!(number(b"000000000042"), Some(42));
        assert_eq!(number(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        for wrong in [&b""[..], b"1 ", b"-1", b"1a", b"99999999999999999999"] {
            assert_eq!(number(wrong), None);
        }
    }
}
