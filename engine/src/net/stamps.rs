//! When bytes came, as the kernel stamps it: what a thread that slept, or had no CPU, cannot know by itself.

use crate::machine::clock::system_ns;

/// Whether this system stamps what comes.
pub const ARE_HAD: bool = cfg!(target_os = "linux");

#[cfg(target_os = "linux")]
mod system {
    use crate::machine::clock::SECOND_NS;
    use mio::net::TcpStream;
    use std::io;
    use std::os::fd::AsRawFd;

    /// Room for a control message with a time, and for one more.
    const CONTROL_BYTES: usize = 128;

    #[repr(align(8))]
    struct Control([u8; CONTROL_BYTES]);

    /// Has the kernel stamp what comes on a socket from now on. Fails where it does not.
    pub fn request(socket: &TcpStream) -> io::Result<()> {
        let on: libc::c_int = 1;
        // SAFETY: the option's value is a valid int of that length.
        let status = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPNS,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            )
        };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Receives into `room`; with the time since 1970 at which the last of these bytes came, if that was stamped.
    pub fn receive(socket: &mut TcpStream, room: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        let mut control = Control([0; CONTROL_BYTES]);
        let mut place = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        // SAFETY: all zeros are a valid header.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        (header.msg_iov, header.msg_iovlen) = (&mut place, 1);
        (header.msg_control, header.msg_controllen) = (control.0.as_mut_ptr().cast(), CONTROL_BYTES as _);
        // SAFETY: the header refers to `room` and `control`, which outlive the call.
        let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, 0) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((count as usize, stamp_of(&header)))
    }

    fn stamp_of(header: &libc::msghdr) -> Option<u64> {
        // SAFETY: the kernel filled the header's control messages in; each is read within their length.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            while let Some(found) = message.as_ref() {
                if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                    let time = libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned();
                    return Some(time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64);
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        None
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use mio::net::TcpStream;
    use std::io::{self, Read};

    pub fn request(_socket: &TcpStream) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn receive(socket: &mut TcpStream, room: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        socket.read(room).map(|count| (count, None))
    }
}

pub use system::{receive, request};

/// How long ago a stamp was made; 0 where the machine's clock was set back since.
pub fn ago_ns(stamp_unix_ns: u64) -> u64 {
    system_ns(libc::CLOCK_REALTIME).saturating_sub(stamp_unix_ns)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    #[test]
    fn bytes_are_stamped_when_they_come_and_not_when_they_are_received() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = mio::net::TcpStream::from_std(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (mut other, _) = listener.accept().unwrap();
        request(&socket).unwrap();
        let mut room = [0; 64];
        // The kernel begins to stamp soon after the first socket requests it.
        let (before_ns, stamp_ns) = (0..200)
            .find_map(|_| {
                std::thread::sleep(Duration::from_millis(5));
                let before_ns = system_ns(libc::CLOCK_REALTIME);
                other.write_all(b"reply").unwrap();
                std::thread::sleep(Duration::from_millis(20));
                let (count, stamp_ns) = receive(&mut socket, &mut room).unwrap();
                assert_eq!(&room[..count], b"reply");
                stamp_ns.map(|stamp_ns| (before_ns, stamp_ns))
            })
            .expect("Linux stamps it");
        let lain_ns = ago_ns(stamp_ns);
        assert!(before_ns <= stamp_ns && lain_ns >= 10_000_000, "{before_ns} {stamp_ns} {lain_ns}");
        assert_eq!(ago_ns(u64::MAX), 0);
        drop(other);
        assert_eq!(receive(&mut socket, &mut room).unwrap().0, 0);
    }
}
