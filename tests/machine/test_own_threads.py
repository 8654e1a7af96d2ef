"""Threads of our own, real ones: where they may run, and what they took of the servers' CPUs."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from loadstone.machine.own_threads import ServerCpuTime, kept_to

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="there is no other CPU to keep to"
)
BURST_S = 0.0015


def cpus() -> tuple[int, int]:
    first, *_, last = sorted(os.sched_getaffinity(0))
    return first, last


@contextmanager
def burning(cpu: int | None, share: float = 1.0) -> Iterator[int]:
    """A stand-in for work of ours: a thread that takes such a share of a CPU, in bursts; its number."""
    over, number = threading.Event(), list[int]()

    def burn() -> None:
        number.append(threading.get_native_id())
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        while not over.is_set():
            end_s = time.thread_time() + BURST_S
            while time.thread_time() < end_s:
                pass
            time.sleep(BURST_S * (1 / share - 1))

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        while not number:
            time.sleep(0.001)
        yield number[0]
    finally:
        over.set()
        thread.join()


def test_all_threads_keep_to_the_cpus_and_get_theirs_back() -> None:
    _, last = cpus()
    before = os.sched_getaffinity(0)
    with burning(None, 0.1) as other:
        with kept_to((last,)):
            assert os.sched_getaffinity(0) == os.sched_getaffinity(other) == {last}
            with burning(None, 0.1) as started_within:
                assert os.sched_getaffinity(started_within) == {last}
        assert os.sched_getaffinity(0) == os.sched_getaffinity(other) == before


def test_without_cpus_nothing_is_moved() -> None:
    before = os.sched_getaffinity(0)
    with kept_to(()):
        assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_what_a_thread_takes_of_a_servers_cpu_is_counted(share: float) -> None:
    server, generator = cpus()
    with kept_to((generator,)):
        counted = ServerCpuTime((server,))
        with burning(server, share) as thread:
            time.sleep(0.01)
            clock = time.pthread_getcpuclockid(_ident_of(thread))
            began_ns = time.clock_gettime_ns(clock)
            counted.begin()
            time.sleep(0.5)
            counted.end()
            spent_ns = time.clock_gettime_ns(clock) - began_ns
            time.sleep(0.1)
    assert counted.share is not None
    # The kernel's count of a thread that runs at this moment is behind by up to a tick.
    assert counted.ns == pytest.approx(spent_ns, rel=0.2, abs=6e6)
    assert counted.ns > 0


def _ident_of(native: int) -> int:
    return next(t.ident for t in threading.enumerate() if t.native_id == native and t.ident is not None)


def test_of_a_thread_that_comes_back_to_the_servers_cpu_only_what_it_ran_meanwhile_is_counted() -> None:
    """It ran for long before, and elsewhere: that is none of this time."""
    server, generator = cpus()
    with burning(generator) as thread:
        time.sleep(0.5)
        counted = ServerCpuTime((server,))
        counted.begin()
        os.sched_setaffinity(thread, {server})
        time.sleep(0.1)
        counted.end()
    assert 0 < counted.ns < 0.3e9


def test_threads_that_keep_to_other_cpus_are_not_counted() -> None:
    server, generator = cpus()
    with kept_to((generator,)), burning(generator, 0.5):
        counted = ServerCpuTime((server,))
        counted.begin()
        time.sleep(0.1)
        counted.end()
    assert counted.share == 0


def test_what_runs_while_it_does_not_count_is_left_out() -> None:
    server, generator = cpus()
    with kept_to((generator,)), burning(server):
        whole, counted, between = (ServerCpuTime((server,)) for _ in range(3))
        whole.begin()
        counted.begin()
        counted.end()
        between.begin()
        time.sleep(0.2)
        between.end()
        counted.begin()
        counted.end()
        counted.end()
        whole.end()
    assert between.ns > 0
    assert counted.ns <= whole.ns - between.ns


def test_nothing_is_known_of_unknown_cpus() -> None:
    counted = ServerCpuTime(())
    counted.begin()
    counted.end()
    assert counted.share is None
