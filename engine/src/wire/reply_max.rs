//! The longest reply that a plan can expect: a server that sends more is not given the memory for it.

use crate::plan::Plan;

/// Of replies of which nothing is known, as to a command that expects `any`.
const UNKNOWN_BYTES: usize = 64 * 1024 * 1024;
/// Of replies to commands whose replies are known, beside the document: frames, errors, a greeting.
const OTHER_BYTES: usize = 1024 * 1024;
/// JSON around the payload of a document.
const AROUND_PAYLOAD_BYTES: usize = 122;
/// A server may store a document with spaces and in an order of its own.
const LOOSENESS: usize = 4;

/// What the plan says, or else what its operations can expect, in bytes. `is_known`: every reply is of a kind that has a
/// length.
pub(super) fn bytes(plan: &Plan, is_known: bool) -> usize {
    let documents = LOOSENESS * (plan.documents.payload_bytes + AROUND_PAYLOAD_BYTES) + OTHER_BYTES;
    let derived = if is_known { documents } else { documents.max(UNKNOWN_BYTES) };
    plan.verify.reply_max_bytes.unwrap_or(derived)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(commands: &str, verify: &str) -> usize {
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "a", "commands": [{commands}]}}], "documents": {{"payload_bytes": 1000}},
            "verify": {verify}}}"#
        );
        let plan = Plan::from_json(&text).expect("the test's plan is valid");
        bytes(&plan, crate::wire::limits::are_replies_known(&plan))
    }

    #[test]
    fn known_replies_have_the_documents_limit_and_others_a_wide_one() {
        let ok = r#"{"args": ["SET", "{key}", "{document}"], "expect": "ok"}"#;
        let document = r#"{"args": ["GET", "{key}"], "expect": "document"}"#;
        let any = r#"{"args": ["GET", "{key}"]}"#;
        assert_eq!(of(&format!("{ok}, {document}"), "{}"), 4 * 1122 + OTHER_BYTES);
        assert_eq!(of(&format!("{ok}, {any}"), "{}"), UNKNOWN_BYTES);
        for lenient in [r#"{"replies": false}"#, r#"{"count_mismatch": false}"#] {
            assert_eq!(of(document, lenient), UNKNOWN_BYTES, "{lenient}");
        }
        assert_eq!(of(any, r#"{"reply_max_bytes": 500000000}"#), 500_000_000);
    }
}
