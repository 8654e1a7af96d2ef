"""Whatever stands in an experiment, the answer is a plan or one line for the user, never a traceback."""

import copy
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.preview import preview_plan
from loadstone.experiment.spec.loading import load_experiment, read_source, validate_source
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.report.terminal.announcement import description
from loadstone.safety.errors import UserError

STRANGE: list[Any] = [None, True, -1, 10**30, "", "x", "10 kB", "${idle.least}", "${nothing}", [], ["x", 1], {"a": 1}]
SETTINGS = ["null", "x", "[1", "{a: 1}", "${x}"]
TEXTS = ["compared", "app"]
"""Names of fixtures."""
THIRDS = pytest.mark.parametrize("third", [0, *(pytest.param(one, marks=pytest.mark.prove) for one in (1, 2))])
"""A place gets every third value each day, and the others by `make prove`; what both texts have gets two of three."""


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


def place(path: tuple[Any, ...]) -> int:
    """A number that a place has in every text."""
    return zlib.crc32(repr(path).encode())


def with_value(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(data)
    at = changed
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return changed


def refusal(attempt: Callable[[], object]) -> str | None:
    """What the user is reported; None if nothing is wrong."""
    try:
        attempt()
    except UserError as error:
        return str(error)
    return None


@THIRDS
@pytest.mark.parametrize("strange", STRANGE, ids=repr)
@pytest.mark.parametrize("text", TEXTS)
def test_a_strange_value_anywhere(request: pytest.FixtureRequest, text: str, strange: Any, third: int) -> None:
    source = read_source(request.getfixturevalue(text), "small.yaml")
    published = "as_published" in source.data
    modes = ({}, {"quick": True}, {"as_published": True})[: 3 if published else 2]

    def attempt(path: tuple[Any, ...], turn: int) -> None:
        experiment = validate_source(
            ExperimentSource("small.yaml", with_value(source.data, path, strange), source.lines)
        )
        mode = modes[turn % len(modes)] if experiment.as_published is not None else modes[turn % 2]
        description(preview_plan(make_run_plan(experiment, **mode, blocks=2), experiment), experiment)

    # Each place is planned in every mode: one mode a value, by turns.
    first = STRANGE.index(strange)
    of_third = first + TEXTS.index(text) + third
    messages = [
        message
        for turn, path in enumerate(paths(source.data), first)
        if place(path) % 3 == of_third % 3 and (message := refusal(partial(attempt, path, turn // 3)))
    ]
    assert len(messages) > 10
    assert [message for message in messages if "\n" in message] == []
    assert [message for message in messages if not message.startswith(("small.yaml:", "--"))] == []


@THIRDS
@pytest.mark.parametrize("strange", SETTINGS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_strange_setting_anywhere(request: pytest.FixtureRequest, text: str, strange: str, third: int) -> None:
    experiment = load_experiment(request.getfixturevalue(text), label="small.yaml")

    def attempt(path: tuple[Any, ...]) -> None:
        make_run_plan(with_overrides(experiment, sets=[f"{'.'.join(map(str, path))}={strange}"]))

    of_third = SETTINGS.index(strange) + TEXTS.index(text) + third
    every = [*paths(experiment.source.data), ("new",), ("workload", "new", "deep")]
    places = [path for path in every if place(path) % 3 == of_third % 3]
    messages = [message for path in places if (message := refusal(partial(attempt, path)))]
    assert len(messages) > 10
    assert [message for message in messages if "\n" in message] == []
