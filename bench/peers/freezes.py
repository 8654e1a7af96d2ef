"""What generators report of a server whose response times are known: 1 ms, and 1 s of every 10 s it answers nothing.

1,000 requests a second over 10 connections for a minute. The truth counts from the time at which a request was to be
sent, and follows from the server's rule (`FreezingServer`); the quantiles are those that each one prints.
The server records when its replies left: of loadstone, which says when it began, the same follows from that record.
"""

from collections.abc import Callable, Sequence

from bench.engine import stalls
from bench.peers.generators import Peer, run_peer
from bench.peers.load import Case, Length, Reading
from bench.peers.own import NAME, OwnDriver, plan_of
from bench.peers.results import Quantiles, Result
from bench.peers.servers import SERVICE_S, Freezing
from loadstone.experiment.plan.drive_plan import Open

RATE_PER_S, CONNECTIONS, SECONDS = stalls.RATE_PER_S, 10, 60.0
FULL_SPEED_PER_S = 0.9 * CONNECTIONS / SERVICE_S
"""What 10 connections do that wait 1 ms each, but for the freezes: a generator that ends by requests takes as long."""
SHARES = (0.5, 0.99, 0.999)
WARM_UP_S = 1.0


def truth_ms(seconds: float = SECONDS) -> list[float]:
    """P50, P99 and P99.9 by the server's rule."""
    times_s = stalls.SERVER.response_times_s(RATE_PER_S, seconds, CONNECTIONS)
    return [1e3 * stalls.quantile(times_s, share) for share in SHARES]


def measure(
    peers: Sequence[Peer],
    driver: OwnDriver,
    cpus: tuple[Sequence[int], Sequence[int]],
    took: Callable[[Result], None],
    seconds: float = SECONDS,
    *,
    own: bool = True,
) -> None:
    """Every generator once for each of its ways to keep a rate; at full speed where it has none.

    `own`: loadstone as well, over both protocols.
    """
    of_servers, of_generators = cpus
    for kind, protocol in (("GET", "Redis"), ("HTTP", "HTTP")) if own else ():
        with Freezing(of_servers, http=kind == "HTTP") as server:
            plan = plan_of(
                Case(kind, CONNECTIONS), server.target, of_generators, seconds, Open(rate_per_s=RATE_PER_S), WARM_UP_S
            )
            driven = driver.drive(plan)
        recorded_ms = recorded(server.left_unix_ns, driven.record.started_unix_ns, seconds)
        took(_result(NAME, "--rate 1000", protocol, driven.reading, recorded_ms))
    for peer in peers:
        case = Case(peer.kinds[0], CONNECTIONS)
        http = case.kind == "HTTP"
        length = Length(seconds, int(FULL_SPEED_PER_S * seconds))
        for options, paced in peer.paced.items() or (("no rate", None),):
            with Freezing(of_servers, http=http) as server:
                path = peer.path or ""
                plain = peer.command(path, case, server.target, length)
                command = plain if paced is None else paced(path, case, server.target, length, RATE_PER_S)
                reading = run_peer(peer, command, of_generators, seconds)[1]
            took(_result(peer.name, options, "HTTP" if http else "Redis", reading))


def recorded(left_unix_ns: Sequence[int], started_unix_ns: int, seconds: float) -> list[float]:
    """P50, P99 and P99.9 in ms by the server's own record: when each reply left, less when its request was intended.

    Requests go out in the order in which they were intended, so that replies leave in it.
    """
    first, last = (int(RATE_PER_S * s) for s in (WARM_UP_S, WARM_UP_S + seconds))
    times_ms = sorted(
        (left_ns - started_unix_ns) / 1e6 - 1e3 * number / RATE_PER_S
        for number, left_ns in enumerate(left_unix_ns[:last])
        if number >= first
    )
    return [stalls.quantile(times_ms, share) for share in SHARES]


def _result(
    name: str, options: str, protocol: str, reading: Reading, recorded_ms: list[float] | None = None
) -> Quantiles:
    rate, times = reading.rate_per_s, (reading.p50_ms, reading.p99_ms, reading.p999_ms)
    return Quantiles(name, options, protocol, rate, *times, recorded_ms)
