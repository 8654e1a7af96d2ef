"""How late loadstone itself sends: many users who think, and a rate with and without `--precise`. On one thread."""

from collections.abc import Callable, Sequence

from bench.peers import servers
from bench.peers.load import Case
from bench.peers.own import Driven, OwnDriver, plan_of
from bench.peers.results import Delay, Result, Users
from loadstone.experiment.plan.drive_plan import SPIN_US, Closed, Open

USERS, FEW_USERS, THINK_MS, OFFERED_PER_S = 10_000, 100, 200.0, 50_000.0
RATE_PER_S, CONNECTIONS = 20_000.0, 50
WARM_UP_S = 1.0
SPINS_US = {"default": 0.0, "--precise": SPIN_US}


def users(
    cpus: tuple[Sequence[int], Sequence[int]],
    took: Callable[[Result], None],
    seconds: float,
    pools: Sequence[int] = (CONNECTIONS, USERS),
) -> None:
    """10,000 users who think 200 ms on average, on a pool that they share and with a connection each.

    Times to think are exponential: with a constant one, users whom a hiccup brought together would stay together, and
    come back every 200 ms as a burst above what any thread does.

    Memory is the difference of two processes that drove few users and many, for each user more.
    """
    for connections in pools:
        few, many = (_driven(cpus, count, min(count, connections), seconds) for count in (FEW_USERS, USERS))
        user_bytes = 1024 * (many.memory_kib - few.memory_kib) / (USERS - FEW_USERS)
        lag = many.record.schedule_lag_ns
        rate = many.reading.rate_per_s
        took(Users(USERS, connections, OFFERED_PER_S, rate, lag.p50 / 1e3, lag.p99 / 1e3, many.cpu_us, user_bytes))


def _driven(cpus: tuple[Sequence[int], Sequence[int]], count: int, connections: int, seconds: float) -> Driven:
    of_servers, of_generators = cpus
    model = Closed(users=count, think_time_ms=THINK_MS, think_time="exponential")
    with servers.null_server(of_servers, servers.REPLIES) as target, OwnDriver(of_generators) as driver:
        plan = plan_of(Case("GET", connections), target, of_generators, seconds, model, WARM_UP_S, THINK_MS / 1e3)
        return driver.drive(plan)


def delays(
    driver: OwnDriver,
    cpus: tuple[Sequence[int], Sequence[int]],
    took: Callable[[Result], None],
    seconds: float,
) -> None:
    """GET at 20,000 a second over 50 connections, on a real Redis, by default and with `--precise`."""
    of_servers, of_generators = cpus
    with servers.redis(of_servers) as target:
        case = Case("GET", CONNECTIONS)
        driver.drive(plan_of(Case("SET", CONNECTIONS), target, of_generators, 0.5))
        for mode, spin_us in SPINS_US.items():
            model = Open(rate_per_s=RATE_PER_S, spin_us=spin_us)
            driven = driver.drive(plan_of(case, target, of_generators, seconds, model, WARM_UP_S))
            lag = driven.record.schedule_lag_ns
            took(Delay(mode, driven.reading.rate_per_s, CONNECTIONS, lag.p50 / 1e3, lag.p99 / 1e3, driven.cpu_us))
