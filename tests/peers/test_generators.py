"""What each generator prints is read right: on what they printed once, and on a short run of each that is installed."""

import importlib
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples" / "peers"
CPUS: tuple[int, ...] = ()
READ = {
    "redis-benchmark": (2000, 10695.19, 0.031, 4.079, 11.479),
    "memtier_benchmark": (11824, 11685.55, 0.031, 4.063, 11.263),
    "wrk": (23419, 22879.28, 0.017, 9.977, 12.805),
    "hey": (20, 18.74, 0.3, 8.2, 8.2),
    "k6": (14244, 14242.85, 0.077669, 1.180889, 5.733643),
}
"""Of each recorded output: requests, rate, P50, P99 and P99.9 in ms."""
NAMES = ("redis-benchmark", "valkey-benchmark", "memtier_benchmark", "wrk", "oha", "hey", "k6")


def module(name: str) -> Any:
    return importlib.import_module(f"bench.peers.{name}")


def peer(name: str) -> Any:
    return next(one for one in module("generators").PEERS if one.name == name)


@pytest.mark.parametrize("name", READ)
def test_what_it_printed_once_is_read(name: str) -> None:
    reading = peer(name).read((EXAMPLES / f"{name}.txt").read_text())
    requests, rate, p50, p99, p999 = READ[name]
    assert reading.requests == requests
    assert reading.rate_per_s == pytest.approx(rate, rel=1e-3)
    assert (reading.p50_ms, reading.p99_ms, reading.p999_ms) == pytest.approx((p50, p99, p999), rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_other_output_is_refused(name: str) -> None:
    with pytest.raises(module("load").UnreadableOutput, match=name):
        peer(name).read("usage: something else\n")


def test_a_rate_that_no_run_can_have_is_refused() -> None:
    printed = (EXAMPLES / "memtier_benchmark.txt").read_text()
    with pytest.raises(module("load").UnreadableOutput, match=r"says 11824 requests, 1.182e\+07 a second"):
        peer("memtier_benchmark").read(printed.replace("11685.55", "11824000.0"))


@pytest.mark.parametrize("name", NAMES)
def test_a_short_run_of_each_that_is_installed(name: str) -> None:
    one = peer(name)
    if one.path is None:
        pytest.skip(f"{name} is not installed")
    load, servers, generators = module("load"), module("servers"), module("generators")
    case = load.Case(one.kinds[0], 2)
    http = case.kind == "HTTP"
    with servers.null_server(CPUS, {"protocol": "http1" if http else "resp", "body_bytes": 100}) as target:
        length = load.Length(1.0, 2000)
        child, reading = generators.run_peer(one, one.command(one.path, case, target, length), CPUS, 1)
        assert reading.requests >= 100
        assert child.cpu_s > 0
        assert reading.rate_per_s > 100
        for paced in one.paced.values():
            command = paced(one.path, case, target, length, 200)
            slow = generators.run_peer(one, command, CPUS, 1)[1]
            assert 50 < slow.requests < 1000
    assert one.version_text() or name == "hey", "hey prints no version"


def test_loadstone_is_measured_as_a_process_of_its_own() -> None:
    load, own, servers = module("load"), module("own"), module("servers")
    with servers.null_server(CPUS, servers.REPLIES) as target, own.OwnDriver(CPUS) as driver:
        done = driver.drive(own.plan_of(load.Case("GET", 2), target, CPUS, 0.3))
    assert done.reading.requests > 100
    assert done.cpu_s > 0
    assert done.memory_kib > 10_000
    assert driver.start_cpu_s > 0


def test_requests_that_time_out_are_counted_where_they_may() -> None:
    load, own, servers = module("load"), module("own"), module("servers")
    slow = {**servers.REPLIES, "delay_us": 100_000}
    with servers.null_server(CPUS, slow) as target, own.OwnDriver(CPUS) as driver:
        plan = own.plan_of(load.Case("GET", 2), target, CPUS, 0.3)
        impatient = plan.model_copy(update={"timeouts": own.Timeouts(request_ms=20, gone_s=10)})
        done = driver.drive(impatient, may_time_out=True)
        assert done.timeouts > 0
        assert done.timeouts == done.record.total.sent
        with pytest.raises(ValueError, match="timeouts="):
            driver.drive(impatient)


def test_a_child_that_fails_and_its_cpu_time() -> None:
    child = module("child")
    done = child.run_child(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i"], CPUS, 10)
    assert done.text == "20000\n"
    assert done.cpu_s > 0
    with pytest.raises(child.subprocess.CalledProcessError):
        child.run_child(["sh", "-c", "exit 3"], CPUS, 1)


def test_a_get_of_keys_that_are_not_there_is_no_figure() -> None:
    load, servers, own = module("load"), module("servers"), module("own")
    get, put = (load.Case(kind, 2, value_bytes=1000) for kind in ("GET", "SET"))
    with servers.redis(CPUS) as target, own.OwnDriver(CPUS) as driver:
        with pytest.raises(ValueError, match=r"a GET of 1,000 bytes brought 5: store the keys first"):
            driver.drive(own.plan_of(get, target, CPUS, 0.2))
        driver.drive(own.plan_of(put, target, CPUS, 1.0))
        assert driver.drive(own.plan_of(get, target, CPUS, 0.2)).reading.requests > 100
