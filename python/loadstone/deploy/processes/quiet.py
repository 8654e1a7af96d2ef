"""Waiting until processes that have no load do nothing: no compiler has work left, no collector, no request."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from loadstone.machine import process_table


@dataclass(frozen=True)
class Quiet:
    """What counts as quiet, and how long it is waited for."""

    cores: float
    """CPU that may be taken, all processes together."""
    window_s: float
    windows: int
    """So many windows in a row must be quiet: a compiler pauses, too."""
    longest_s: float


def await_quiet(
    roots: Collection[int], rule: Quiet, going_on: Callable[[], None], report: Callable[[float], None] = lambda _: None
) -> float | None:
    """Wait until these processes and all below them are quiet; None if they are.

    Otherwise what they took, in cores, in the last window: they were waited for as long as the rule says. Where a
    system does not tell, they are taken for quiet at once.

    Args:
        roots: process ids.
        rule: what counts as quiet.
        going_on: raises Interrupted when the user requested a stop.
        report: given what they take, in cores, after each window that was not quiet.
    """
    if not roots or process_table.cpu_ns(next(iter(roots))) is None:
        return None
    began_s = at_s = time.monotonic()
    before = process_table.tree_cpu_ns(roots)
    quiet, cores = 0, 0.0
    while quiet < rule.windows:
        if at_s - began_s >= rule.longest_s:
            return cores
        time.sleep(rule.window_s)
        going_on()
        now_s, now = time.monotonic(), process_table.tree_cpu_ns(roots)
        spent_ns = sum(max(0, ns - before.get(pid, 0)) for pid, ns in now.items())
        cores = spent_ns / 1e9 / (now_s - at_s)
        before, at_s = now, now_s
        quiet = quiet + 1 if cores <= rule.cores else 0
        if not quiet:
            report(cores)
    return None
