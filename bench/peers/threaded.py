"""Two threads on two CPUs, beside a server that its line limits and not its CPU.

A server that works on each request gives way before two threads do: they, and the server, have two CPUs together. This
one sleeps: each reply leaves 2 ms after its request came in the mean, however many are pending, as behind a line. So
the rate is that of the connections, at most one each 2 ms, and what differs is what a request costs with one thread and
with two, which share nothing, and which CPUs are free for. The times are random: with one and the same time the
connections come in waves, and who answers a wave at once meets a server that is still busy with sending it.
"""

import random
from collections.abc import Callable, Sequence

from bench.peers import own, servers
from bench.peers.generators import Peer, run_peer
from bench.peers.load import Case, Length
from bench.peers.own import OwnDriver, plan_of
from bench.peers.results import Result, Threads

DELAY_S = 0.002
CONNECTIONS = (40, 100)
THREADED = ("redis-benchmark", "valkey-benchmark")
"""Those whose `--threads` says how many."""
SHARE = 0.9
"""Of the requests that the line lets through, those that are to be made by who ends by requests."""


def measure(peers: Sequence[Peer], cpus: Sequence[int], took: Callable[[Result], None], seconds: float) -> None:
    """Every generator with one thread and with two, in random order. `cpus`: of the server and the generators."""
    others = {peer.name: peer for peer in peers if peer.name in THREADED}
    delayed = servers.null_server(
        cpus, {**servers.REPLIES, "queue": {"servers": max(CONNECTIONS), "service_us": 1e6 * DELAY_S}}
    )
    with OwnDriver(cpus) as driver, delayed as target:
        for connections in CONNECTIONS:
            case = Case("GET", connections)
            length = Length(seconds, int(SHARE * seconds * connections / DELAY_S))
            turns = [(name, threads) for name in (own.NAME, *others) for threads in (1, 2)]
            for name, threads in random.sample(turns, len(turns)):
                of_generator = cpus[-threads:]
                if name in others:
                    peer = others[name]
                    command = [*peer.command(peer.path or "", case, target, length), "--threads", str(threads)]
                    done, reading = run_peer(peer, command, of_generator, seconds)
                    cpu_us = 1e6 * done.cpu_s / reading.requests
                else:
                    plan = plan_of(case, target, of_generator, seconds)
                    plan = plan.model_copy(update={"threads": threads, "cpus": tuple(of_generator)})
                    driven = driver.drive(plan)
                    reading, cpu_us = driven.reading, driven.cpu_us
                took(Threads(name, threads, connections, reading.rate_per_s, cpu_us, reading.p50_ms))
