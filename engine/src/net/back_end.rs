//! By which interface of the system a thread sends, receives and waits: chosen by itself, and recorded with the reason.

use super::{ring, stamps};
use crate::content::send_buffer::LONG_BYTES;
use crate::plan::{BackEnd, Plan, PlanError};
use serde::Serialize;

/// Says what is used where a plan leaves it open.
const VARIABLE: &str = "LOADSTONE_BACK_END";
const POLLING: &str = if cfg!(target_os = "linux") { "epoll" } else { "kqueue" };

/// Why io_uring is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyNot {
    /// The plan or the environment requests epoll.
    NotRequested,
    /// Connections have TLS.
    Tls,
    /// An open load: by epoll the kernel says when each reply came.
    Stamps,
    /// Contents are long: epoll sends them from where they are, and receives them where they stay.
    LongTexts,
    /// The kernel has none, or hides it.
    Missing,
    /// The system's administrator switched it off.
    Disabled,
    /// This process may not use it, as in most containers.
    Forbidden,
    /// The kernel has one that cannot do what is required.
    TooOld,
    /// Too little memory, or too few files.
    NoRoom,
    /// It does not do what is required.
    Unsuitable,
}

/// What a thread uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BackEndRecord {
    pub name: &'static str,
    pub why_not_io_uring: Option<WhyNot>,
}

impl BackEndRecord {
    pub fn of(why_not: Option<WhyNot>) -> Self {
        Self { name: if why_not.is_some() { POLLING } else { "io_uring" }, why_not_io_uring: why_not }
    }
}

/// What the threads of a drive are to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Why it is not io_uring; None if it is.
    pub why_not: Option<WhyNot>,
    /// A thread that gets no ring of its own ends the drive.
    pub is_required: bool,
}

impl WhyNot {
    /// For the one who required it.
    fn text(self) -> &'static str {
        match self {
            Self::NotRequested => "epoll was requested",
            Self::Tls => "connections with TLS are driven by epoll alone",
            Self::Stamps => "by epoll the kernel says when each reply came",
            Self::LongTexts => "long contents are sent from where they are by epoll alone",
            Self::Missing => "this system has none",
            Self::Disabled => "it is switched off here (kernel.io_uring_disabled)",
            Self::Forbidden => "this process may not use it (seccomp, as in containers)",
            Self::TooOld => "this kernel's is too old; it takes Linux 6.1",
            Self::NoRoom => "the system has no memory or files left for it",
            Self::Unsuitable => "this system's does not do what is required",
        }
    }
}

/// What is used where a plan leaves it open, and its connections have no TLS.
pub fn by_itself() -> BackEndRecord {
    let requested = from_variable(std::env::var(VARIABLE).ok().as_deref()).unwrap_or_default();
    BackEndRecord::of(if requested == BackEnd::Epoll { Some(WhyNot::NotRequested) } else { ring::why_not() })
}

/// Chooses for a plan. The error says that io_uring is required and cannot be had, and why.
pub fn choose(plan: &Plan) -> Result<Choice, PlanError> {
    let from_environment = std::env::var(VARIABLE).ok();
    choose_from(plan, from_environment.as_deref(), ring::why_not)
}

fn choose_from(
    plan: &Plan,
    variable: Option<&str>,
    why_not_here: impl FnOnce() -> Option<WhyNot>,
) -> Result<Choice, PlanError> {
    let has_tls = plan.endpoints.iter().any(|endpoint| endpoint.tls.is_some());
    let (requested, field) = match plan.back_end {
        BackEnd::Auto => (from_variable(variable)?, VARIABLE),
        requested => (requested, "back_end"),
    };
    // A plan says it of itself, the environment of all that can.
    let is_required = requested == BackEnd::IoUring && (field != VARIABLE || !has_tls);
    let why_not = match requested {
        BackEnd::Epoll => Some(WhyNot::NotRequested),
        BackEnd::Auto | BackEnd::IoUring if has_tls => Some(WhyNot::Tls),
        BackEnd::Auto if stamps_arrivals(plan) => Some(WhyNot::Stamps),
        BackEnd::Auto if plan.documents.payload_bytes >= LONG_BYTES => Some(WhyNot::LongTexts),
        BackEnd::Auto | BackEnd::IoUring => why_not_here(),
    };
    match why_not {
        Some(why_not) if is_required => Err(required(field, why_not.text())),
        why_not => Ok(Choice { why_not, is_required }),
    }
}

/// Whether it is to be known when each reply came, and the system says so of any connection.
fn stamps_arrivals(plan: &Plan) -> bool {
    let has_tcp = plan.endpoints.iter().any(|endpoint| endpoint.unix_path.is_none());
    stamps::ARE_HAD && has_tcp && plan.model.is_open()
}

/// The error of a drive for which io_uring is required.
pub fn required(field: &str, why_not: &str) -> PlanError {
    PlanError::new(field, format!("io_uring: {why_not}; write auto, or epoll"))
}

fn from_variable(text: Option<&str>) -> Result<BackEnd, PlanError> {
    match text {
        None | Some("" | "auto") => Ok(BackEnd::Auto),
        Some("epoll") => Ok(BackEnd::Epoll),
        Some("io_uring") => Ok(BackEnd::IoUring),
        Some(other) => Err(PlanError::new(VARIABLE, format!("{other}: write auto, epoll or io_uring"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(back_end: &str, endpoint: &str, variable: Option<&str>, here: Option<WhyNot>) -> Result<Choice, String> {
        choose_from(&plan_of(back_end, endpoint), variable, || here).map_err(|error| error.to_string())
    }

    fn plan_of(back_end: &str, endpoint: &str) -> Plan {
        let plan = format!(
            r#"{{"endpoints": [{endpoint}], "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "back_end": "{back_end}", "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]}}"#
        );
        Plan::from_json(&plan).unwrap()
    }

    #[test]
    fn it_is_io_uring_where_that_can_be_had_unless_epoll_is_requested() {
        let why_not = |back_end, variable, here| chosen(back_end, "{}", variable, here).unwrap().why_not;
        assert_eq!(why_not("auto", None, None), None);
        assert_eq!(why_not("auto", None, Some(WhyNot::Forbidden)), Some(WhyNot::Forbidden));
        assert_eq!(why_not("auto", Some("auto"), None), None);
        assert_eq!(why_not("auto", Some("auto"), Some(WhyNot::Disabled)), Some(WhyNot::Disabled));
        assert_eq!(why_not("auto", Some("epoll"), None), Some(WhyNot::NotRequested));
        assert_eq!(why_not("epoll", Some("io_uring"), None), Some(WhyNot::NotRequested), "the plan's own stands");
        assert_eq!(why_not("io_uring", Some("epoll"), None), None);
    }

    #[test]
    fn long_contents_are_sent_by_epoll_unless_the_plan_requires_io_uring() {
        let mut plan = plan_of("auto", "{}");
        plan.documents.payload_bytes = LONG_BYTES;
        assert_eq!(choose_from(&plan, None, || None).unwrap().why_not, Some(WhyNot::LongTexts));
        plan.back_end = BackEnd::IoUring;
        assert_eq!(choose_from(&plan, None, || None).unwrap().why_not, None);
    }

    #[test]
    fn what_is_required_and_cannot_be_had_is_an_error() {
        let forbidden = Some(WhyNot::Forbidden);
        let error = chosen("io_uring", "{}", None, forbidden).unwrap_err();
        assert_eq!(
            error,
            "back_end: io_uring: this process may not use it (seccomp, as in containers); write auto, or epoll"
        );
        assert!(
            chosen("auto", "{}", Some("io_uring"), forbidden)
                .unwrap_err()
                .starts_with("LOADSTONE_BACK_END: io_uring: ")
        );
        let error = chosen("auto", "{}", Some("kqueue"), None).unwrap_err();
        assert_eq!(error, "LOADSTONE_BACK_END: kqueue: write auto, epoll or io_uring");
    }

    #[test]
    fn connections_with_tls_are_polled() {
        let tls = r#"{"tls": {}}"#;
        assert_eq!(chosen("auto", tls, Some("auto"), None).unwrap().why_not, Some(WhyNot::Tls));
        assert_eq!(chosen("auto", tls, Some("io_uring"), None).unwrap().why_not, Some(WhyNot::Tls));
        assert!(chosen("io_uring", tls, None, None).unwrap_err().contains("TLS"));
    }
}
