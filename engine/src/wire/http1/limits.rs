//! What HTTP requires of a plan.

use crate::plan::{Endpoint, HttpRequest, Operation, Plan, PlanError, Status, Writes};

/// Headers that the driver writes itself, since the framing of requests hangs on them.
const OWN_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];

pub(in crate::wire) fn check(plan: &Plan) -> Result<(), PlanError> {
    for (index, endpoint) in plan.endpoints.iter().enumerate() {
        check_endpoint(endpoint, &format!("endpoints[{index}]"))?;
    }
    for (index, operation) in plan.operations.iter().enumerate() {
        check_operation(operation, &format!("operations[{index}]"))?;
    }
    Ok(())
}

fn check_endpoint(endpoint: &Endpoint, place: &str) -> Result<(), PlanError> {
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
pub(super) fn is_in_path(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'#'
}

/// Whether a byte may stand in the value of a header.
pub(super) fn is_in_header(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn refuse(field: &str, value: impl std::fmt::Display, remedy: &str) -> Result<(), PlanError> {
    Err(PlanError::new(field, format!("{value}: {remedy}")))
}
