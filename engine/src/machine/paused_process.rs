//! A process of another program that stands still while it is not its turn.

/// A process, named by its id and its start: an id is given out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PausedProcess {
    pub pid: i32,
    /// In clock ticks since the machine did: field 22 of `/proc/PID/stat`, see `proc_pid_stat(5)`.
    pub started_ticks: u64,
}

impl PausedProcess {
    /// Has it stand still, with its whole process group if it leads one; it keeps its memory, files and connections.
    pub fn hold(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets it go on where it stood.
    pub fn release(&self) {
        self.signal(libc::SIGCONT);
    }

    /// A process that is gone, or whose id is another's by now, gets no signal; nor does this one's own group.
    fn signal(&self, number: i32) {
        // SAFETY: reads the group of this process, which it always has.
        let own_group = unsafe { libc::getpgrp() };
        let Some(found) = Found::of(self.pid).filter(|found| found.started_ticks == self.started_ticks) else { return };
        if self.pid <= 1 || found.has_ended || found.group == own_group {
            return;
        }
        let target = if found.group == self.pid { -self.pid } else { self.pid };
        // SAFETY: a signal to others, which changes nothing here. Should they end meanwhile, it is refused.
        unsafe { libc::kill(target, number) };
    }
}

/// What the kernel says of a process id now.
struct Found {
    has_ended: bool,
    group: i32,
    started_ticks: u64,
}

impl Found {
    /// None if there is no such process, or the system has no such file.
    fn of(pid: i32) -> Option<Self> {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name before, in brackets, may hold anything.
        let after_name = text.iter().rposition(|&byte| byte == b')')? + 1;
        let fields: Vec<&str> = std::str::from_utf8(&text[after_name..]).ok()?.split_ascii_whitespace().collect();
        Some(Self {
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            group: fields.get(2)?.parse().ok()?,
            started_ticks: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::Duration;

    fn state(pid: i32) -> String {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
        text.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().next()).unwrap().to_string()
    }

    fn becomes(pid: i32, wanted: &[&str]) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            wanted.contains(&state(pid).as_str())
        })
    }

    fn sleeper(leads: bool) -> (Child, PausedProcess) {
        let mut command = Command::new("sleep");
        command.arg("60");
        if leads {
            command.process_group(0);
        }
        let child = command.spawn().expect("sleep");
        let pid = child.id() as i32;
        let started_ticks = Found::of(pid).expect("it runs").started_ticks;
        (child, PausedProcess { pid, started_ticks })
    }

    fn end(mut child: Child) {
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
    }

    #[test]
    fn a_process_stands_still_until_it_is_released() {
        let (child, process) = sleeper(true);
        process.hold();
        assert!(becomes(process.pid, &["T"]));
        process.release();
        assert!(becomes(process.pid, &["S", "R"]));
        end(child);
    }

    #[test]
    fn a_group_stands_still_with_its_leader() {
        let mut shell = Command::new("sh");
        let child =
            shell.args(["-c", "sleep 60 & echo $!; wait"]).process_group(0).stdout(std::process::Stdio::piped());
        let mut child = child.spawn().expect("a shell");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
        let member: i32 = line.trim().parse().expect("a process id");
        let pid = child.id() as i32;
        let leader = PausedProcess { pid, started_ticks: Found::of(pid).expect("it runs").started_ticks };
        leader.hold();
        assert!(becomes(member, &["T"]));
        leader.release();
        assert!(becomes(member, &["S", "R"]));
        // SAFETY: the group is ours.
        unsafe { libc::kill(-pid, libc::SIGKILL) };
        child.wait().expect("it is ours");
    }

    #[test]
    fn who_has_the_id_by_now_gets_no_signal() {
        let (child, process) = sleeper(true);
        PausedProcess { started_ticks: process.started_ticks - 1, ..process }.hold();
        assert!(!becomes(process.pid, &["T"]));
        end(child);
        process.hold();
    }

    #[test]
    fn a_member_of_this_process_s_own_group_gets_no_signal() {
        let (child, process) = sleeper(false);
        process.hold();
        assert!(!becomes(process.pid, &["T"]));
        end(child);
    }
}
