//! Whether a replica answered with less than what its primary had acknowledged.

use super::{Judge, LooseDocument, hash_parts, without_brackets};
use crate::content::values::{Values, number};
use crate::plan::Expect;
use crate::wire::Expected;
use crate::wire::reply::Reply;

impl Judge {
    /// Whether `reply` lacks a key that was there for certain when its request was drawn, or has an older version than
    /// the newest of then. Of that one must be sure: no write was in flight (`alone`), no other agent writes, and the reply
    /// names its version.
    #[inline(never)]
    pub fn is_stale(&self, expect: Expect, expected: &Expected, alone: bool, reply: Option<Reply>) -> bool {
        let (true, Some(reply)) = (self.replies, reply) else {
            return false;
        };
        if is_absent(expect, &reply) {
            return expected.known;
        }
        let filling = &expected.filling;
        alone
            && !self.others_write
            && version(expect, filling.values, reply).is_some_and(|version| version < filling.version.into())
    }
}

fn is_absent(expect: Expect, reply: &Reply) -> bool {
    match reply {
        Reply::Nothing => !matches!(expect, Expect::Any | Expect::Ok | Expect::Item),
        Reply::Text(text) => expect == Expect::FieldArray && *text == b"[]",
        Reply::Items(items) => expect == Expect::Hash && items.left == 0,
        _ => false,
    }
}

/// The version that a whole document names.
fn version(expect: Expect, values: &Values, reply: Reply) -> Option<u64> {
    match (expect, reply) {
        (Expect::Document, Reply::Text(text)) => {
            let text = without_brackets(text);
            match values.read(text) {
                Some(parts) => number(parts.version),
                None => number(serde_json::from_slice::<LooseDocument>(text).ok()?.version.as_bytes()),
            }
        }
        (Expect::Hash, Reply::Items(items)) => number(hash_parts(items)?.version),
        _ => None,
    }
}
