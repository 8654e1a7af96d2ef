"""Rate and CPU a request of all generators on the same loads: every generator once a round, in random order."""

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from bench.peers import own, servers
from bench.peers.generators import Peer, run_peer
from bench.peers.load import Case, Kind, Length, Target, UnreadableOutput
from bench.peers.own import OwnDriver, plan_of
from bench.peers.results import Result, Throughput

_REDIS: tuple[Kind, ...] = ("GET", "SET")
CONNECTIONS = (50, 1, 8, 500)
SIZES = (2, 100, 1_000, 10_000, 32_000, 100_000, 300_000, 1_000_000, 10_000_000, 64_000_000)
"""Bytes of a value; the least that has a stamp by which a reply is checked is 2."""
ARGUMENT_BYTES = 120_000
"""What a peer is told on its command line is no longer: Linux takes 128 KiB of one argument."""
PIPELINED_BYTES, MANY_BYTES = 10_000, 100_000
"""Larger values are not sent sixteen at a time, and not over 500 connections: they fill the memory of both sides."""


def cases_of(connections: Sequence[int]) -> tuple[Case, ...]:
    """Every load on so many connections each."""
    redis = [Case(kind, count, pipeline) for kind in _REDIS for count in connections for pipeline in (1, 16)]
    return (*redis, *(Case("HTTP", count) for count in connections))


def cases_by_size(sizes: Sequence[int], connections: Sequence[int]) -> list[tuple[Case, ...]]:
    """For each size the loads of it."""
    return [tuple(_of_size(size, connections)) for size in sizes]


def _of_size(size: int, connections: Sequence[int]) -> Iterator[Case]:
    for count in connections:
        if count > 50 and size > MANY_BYTES:
            continue
        for depth in (1, 16) if size <= PIPELINED_BYTES else (1,):
            yield Case("GET", count, depth, size)
            yield Case("SET", count, depth, size)
            yield Case("GET and SET", count, depth, size)
            if 2 < size < ARGUMENT_BYTES:
                yield Case("JSON.SET", count, depth, size)
        if size in servers.PAGES:
            yield Case("HTTP", count, value_bytes=size)
            yield Case("HTTP chunked", count, value_bytes=size)
            if servers.nginx_program() is not None:
                yield Case("HTTPS", count, value_bytes=size)


WARM_UP_S = 0.5
TIMES_A_KEY = 20
"""How often a key is written before any is read, on average: of a million keys two are not."""
READS: tuple[Kind, ...] = ("GET", "GET and SET")
WRITERS = 8
"""Connections that store what is read."""
SHARE = 0.8
"""Of the requests that loadstone makes in the time, those that a peer is to make that ends by requests."""


def measure(
    peers: Sequence[Peer],
    driver: OwnDriver,
    cpus: tuple[Sequence[int], Sequence[int]],
    rounds: Sequence[str],
    seconds: float,
    took: Callable[[Result], None],
    cases: Sequence[Case],
) -> None:
    """Measure `cases` in so many rounds. `cpus`: of the servers, and of the generators."""
    of_servers, of_generators = cpus
    with ExitStack() as held:
        targets: dict[Kind, Target] = {}
        if not all(case.of_http for case in cases):
            with_json = any(case.kind == "JSON.SET" for case in cases)
            redis = held.enter_context(servers.redis(of_servers, with_json=with_json))
            targets |= {"GET": redis, "SET": redis, "GET and SET": redis, "JSON.SET": redis}
        if any(case.of_http for case in cases):
            targets |= held.enter_context(servers.service(of_servers))
        for case in _writes_of(cases):
            _store(case, targets[case.kind], peers, driver, of_generators)
        rates = {case: _rate(case, targets[case.kind], driver, of_generators) for case in cases}
        for number in rounds:
            for case in random.sample(cases, len(cases)):
                requests = int(SHARE * seconds * rates[case])
                length = Length(seconds, max(2 * case.connections * case.pipeline, requests))
                _round(case, targets[case.kind], length, peers, driver, of_generators, number, took)


def _writes_of(cases: Iterable[Case]) -> set[Case]:
    """What stores the values that these cases read; a key that is not there is answered fast and with nothing."""
    return {replace(case, kind="SET", connections=WRITERS, pipeline=1) for case in cases if case.kind in READS}


def _store(case: Case, target: Target, peers: Sequence[Peer], driver: OwnDriver, cpus: Sequence[int]) -> None:
    """Every generator writes until each of its keys is there."""
    rate = _rate(case, target, driver, cpus)
    least = TIMES_A_KEY * case.keys
    driver.drive(plan_of(case, target, cpus, max(WARM_UP_S, least / rate)), may_time_out=True)
    for peer in _of(case, peers):
        length = Length(max(1, least / rate), least)
        run_peer(peer, peer.command(peer.path or "", case, target, length), cpus, length.seconds)


def _rate(case: Case, target: Target, driver: OwnDriver, cpus: Sequence[int]) -> float:
    """Loadstone's, of a short run."""
    driven = driver.drive(plan_of(case, target, cpus, WARM_UP_S), may_time_out=True)
    return max(driven.reading.rate_per_s, 1 / WARM_UP_S)  # of the largest values not one is done by then


def _of(case: Case, peers: Sequence[Peer]) -> list[Peer]:
    return [peer for peer in peers if case.kind in peer.kinds]


def _round(
    case: Case,
    target: Target,
    length: Length,
    peers: Sequence[Peer],
    driver: OwnDriver,
    cpus: Sequence[int],
    number: str,
    took: Callable[[Result], None],
) -> None:
    """Every generator once, in random order."""
    everyone: list[Peer | None] = [None, *_of(case, peers)]
    for peer in random.sample(everyone, len(everyone)):
        if peer is None:
            driven = driver.drive(plan_of(case, target, cpus, length.seconds), may_time_out=True)
            name, rate, cpu_us, awake_us = own.NAME, driven.reading.rate_per_s, driven.cpu_us, driven.awake_us
            timeouts = driven.timeouts
        else:
            command = peer.command(peer.path or "", case, target, length)
            try:
                done, reading = run_peer(peer, command, cpus, length.seconds)
            except UnreadableOutput as error:
                print(f"{case}: a round without {peer.name}: {error}", file=sys.stderr)
                continue
            name, rate, cpu_us, awake_us = peer.name, reading.rate_per_s, 1e6 * done.cpu_s / reading.requests, 0.0
            timeouts = 0
        took(Throughput(
            name, case.kind, case.connections, case.pipeline, number, rate, cpu_us, awake_us, case.value_bytes,
            timeouts,
        ))  # fmt: skip
