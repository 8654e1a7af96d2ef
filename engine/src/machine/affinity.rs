//! What a thread and the process require of the kernel: a CPU, exact timers, enough open files.

/// Pins the calling thread to one CPU. False where the system has no such call or refuses it.
#[cfg(target_os = "linux")]
pub fn pin_to(cpu: usize) -> bool {
    if cpu >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: the set is a plain bit field, zeroed before use; pid 0 means the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

/// Pins the calling thread to one CPU. False where the system has no such call or refuses it.
#[cfg(not(target_os = "linux"))]
pub fn pin_to(_cpu: usize) -> bool {
    false
}

/// Requests timers of the calling thread that end when they should, not up to 50 us later.
pub fn exact_timers() {
    // SAFETY: the call takes plain numbers and changes the calling thread only.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

/// Raises the process's limit of open files to at least `required` where it may; returns the limit.
pub fn raise_open_files(required: u64) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit that the calls read or fill in.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return u64::MAX;
        }
        if limit.rlim_cur < required {
            let raised = libc::rlimit { rlim_cur: required.min(limit.rlim_max), rlim_max: limit.rlim_max };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raised) == 0 {
                limit = raised;
            }
        }
    }
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pinned_thread_runs_on_its_cpu() {
        // SAFETY: takes no arguments and cannot fail on Linux.
        let here = || unsafe { libc::sched_getcpu() };
        std::thread::spawn(move || {
            let cpu = here() as usize;
            assert!(pin_to(cpu));
            assert_eq!(here() as usize, cpu);
            assert!(!pin_to(1_000_000));
        })
        .join()
        .expect("the pinned thread ends well");
    }

    #[test]
    fn the_limit_of_open_files_is_never_lowered() {
        let before = raise_open_files(0);
        assert!(raise_open_files(1) >= before);
    }
}
