"""What figures mean, on the first screen: of servers that take turns, one that goes on writing to its disk."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.judge.analysis.notes import meanings_of
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.text.sentences import render_message


@pytest.fixture(scope="module")
def against(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    """Two servers of the user's, compared in slices."""
    folder: Path = tmp_path_factory.mktemp("runs")
    return read_run(unpacked("redis-against", folder))


def said(run: RecordedRun, *appending: str) -> list[str]:
    """What is said where these servers have an append-only file."""
    environment = copy.deepcopy(dict(run.environment))
    assert set(appending) <= set(environment["servers"])
    for name, server in environment["servers"].items():
        server["settings"]["appendonly"] = "yes" if name in appending else "no"
    return [render_message(one) for one in meanings_of(replace(run, environment=environment), [], [])]


def test_of_one_that_appends_the_disk_works_in_the_others_slices(against: RecordedRun) -> None:
    (line,) = said(against, "against")
    assert line.startswith("Server against goes on writing its append-only file after it answered")


def test_where_both_do_or_neither_nothing_is_said(against: RecordedRun) -> None:
    assert said(against) == []
    assert said(against, "redis", "against") == []
