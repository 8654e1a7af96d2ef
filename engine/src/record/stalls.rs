//! From what each thread noticed of standing still to what the drive records of it.

use crate::machine::clock::to_s;
use crate::record::outcome::{StallRecord, Stalled};
use crate::record::tally::{Stall, StallOf};

/// All of a drive in their order: a server stood still where no thread heard of it, the driver where one thread did not
/// run. `origin_unix_ns` is when the load began.
pub fn of_all(by_thread: &[&[Stall]], origin_unix_ns: u64) -> Vec<StallRecord> {
    let mut all: Vec<(Stalled, Stall)> = driver(by_thread).into_iter().map(|stall| (Stalled::Driver, stall)).collect();
    all.extend(server(by_thread).into_iter().map(|stall| (Stalled::Server, stall)));
    all.sort_unstable_by_key(|(_, stall)| stall.begin_unix_ns);
    let since_s = |unix_ns: u64| to_s(unix_ns.saturating_sub(origin_unix_ns));
    let record = |(of, stall): (Stalled, Stall)| StallRecord {
        of,
        begin_s: since_s(stall.begin_unix_ns),
        end_s: since_s(stall.end_unix_ns),
        waiting: stall.waiting,
        no_cpu_s: if let StallOf::Driver { no_cpu_ns } = stall.of { to_s(no_cpu_ns) } else { 0.0 },
    };
    all.into_iter().map(record).collect()
}

fn is_server(stall: &&Stall) -> bool {
    stall.of == StallOf::Server
}

/// Where no thread heard anything; requests of all of them waited.
fn server(by_thread: &[&[Stall]]) -> Vec<Stall> {
    let mut threads = by_thread.iter();
    let first = threads.next().map_or_else(Vec::new, |stalls| stalls.iter().filter(is_server).copied().collect());
    threads.fold(first, |common: Vec<Stall>, stalls| {
        let meet = |one: &Stall| {
            let one = *one;
            stalls.iter().filter(is_server).filter_map(move |other| {
                let begin_unix_ns = one.begin_unix_ns.max(other.begin_unix_ns);
                let end_unix_ns = one.end_unix_ns.min(other.end_unix_ns);
                let waiting = one.waiting + other.waiting;
                (begin_unix_ns < end_unix_ns).then_some(Stall { begin_unix_ns, end_unix_ns, waiting, ..one })
            })
        };
        common.iter().flat_map(meet).collect()
    })
}

/// Where any thread did not run: what overlaps is one.
fn driver(by_thread: &[&[Stall]]) -> Vec<Stall> {
    let mut all: Vec<Stall> =
        by_thread.iter().flat_map(|stalls| stalls.iter().filter(|it| !is_server(it))).copied().collect();
    all.sort_unstable_by_key(|stall| stall.begin_unix_ns);
    let mut merged: Vec<Stall> = Vec::new();
    for stall in all {
        match merged.last_mut().filter(|last| stall.begin_unix_ns <= last.end_unix_ns) {
            None => merged.push(stall),
            Some(last) => {
                last.end_unix_ns = last.end_unix_ns.max(stall.end_unix_ns);
                last.waiting += stall.waiting;
                if let (StallOf::Driver { no_cpu_ns }, StallOf::Driver { no_cpu_ns: other_ns }) =
                    (&mut last.of, stall.of)
                {
                    *no_cpu_ns = other_ns.max(*no_cpu_ns);
                }
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn silence(begin_s: u64, end_s: u64) -> Stall {
        Stall { begin_unix_ns: begin_s * S, end_unix_ns: end_s * S, of: StallOf::Server, waiting: 3 }
    }

    fn late(begin_s: u64, end_s: u64, no_cpu_s: u64) -> Stall {
        Stall { of: StallOf::Driver { no_cpu_ns: no_cpu_s * S }, ..silence(begin_s, end_s) }
    }

    fn found(by_thread: &[&[Stall]]) -> Vec<(Stalled, f64, f64, u64, f64)> {
        let all = of_all(by_thread, 100 * S);
        all.into_iter().map(|stall| (stall.of, stall.begin_s, stall.end_s, stall.waiting, stall.no_cpu_s)).collect()
    }

    #[test]
    fn a_server_stood_still_where_no_thread_heard_of_it() {
        let (one, other) = ([silence(101, 106), silence(110, 112)], [silence(102, 107), silence(120, 121)]);
        assert_eq!(found(&[&one, &other]), [(Stalled::Server, 2.0, 6.0, 6, 0.0)]);
        assert_eq!(found(&[&one]).len(), 2);
        assert_eq!(found(&[&one, &[]]), []);
    }

    #[test]
    fn the_driver_stood_still_where_one_of_its_threads_did() {
        let (one, other) = ([late(101, 106, 0), late(110, 112, 2)], [late(102, 107, 1)]);
        let expected = [(Stalled::Driver, 1.0, 7.0, 6, 1.0), (Stalled::Driver, 10.0, 12.0, 3, 2.0)];
        assert_eq!(found(&[&one, &other]), expected);
    }
}
