"""Live figures, as a real Prometheus sees them."""

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from prometheus_client.parser import text_string_to_metric_families
from tests.contract.test_metrics import MONITORS

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import AgentInterval, AgentState, Interval, IntervalOperation, Latency, Phase
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.judge.verdict import CpuCost
from loadstone.measure.sampler import Sampler
from loadstone.monitors.host.processes import ProcessMonitor
from loadstone.monitors.monitor import Sample
from loadstone.report.live import prometheus
from loadstone.report.live.prometheus import MONITORED_COUNTERS, NOT_EXPOSED, SERIES, STALE_S, LiveExporter
from loadstone.safety.errors import UserError
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana-dashboard.json"
SHOWN = ("mariadb_", "postgresql_", "jvm_", "pool_", "tomcat_")
TOLD = {metric for monitor in MONITORS for metric in monitor.METRICS}
TIMES_NS = (1_000_000, 2_500_000, 2_500_000, 40_000_000)


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def exporter(clock: Clock) -> Iterator[LiveExporter]:
    with LiveExporter(0, clock) as exporter:
        yield exporter


def interval(
    phase: Phase = "measure", ok: int = 4, errors: dict[str, int] | None = None, duration_s: float = 2.0
) -> Interval:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in TIMES_NS:
        histogram.record_value(value)
    mean = sum(TIMES_NS) / len(TIMES_NS)
    latency = Latency(count=4, min=10**6, mean=mean, p50=0, p90=0, p95=0, p99=0, p999=0, max=4 * 10**7)
    text = histogram.encode().decode()
    operation = IntervalOperation(
        offered=10, sent=9, ok=ok, errors=errors or {}, timeouts=2, dropped=1, response_ns=latency,
        response_histogram=text, service_histogram=text,
    )  # fmt: skip
    return Interval(
        index=0, phase=phase, start_s=0, duration_s=duration_s, start_unix_ns=0, operations={"get": operation},
        bytes_sent=100, bytes_received=200, connections=50, users=60, backlog=3, cpu_s=[0.5],
    )  # fmt: skip


def of_an_agent() -> Interval:
    own = AgentInterval(name="gen-1", duration_s=2.0, offered=10, ok=8, errors=2, p99_ns=1, cpu_s=0.5, late_s=0.1)
    return interval().model_copy(update={"agents": (own,)})


def everything() -> list[Sample]:
    """A sample of each metric of each monitor."""
    return [
        Sample(1.0, monitor.__name__.removesuffix("Monitor").lower(), metric, 8.0)
        for monitor in MONITORS
        for metric in monitor.METRICS
    ]


def scraped(exporter: LiveExporter) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    with urllib.request.urlopen(exporter.url, timeout=10) as reply:
        text = reply.read().decode()
    return {
        (figure.name, frozenset(figure.labels.items())): figure.value
        for family in text_string_to_metric_families(text)
        for figure in family.samples
    }


def figure(exporter: LiveExporter, name: str, **labels: str) -> float | None:
    return scraped(exporter).get((f"loadstone_{name}", frozenset(labels.items())))


def test_counts_add_up_over_the_intervals_by_outcome(exporter: LiveExporter) -> None:
    exporter.observe(interval(ok=4, errors={"wrong_reply": 1}))
    exporter.observe(interval(ok=3))
    observed = scraped(exporter)

    def requests(outcome: str) -> float:
        return observed[("loadstone_requests_total", frozenset({("operation", "get"), ("outcome", outcome)}))]

    assert (requests("ok"), requests("wrong_reply"), requests("timeout")) == (7, 1, 4)
    assert observed[("loadstone_offered_total", frozenset({("operation", "get")}))] == 20
    assert observed[("loadstone_dropped_total", frozenset({("operation", "get")}))] == 2
    assert observed[("loadstone_sent_bytes_total", frozenset())] == 200
    assert observed[("loadstone_received_bytes_total", frozenset())] == 400


def test_each_agent_of_a_fleet_is_told_with_its_condition_and_whether_it_is_there(exporter: LiveExporter) -> None:
    exporter.observe(of_an_agent(), "string")
    exporter.observe(of_an_agent(), "hash")
    exporter.agents([AgentState(name="gen-1", state="silent"), AgentState(name="gen-2", state="lost", why="gone")])
    assert figure(exporter, "agent_requests_total", agent="gen-1", condition="hash", outcome="error") == 2
    assert figure(exporter, "agent_goodput_per_second", agent="gen-1", condition="string") == 4
    assert figure(exporter, "agent_offered_per_second", agent="gen-1", condition="string") == 5
    assert figure(exporter, "agent_cpus", agent="gen-1", condition="string") == 0.25
    assert figure(exporter, "agent_behind_seconds", agent="gen-1", condition="string") == 0.1
    assert (figure(exporter, "agent_up", agent="gen-1"), figure(exporter, "agent_up", agent="gen-2")) == (1, 0)


def test_gauges_are_those_of_the_last_interval(exporter: LiveExporter) -> None:
    exporter.observe(interval("warm_up", duration_s=1.0))
    exporter.observe(interval("measure", ok=3))
    assert figure(exporter, "offered_per_second", operation="get") == 5
    assert figure(exporter, "goodput_per_second", operation="get") == 1.5
    assert figure(exporter, "connections") == 50
    assert figure(exporter, "users") == 60
    assert figure(exporter, "backlog") == 3
    assert figure(exporter, "phase", phase="measure") == 1
    assert figure(exporter, "phase", phase="warm_up") == 0


def test_response_times_lie_in_their_buckets(exporter: LiveExporter) -> None:
    exporter.observe(interval())
    exporter.observe(interval())

    def below(bound: str) -> float | None:
        return figure(exporter, "response_seconds_bucket", operation="get", le=bound)

    bounds = ("0.0007", "0.0015", "0.002", "0.003", "0.03", "0.05", "100.0", "+Inf")
    assert [below(bound) for bound in bounds] == [0, 2, 2, 6, 6, 8, 8, 8]
    assert figure(exporter, "response_seconds_count", operation="get") == 8
    assert figure(exporter, "response_seconds_sum", operation="get") == pytest.approx(2 * sum(TIMES_NS) / 1e9)


def test_samples_are_reported_in_base_units_by_part(exporter: LiveExporter) -> None:
    exporter.sample(
        [
            Sample(1.0, "redis", "cpu_s", 12.5),
            Sample(1.0, "redis", "cpu_share", 0.5),
            Sample(1.0, "redis", "latest_fork_usec", 300.0),
            Sample(1.0, "host", "us", 25.0),
            Sample(1.0, "host", "free", 3.0),
            Sample(1.0, "host", "not known here", 1.0),
        ]
    )
    assert figure(exporter, "process_cpu_seconds_total", part="redis") == 12.5
    assert figure(exporter, "process_cpu_cores", part="redis") == 0.5
    assert figure(exporter, "redis_latest_fork_seconds", part="redis") == pytest.approx(0.0003)
    assert figure(exporter, "host_cpu_ratio", part="host", mode="user") == 0.25
    assert figure(exporter, "host_memory_bytes", part="host", kind="free") == 3072
    assert "not known" not in str(scraped(exporter))


def test_gauges_of_what_is_over_are_left_out_and_counters_stay(exporter: LiveExporter, clock: Clock) -> None:
    exporter.observe(interval())
    exporter.sample([Sample(1.0, "redis", "cpu_s", 12.5), Sample(1.0, "redis", "cpu_share", 0.5)])
    clock.now_s += STALE_S + 1
    names = {name for name, _ in scraped(exporter)}
    assert not names & {"loadstone_connections", "loadstone_process_cpu_cores"}
    assert {"loadstone_process_cpu_seconds_total", "loadstone_requests_total"} <= names


def test_what_a_request_costs_each_part_is_told_by_condition_and_stays(exporter: LiveExporter, clock: Clock) -> None:
    exporter.cost("get", {"redis": CpuCost(ns=6_000)})
    exporter.cost("set, 16 users", {"redis": CpuCost(ns=8_000, low_ns=7_500, high_ns=8_500), "app": CpuCost(ns=9e4)})
    exporter.cost("get", {"redis": CpuCost(ns=5_000)})
    clock.now_s += STALE_S + 1

    def told(name: str, condition: str, part: str = "redis") -> float | None:
        return figure(exporter, f"request_cpu_{name}", condition=condition, part=part)

    assert told("seconds", "get") == pytest.approx(5e-6), "over all trials so far"
    assert told("low_seconds", "get") is None
    names = ("seconds", "low_seconds", "high_seconds")
    assert [told(name, "set, 16 users") for name in names] == pytest.approx([8e-6, 7.5e-6, 8.5e-6])
    assert told("seconds", "set, 16 users", "app") == pytest.approx(9e-5)


def test_names_stand_for_metrics_that_monitors_tell_and_follow_the_conventions() -> None:
    assert set(SERIES) <= TOLD
    for series in SERIES.values():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", series.name)
        assert not series.name.endswith("_total")
    helps = {(series.name, series.help) for series in SERIES.values()}
    assert len(helps) == len({series.name for series in SERIES.values()}), "one help for each name"
    kinds = {
        (series.name, tuple(label for label, _ in series.labels), metric in MONITORED_COUNTERS)
        for metric, series in SERIES.items()
    }
    assert len(kinds) == len(helps), "the same labels for all of a name"
    ours = {*prometheus.COUNTERS, *prometheus.GAUGES, *prometheus.COSTS}
    assert not {series.name for series in SERIES.values()} & ours


def test_every_metric_is_exposed_or_stands_elsewhere() -> None:
    assert set(SERIES) | set(NOT_EXPOSED) == TOLD
    assert not set(SERIES) & set(NOT_EXPOSED)
    names = {series.name + ("_total" if metric in MONITORED_COUNTERS else "") for metric, series in SERIES.items()}
    for why in NOT_EXPOSED.values():
        assert why.endswith("environment.json") or names & set(re.findall(r"[a-z_]+", why)), why


def test_everything_that_monitors_tell_is_scraped(exporter: LiveExporter) -> None:
    exporter.sample(everything())
    observed = {name.removesuffix("_total") for name, _ in scraped(exporter)}
    assert {f"loadstone_{series.name}" for series in SERIES.values()} <= observed


def test_a_port_that_is_taken_is_one_line(exporter: LiveExporter) -> None:
    with pytest.raises(UserError) as raised:
        LiveExporter(exporter.port)
    said = str(raised.value)
    assert said.startswith(f"--prometheus: cannot listen on port {exporter.port} (")
    assert "\n" not in said
    with pytest.raises(UserError, match="port 70000"):
        LiveExporter(70000)


def test_the_port_is_free_again_after_the_run() -> None:
    with LiveExporter(0) as exporter:
        port = exporter.port
        exporter.close()
    with LiveExporter(port) as again:
        assert again.port == port


@pytest.mark.fault("another user reaches a server that loadstone started")
def test_only_this_machine_may_ask(exporter: LiveExporter) -> None:
    assert exporter._server.server_address[0] == "127.0.0.1"


def queries() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_the_dashboard_names_only_figures_and_labels_that_exist(exporter: LiveExporter) -> None:
    exporter.observe(of_an_agent(), "get")
    exporter.sample(everything())
    exporter.cost("get", {"redis": CpuCost(ns=6_000)})
    labels: dict[str, set[str]] = {}
    for name, pairs in scraped(exporter):
        labels.setdefault(name, set()).update(label for label, _ in pairs)
    found = queries()
    assert len(found) > 20
    for query in found:
        named = set(re.findall(r"loadstone_\w+", query))
        assert named
        assert named <= set(labels), query
        for group in re.findall(r"by \(([^)]*)\)", query):
            assert all(set(group.split(", ")) <= labels[name] for name in named), query
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            [name, *_] = re.findall(r"loadstone_\w+", target["expr"])
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels[name], target


def test_the_dashboard_shows_all_of_the_databases_of_the_jvm_and_of_the_pools() -> None:
    required = {name for series in SERIES.values() if (name := series.name).startswith(SHOWN)}
    shown = {name.removesuffix("_total") for query in queries() for name in re.findall(r"loadstone_(\w+)", query)}
    assert len(required) > 15
    assert required <= shown


def test_no_two_panels_of_the_dashboard_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (at["x"] + right, at["y"] + down)
        for at in (panel["gridPos"] for panel in panels)
        for right in range(at["w"])
        for down in range(at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_a_real_drive_is_reported_to_the_last_operation(exporter: LiveExporter, tmp_path: Path) -> None:
    example = json.loads((Path(__file__).parents[2] / "examples" / "plan" / "closed.json").read_text())
    server = EmbeddedSettings(modules=("json",)).server("redis")
    endpoint = server.start(DeployContext(work_root=tmp_path))
    try:
        phases = {"ramp_up_s": 0.0, "warm_up_s": 0.2, "measure_s": 0.6, "drain_s": 1.0}
        reported = {**example, "phases": phases, "interval_s": 0.2, "start_at_unix_ns": None}
        plan = Plan.model_validate(reported).model_copy(update={"endpoints": (endpoint,)})
        with Sampler([ProcessMonitor("redis", pid) for pid in server.pids.values()], exporter.sample, 0.3) as sampler:
            drive = drive_alone(NativeDriver(), plan, exporter.observe, sampler.rest)
    finally:
        server.stop()
    observed = scraped(exporter)

    def total(name: str, **labels: str) -> float:
        return sum(
            value for (said, has), value in observed.items() if said == name and labels.items() <= dict(has).items()
        )

    assert drive.total.ok > 0
    assert total("loadstone_requests_total", outcome="ok") == drive.total.ok
    assert total("loadstone_requests_total", outcome="timeout") == drive.total.timeouts
    assert total("loadstone_offered_total") == drive.total.offered
    in_histogram = total("loadstone_response_seconds_bucket", le="+Inf")
    assert in_histogram == total("loadstone_response_seconds_count")
    assert sum(observed.window_ok for observed in drive.operations.values()) <= in_histogram <= drive.total.ok
    assert total("loadstone_process_cpu_seconds_total", part="redis") > 0


class Prometheus:
    """A real Prometheus that scrapes one exporter each second."""

    READY_S = 60.0
    TRIES = 5

    def __init__(self, folder: Path, exporter: LiveExporter) -> None:
        self._folder = folder
        job = {"job_name": "loadstone", "static_configs": [{"targets": [f"127.0.0.1:{exporter.port}"]}]}
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]}
        (folder / "prometheus.yml").write_text(json.dumps(config))
        for _ in range(self.TRIES):  # another process may take the port before it does
            self._start()
            if self._is_ready():
                return
            self.stop()
        raise AssertionError(f"prometheus does not start: {(folder / 'log').read_text()[-2000:]}")

    def _start(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{address}"
        flags = [f"--web.listen-address={address}", f"--storage.tsdb.path={self._folder / 'data'}"]
        with (self._folder / "log").open("wb") as log:
            command = ["prometheus", *flags, f"--config.file={self._folder / 'prometheus.yml'}"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def _is_ready(self) -> bool:
        end_s = time.monotonic() + self.READY_S
        while self.process.poll() is None and time.monotonic() < end_s:
            try:
                with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                    return True
            except OSError:
                time.sleep(0.1)
        return False

    def ask(self, query: str) -> list[dict[str, Any]]:
        url = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(url, timeout=30) as reply:
            said = json.load(reply)
        assert said["status"] == "success"
        return list(said["data"]["result"])

    def await_answer(self, query: str) -> list[dict[str, Any]]:
        """The answer, as soon as there is one: on a busy machine a scrape may fail, and the next one comes."""
        end_s = time.monotonic() + self.READY_S
        while time.monotonic() < end_s:
            assert self.process.poll() is None, "prometheus ended"
            try:
                found = self.ask(query)
            except OSError:
                found = []
            if found:
                return found
            time.sleep(0.2)
        raise AssertionError(f"no answer to {query}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus here")
def test_a_real_prometheus_scrapes_it_and_answers_the_dashboard(exporter: LiveExporter, tmp_path: Path) -> None:
    exporter.observe(of_an_agent(), "get")
    exporter.sample(everything())
    exporter.cost("get", {"redis": CpuCost(ns=6_000)})
    server = Prometheus(tmp_path, exporter)
    try:
        server.await_answer('loadstone_requests_total{operation="get",outcome="ok"} == 4')
        for _ in range(3):
            exporter.observe(interval(ok=4))
        server.await_answer('loadstone_requests_total{outcome="ok"} == 16')
        [kind] = server.await_answer("loadstone_host_cpu_ratio{mode='idle',part='host'}")
        assert float(kind["value"][1]) == pytest.approx(0.08)
        [quantile] = server.await_answer(
            "histogram_quantile(0.5, sum by (le) (rate(loadstone_response_seconds_bucket[10m]))) > 0"
        )
        assert 0.001 <= float(quantile["value"][1]) <= 0.003
        for query in queries():
            assert server.await_answer(query.replace("$__rate_interval", "10m"))
    finally:
        server.stop()
