//! The parts of a plan that are about HTTP, and their limits: the mirror of `python/loadstone/plan/http.py`.

use super::{Endpoint, Operation, Plan, PlanError, ProtocolKind, Writes};
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

/// What a right reply is. Of the checks on the body all that are given must hold.
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataOrder {
    #[default]
    Sequential,
    Uniform,
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

/// Headers that the driver writes itself, since the framing of requests hangs on them.
const OWN_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];

/// Checks what the protocol asks of the other parts of a plan.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    let is_http = plan.protocol == ProtocolKind::Http1;
    if is_http && plan.pipeline_depth != 1 {
        return refuse("pipeline_depth", plan.pipeline_depth, "must be 1 with protocol http1");
    }
    if let (Some(data), false) = (&plan.data, is_http) {
        return refuse("data", &data.path, "a data file needs protocol http1; leave it out");
    }
    for (index, endpoint) in plan.endpoints.iter().enumerate() {
        check_endpoint(endpoint, &format!("endpoints[{index}]"), is_http)?;
    }
    for (index, operation) in plan.operations.iter().enumerate() {
        let place = format!("operations[{index}]");
        if is_http { check_operation(operation, &place)? } else { check_has_no_requests(operation, &place)? }
    }
    Ok(())
}

fn check_endpoint(endpoint: &Endpoint, place: &str, is_http: bool) -> Result<(), PlanError> {
    if !is_http {
        if !endpoint.base_path.is_empty() {
            return refuse(&format!("{place}.base_path"), &endpoint.base_path, "needs protocol http1; leave it out");
        }
        if !endpoint.secret_headers.is_empty() {
            return Err(PlanError::new(format!("{place}.secret_headers"), "need protocol http1; leave them out"));
        }
        return Ok(());
    }
    if endpoint.database != 0 {
        return refuse(&format!("{place}.database"), endpoint.database, "an HTTP service has none; leave it out");
    }
    let base = &endpoint.base_path;
    if !(base.is_empty() || (base.starts_with('/') && !base.ends_with('/') && base.bytes().all(is_in_path))) {
        let remedy = "must begin with `/`, not end with it, and hold no spaces";
        return refuse(&format!("{place}.base_path"), base, remedy);
    }
    for (name, value) in &endpoint.secret_headers {
        let place = format!("{place}.secret_headers.{name}");
        check_header_name(name, &place)?;
        // The value is a secret, and stays out of the message.
        if !value.bytes().all(is_in_header) {
            return Err(PlanError::new(place, "its value holds a line end or a control character; remove it"));
        }
    }
    Ok(())
}

fn check_operation(operation: &Operation, place: &str) -> Result<(), PlanError> {
    if !operation.commands.is_empty() {
        let message = "are commands of Redis; with protocol http1 an operation has `requests`";
        return Err(PlanError::new(format!("{place}.commands"), message));
    }
    if operation.requests.is_empty() {
        return refuse(&format!("{place}.requests"), "[]", "name at least one request");
    }
    if operation.writes != Writes::Nothing {
        let message = "is followed for documents in Redis only; leave it out with protocol http1";
        return Err(PlanError::new(format!("{place}.writes"), message));
    }
    if operation.read_back.is_some() {
        let message = "is a command of Redis; leave it out with protocol http1";
        return Err(PlanError::new(format!("{place}.read_back"), message));
    }
    for (step, request) in operation.requests.iter().enumerate() {
        check_request(request, &format!("{place}.requests[{step}]"))?;
    }
    Ok(())
}

fn check_has_no_requests(operation: &Operation, place: &str) -> Result<(), PlanError> {
    if !operation.requests.is_empty() {
        return Err(PlanError::new(format!("{place}.requests"), "are HTTP; set `protocol` to `http1`"));
    }
    if operation.commands.is_empty() {
        return refuse(&format!("{place}.commands"), "[]", "name at least one command");
    }
    Ok(())
}

fn check_request(request: &HttpRequest, place: &str) -> Result<(), PlanError> {
    if !request.path.starts_with('/') {
        return refuse(&format!("{place}.path"), &request.path, "must begin with `/`");
    }
    for name in request.headers.keys() {
        check_header_name(name, &format!("{place}.headers.{name}"))?;
    }
    for (index, status) in request.expect.status.as_slice().iter().enumerate() {
        if status.range().is_none() {
            let text = match status {
                Status::Code(code) => code.to_string(),
                Status::Class(text) => text.clone(),
            };
            let remedy = "must be a status from 200 to 599, or a class as 2xx";
            return refuse(&format!("{place}.expect.status[{index}]"), text, remedy);
        }
    }
    if request.expect.status.as_slice().is_empty() {
        return refuse(&format!("{place}.expect.status"), "[]", "name at least one status, or a class as 2xx");
    }
    for (index, field) in request.expect.json_fields.iter().enumerate() {
        if field.split('.').any(str::is_empty) {
            let remedy = "must be names or numbers parted by dots, as `id` or `content.0.title`";
            return refuse(&format!("{place}.expect.json_fields[{index}]"), field, remedy);
        }
    }
    Ok(())
}

fn check_header_name(name: &str, place: &str) -> Result<(), PlanError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return refuse(place, name, "is no name of a header; use letters, digits and `-`");
    }
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return refuse(place, name, "is written by the driver; leave it out");
    }
    Ok(())
}

/// Whether a byte may stand in the path of a request.
pub(crate) fn is_in_path(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'#'
}

/// Whether a byte may stand in the value of a header.
pub(crate) fn is_in_header(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn refuse(field: &str, value: impl std::fmt::Display, remedy: &str) -> Result<(), PlanError> {
    Err(PlanError::new(field, format!("{value}: {remedy}")))
}
