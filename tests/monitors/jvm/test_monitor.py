"""A JVM's figures, out of what a Spring Boot application said at `/actuator/prometheus`."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.monitored_redis import values

from loadstone.monitors.jvm import BY_THE_CLOCK, GC_RATES, JvmMonitor, figures
from loadstone.monitors.monitor import SHORTEST_S, Monitor
from loadstone.monitors.prometheus_pages import GIVE_UP_S, WAIT_S
from loadstone.monitors.watch import MetricsPage, MonitorTargets

DATA = Path(__file__).parent / "data"
SAID = (DATA / "spring-lettuce.txt").read_text()
PAUSES = 'jvm_gc_pause_seconds_count{action="end of minor GC",cause="G1 Evacuation Pause",gc="G1 Young Generation"}'
TOLD = {
    "heap_used_bytes": 33554432 + 19441664 + 11215328,
    "gc_pause_count": 2,
    "gc_pause_s": pytest.approx(0.162),
    "gc_pause_max_s": 0.088,
    "jvm_threads": 26,
    "jvm_blocked": 0,
    "hikari_active": 0,
    "hikari_idle": 0,
    "hikari_pending": 0,
    "redis_pool_active": 1,
    "redis_pool_idle": 0,
    "redis_pool_pending": 0,
    "tomcat_busy": 1,
    "tomcat_threads": 10,
    "tomcat_connections": 2,
}


class Subject:
    """An HTTP server that says `text` with `status`, once `free` is set."""

    def __init__(self) -> None:
        self.text, self.status = SAID, 200
        self.free = threading.Event()
        self.free.set()
        self.requested = 0
        subject = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                subject.requested += 1
                subject.free.wait(60)
                self.send_response(subject.status)
                self.end_headers()
                self.wfile.write(subject.text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False
        self.url = f"http://127.0.0.1:{self.server.server_port}/actuator/prometheus"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        self.free.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def subject() -> Iterator[Subject]:
    subject = Subject()
    yield subject
    subject.stop()


def watching(subject: Subject, *, in_turns: bool = False) -> JvmMonitor:
    return JvmMonitor({"spring": MetricsPage(subject.url)}, in_turns=in_turns)


def await_answer(monitor: Monitor, part: str = "spring") -> dict[str, float]:
    """The next sample with figures; slow machines may need more than one."""
    for _ in range(200):
        observed = values(monitor, part)
        if observed["jvm_answers"]:
            return observed
        time.sleep(0.05)
    raise AssertionError("no answer")


def test_figures_of_heap_pauses_threads_and_pools_are_found() -> None:
    found = figures(SAID)
    assert {name: found[name] for name in TOLD} == TOLD
    assert set(found) == set(JvmMonitor.METRICS) - {"jvm_answers", *GC_RATES.values()}


def test_the_pool_of_jedis_is_reported_by_the_same_names() -> None:
    found = figures((DATA / "spring-jedis.txt").read_text())
    assert (found["redis_pool_active"], found["redis_pool_idle"], found["redis_pool_pending"]) == (0, 1, 0)
    assert set(found) == set(figures(SAID))


def test_a_jvm_that_never_paused_has_no_pauses() -> None:
    said = "\n".join(line for line in SAID.splitlines() if "gc_pause" not in line)
    found = figures(said)
    assert (found["gc_pause_count"], found["gc_pause_s"], found["gc_pause_max_s"]) == (0, 0, 0)


def test_what_is_not_exposed_is_left_out() -> None:
    said = "\n".join(line for line in SAID.splitlines() if "commons_pool2" not in line and "tomcat" not in line)
    assert set(figures(SAID)) - set(figures(said)) == {name for name in TOLD if name.startswith(("redis_", "tomcat_"))}
    assert figures("<html>not found</html>") == {}
    assert figures("jvm_threads_live_threads NaN\nhikaricp_connections_idle +Inf\n") == {}


def test_a_sample_has_all_of_them_and_rates_from_the_second_on(subject: Subject) -> None:
    [monitor] = JvmMonitor.watching(MonitorTargets(pages={"jvm": {"spring": MetricsPage(subject.url)}}))
    assert isinstance(monitor, JvmMonitor)
    first = await_answer(monitor)
    assert {name: first[name] for name in TOLD} == TOLD
    time.sleep(SHORTEST_S)
    await_answer(monitor)
    subject.text = SAID.replace(f"{PAUSES} 1", f"{PAUSES} 5")
    time.sleep(SHORTEST_S)
    later = await_answer(monitor)
    assert later["gc_pause_count"] == 6
    assert later["gc_pauses_per_s"] > 0
    assert later["gc_pause_share"] == 0
    assert set(later) == set(monitor.METRICS)


def test_a_subject_that_is_slow_holds_no_one_up_and_its_late_answer_counts(subject: Subject) -> None:
    subject.free.clear()
    monitor = watching(subject)
    began_s = time.monotonic()
    for _ in range(5):
        assert values(monitor, "spring") == {"jvm_answers": 0}
    assert time.monotonic() - began_s < GIVE_UP_S, f"waits once for {WAIT_S} s"
    assert subject.requested <= 1
    subject.free.set()
    assert await_answer(monitor)["jvm_threads"] == 26


def test_several_slow_replicas_are_waited_for_together_and_an_idle_one_is_reported(subject: Subject) -> None:
    quick = Subject()
    try:
        subject.free.clear()
        urls = {f"spring-{number}": subject.url for number in range(1, 9)} | {"spring-9": quick.url}
        [monitor] = JvmMonitor.watching(
            MonitorTargets(pages={"jvm": {part: MetricsPage(url) for part, url in urls.items()}})
        )
        answered = 0.0
        for _ in range(200):
            observed: dict[str, dict[str, float]] = {part: {} for part in urls}
            for sample in monitor.sample(1.0):
                observed[sample.part][sample.metric] = sample.value
            assert all(observed[f"spring-{number}"] == {"jvm_answers": 0} for number in range(1, 9))
            answered = observed["spring-9"]["jvm_answers"]
            if answered:
                break
            time.sleep(0.05)
        assert answered
        assert subject.requested <= 8, "one question at a time to each"
        subject.free.set()
        assert all(await_answer(monitor, part)["jvm_threads"] == 26 for part in urls)
    finally:
        quick.stop()


def test_a_subject_that_refuses_or_is_gone_does_not_answer(subject: Subject) -> None:
    monitor = watching(subject)
    await_answer(monitor)
    subject.status = 503
    subject.text = SAID
    assert values(monitor, "spring") == {"jvm_answers": 0}
    subject.stop()
    assert values(monitor, "spring") == {"jvm_answers": 0}


@pytest.mark.parametrize("line", ['jvm_threads_live_threads{unfinished="', 'jvm_memory_used_bytes{a="b", ="c"} 1'])
def test_an_answer_that_is_no_text_of_prometheus_is_none(subject: Subject, line: str) -> None:
    with pytest.raises(ValueError):
        figures(line)
    subject.text = line
    monitor = watching(subject)
    for _ in range(3):
        assert values(monitor, "spring") == {"jvm_answers": 0}
        time.sleep(0.05)


def test_no_proxy_of_the_environment_is_queried(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert await_answer(watching(subject))["jvm_threads"] == 26


def test_a_jvm_that_stands_still_at_times_reports_nothing_that_the_time_is_in(subject: Subject) -> None:
    steady = await_answer(watching(subject))
    at_times = await_answer(watching(subject, in_turns=True))
    assert steady.keys() - at_times.keys() >= {"gc_pause_count", "gc_pause_max_s"}
    assert not at_times.keys() & BY_THE_CLOCK
    assert at_times["jvm_threads"] == 26
