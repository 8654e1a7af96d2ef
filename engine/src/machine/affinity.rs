//! What a thread and the process require of the kernel: a CPU, exact timers, its turn soon, enough open files.

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

/// Requests turns of the calling thread that are short and come soon: when it wakes up it does not wait until another
/// thread's turn is over (since Linux 6.12; what came before, and other systems, pass it over). Its share of the CPU
/// stays the same.
pub fn short_slices() {
    #[cfg(target_os = "linux")]
    {
        const SLICE_NS: u64 = 100_000;
        const FAIR: [u32; 2] = [libc::SCHED_OTHER as u32, libc::SCHED_BATCH as u32];
        let mut attributes = SchedulingAttributes::default();
        let size = size_of::<SchedulingAttributes>() as libc::c_uint;
        // SAFETY: the calls read and fill in attributes of that size; 0 means the calling thread.
        unsafe {
            if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) == 0
                && FAIR.contains(&attributes.policy)
            {
                attributes.runtime_ns = SLICE_NS;
                libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
            }
        }
    }
}

/// `struct sched_attr` of Linux, in its first version.
#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
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
