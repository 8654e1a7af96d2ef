"""A whole run from its plan to its report, on fakes: what it returns, writes and says, whatever it ends with."""

import io
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loadstone.judge.analysis.objectives import FailIfObjective, parse_objective
from loadstone.measure.goals.goal import CrashServer
from loadstone.run import run as run_module
from loadstone.run.run import INVALID_STATUS, MISSED_STATUS, UNWRITTEN_STATUS, RunResult, run
from loadstone.run_folder.crash import CrashRecord
from loadstone.safety.errors import DriveFailed, Interrupted, LoadstoneError, ServerGone, UserError

from ..fakes import crash_record
from .fake_rig import EXPERIMENT
from .test_opening import World

CRASH = EXPERIMENT.replace("keys: {count: 250}", "keys: {count: 250, distribution: exactly_once}").replace(
    "design:", "crashes:\n  - {name: kept, title: Kept, server: redis, vary: {operation: [set]}, times: 1}\ndesign:"
)


class Screen:
    """What the user sees."""

    def __init__(self) -> None:
        self.results = Console(file=io.StringIO(), width=200)
        self.remarks = Console(file=io.StringIO(), width=200)

    @staticmethod
    def of(console: Console) -> str:
        return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "runs")


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that a report was written into; drawing one takes seconds, and has tests of its own."""
    folders: list[Path] = []
    monkeypatch.setattr(run_module, "write_report", lambda _, folder, __: folders.append(folder))
    return folders


def ran(world: World, screen: Screen, objectives: Sequence[FailIfObjective] = (), **options: Any) -> RunResult:
    return run(
        replace(world.options, **options), world.prepared, screen.results, screen.remarks, objectives, world.seams
    )


def objectives(*texts: str) -> list[FailIfObjective]:
    return [parse_objective(text) for text in texts]


def trials(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def test_every_trial_is_recorded_judged_analysed_and_reported(
    world: World, screen: Screen, written: list[Path]
) -> None:
    done = ran(world, screen)
    assert (done.status, done.missed, done.unwritten) == (0, (), "")
    assert done.folder == world.folders[0]
    lines = trials(done.folder)
    assert {line["condition"]["operation"] for line in lines} == {"get", "set"}
    assert [line["drive"] for line in lines] == [line["trial"] for line in lines]
    assert json.loads((done.folder / "analysis.json").read_text())["tables"][0]["name"] == "all"
    assert [row.verdict for row in done.analysis.tables[0].rows] != ["missing", "missing"]
    assert written == [done.folder]
    assert str(done.folder / "report.html") in screen.of(screen.results).replace("\n", "")
    assert "What is recorded?" in screen.of(screen.remarks)
    assert not world.servers["redis"].alive()


def test_a_quiet_run_says_nothing_but_its_result(world: World, screen: Screen) -> None:
    ran(world, screen, quiet=True)
    assert screen.of(screen.remarks) == ""
    assert screen.of(screen.results)


def test_two_lines_of_the_announcement_that_are_equal_are_both_printed(
    world: World, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["jedis is a program, which cannot be", "  paused", "lettuce is a program, which cannot be", "  paused"]
    monkeypatch.setattr(run_module, "print_announcement", lambda *_, **__: lines)
    ran(world, screen)
    assert screen.of(screen.remarks).count("paused") == 2


def test_an_objective_that_is_missed_is_the_status(world: World, screen: Screen) -> None:
    done = ran(world, screen, objectives("goodput < 1000000"))
    assert done.status == MISSED_STATUS
    assert len(done.missed) >= 1


def test_a_run_of_which_nothing_could_be_measured_is_invalid(world: World, screen: Screen) -> None:
    server = world.server("redis", {"kind": "embedded"})
    world.driver.at = {"begin": server.end}
    world.driver.drive = _nobody  # type: ignore[method-assign]
    done = ran(world, screen)
    assert done.status == INVALID_STATUS
    assert [line["verdict"] for line in trials(done.folder)] == ["invalid", "invalid"]


def _nobody(*_: Any) -> Any:
    raise DriveFailed("driver: nobody answers")


def test_an_interrupted_run_keeps_what_is_finished_and_says_how_to_go_on(
    world: World, screen: Screen, written: list[Path]
) -> None:
    """Ctrl-C in the second trial."""
    begun: list[None] = []

    def second() -> None:
        begun.append(None)
        if len(world.driver.shares) > 1:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            world.driver.at["measure"] = second

    world.driver.at = {"measure": second}
    with pytest.raises(Interrupted) as ended:
        ran(world, screen)
    (folder,) = world.folders
    assert str(ended.value).endswith(f"continue with: loadstone run --resume {folder}")
    assert len(trials(folder)) <= 1
    assert (folder / "analysis.json").exists(), "what is finished is analysed"
    assert written == [folder]
    world.driver.stopped, world.driver.at = False, {}
    done = ran(world, screen, resume=folder)
    assert len(trials(done.folder)) == 2
    assert done.folder == folder


def test_a_server_of_the_users_that_goes_away_ends_the_run_with_the_advice(world: World, screen: Screen) -> None:
    world.text = EXPERIMENT.replace("{kind: embedded}", "{kind: url, url: 'redis://127.0.0.1:6379'}")
    server = world.server("redis", {"kind": "url"})
    world.driver.at = {"end": server.end}
    with pytest.raises(ServerGone, match="continue with: loadstone run --resume") as ended:
        ran(world, screen, servers=("redis=redis://:secret@127.0.0.1:6379",))
    assert "--server redis=URL" in str(ended.value), "the folder keeps no password"
    assert "secret" not in str(ended.value)


def test_crashes_come_after_the_trials(world: World, screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    world.text = CRASH
    order: list[str] = []

    def noted(_: Any, planned: CrashServer) -> CrashRecord:
        (folder,) = world.folders
        order.append(f"{len(trials(folder))} trials, crash {planned.number} of {planned.of}")
        return crash_record(planned)

    monkeypatch.setattr("loadstone.measure.crashes.Crashes.run", noted)
    done = ran(world, screen)
    assert order == ["2 trials, crash 1 of 1"]
    assert done.analysis.crashes[0].rows


@pytest.mark.parametrize("error", [UserError("report.html: the disk is full; free some"), OSError(28, "No space left")])
def test_a_report_that_cannot_be_written_comes_after_the_result(
    world: World, screen: Screen, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*_: Any) -> None:
        raise error

    monkeypatch.setattr(run_module, "write_report", full)
    done = ran(world, screen)
    assert done.status == UNWRITTEN_STATUS
    assert done.unwritten.startswith("the report is not written: ")
    assert done.unwritten.endswith(f"free some space there, and then loadstone report {done.folder}")
    assert screen.of(screen.results), "the result is on the terminal"


def test_a_defect_of_the_report_is_none_of_a_full_disk(
    world: World, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(run_module, "write_report", broken)
    with pytest.raises(ZeroDivisionError):
        ran(world, screen)
    assert screen.of(screen.results), "the result is on the terminal"


def test_an_analysis_that_cannot_be_written_is_shown_all_the_same(
    world: World, screen: Screen, monkeypatch: pytest.MonkeyPatch, written: list[Path]
) -> None:
    def full(*_: Any) -> None:
        raise UserError("analysis.json: the disk is full; free some space")

    monkeypatch.setattr("loadstone.run_folder.folder.RunFolder.write_analysis", full)
    done = ran(world, screen)
    assert done.status == UNWRITTEN_STATUS
    assert "analysis.json: the disk is full" in done.unwritten
    assert written == [], "the report would be of another analysis than the folder's"
    assert screen.of(screen.results)


def test_a_part_that_does_not_start_is_said_before_anything_is_measured(world: World, screen: Screen) -> None:
    def refuses(*_: Any) -> Any:
        raise UserError("server redis: it does not start")

    world.server("redis", {"kind": "embedded"}).start = refuses  # type: ignore[method-assign]
    with pytest.raises(LoadstoneError, match=r"^server redis: it does not start$"):
        ran(world, screen)
    assert world.folders == []
    assert screen.of(screen.results) == ""
