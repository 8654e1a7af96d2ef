"""A Redis on a host of its own (a network of its own), with a monitor beside it: what the run knows of both."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.addons.fleet.local_fleets import line_of, loadstone
from tests.namespaces import HOST, joined_namespace
from tests.real_servers import wait_until

from loadstone.addons.fleet import certificates
from loadstone.servers.redis import packages

URL = f"redis://{HOST}:6379"
LOAD = ("redis", URL, "-t", "get", "--rate", "2000", "--duration", "4", "--repeat", "1", "--share-machine")
MEASURED = (0, 3)
"""On a machine that others keep busy the checks may refuse the figures."""


@dataclass
class Beside:
    """A fleet of one agent, with a monitor beside a Redis."""

    redis: psutil.Process
    monitor: "subprocess.Popen[str]"
    address: str
    environment: dict[str, str]

    def load(self, folder: Path) -> Any:
        """The command that makes load, as it runs."""
        words = (*LOAD, "--fleet", f"{self.address}?agents=1", "--out", str(folder))
        return loadstone(*words, environment=self.environment)


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    pytest.importorskip("distributed")
    certificates.write(tmp_path / "them", certificates.made())
    environment = {certificates.FOLDER_VARIABLE: str(tmp_path / "them")}
    with ExitStack() as held:
        name = held.enter_context(joined_namespace())
        server = [str(packages.need_server()), "--bind", HOST, "--protected-mode", "no", "--save", ""]
        redis = psutil.Popen(["ip", "netns", "exec", name, *server], cwd=tmp_path, stdout=subprocess.DEVNULL)
        held.callback(redis.wait)
        held.callback(redis.kill)
        scheduler = held.enter_context(
            loadstone("fleet", "scheduler", "--listen", "127.0.0.1:0", environment=environment)
        )
        address = line_of(scheduler, "scheduler: ").split("scheduler: ")[1].strip()
        members = [
            held.enter_context(loadstone("fleet", "agent", address, *words, environment=environment))
            for words in (("--name", "one"), ("--name", "db", "--role", "monitor"))
        ]
        for member in members:
            line_of(member, "joined")
        yield Beside(redis, members[1], address, environment)


def trials_of(folder: Path) -> list[dict[str, Any]]:
    (run,) = folder.glob("[!.]*")
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines() if '"trial"' in line]


def test_a_server_by_url_has_its_process_and_its_machine(beside: Beside, tmp_path: Path) -> None:
    with beside.load(tmp_path / "kept") as command:
        _, err = command.communicate(timeout=90)
    assert command.returncode in MEASURED, err
    (trial,) = trials_of(tmp_path / "kept")
    facts = trial["facts"]
    assert facts["kinds"]["db.host"] == "host"
    machine, redis = facts["seen"]["db.host"], facts["seen"]["redis"]
    whole = sum(machine[mode]["avg"] for mode in ("us", "sy", "id", "wa", "st"))
    assert whole == pytest.approx(100, abs=1)
    assert redis["machine_cpus"]["avg"] == os.cpu_count()
    assert redis["rss_bytes"]["avg"] == pytest.approx(beside.redis.memory_info().rss, rel=0.5)
    used = beside.redis.cpu_times()
    assert 0 < trial["cpu_s"]["redis"] <= used.user + used.system + 0.05
    assert facts["parts"]["redis"]["main_thread_share"] > 0, "which a Redis does not tell of itself"


@pytest.mark.fault(
    "a fleet's monitor is killed", "named in a line; its figures are missing, the run goes on", area="fleet"
)
def test_a_monitor_that_is_killed_costs_its_figures_alone(beside: Beside, tmp_path: Path) -> None:
    with beside.load(tmp_path / "kept") as command:
        intervals = tmp_path / "kept"
        wait_until(lambda: beside.redis.cpu_percent(0.2) > 1 and any(intervals.glob("*/intervals.jsonl")), 60)
        beside.monitor.kill()
        _, err = command.communicate(timeout=90)
    assert command.returncode in MEASURED, err
    assert err.count("monitor db: ") == 1
    assert "its figures may be missing" in err
    (trial,) = trials_of(tmp_path / "kept")
    assert trial["counts"]["ok"] > 0
