"""Figures of Node processes, out of what they said at `/metrics`."""

import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from loadstone.monitors.monitor import SHORTEST_S
from loadstone.monitors.node import BY_THE_CLOCK, NodeMonitor, figures
from loadstone.monitors.watch import MetricsPage, MonitorTargets

SAID = """
# TYPE http_requests_total counter
http_requests_total{method="GET",route="/raffles",status="200"} 7
cache_gets_total{result="hit"} 5
cache_gets_total{result="miss"} 2
nodejs_gc_duration_seconds_bucket{le="0.001",kind="minor"} 3
nodejs_gc_duration_seconds_sum{kind="minor"} 0.25
nodejs_gc_duration_seconds_count{kind="minor"} 3
nodejs_gc_duration_seconds_sum{kind="major"} 0.5
nodejs_gc_duration_seconds_count{kind="major"} 1
nodejs_eventloop_lag_mean_seconds 0.001
nodejs_eventloop_lag_p99_seconds 0.02
nodejs_eventloop_lag_max_seconds 0.03
nodejs_eventloop_utilization 0.75
nodejs_heap_size_used_bytes 20000000
nodejs_heap_size_total_bytes 30000000
process_resident_memory_bytes 90000000
"""


class Worker:
    """An HTTP server that says `text`, once `free` is set."""

    def __init__(self) -> None:
        self.text = SAID
        self.free = threading.Event()
        self.free.set()
        worker = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                worker.free.wait(60)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(worker.text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False
        self.page = MetricsPage(f"http://127.0.0.1:{self.server.server_port}/metrics", os.getpid())
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        self.free.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    workers = [Worker(), Worker()]
    yield workers
    for one in workers:
        one.stop()


def watching(workers: list[Worker], in_turn: frozenset[int] = frozenset()) -> NodeMonitor:
    pages = {f"app-worker-{number}": one.page for number, one in enumerate(workers, 1)}
    (monitor,) = NodeMonitor.watching(MonitorTargets(pages={"node": pages}, in_turn=in_turn))
    assert isinstance(monitor, NodeMonitor)
    return monitor


def answered(monitor: NodeMonitor, *parts: str) -> dict[str, dict[str, float]]:
    """The next sample in which these answered; slow machines may need more than one."""
    for _ in range(200):
        found: dict[str, dict[str, float]] = {}
        for sample in monitor.sample(0.0):
            found.setdefault(sample.part, {})[sample.metric] = sample.value
        if all(found[part]["node_answers"] for part in parts):
            return found
        time.sleep(0.05)
    raise AssertionError("no answer")


def test_figures_are_found_and_collections_added_up() -> None:
    found = figures(SAID)
    assert found["event_loop_busy_share"] == 0.75
    assert found["event_loop_delay_p99_s"] == 0.02
    assert found["node_heap_used_bytes"] == 20_000_000
    assert (found["node_gc_count"], found["node_gc_s"]) == (4, 0.75)
    assert (found["cache_hits"], found["cache_misses"]) == (5, 2)


def test_a_process_that_never_collected_has_no_collections() -> None:
    found = figures("nodejs_heap_size_used_bytes 1")
    assert found == {"node_heap_used_bytes": 1, "node_gc_count": 0, "node_gc_s": 0}
    assert figures("<html>not found</html>") == {}


def test_what_is_no_text_of_prometheus_is_refused() -> None:
    with pytest.raises(ValueError):
        figures('nodejs_heap_size_used_bytes{a="b", ="c"} 1')


def test_each_worker_has_figures_of_its_own_and_rates_from_the_second_on(workers: list[Worker]) -> None:
    monitor = watching(workers)
    answered(monitor, "app-worker-1", "app-worker-2")
    workers[1].text = SAID.replace('{result="hit"} 5', '{result="hit"} 500').replace("0.75", "0.5")
    time.sleep(SHORTEST_S)
    found = answered(monitor, "app-worker-1", "app-worker-2")
    assert set(found["app-worker-1"]) == NodeMonitor.METRICS.keys() - {"cache_hit_share"}, "nothing was read from it"
    assert found["app-worker-1"]["cache_hits_per_s"] == 0
    assert found["app-worker-2"]["cache_hits_per_s"] > 0
    assert found["app-worker-2"]["cache_hit_share"] == 1
    assert found["app-worker-2"]["event_loop_busy_share"] == 0.5


def test_one_that_is_slow_holds_the_others_not_up(workers: list[Worker]) -> None:
    workers[0].free.clear()
    found = answered(watching(workers), "app-worker-2")
    assert found["app-worker-1"] == {"node_answers": 0}
    assert found["app-worker-2"]["node_answers"] == 1


def test_those_that_stand_still_at_times_report_nothing_that_the_time_is_in(workers: list[Worker]) -> None:
    found = answered(watching(workers, frozenset({1})), "app-worker-1")["app-worker-1"]
    assert not set(found) & BY_THE_CLOCK
    assert found["node_heap_used_bytes"] == 20_000_000


def test_nothing_is_watched_where_there_is_no_node() -> None:
    assert NodeMonitor.watching(MonitorTargets()) == []
