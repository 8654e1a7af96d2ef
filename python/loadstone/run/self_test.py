"""`loadstone self-test`: what a measurement on this machine may be trusted with, tried out in less than a minute.

`doctor` reads what is installed and how the machine is set; this measures: the generator on servers of known behaviour,
clocks, CPUs, and whether a kill leaves something behind. Whoever reads it wants to know how far to believe a figure.
"""

import contextlib
import ctypes
import heapq
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal

from loadstone.drivers.driver import RoundsOptions, drive_alone
from loadstone.drivers.native import NativeDriver, engine_build
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.own_threads import ServerCpuTime, kept_to
from loadstone.machine.placement import Placement, place
from loadstone.machine.process_identity import started
from loadstone.measure.machine_lock import measuring
from loadstone.measure.sampler import Sampler
from loadstone.monitors.watch import MonitorTargets
from loadstone.run.doctor import clock_source, is_filtered, machine_facts
from loadstone.run_folder.facts import Ceiling
from loadstone.safety.errors import LoadstoneError
from loadstone.servers import registry
from loadstone.servers.server import DeployContext
from loadstone.text.english.run import why_not_io_uring
from loadstone.text.language import _, in_language, plural


@dataclass(frozen=True)
class FreezingServer:
    """Answers after `delay_s`, and freezes for `freeze_s` at the end of every `every_s`."""

    delay_s: float
    every_s: float
    freeze_s: float

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the engine's null server."""
        return {"delay_us": self.delay_s * 1e6, "freeze_every_s": self.every_s, "freeze_s": self.freeze_s}

    def response_times_s(self, rate_per_s: float, seconds: float, connections: int) -> list[float]:
        """Return the response times of all requests of an open load at constant intervals, sorted, by simulation; whole
        periods from 0.

        A request that is intended at t waits for a free connection, and is answered after the delay, or after the
        delay from the end of the freeze that it fell into.
        """
        free_at = [0.0] * connections
        heapq.heapify(free_at)
        found = []
        for number in range(int(seconds * rate_per_s)):
            intended = number / rate_per_s
            ready = max(intended, heapq.heappop(free_at)) + self.delay_s
            frozen_from = ready // self.every_s * self.every_s + self.every_s - self.freeze_s
            answered = frozen_from + self.freeze_s if ready >= frozen_from else ready
            heapq.heappush(free_at, answered)
            found.append(answered - intended)
        return sorted(found)


def quantile(values: list[float], share: float) -> float:
    """Return the value at `share` of a list that is sorted in ascending order."""
    return values[min(len(values) - 1, int(share * len(values)))]


SelfTestVerdict = Literal["ok", "note", "FAIL"]
FAILED_STATUS = 3
REPEATS = 5
RATE_PER_S = 1000
DELAY_NS = 1_000_000
DELAY_S, FREEZING_S = 2.0, 3.0
"""How long each is observed; whole periods of freezes."""
FREEZING = FreezingServer(delay_s=0.001, every_s=1.0, freeze_s=0.2)
DELAY_ERROR_MAX_NS = 250_000
"""J: more than that above a known delay of 1 ms is no small part of what a Redis takes."""
FREEZE_ERROR_MAX = 0.05
"""Greatest error of P90 and P99 against the truth. It took 2 % at most on the machines of `bench/engine/stalls.py`."""
STEADY_SPREAD = 0.1
WATCHED_S, WATCHED_SLICE_S, WATCHED_RATE_PER_S = 0.5, 0.05, 20_000
WATCHING_SHARE_MAX = 0.002
"""As of the check `own_time`."""
WATCHING_TIMES, WATCHING_NS = 1.25, 20_000
"""J: medians of a few P99 differ by a quarter on their own, and short ones by a wake-up."""
READING_MAX_NS = 1_000
QUANTUM_MAX_NS = 1_000
KILL_S = 10.0
CHILD = """
import sys, time
from pathlib import Path
from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.workspace import Workspace
space = Workspace("self-test", Path(sys.argv[1]))
process = GuardedProcess(["sleep", "300"], space, space.path / "log")
process.start()
print(process.guard_pid, process.pid, space.path, flush=True)
time.sleep(300)
"""
"""Starts a process as servers and drivers are started, and waits to be killed."""


@dataclass(frozen=True)
class SelfTestPart:
    """One line of the result, in the language of now."""

    name: str
    verdict: SelfTestVerdict
    found: str
    means: str = ""
    """What follows for figures; empty where nothing does."""


class SelfTestRig:
    """The generator and a null server on the CPUs that a run would give them."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement

    @contextlib.contextmanager
    def server(self, options: dict[str, object]) -> Iterator[Endpoint]:
        """A null server that is up. Raises UserError."""
        null = NullServerProcess(options)
        try:
            yield null.start(DeployContext(cpus=self.placement.server_cpus))
        finally:
            null.stop()

    def drive(self, endpoint: Endpoint, model: Closed | Open, seconds: float, connections: int) -> DriveRecord:
        """GETs for so long. Raises DriveFailed."""
        return drive_alone(NativeDriver(), self.plan(endpoint, model, seconds, connections))

    def plan(self, endpoint: Endpoint, model: Closed | Open, seconds: float, connections: int) -> Plan:
        """The plan of `drive`."""
        return Plan(
            endpoints=(endpoint,),
            cpus=self.placement.generator_cpus[:1],
            model=model,
            pool=Pool(connections=connections),
            phases=Phases(warm_up_s=0.1, measure_s=seconds, drain_s=3.0),
            operations=(Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),)),),
            keys=Keys(prefix="loadstone:self-test:"),
            timeouts=Timeouts(request_ms=5000, gone_s=10),
        )


@dataclass
class SelfTestLimits:
    """What the parts learned, for the last lines."""

    capacity_per_s: float = 0.0
    spread_share: float = 0.0
    floor_ns: int = 0
    delay_error_ns: int = 0


def self_test(say: Callable[[SelfTestPart], None], remark: Callable[[str], None]) -> int:
    """Try each part, and tell of it; the exit status. Raises UserError where another run measures here."""
    limits, failed = SelfTestLimits(), False
    with measuring(Path("loadstone self-test"), share=False, remark=remark):
        bench = SelfTestRig(place())
        for name, try_out in _parts(bench, limits):
            try:
                part = try_out(name)
            except (LoadstoneError, OSError, subprocess.SubprocessError) as error:
                part = SelfTestPart(name, "FAIL", in_language(error))
            failed = failed or part.verdict == "FAIL"
            say(part)
    say(_conclusion(limits, failed=failed))
    return FAILED_STATUS if failed else 0


def _parts(bench: SelfTestRig, limits: SelfTestLimits) -> list[tuple[str, Callable[[str], SelfTestPart]]]:
    return [
        (_("engine"), _engine),
        (_("clock"), _clock),
        (_("CPUs"), lambda name: _cpus(name, bench.placement)),
        ("io_uring", lambda name: _io_uring(name, bench)),
        (_("top rate"), lambda name: _rate(name, bench, limits)),
        (_("known delay"), lambda name: _delay(name, bench, limits)),
        (_("known freezes"), lambda name: _freezes(name, bench)),
        (_("watching"), lambda name: _watching(name, bench)),
        (_("own server"), _own_server),
        ("kill -9", _kill),
        (_("machine"), _machine),
    ]


def _engine(name: str) -> SelfTestPart:
    build = engine_build()
    found = f"{build['version']}, {build['profile']}"
    if build["profile"] != "release":
        return SelfTestPart(name, "FAIL", found, _("it would measure itself: build it with 'make setup'"))
    return SelfTestPart(name, "ok", found)


def _clock(name: str) -> SelfTestPart:
    """What a reading costs, the smallest step, and whether it goes back from one CPU to the next."""
    readings = [time.monotonic_ns() for _again in range(20_000)]
    costs_ns = (readings[-1] - readings[0]) / (len(readings) - 1)
    step_ns = min((b - a for a, b in pairwise(readings) if b > a), default=0)
    back_ns = _back_between_cpus_ns()
    source = clock_source()
    found = _(
        "{source}: {costs_ns:.0f} ns a reading, steps of {step_ns} ns",
        source=source.value if source is not None else sys.platform,
        costs_ns=costs_ns,
        step_ns=step_ns,
    )
    if back_ns > 0:
        went = _("it goes back by {back_ns} ns from one CPU to another: no latency below that holds", back_ns=back_ns)
        return SelfTestPart(name, "FAIL", found, went)
    if step_ns > QUANTUM_MAX_NS or costs_ns > READING_MAX_NS:
        return SelfTestPart(name, "note", found, _("latencies are coarser than that, and the generator slower"))
    return SelfTestPart(name, "ok", found)


def _back_between_cpus_ns() -> int:
    """The most by which the clock goes back where a thread moves between CPUs; 0 where it does not."""
    if not hasattr(os, "sched_setaffinity"):
        return 0
    before = os.sched_getaffinity(0)
    last, most = 0, 0
    try:
        for _round in range(50):
            for cpu in sorted(before)[:16]:
                os.sched_setaffinity(0, {cpu})
                now = time.monotonic_ns()
                most, last = max(most, last - now), now
    finally:
        os.sched_setaffinity(0, before)
    return most


def _cpus(name: str, placement: Placement) -> SelfTestPart:
    """Whether threads run where they are pinned, and whether servers and generator are apart."""
    note = in_language(placement.note)
    if not hasattr(os, "sched_setaffinity"):
        return SelfTestPart(name, "note", note, _("other programs may move what is measured from CPU to CPU"))
    before = os.sched_getaffinity(0)
    try:
        for cpu in before:
            os.sched_setaffinity(0, {cpu})
            on = _running_on()
            if on not in (None, cpu):
                return SelfTestPart(name, "FAIL", _("pinned to CPU {cpu}, it runs on CPU {on}", cpu=cpu, on=on))
    finally:
        os.sched_setaffinity(0, before)
    if placement.shared:
        means = _("figures hold the generator's own part: compare, but do not size")
        return SelfTestPart(name, "note", note, means)
    return SelfTestPart(name, "ok", _("pinning holds; {note}", note=note))


def _running_on() -> int | None:
    try:
        cpu = int(ctypes.CDLL(None).sched_getcpu())
    except (OSError, AttributeError):
        return None
    return cpu if cpu >= 0 else None


def _io_uring(name: str, bench: SelfTestRig) -> SelfTestPart:
    with bench.server({}) as endpoint:
        used = bench.drive(endpoint, Closed(users=1), 0.05, 1).back_end
    if used is None or used.name == "io_uring":
        return SelfTestPart(name, "ok", _("the generator uses it"))
    reason = used.why_not_io_uring
    if reason == "missing" and is_filtered():  # some profiles say that the call is not there
        reason = "forbidden"
    found = _("not used: {why_not}", why_not=why_not_io_uring(reason))
    return SelfTestPart(name, "note", found, _("{back_end} does the same at a lower top rate", back_end=used.name))


def _rate(name: str, bench: SelfTestRig, limits: SelfTestLimits) -> SelfTestPart:
    """The generator at full speed on a server that does nothing, several times; and one user alone."""
    with bench.server({}) as endpoint:
        plan = bench.plan(endpoint, Closed(users=64), 0.4, 64)
        ceilings = [Ceiling.of(plan, bench.drive(endpoint, Closed(users=64), 0.4, 64)) for _again in range(REPEATS)]
        single = bench.drive(endpoint, Closed(users=1), 0.4, 1)
    rates = sorted(one.throughput_per_s for one in ceilings)
    limits.capacity_per_s = median(rates)
    limits.spread_share = (rates[-1] - rates[0]) / median(rates)
    limits.floor_ns = single.operations["get"].response_ns.p50
    found = _(
        "{rate:,.0f} a second by a thread ({low:,.0f} to {high:,.0f} in {n} tries); one user alone: {floor_us:.0f} µs",
        rate=median(rates),
        low=rates[0],
        high=rates[-1],
        n=REPEATS,
        floor_us=limits.floor_ns / 1e3,
    )
    if limits.spread_share > STEADY_SPREAD:
        means = _("the machine is not steady now (`loadstone doctor` names who takes its CPUs)")
        return SelfTestPart(name, "note", found, means)
    return SelfTestPart(name, "ok", found)


def _delay(name: str, bench: SelfTestRig, limits: SelfTestLimits) -> SelfTestPart:
    with bench.server({"delay_us": DELAY_NS / 1e3}) as endpoint:
        record = bench.drive(endpoint, Open(rate_per_s=RATE_PER_S), DELAY_S, 50)
    observed = record.operations["get"].response_ns
    limits.delay_error_ns = observed.p50 - DELAY_NS
    found = _(
        "of 1 ms: P50 {p50_us:+.0f} µs, P99 {p99_us:+.0f} µs; sent late: P99 {late_us:.0f} µs",
        p50_us=(observed.p50 - DELAY_NS) / 1e3,
        p99_us=(observed.p99 - DELAY_NS) / 1e3,
        late_us=record.schedule_lag_ns.p99 / 1e3,
    )
    if observed.p50 < DELAY_NS - DELAY_NS // 100:  # buckets of a histogram are that wide
        return SelfTestPart(name, "FAIL", found, _("shorter than it was: no latency of this machine holds"))
    if limits.delay_error_ns > DELAY_ERROR_MAX_NS:
        return SelfTestPart(name, "note", found, _("latencies here carry that much of the generator and the machine"))
    return SelfTestPart(name, "ok", found)


def _freezes(name: str, bench: SelfTestRig) -> SelfTestPart:
    """A server that stands still now and then: who forgets the requests that should have been sent reports less."""
    seconds, connections = FREEZING_S, 100
    with bench.server(FREEZING.options) as endpoint:
        observed = bench.drive(endpoint, Open(rate_per_s=RATE_PER_S), seconds, connections).operations["get"]
    truth = FREEZING.response_times_s(RATE_PER_S, seconds, connections)
    pairs = {
        "P90": (observed.response_ns.p90 / 1e9, quantile(truth, 0.9)),
        "P99": (observed.response_ns.p99 / 1e9, quantile(truth, 0.99)),
    }
    told = "; ".join(
        _("{name} {found:.0f} ms of {true:.0f} ms", name=at, found=found * 1e3, true=true * 1e3)
        for at, (found, true) in pairs.items()
    )
    if all(abs(found / true - 1) <= FREEZE_ERROR_MAX for found, true in pairs.values()):
        return SelfTestPart(name, "ok", told)
    if all(found > true for found, true in pairs.values()):
        return SelfTestPart(name, "note", told, _("the machine itself stood still beside: long latencies carry that"))
    return SelfTestPart(name, "FAIL", told, _("high percentiles of this machine do not hold"))


def _watching(name: str, bench: SelfTestRig) -> SelfTestPart:
    """Whether measuring changes what is measured: latencies with all that watches a run, and without, in turns."""
    null = NullServerProcess({})
    alone, watched, own = list[int](), list[int](), ServerCpuTime(bench.placement.server_cpus)
    try:
        endpoint = null.start(DeployContext(cpus=bench.placement.server_cpus))
        plan = bench.plan(endpoint, Open(rate_per_s=WATCHED_RATE_PER_S), WATCHED_S, 50)
        orders = ((0,),) * round(WATCHED_S / WATCHED_SLICE_S)
        rounds = RoundsOptions(slice_s=WATCHED_SLICE_S, orders=orders, rest_every_s=WATCHED_S / 4)
        for _again in range(REPEATS):
            alone.append(drive_alone(NativeDriver(), plan).operations["get"].response_ns.p99)
            with kept_to(bench.placement.lab_cpus):
                watch = MonitorTargets(
                    pids=null.pids, cpus=(*bench.placement.server_cpus, *bench.placement.generator_cpus)
                )
                with Sampler(registry.monitors(watch), lambda _: None, WATCHED_S / 4) as sampler:
                    found = _in_slices(plan, rounds, sampler, own)
            watched.append(found.operations["get"].response_ns.p99)
    finally:
        null.stop()
    told = _(
        "P99 {watched_us:.0f} µs with all that watches a run, {alone_us:.0f} µs without; loadstone ran on the server's "
        "CPU for {percent:.2f} % of the time",
        watched_us=median(watched) / 1e3,
        alone_us=median(alone) / 1e3,
        percent=100 * (own.share or 0.0),
    )
    if (own.share or 0.0) > WATCHING_SHARE_MAX:
        return SelfTestPart(name, "note", told, _("high percentiles here carry that; each is printed with its bound"))
    if median(watched) > WATCHING_TIMES * median(alone) + WATCHING_NS:
        return SelfTestPart(name, "note", told, _("the machine is not steady now, or watching disturbs it"))
    return SelfTestPart(name, "ok", told)


def _in_slices(plan: Plan, rounds: RoundsOptions, sampler: Sampler, own: ServerCpuTime) -> DriveRecord:
    """A drive as a run makes it: Python runs between slices."""

    def rest() -> None:
        own.end()
        sampler.rest()
        own.begin()

    own.begin()
    (record,) = NativeDriver().drive([plan], lambda *_: own.end(), rounds, rest)
    own.end()
    return record


def _own_server(name: str) -> SelfTestPart:
    """The Redis that is started where none is named: whether it runs here and answers."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="loadstone-self-test-") as folder:
        server = registry.make_server("redis", {"kind": "embedded"})
        try:
            server.start(DeployContext(work_root=Path(folder), log_folder=Path(folder)))
            with server.control() as control:
                control.ping()
            version = server.facts.version
        finally:
            server.stop()
    return SelfTestPart(
        name,
        "ok",
        _("redis {version} starts and ends, {time_s:.1f} s", version=version, time_s=time.monotonic() - began),
    )


def _kill(name: str) -> SelfTestPart:
    """A loadstone that is killed, with what it started."""
    with tempfile.TemporaryDirectory(prefix="loadstone-self-test-") as folder:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        with child:
            assert child.stdout is not None
            words = child.stdout.readline().split(maxsplit=2)
            child.send_signal(signal.SIGKILL)
        if len(words) != 3:
            return SelfTestPart(name, "FAIL", _("its process did not start"))
        began, pids, left = time.monotonic(), [int(word) for word in words[:2]], Path(words[2].strip())
        while time.monotonic() - began < KILL_S and (any(map(_runs, pids)) or left.exists()):
            time.sleep(0.01)
        if any(map(_runs, pids)) or left.exists():
            return SelfTestPart(
                name, "FAIL", _("its server or its folder is still there"), _("end a run by Ctrl-C only")
            )
    return SelfTestPart(name, "ok", _("of loadstone: what it started and its folder are gone"))


def _runs(pid: int) -> bool:
    if started(os.getpid()) is not None:
        return started(pid) is not None
    try:  # a system that does not say when a process started
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _machine(name: str) -> SelfTestPart:
    """What `doctor` would warn of, by name."""
    warned = [fact.name for fact in machine_facts() if fact.verdict == "warn"]
    if not warned:
        return SelfTestPart(name, "ok", _("nothing to be warned of"))
    found = plural(len(warned), "{n} warning: {names}", "{n} warnings: {names}", names=", ".join(warned))
    return SelfTestPart(name, "note", found, _("`loadstone doctor` says what helps"))


def _conclusion(limits: SelfTestLimits, *, failed: bool) -> SelfTestPart:
    if failed:
        return SelfTestPart(_("trust"), "FAIL", _("nothing that rests on what failed above"))
    found = _(
        "rates up to {rate:,.0f} a second a thread; latencies to {error_us:.0f} µs at P50; a run against another from "
        "{spread:.0%} on (in turns, less: each verdict has its interval)",
        rate=limits.capacity_per_s,
        error_us=max(limits.delay_error_ns, 0) / 1e3,
        spread=max(limits.spread_share, 0.01),
    )
    return SelfTestPart(_("trust"), "ok", found)
