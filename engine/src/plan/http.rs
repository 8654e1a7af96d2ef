//! The parts of a plan that are about HTTP: the mirror of `python/loadstone/experiment/plan/operations.py`.

use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
        }
    }
}

/// One status, or all of a class as `2xx`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Status {
    Code(u16),
    Class(String),
}

impl Status {
    /// The lowest and the highest status that it means; None if it means none.
    pub fn range(&self) -> Option<(u16, u16)> {
        match self {
            Status::Code(code) => (200..600).contains(code).then_some((*code, *code)),
            Status::Class(text) => match text.as_bytes() {
                [digit @ b'2'..=b'5', b'x', b'x'] => {
                    let first = u16::from(digit - b'0') * 100;
                    Some((first, first + 99))
                }
                _ => None,
            },
        }
    }
}

/// One status or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Statuses {
    One(Status),
    Several(Vec<Status>),
}

impl Statuses {
    pub fn as_slice(&self) -> &[Status] {
        match self {
            Statuses::One(status) => std::slice::from_ref(status),
            Statuses::Several(statuses) => statuses,
        }
    }
}

/// What a correct reply is. Of the checks on the body all that are given must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpExpect {
    pub status: Statuses,
    pub equals: Option<String>,
    pub contains: Option<String>,
    pub json_fields: Vec<String>,
}

impl Default for HttpExpect {
    fn default() -> Self {
        let status = Statuses::One(Status::Class("2xx".into()));
        Self { status, equals: None, contains: None, json_fields: Vec::new() }
    }
}

/// One request. Path, values of headers and body are templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    #[serde(default)]
    pub method: Method,
    pub path: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub expect: HttpExpect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataFormat {
    Csv,
    Jsonl,
    /// A JSON document a line, taken whole.
    Documents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataOrder {
    #[default]
    Sequential,
    Uniform,
    /// Each key has a row of its own.
    Key,
}

/// A file of rows, read once: `{data.FIELD}` stands for a field of the operation's row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    pub path: String,
    #[serde(default)]
    pub format: Option<DataFormat>,
    #[serde(default)]
    pub order: DataOrder,
}
