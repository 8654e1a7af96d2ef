//! Bytes with how long ago the kernel received them, where it says so.

use std::io;

use mio::net::TcpStream;

/// An arrival is never taken to be longer ago than this: the machine's clock may have been set.
#[cfg(target_os = "linux")]
const LONGEST_AGO_NS: u64 = 1_000_000_000;

/// Requests that the kernel notes when it receives bytes for this socket.
#[cfg(target_os = "linux")]
pub(super) fn note_arrivals(stream: &TcpStream) {
    use std::os::fd::AsRawFd;
    let on: libc::c_int = 1;
    // SAFETY: the option is an int that lives through the call. Where it is refused, bytes came when they are read.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn note_arrivals(_stream: &TcpStream) {}

/// How many bytes there were, and how many nanoseconds ago the last of them came; None where the kernel does not say.
#[cfg(target_os = "linux")]
pub(super) fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    use std::os::fd::AsRawFd;
    #[repr(C, align(8))]
    struct Room([u8; 64]);
    let mut room = Room([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a message header is plain numbers and pointers; all of those that are set outlive the call.
    let (received, message) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = room.0.len() as _;
        (libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0), message)
    };
    if received < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((received as usize, came_ns(&message).map(ago_ns)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    use std::io::Read;
    stream.read(buffer).map(|count| (count, None))
}

/// When the bytes came, in nanoseconds since 1970.
#[cfg(target_os = "linux")]
fn came_ns(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel filled in the header and the room for what it has to say, which still lives.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(at).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
    None
}

#[cfg(target_os = "linux")]
fn ago_ns(came_ns: u64) -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64).saturating_sub(came_ns).min(LONGEST_AGO_NS)
}
