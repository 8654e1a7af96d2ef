//! Whether this system's io_uring does what the engine relies on: found out once, by doing it.

use super::Ring;
use super::entering::Wait;
use crate::machine::clock::{Clock, SECOND_NS};
use crate::net::back_end::WhyNot;
use crate::net::line::Received;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

const DISABLED: &str = "/proc/sys/kernel/io_uring_disabled";
/// More than a socket takes at once.
const LARGE: usize = 4 * 1024 * 1024;

/// Why this process has no io_uring that the engine can use; None if it has.
pub fn why_not() -> Option<WhyNot> {
    static FOUND: OnceLock<Option<WhyNot>> = OnceLock::new();
    *FOUND.get_or_init(|| match try_it() {
        Ok(true) => None,
        Ok(false) => Some(WhyNot::Unsuitable),
        Err(error) => Some(reason(&error)),
    })
}

/// Why a ring could not be made.
pub fn reason(error: &io::Error) -> WhyNot {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => WhyNot::Missing,
        Some(libc::EPERM | libc::EACCES) if is_disabled() => WhyNot::Disabled,
        Some(libc::EPERM | libc::EACCES) => WhyNot::Forbidden,
        Some(libc::EINVAL) => WhyNot::TooOld,
        Some(libc::ENOMEM | libc::EMFILE | libc::ENFILE) => WhyNot::NoRoom,
        _ => WhyNot::Unsuitable,
    }
}

fn is_disabled() -> bool {
    std::fs::read_to_string(DISABLED).is_ok_and(|text| text.trim() != "0")
}

/// Receives, sends, sends more than there is room for, and sees the other side close.
fn try_it() -> io::Result<bool> {
    let (ours, mut other) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    other.set_nonblocking(true)?;
    let mut ring = Ring::new(1, Clock::new(), 0)?;
    let parameters = ring.ring.params();
    if !(parameters.is_feature_ext_arg()
        && parameters.is_feature_nodrop()
        && parameters.is_feature_skip_cqe_on_success())
    {
        return Ok(false);
    }
    ring.open(0, ours.as_raw_fd())?;
    let is_connected = comes(&mut ring);
    ring.arm(0);
    other.write_all(b"in")?;
    let mut room = [0; 8];
    let is_received = comes(&mut ring) && ring.receive(0, &mut room)? == Received::Bytes { count: 2, more: false };
    let is_sent = offer(&mut ring, b"out") == 3 && other.read(&mut room)? == 3 && &room[..3] == b"out";
    let large = vec![0; LARGE];
    let taken = offer(&mut ring, &large);
    let is_short = taken > 0 && taken < LARGE && offer(&mut ring, b"more") == 0;
    drop(other);
    let is_closed = (0..4).any(|_| {
        comes(&mut ring);
        !matches!(ring.receive(0, &mut room), Ok(Received::Bytes { .. }))
    });
    Ok(is_connected && is_received && is_sent && is_short && is_closed && ring.failure().is_none())
}

/// How many bytes were taken at once.
fn offer(ring: &mut Ring, bytes: &[u8]) -> usize {
    ring.enter(std::iter::once((0, bytes)), Wait::No);
    ring.settle(0)
}

/// Whether something comes within a second.
fn comes(ring: &mut Ring) -> bool {
    let mut events = Vec::new();
    ring.enter(std::iter::empty(), Wait::For(SECOND_NS));
    ring.take_ready(&mut events);
    !events.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_has_a_reason() {
        let of = |number| reason(&io::Error::from_raw_os_error(number));
        assert_eq!(
            [of(libc::ENOSYS), of(libc::EINVAL), of(libc::ENOMEM)],
            [WhyNot::Missing, WhyNot::TooOld, WhyNot::NoRoom]
        );
        assert!([WhyNot::Disabled, WhyNot::Forbidden].contains(&of(libc::EPERM)));
        assert_eq!(reason(&io::Error::other("?")), WhyNot::Unsuitable);
    }

    #[test]
    fn what_had_no_buffer_is_left_to_the_next_waits() {
        const SOCKETS: usize = 8;
        let Ok(mut ring) = Ring::new(SOCKETS, Clock::new(), 0) else { return };
        let (mut others, mut sent) = (Vec::new(), 0);
        for number in 0..SOCKETS {
            let (ours, mut other) = UnixStream::pair().unwrap();
            other.set_nonblocking(true).unwrap();
            while let Ok(count) = other.write(&[0; 4096]) {
                sent += count;
            }
            ring.open(number, ours.as_raw_fd()).unwrap();
            ring.arm(number);
            others.push(other);
        }
        let (mut events, mut room, mut received, mut waits_that_left_some) = (Vec::new(), [0; 4096], 0, 0);
        while received < sent {
            ring.wait(&mut events, (0, 0), false, std::iter::empty());
            waits_that_left_some += usize::from(ring.left_some());
            for number in 0..SOCKETS {
                while let Received::Bytes { count: count @ 1.., .. } = ring.receive(number, &mut room).unwrap() {
                    received += count;
                }
            }
        }
        assert!(waits_that_left_some > 0, "{sent} bytes fit into the buffers");
        ring.wait(&mut events, (0, 0), false, std::iter::empty());
        assert!(received == sent && !ring.left_some());
    }

    #[test]
    fn a_ring_that_there_is_does_what_is_required() {
        if let Ok(does_it) = try_it() {
            assert!(does_it);
        }
    }
}
