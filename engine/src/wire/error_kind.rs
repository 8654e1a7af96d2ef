//! The kinds under which errors are counted.

macro_rules! error_kinds {
    ($($kind:ident = $name:literal,)*) => {
        /// Why an operation failed. `server_*`: the code that a Redis error begins with, or what an error of
        /// memcached means. `not_stored`: what a write of memcached requires of its key was not so. `status_*`,
        /// `redirect`: an HTTP status that was not expected. `connection_closed`: before a reply began.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum ErrorKind { $($kind,)* }

        impl ErrorKind {
            /// Every kind; `ALL[kind as usize] == kind`.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// The name in records and reports.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorKind::$kind => $name,)* }
            }
        }
    };
}

error_kinds! {
    ServerErr = "server_err",
    ServerAsk = "server_ask",
    ServerBusy = "server_busy",
    ServerBusyGroup = "server_busygroup",
    ServerBusyKey = "server_busykey",
    ServerClusterDown = "server_clusterdown",
    ServerCrossSlot = "server_crossslot",
    ServerExecAbort = "server_execabort",
    ServerLoading = "server_loading",
    ServerMasterDown = "server_masterdown",
    ServerMisconf = "server_misconf",
    ServerMoved = "server_moved",
    ServerNoAuth = "server_noauth",
    ServerNoPerm = "server_noperm",
    ServerNoProto = "server_noproto",
    ServerNoReplicas = "server_noreplicas",
    ServerNoScript = "server_noscript",
    ServerOom = "server_oom",
    ServerReadOnly = "server_readonly",
    ServerTryAgain = "server_tryagain",
    ServerUnblocked = "server_unblocked",
    ServerWrongPass = "server_wrongpass",
    ServerWrongType = "server_wrongtype",
    ServerTooLarge = "server_too_large",
    ServerOther = "server_other",
    WrongReply = "wrong_reply",
    WrongType = "wrong_type",
    Missing = "missing",
    NilReply = "nil_reply",
    NotPositive = "not_positive",
    NotStored = "not_stored",
    Status2xx = "status_2xx",
    Redirect = "redirect",
    Status4xx = "status_4xx",
    Status5xx = "status_5xx",
    BodyMismatch = "body_mismatch",
    TruncatedReply = "truncated_reply",
    MalformedReply = "malformed_reply",
    ConnectTimeout = "connect_timeout",
    ConnectionReset = "connection_reset",
    ConnectionClosed = "connection_closed",
    ConnectionRefused = "connection_refused",
    ConnectionFailed = "connection_failed",
    NoLocalPort = "no_local_port",
    Protocol = "protocol",
}

impl ErrorKind {
    /// The kind of the server's error `text`, as `WRONGTYPE Operation against...`.
    pub fn of_server(text: &[u8]) -> ErrorKind {
        let code = text.split(|&byte| byte == b' ').next().unwrap_or(text);
        if !code.iter().all(u8::is_ascii_uppercase) {
            return ErrorKind::ServerOther;
        }
        let is_code = |kind: &ErrorKind| {
            kind.name().strip_prefix("server_").is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(code))
        };
        Self::ALL.iter().copied().find(is_code).unwrap_or(ErrorKind::ServerOther)
    }

    /// The kind of an HTTP status that was not expected.
    pub fn of_status(status: u16) -> ErrorKind {
        match status / 100 {
            2 => ErrorKind::Status2xx,
            3 => ErrorKind::Redirect,
            4 => ErrorKind::Status4xx,
            _ => ErrorKind::Status5xx,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_servers_error_names_the_kind() {
        let name = |text: &str| ErrorKind::of_server(text.as_bytes()).name();
        assert_eq!(name("ERR unknown command"), "server_err");
        assert_eq!(name("WRONGTYPE Operation against a key"), "server_wrongtype");
        assert_eq!(name("OOM command not allowed"), "server_oom");
        assert_eq!(name("MOVED 3999 127.0.0.1:6381"), "server_moved");
        assert_eq!(name("READONLY You can't write"), "server_readonly");
        assert_eq!(name("NOAUTH"), "server_noauth");
        assert_eq!(name("Existing key has wrong Redis type"), "server_other");
        assert_eq!(name("err small"), "server_other");
        assert_eq!(name("STRANGE new code"), "server_other");
        assert_eq!(name("OTHER"), "server_other");
        assert_eq!(name(""), "server_other");
    }

    #[test]
    fn kinds_are_their_own_index_and_have_their_own_names() {
        let mut names = std::collections::HashSet::new();
        for (index, &kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert!(names.insert(kind.name()));
        }
    }
}
