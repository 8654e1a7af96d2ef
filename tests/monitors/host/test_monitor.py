"""The host's columns: exact on a /proc of our own, and beside vmstat on the real one."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.monitored_redis import values
from tests.real_servers import wait_until

from loadstone.monitors.host import monitor as host_monitor
from loadstone.monitors.host.monitor import HostMonitor

pytestmark = pytest.mark.alone
STAT = """cpu  {user} 10 50 {idle} 20 5 5 {steal} 40 0
cpu0 {user} 10 50 {idle} 20 5 5 {steal} 40 0
cpu1 0 0 0 {idle} 0 0 0 0 0 0
intr {intr} 5 6 7
ctxt {ctxt}
btime 1
processes 9
procs_running 4
procs_blocked 2
"""
MEMINFO = """MemTotal:       8000 kB
MemFree:        2553 kB
Buffers:         113 kB
Cached:         1004 kB
SReclaimable:    100 kB
SwapTotal:      2000 kB
SwapFree:       1500 kB
"""
VMSTAT = "pgpgin {pgpgin}\npgpgout {pgpgout}\npswpin {pswpin}\npswpout 3\n"
NETSTAT = """TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 7 {drops} {drops}
IpExt: InNoRoutes ListenDrops
IpExt: 1 99
"""
BEFORE = {"user": 100, "idle": 1000, "steal": 0, "intr": 1000, "ctxt": 5000}
AFTER = {"user": 160, "idle": 1030, "steal": 10, "intr": 3000, "ctxt": 6000}

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(host_monitor, "PROC", tmp_path)
    monkeypatch.setattr(host_monitor, "PAGE_KIB", 4)
    monkeypatch.setattr(host_monitor, "HUGE_PAGES", tmp_path / "huge_pages")
    (tmp_path / "huge_pages").write_text("[always] madvise never\n")
    (tmp_path / "sys" / "vm").mkdir(parents=True)
    (tmp_path / "sys" / "vm" / "overcommit_memory").write_text("2\n")
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "netstat").write_text(NETSTAT.format(drops=100))
    return tmp_path


def tell(proc: Path, stat: dict[str, int], pages: dict[str, int], at_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    (proc / "stat").write_text(STAT.format(**stat))
    (proc / "vmstat").write_text(VMSTAT.format(**pages))
    monkeypatch.setattr(time, "monotonic", lambda: at_s)


@linux
def test_the_columns_are_vmstat_s(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(proc, BEFORE, {"pgpgin": 0, "pgpgout": 100, "pswpin": 0}, 10.0, monkeypatch)
    monitor = HostMonitor(cpus=(0, 7))
    tell(proc, AFTER, {"pgpgin": 80, "pgpgout": 7904, "pswpin": 8}, 12.0, monkeypatch)
    (proc / "net" / "netstat").write_text(NETSTAT.format(drops=130))
    samples = list(monitor.sample(77.0))
    assert {(sample.part, sample.metric): sample.value for sample in samples} == {
        **{("host", "r"): 3, ("host", "b"): 2},
        **{("host", "swpd"): 500, ("host", "free"): 2553, ("host", "buff"): 113, ("host", "cache"): 1104},
        **{("host", "si"): 16, ("host", "so"): 0, ("host", "bi"): 40, ("host", "bo"): 3902},
        **{("host", "in"): 1000, ("host", "cs"): 500, ("host", "listen_drops"): 15},
        **{("host", "us"): 60, ("host", "sy"): 0, ("host", "id"): 30, ("host", "wa"): 0, ("host", "st"): 10},
        **{("cpu0", "busy"): 70, ("cpu0", "stolen"): 10},
        **{("kernel", "huge_pages_always"): 1, ("kernel", "overcommit_memory"): 2},
    }
    assert {sample.unix_s for sample in samples} == {77.0}
    assert {sample.metric for sample in samples} == set(monitor.METRICS)


@linux
def test_rates_are_those_since_the_sample_before(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"pgpgin": 0, "pgpgout": 0, "pswpin": 0}
    tell(proc, BEFORE, pages, 10.0, monkeypatch)
    monitor = HostMonitor()
    tell(proc, AFTER, pages, 11.0, monkeypatch)
    assert values(monitor, "host")["in"] == 2000
    tell(proc, AFTER | {"intr": 3050}, pages, 12.0, monkeypatch)
    assert values(monitor, "host")["in"] == 50


@linux
def test_too_short_a_time_has_no_rates(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"pgpgin": 0, "pgpgout": 0, "pswpin": 0}
    tell(proc, BEFORE, pages, 10.0, monkeypatch)
    monitor = HostMonitor()
    tell(proc, AFTER, pages, 10.1, monkeypatch)
    assert set(values(monitor, "host")) == {"r", "b", "swpd", "free", "buff", "cache"}
    tell(proc, AFTER, pages, 11.0, monkeypatch)
    assert values(monitor, "host")["in"] == 2000


@linux
@pytest.mark.skipif(shutil.which("vmstat") is None, reason="no vmstat here")
def test_vmstat_says_the_same() -> None:
    """vmstat's first line holds averages since the machine started, which can be held against exactly."""
    said = subprocess.run(["vmstat"], capture_output=True, text=True, check=True).stdout.splitlines()
    theirs = dict(zip(said[1].split(), map(float, said[2].split()), strict=True))
    reading = host_monitor._read_proc([host_monitor.PROC / "net"])
    since_s = sum(reading.cpu_times["cpu"]) / os.sysconf("SC_CLK_TCK")  # of all CPUs, as this line of vmstat has it
    shares = host_monitor._shares("cpu", reading.growing())
    assert set(HostMonitor.METRICS) - {
        "busy",
        "stolen",
        "huge_pages_always",
        "overcommit_memory",
        "listen_drops",
    } <= set(theirs)
    for name in ("us", "sy", "id", "wa", "st"):
        assert theirs[name] == pytest.approx(shares[name], abs=1.6), name
    for name in ("in", "cs", "bi", "bo", "si", "so"):
        assert theirs[name] == pytest.approx(reading.counters[name] / since_s, rel=0.05, abs=2), name
    for name in ("free", "cache", "buff", "swpd"):
        assert theirs[name] == pytest.approx(reading.gauges[name], rel=0.1, abs=50_000), name


@linux
@pytest.mark.skipif(shutil.which("vmstat") is None, reason="no vmstat here")
def test_vmstat_beside_it_says_the_same_of_the_same_seconds() -> None:
    before = host_monitor._read_proc([host_monitor.PROC / "net"]).gauges
    with subprocess.Popen(["vmstat", "1", "3"], stdout=subprocess.PIPE, text=True) as vmstat:
        assert vmstat.stdout is not None
        lines = [vmstat.stdout.readline().split() for _ in range(3)]
        monitor = HostMonitor()
        lines += [vmstat.stdout.readline().split() for _ in range(2)]
        ours = values(monitor, "host")
    names, seconds = lines[1], [[float(value) for value in line] for line in lines[3:]]
    last = dict(zip(names, seconds[-1], strict=True))
    mean = {name: sum(column) / len(seconds) for name, column in zip(names, zip(*seconds, strict=True), strict=True)}
    assert set(ours) == (set(names) - {"gu"}) | {"listen_drops"}
    memory_kib = host_monitor._table(host_monitor.PROC / "meminfo")["MemTotal:"]
    for name in ("swpd", "free", "buff", "cache"):  # procps 4.0 keeps the memory of its start, others use it since
        low, high = sorted((before[name], ours[name]))
        assert low - 0.05 * memory_kib <= last[name] <= high + 0.05 * memory_kib, name
    for name in ("in", "cs"):
        assert mean[name] / 4 < ours[name] < mean[name] * 4, name
    for name in ("us", "sy", "id", "wa", "st"):
        assert ours[name] == pytest.approx(mean[name], abs=30), name


@linux
def test_a_queue_that_is_full_is_counted_by_the_real_kernel() -> None:
    """Of three connections to a queue of one, which no one accepts from, at least one finds no room."""
    before = host_monitor._read_proc([host_monitor.PROC / "net"]).counters["listen_drops"]
    with contextlib.ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            client = sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        wait_until(lambda: host_monitor._read_proc([host_monitor.PROC / "net"]).counters["listen_drops"] > before)


@linux
def test_a_network_without_counters_is_passed_over(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"pgpgin": 0, "pgpgout": 0, "pswpin": 0}
    for broken in ("TcpExt: ListenDrops\n", "TcpExt: Other\nTcpExt: 3\n", None):
        path = proc / "net" / "netstat"
        path.unlink() if broken is None else path.write_text(broken)
        tell(proc, BEFORE, pages, 10.0, monkeypatch)
        assert "listen_drops" not in host_monitor._read_proc([host_monitor.PROC / "net"]).counters


@linux
def test_a_kernel_that_does_not_tell_its_settings_is_passed_over(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (proc / "huge_pages").write_text("always [madvise] never\n")
    (proc / "sys" / "vm" / "overcommit_memory").unlink()
    tell(proc, BEFORE, {"pgpgin": 0, "pgpgout": 0, "pswpin": 0}, 10.0, monkeypatch)
    assert values(HostMonitor(), "kernel") == {"huge_pages_always": 0}


def test_other_systems_have_the_columns_that_psutil_knows() -> None:
    reading = host_monitor._read_psutil()
    assert set(reading.gauges) == {"swpd", "free"}
    assert {"si", "so", "in", "cs", "bi", "bo"} <= set(reading.counters)
    assert reading.gauges["free"] > 1000
    assert sum(host_monitor._shares("cpu", reading.growing()).values()) == pytest.approx(100)
