import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.verdicts import verdict

from loadstone.judge.verdict import CpuCost
from loadstone.monitors.monitor import Sample
from loadstone.report.live.events import BYTES_MAX, FULL_BYTES, TEXT_MAX, RunEvents
from loadstone.report.live.live_panel import LiveFigures
from loadstone.report.live.progress import RunProgress
from loadstone.run_folder.files import EVENTS
from loadstone.run_folder.lines import LineFile
from loadstone.safety.errors import Interrupted, UserError
from loadstone.safety.secrets.known import learn


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Iterator[RunProgress]:
    with RunProgress(Console(file=io.StringIO()), clock, events=RunEvents(clock)) as progress:
        yield progress


def lines(folder: Path, what: str = "") -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    assert all(line["format"] == 1 and line["unix_s"] > 0 for line in found)
    return [line for line in found if line["what"] == what or not what]


def second(tps: float, phase: str = "measure", **figures: Any) -> LiveFigures:
    return LiveFigures(phase, tps, 1_000_000, 2_000_000, ok=int(tps), duration_s=1.0, mean_ns=1e6, **figures)


def sample(progress: RunProgress, clock: Clock, cpus: float = 0.5) -> None:
    progress.sample([Sample(clock.now, "redis", "cpu_share", cpus), Sample(clock.now, "redis", "connected_clients", 9)])


def test_what_the_terminal_is_told_stands_in_the_folder(progress: RunProgress, clock: Clock, tmp_path: Path) -> None:
    progress.note("before there was a folder")
    progress.events.open(LineFile(tmp_path / EVENTS), experiment="json", groups=[])
    progress.start()
    progress.left(60, True)
    progress.decided(1, 2)
    progress.trial("storage b00", "storage", "warm-up")
    progress.live(second(9000), "json")  # of a warming block: shown, and in no mean
    sample(progress, clock)
    clock.now += 1
    progress.trial("storage b01", "storage", "rounds 1 to 12")
    for tps in (100, 300):
        progress.live(second(tps, errors=2, errors_by_kind={"timeout": 2}), "json")
        progress.live(second(tps / 2), "string")
    clock.now += 1
    sample(progress, clock, cpus=0.75)
    cost = verdict("faster", -20, -25, -15, metric="cpu_ns.redis", larger_is_faster=False, winner="b")
    progress.look("storage", 8, "go on", [verdict("undecided", 20, -10, 30)], ["string against json"], [cost])
    progress.look("storage", 12, "go on", [verdict("faster", 20, 10, 30)], ["string against json"], [None])
    progress.events.cost("json", "storage-b01-001", {"redis": CpuCost(ns=12_345.67)})
    progress.last_step("writing the report")
    progress.events.ended(3, "a server is gone")
    progress.note("after the end")

    began, log = lines(tmp_path)[:2]
    assert (began["what"], began["pid"], began["experiment"]) == ("began", os.getpid(), "json")
    assert (log["what"], log["text"]) == ("log", "before there was a folder")
    now = [line for line in lines(tmp_path, "now") if line["conditions"]][-1]
    assert (now["group"], now["place"], now["left_s"], now["decided"], now["of"]) == (
        "storage", "rounds 1 to 12", 58, 1, 2,
    )  # fmt: skip
    assert now["parts"] == {"redis": {"cpus": 0.75, "connections": 9}}
    json_, string = now["conditions"]["json"], now["conditions"]["string"]
    assert (json_["tps"], json_["mean_tps"], json_["peak_tps"], json_["ok"]) == (300, 200, 300, 400)
    assert json_["errors"] == {"timeout": 4}
    assert (string["mean_tps"], string["p99_ns"], string["mean_ns"]) == (100, 2_000_000, 1_000_000)
    by_cost, look = lines(tmp_path, "look")
    assert [by_cost["pairs"][0]["kind"], by_cost["pairs"][0]["cost"]["kind"]] == ["undecided", "faster"]
    (pair,) = look["pairs"]
    assert "cost" not in pair
    assert (look["group"], look["count"], look["reason"], pair["name"]) == (
        "storage",
        12,
        "go on",
        "string against json",
    )
    assert pair["kind"] == "faster"
    assert pair["low"] <= pair["estimate"] <= pair["high"]
    assert pair["said"]["kind"]
    assert lines(tmp_path, "cost")[0]["parts"] == {"redis": {"ns": 12345.7, "low_ns": None, "high_ns": None}}
    assert [line["state"] for line in lines(tmp_path, "now")][-2:] == ["reporting", "ended"]
    last = lines(tmp_path)[-1]
    assert (last["what"], last["status"], last["why"]) == ("ended", 3, "a server is gone")


def test_conditions_have_figures_of_each_group_apart(progress: RunProgress, clock: Clock, tmp_path: Path) -> None:
    progress.events.open(LineFile(tmp_path / EVENTS))
    for group, tps in (("table b01", 1000), ("at-rate b01", 500), ("saturation-001", 50), ("b01-007", 7)):
        progress.trial(group, "set", "")
        progress.live(second(tps))
        clock.now += 1
        sample(progress, clock)
    found = [line for line in lines(tmp_path, "now") if line["conditions"]]
    assert [(line["group"], line["conditions"]["set"]["mean_tps"]) for line in found] == [
        ("table", 1000), ("at-rate", 500), ("saturation", 50), ("", 7),
    ]  # fmt: skip


def test_a_line_a_second_at_most_and_fewer_in_a_long_run(progress: RunProgress, clock: Clock, tmp_path: Path) -> None:
    progress.events.open(LineFile(tmp_path / EVENTS))
    for _ in range(100):
        progress.live(second(10), "json")
        sample(progress, clock)
        clock.now += 0.1
    assert 9 <= len(lines(tmp_path, "now")) <= 11
    progress.events._bytes = 10 * FULL_BYTES
    for _ in range(100):
        clock.now += 1
        sample(progress, clock)
    assert len(lines(tmp_path, "now")) <= 22
    progress.events._bytes = BYTES_MAX + 1
    before = len(lines(tmp_path))
    progress.note("one more line")
    progress.events.ended(0)
    assert [line["what"] for line in lines(tmp_path)[before:]] == ["ended"]


def test_no_secret_and_no_endless_text_is_written(progress: RunProgress, tmp_path: Path) -> None:
    learn("hunter2-hunter2")
    progress.events.open(LineFile(tmp_path / EVENTS))
    progress.note("the password is hunter2-hunter2 \x1b[31m" + "x" * 10_000)
    text = (tmp_path / EVENTS).read_text()
    assert "hunter2" not in text
    assert "\\u001b" not in text
    assert len(lines(tmp_path, "log")[0]["text"]) <= TEXT_MAX


def test_a_run_goes_on_where_it_cannot_be_written(progress: RunProgress, tmp_path: Path) -> None:
    class Full(LineFile):
        def append(self, record: Mapping[str, Any]) -> int:  # noqa: ARG002 (as what it stands for)
            raise UserError("no space left to write")

    progress.events.open(Full(tmp_path / EVENTS))
    progress.note("a line")
    progress.events.ended(0)
    assert lines(tmp_path) == []


@pytest.mark.parametrize(
    ("error", "status"), [(Interrupted("interrupted"), 130), (KeyboardInterrupt(), 130), (ZeroDivisionError(), 70)]
)
def test_how_a_run_ended_is_its_last_line(error: BaseException, status: int, tmp_path: Path) -> None:
    events = RunEvents()
    events.open(LineFile(tmp_path / EVENTS))
    events.__exit__(type(error), error, None)
    assert lines(tmp_path)[-1]["status"] == status
    events.ended(0)
    assert lines(tmp_path)[-1]["status"] == status


def test_all_that_take_turns_stand_in_one_line(progress: RunProgress, clock: Clock, tmp_path: Path) -> None:
    progress.events.open(LineFile(tmp_path / EVENTS))
    progress.trial("table b01", "table", "round 1")
    clock.now += 1
    progress.live(second(1), "a")
    sample(progress, clock)  # in the middle of what comes at once
    progress.live(second(1), "b")
    clock.now += 1
    sample(progress, clock)
    progress.live(second(1), "a")  # the last of its block, in the second of a line
    progress.trial("storage b01", "storage", "round 1")
    found = [(line["group"], sorted(line["conditions"])) for line in lines(tmp_path, "now")]
    assert [one for one in found if one[1]] == [("table", ["a", "b"]), ("table", ["a"])]
