//! What a correct reply to a request is: its status, and what its body holds.

use super::json;
use crate::content::template::{Filling, Parser, Part, others_named};
use crate::plan::{HttpExpect, PlanError};
use memchr::memmem;

/// What differs from the expectation; the status comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mismatch {
    Status,
    Body,
}

/// What is expected of the replies to one request of the plan.
#[derive(Debug)]
pub(super) struct Expectation {
    statuses: Vec<(u16, u16)>,
    equals: Option<Vec<Part>>,
    contains: Option<Vec<Part>>,
    json_fields: Vec<Vec<String>>,
}

impl Expectation {
    /// `place` is that of `expect` in the plan.
    pub fn new(expect: &HttpExpect, place: &str, parser: &mut Parser) -> Result<Self, PlanError> {
        let mut template = |text: &Option<String>, name: &str| {
            text.as_ref().map(|text| repeatable(text, &format!("{place}.{name}"), parser)).transpose()
        };
        Ok(Self {
            statuses: expect.status.as_slice().iter().filter_map(|status| status.range()).collect(),
            equals: template(&expect.equals, "equals")?,
            contains: template(&expect.contains, "contains")?,
            json_fields: expect.json_fields.iter().map(|path| path.split('.').map(String::from).collect()).collect(),
        })
    }

    /// Whether a check reads the body.
    pub fn needs_body(&self) -> bool {
        self.equals.is_some() || self.contains.is_some() || !self.json_fields.is_empty()
    }

    /// Compares a reply; its body only if there is one that was kept. `scratch` is only there to be reused.
    #[inline]
    pub fn compare(
        &self,
        status: u16,
        body: Option<&[u8]>,
        filling: &Filling,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Mismatch> {
        let is_expected = self.statuses.iter().any(|&(low, high)| (low..=high).contains(&status));
        let body_is_correct = body.is_none_or(|body| self.holds(body, filling, scratch));
        match (is_expected, body_is_correct) {
            (false, _) => Err(Mismatch::Status),
            (true, false) => Err(Mismatch::Body),
            (true, true) => Ok(()),
        }
    }

    fn holds(&self, body: &[u8], filling: &Filling, scratch: &mut Vec<u8>) -> bool {
        let equals = self.equals.as_ref().is_none_or(|parts| body == filled(parts, filling, scratch));
        let contains =
            self.contains.as_ref().is_none_or(|parts| memmem::find(body, filled(parts, filling, scratch)).is_some());
        equals && contains && self.json_fields.iter().all(|path| json::has_field(body, path))
    }
}

fn filled<'a>(parts: &'a [Part], filling: &Filling, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    if let [Part::Literal(text)] = parts {
        return text;
    }
    scratch.clear();
    parts.iter().for_each(|part| part.write(filling, scratch));
    scratch
}

/// A template that stands for the same text wherever the operation uses it.
fn repeatable(text: &str, place: &str, parser: &mut Parser) -> Result<Vec<Part>, PlanError> {
    let parts = parser.parse(text, place)?;
    if parts.iter().any(|part| matches!(part, Part::Uniform { .. } | Part::Random { .. })) {
        let message = "{uniform} and {random} stand for something else each time they are written; use {number}, \
                       {key}, {seq} or {data.FIELD} in the request and here";
        return Err(PlanError::new(place, format!("`{text}`: {message}")));
    }
    if others_named(&parts) > 0 {
        let message = "a reply is compared with the first key alone; use {number} or {key} here";
        return Err(PlanError::new(place, format!("`{text}`: {message}")));
    }
    Ok(parts)
}
