//! The client's side of HTTP: requests.

use super::limits::{is_in_header, is_in_path};
use crate::content::data::Data;
use crate::content::send_buffer::Sink;
use crate::content::template::{Filling, Parser, Part, others_named, write_integer};
use crate::plan::{Endpoint, HttpRequest, Method, PlanError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// The end of a request's first line.
const VERSION: &[u8] = b" HTTP/1.1\r\n";

/// What one endpoint adds to every request. It may hold secrets.
pub(super) struct Target {
    base_path: Vec<u8>,
    /// What follows the path, up to the headers of the plan; and the same without a Host header.
    after_path: Vec<u8>,
    after_path_without_host: Vec<u8>,
}

impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("Target")
    }
}

impl Target {
    pub fn new(endpoint: &Endpoint) -> Self {
        let mut secrets = Vec::new();
        for (name, value) in &endpoint.secret_headers {
            push_header(&mut secrets, name, value);
        }
        if endpoint.username.is_some() || endpoint.password.is_some() {
            let [user, password] = [&endpoint.username, &endpoint.password].map(|text| text.as_deref().unwrap_or(""));
            push_header(
                &mut secrets,
                "Authorization",
                &format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))),
            );
        }
        let mut host = Vec::new();
        push_header(&mut host, "Host", &authority(endpoint));
        Self {
            base_path: endpoint.base_path.clone().into_bytes(),
            after_path: [VERSION, host.as_slice(), secrets.as_slice()].concat(),
            after_path_without_host: [VERSION, secrets.as_slice()].concat(),
        }
    }
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
}

/// Host and port as a Host header has them.
fn authority(endpoint: &Endpoint) -> String {
    if endpoint.unix_path.is_some() {
        return "localhost".into();
    }
    let host = if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
    let usual = if endpoint.tls.is_some() { 443 } else { 80 };
    if endpoint.port == usual { host } else { format!("{host}:{}", endpoint.port) }
}

/// A request, ready to be written.
#[derive(Debug)]
pub(super) struct Request {
    pub method: Method,
    /// The method and the path as the plan has it: what its replies are counted under.
    pub name: String,
    path: Vec<Part>,
    names_host: bool,
    /// How many other keys it names.
    pub others: usize,
    headers: Vec<Part>,
    /// A body whose length is known only once it is written; any other is part of `headers`.
    body: Option<Vec<Part>>,
}

impl Request {
    /// `place` is that of the request in the plan.
    pub fn new(request: &HttpRequest, place: &str, parser: &mut Parser, filling: &Filling) -> Result<Self, PlanError> {
        let method = request.method;
        let field = format!("{place}.path");
        let path = parser.parse(&request.path, &field)?;
        check(
            &path,
            is_in_path,
            "a path holds no spaces and only ASCII; write them as %20 and the like",
            &field,
            filling.data,
        )?;
        let mut headers = Vec::new();
        for (name, value) in &request.headers {
            let field = format!("{place}.headers.{name}");
            let value = parser.parse(value, &field)?;
            check(&value, is_in_header, "a header holds no line end and no control character", &field, filling.data)?;
            headers.push(literal(&format!("{name}: ")));
            headers.extend(value);
            headers.push(literal("\r\n"));
        }
        let body = request.body.as_ref().map(|body| parser.parse(body, &format!("{place}.body"))).transpose()?;
        let body = push_body(&mut headers, body, method, filling);
        let names_host = request.headers.keys().any(|name| name.eq_ignore_ascii_case("host"));
        let name = format!("{} {}", method.name(), request.path);
        let others = others_named(path.iter().chain(&headers).chain(body.iter().flatten()));
        let (path, headers, body) = (joined(path), joined(headers), body.map(joined));
        Ok(Self { method, name, path, names_host, others, headers, body })
    }

    /// Appends the request to an endpoint. `scratch` is only there to be reused.
    #[inline]
    pub fn write(&self, target: &Target, filling: &Filling, scratch: &mut Vec<u8>, out: &mut impl Sink) {
        let bytes = out.bytes();
        bytes.extend_from_slice(self.method.name().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(&target.base_path);
        self.path.iter().for_each(|part| part.write(filling, bytes));
        bytes.extend_from_slice(if self.names_host { &target.after_path_without_host } else { &target.after_path });
        self.headers.iter().for_each(|part| part.write(filling, out));
        if let Some(body) = &self.body {
            scratch.clear();
            body.iter().for_each(|part| part.write(filling, scratch));
            let bytes = out.bytes();
            bytes.extend_from_slice(b"Content-Length: ");
            write_integer(scratch.len() as i128, bytes);
            bytes.extend_from_slice(b"\r\n\r\n");
            bytes.extend_from_slice(scratch);
        }
    }
}

/// Appends the end of the head, and the body if its length is always the same; returns it if not.
fn push_body(headers: &mut Vec<Part>, body: Option<Vec<Part>>, method: Method, filling: &Filling) -> Option<Vec<Part>> {
    let Some(body) = body else {
        let is_empty = matches!(method, Method::Post | Method::Put | Method::Patch);
        headers.push(literal(if is_empty { "Content-Length: 0\r\n\r\n" } else { "\r\n" }));
        return None;
    };
    match body.iter().map(|part| part.fixed_bytes(filling.values)).sum::<Option<usize>>() {
        Some(length) => {
            headers.push(literal(&format!("Content-Length: {length}\r\n\r\n")));
            headers.extend(body);
            None
        }
        None => Some(body),
    }
}

fn literal(text: &str) -> Part {
    Part::Literal(text.as_bytes().to_vec())
}

/// The same parts with neighbouring literals made one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Literal(last)), Part::Literal(text)) => last.extend(text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// Refuses bytes that would break the request: in the plan's own text, and in every row of the data file.
fn check(
    parts: &[Part],
    allowed: fn(u8) -> bool,
    remedy: &str,
    place: &str,
    data: Option<&Data>,
) -> Result<(), PlanError> {
    for part in parts {
        let wrong = match part {
            Part::Literal(text) if !text.iter().all(|&byte| allowed(byte)) => {
                format!("`{}`", String::from_utf8_lossy(text).escape_debug())
            }
            Part::Data(field) => {
                match data.and_then(|data| Some((data, data.row_with_other_bytes(*field, allowed)?))) {
                    Some((data, row)) => format!("{{data.{}}} in row {row} of the data file", data.names()[*field]),
                    None => continue,
                }
            }
            _ => continue,
        };
        return Err(PlanError::new(place, format!("{wrong}: {remedy}")));
    }
    Ok(())
}
