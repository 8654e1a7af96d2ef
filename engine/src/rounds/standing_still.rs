//! Whose processes run in a slice: those of its drive, and those that every drive needs. The others stand still.

use super::options::RoundsOptions;
use crate::machine::paused_process::PausedProcess;

/// The processes that not every drive needs.
#[derive(Debug)]
pub(super) struct StandingStill {
    processes: Vec<Process>,
}

#[derive(Debug)]
struct Process {
    process: PausedProcess,
    /// By drive.
    is_needed: Vec<bool>,
    is_held: bool,
}

impl StandingStill {
    /// Those of the options; all of them run.
    pub fn of(options: &RoundsOptions) -> Self {
        let mut processes: Vec<Process> = Vec::new();
        for (drive, of_drive) in options.paused.iter().enumerate() {
            for one in of_drive {
                let process = PausedProcess { pid: one.pid, started_ticks: one.started_ticks };
                let found = processes.iter().position(|other| other.process == process).unwrap_or_else(|| {
                    processes.push(Process { process, is_needed: vec![false; options.paused.len()], is_held: false });
                    processes.len() - 1
                });
                processes[found].is_needed[drive] = true;
            }
        }
        processes.retain(|process| !process.is_needed.iter().all(|is_needed| *is_needed));
        Self { processes }
    }

    /// It is this drive's turn: first the others are held, then its own go on. Whether one of its own stood still.
    pub fn let_run(&mut self, drive: usize) -> bool {
        for process in self.processes.iter_mut().filter(|process| !process.is_needed[drive] && !process.is_held) {
            process.process.hold();
            process.is_held = true;
        }
        let mut stood_still = false;
        for process in self.processes.iter_mut().filter(|process| process.is_needed[drive]) {
            stood_still |= process.is_held;
            process.release();
        }
        stood_still
    }

    pub fn release_all(&mut self) {
        self.processes.iter_mut().for_each(Process::release);
    }
}

impl Process {
    fn release(&mut self) {
        if self.is_held {
            self.process.release();
            self.is_held = false;
        }
    }
}

impl Drop for StandingStill {
    /// None is left standing still, however the rounds end.
    fn drop(&mut self) {
        self.release_all();
    }
}
