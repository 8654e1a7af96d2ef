import sys
import threading
import time
from pathlib import Path

import pytest
from tests.monitored_redis import values

from loadstone.monitors.host import generator
from loadstone.monitors.host.generator import GeneratorMonitor

pytestmark = pytest.mark.alone
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@linux
def test_python_s_threads_are_reported_from_the_others() -> None:
    started = time.monotonic()
    monitor = GeneratorMonitor()
    thread = threading.Thread(target=burn, args=(0.2,))
    thread.start()
    burn(0.1)
    thread.join()
    observed = values(monitor, "generator")
    elapsed_s = time.monotonic() - started  # no less than the monitor's own time, however the machine stalls
    assert set(observed) <= set(monitor.METRICS)
    # The thread ended before the sample, and took its time along; the process kept it.
    assert observed["cpu_share"] * elapsed_s >= 0.25
    assert observed["python_share"] * elapsed_s >= 0.08
    assert observed["native_share"] <= 0.05
    assert observed["rss_bytes"] > 1_000_000


def test_groups_are_summed_by_who_runs_them() -> None:
    mine = threading.get_native_id()
    rates = {
        f"ran.{mine}": 0.5,
        f"waited.{mine}": 0.0,
        "ran.-1": 1.0,
        "waited.-1": 0.25,
        "ran.-2": 0.25,
        "waited.-2": 0.5,
    }
    assert generator._groups(rates) == {
        "python_share": 0.5,
        "native_share": 1.25,
        "hottest_native_share": 1.0,
        "hottest_native_wait_share": 0.5,
    }
    assert generator._groups({}) == {}


@pytest.mark.parametrize(
    ("lines", "folder", "stat"),
    [
        ("0::/pod/box\n", "pod/box", "nr_throttled 3\nthrottled_usec 2500000\n"),
        ("4:memory:/\n1:cpu,cpuacct:/box\n0::/\n", "cpu,cpuacct/box", "nr_throttled 3\nthrottled_time 2500000000\n"),
    ],
)
def test_the_time_held_by_a_cpu_limit_is_reported(
    lines: str, folder: str, stat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(lines)
    (cgroups / folder).mkdir(parents=True)
    (cgroups / folder / "cpu.stat").write_text(stat)
    monkeypatch.setattr(generator, "PROC", proc)
    monkeypatch.setattr(generator, "CGROUPS", cgroups)
    monitor = GeneratorMonitor()
    assert values(monitor, "generator")["throttled_s"] == 2.5


def test_without_cgroups_nothing_is_given_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "PROC", tmp_path)
    assert "throttled_s" not in values(GeneratorMonitor(), "generator")
