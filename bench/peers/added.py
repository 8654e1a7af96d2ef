"""What generators add to a response time: one connection, and a server that works for a known time on each request.

What a generator reports beyond that is the way there and back, the server's wake-up, and its own.
"""

import random
from collections.abc import Callable, Sequence

from bench.peers import own, servers
from bench.peers.generators import Peer, run_peer
from bench.peers.load import Case, Length
from bench.peers.own import OwnDriver, plan_of
from bench.peers.results import Added, Result
from loadstone.experiment.plan.drive_plan import SPIN_US, Closed

SERVICES_US = (1.0, 100.0)
SPINS_US = {f"{own.NAME}, awake": SPIN_US, f"{own.NAME}, asleep": 0.0}
CASE = Case("GET", 1)
EXPECTED_PER_S = 10_000
"""About what one connection does, for who ends by requests."""


def measure(
    peers: Sequence[Peer],
    driver: OwnDriver,
    cpus: tuple[Sequence[int], Sequence[int]],
    took: Callable[[Result], None],
    seconds: float,
) -> None:
    """Every generator of Redis' protocol once for each service time, in random order."""
    of_servers, of_generators = cpus
    others = {peer.name: peer for peer in peers if "GET" in peer.kinds}
    for service_us in SERVICES_US:
        with servers.null_server(of_servers, {**servers.REPLIES, "busy_us": service_us}) as target:
            length = Length(seconds, max(1000, int(seconds * EXPECTED_PER_S)))
            for name in random.sample([*SPINS_US, *others], len(SPINS_US) + len(others)):
                if name in others:
                    peer = others[name]
                    reading = run_peer(
                        peer, peer.command(peer.path or "", CASE, target, length), of_generators, seconds
                    )[1]
                else:
                    model = Closed(users=1, spin_us=SPINS_US[name])
                    reading = driver.drive(plan_of(CASE, target, of_generators, seconds, model)).reading
                if reading.p50_ms is not None:
                    took(Added(name, service_us, 1e3 * reading.p50_ms))
