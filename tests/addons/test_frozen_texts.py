"""Plans, what command lines stand for, errors and helps stay as they are: `scripts/freeze` renews them on purpose."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.frozen_runs import difference, frozen
from tests.parser import parser
from tests.plan_text import PLAN, differing, plan_text

from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest

from .frozen_texts import TEXTS, command_lines

NEEDS_A_BUILD = {("gate redis", "--server")}
"""An option of client libraries, of which a gate builds each before it plans anything."""


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Another user, in another time zone and language, before another terminal than where they were frozen."""
    home, temporary = (str(tmp_path_factory.mktemp(name)) for name in ("home", "temporary"))
    with monkeypatch.context() as patch:
        for name, value in {"TZ": "Asia/Seoul", "COLUMNS": "60", "LANG": "ko_KR.UTF-8", "HOME": home}.items():
            patch.setenv(name, value)
        patch.setattr("tempfile.tempdir", temporary)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("name", TEXTS)
def test_it_is_made_as_before(name: str, tmp_path: Path) -> None:
    changed = difference(frozen(name), TEXTS[name](tmp_path))
    if changed:
        pytest.fail(f"{changed}\nif that is meant: scripts/freeze {name}, and review the difference", pytrace=False)


@pytest.mark.parametrize("name", TEXTS)
def test_it_names_no_machine(name: str) -> None:
    roots = (b"/home/", b"/root/", b"/tmp/", b"/Users/", b"%s/" % os.fsencode(Path(__file__).parents[-2]))
    files = frozen(name)
    assert files
    for file, content in files.items():
        assert not [root for root in roots if root in content], file


@pytest.mark.parametrize("name", ["redis", "http", "saturate redis", "saturate http", "gate http", "gate redis"])
def test_each_option_of_a_command_that_measures_stands_in_a_line(name: str) -> None:
    command = parser()
    for word in name.split():
        command = command.commands[word]
    given = {
        word.partition("=")[0]
        for words in command_lines().values()
        if [*words[: len(name.split())]] == name.split() or (words[0] == "gate" and words[1][0] == "-")
        for word in words
    }
    options = {
        option.opts[0]: {*option.opts}
        for option in command.params
        if option.param_type_name == "option" and not option.hidden
    }
    left = {first for first, known in options.items() if not known & given}
    assert {(name, option) for option in left} - NEEDS_A_BUILD == set()


def test_where_plans_differ_is_said_by_path() -> None:
    options = RunRequest("jedis-vs-lettuce", quick=True, seed=1)
    experiment = requested_experiment(options)
    before, other, again = (
        plan_text(requested_plan(experiment, replace(options, seed=seed), (1,), 2, lambda: 8 << 30), str)
        for seed in (1, 2, 1)
    )
    assert before == again
    assert not [*differing(before, again)]
    lines = [*differing(before, other)]
    assert "plan.seed: 1 -> 2" in lines
    assert any(line.startswith("plan.trials.0.plan.seed: ") for line in lines)
    longer = before.replace(b'"budget_s": ', b'"budget_s": 1')
    assert difference({f"a{PLAN}": before}, {f"a{PLAN}": longer}).splitlines()[:2] == [
        f"--- frozen/a{PLAN}",
        f"+++ now/a{PLAN}",
    ]
