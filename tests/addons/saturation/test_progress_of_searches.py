"""What a person reads while saturation points are looked for: what happens, why, and how much is left."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.addons.saturation.runs import Session
from tests.addons.saturation.trials import full_generator, saturated, system_of, undriven

from loadstone.addons.saturation.options import SearchOptions
from loadstone.run.describe import print_announcement

Lines = Callable[..., list[str]]


@pytest.fixture
def lines(synthetic: ModuleType, tmp_path: Path) -> Lines:
    """The lines of a search of 8,000 a second and 1 ms for one user, where there is no terminal."""

    def read(
        search: SearchOptions = SearchOptions(), *, verbose: bool = False, system: Any = None, **changes: Any
    ) -> list[str]:
        session = Session(tmp_path, synthetic, system_of(synthetic, **(system or {})), saturated(search), **changes)
        session.run(verbose=verbose)
        return session.said.splitlines()

    return read


def said(lines: list[str], beginning: str) -> list[str]:
    return [line for line in lines if line.startswith(beginning)]


def announced(search: SearchOptions, *, quick: bool = False) -> str:
    experiment = saturated(search)
    session = Session(Path(), ModuleType(""), system=None, experiment=experiment, quick=quick)  # type: ignore[arg-type]
    return " ".join(line.strip() for line in print_announcement(session.plan, experiment))


def test_before_it_starts_it_says_what_will_happen() -> None:
    text = announced(SearchOptions())
    assert "users are doubled until they bring no more, then all levels are measured at least 6 times" in text
    assert "trials" not in text, "how many there will be is not known"
    assert "bisected for the highest that keeps p99 < 10 ms" in announced(
        SearchOptions(model="open", objective="p99 < 10 ms")
    )


def test_the_time_of_a_ramp_is_in_the_announcement() -> None:
    text = announced(SearchOptions(ramp="1000 over 10 min"))
    assert "about 11 min in all; 10 min of that for the ramp" in text
    assert "Time: about 11 min" in text


def test_the_end_of_the_search_says_why_and_what_comes_next(lines: Lines) -> None:
    (line,) = said(lines(verbose=True), "get: ")
    assert line == (
        "get: 8,000 a second is no longer exceeded; now 10 levels from 1 to 32 users are measured in random order, "
        "at least 6 times (sweeps)"
    )


def test_too_few_sweeps_are_not_called_a_result(lines: Lines) -> None:
    found = said(lines(), "get, after ")
    assert found[0] == "get, after 3 sweeps: no interval yet; 3 more sweeps will give one"
    assert found[1].startswith("get, after 6 sweeps: MAXIMUM: 8,")
    assert not any("NO POINT" in line for line in found)


def test_every_step_says_how_many_there_are(lines: Lines) -> None:
    found = lines(verbose=True, system={"own_noise": 0.4})
    assert said(found, "! search for the range: 1 user: get")
    assert said(found, "! search for the range: 2 users: get")
    assert said(found, "! sweeps 4 to 6 of at least 6: ")
    assert said(found, "! sweeps 7 to 9 of at most 24: ")


def test_a_given_number_of_sweeps_is_neither_the_least_nor_the_most(lines: Lines) -> None:
    found = lines(SearchOptions(sweeps=8), verbose=True)
    assert said(found, "! sweeps 1 to 4 of 8: ")
    assert said(found, "get: ")[0].endswith("in random order, 8 times (sweeps)")


def test_figures_of_levels_that_take_turns_name_the_level(lines: Lines) -> None:
    (line,) = said(lines(), "sweeps 1 to 3")
    assert re.match(r"sweeps 1 to 3 of at least 6, round 12 of 12, \d+ users?; get: ", line), line


def test_the_time_left_gets_shorter(lines: Lines) -> None:
    found = lines(verbose=True)
    left = [int(match[1]) for line in found if (match := re.search(r"about (\d+) s left", line))]
    assert len(left) > 6
    assert left == sorted(left, reverse=True)
    assert len(set(left)) > 4


def test_slow_responses_are_measured_by_whole_trials_and_it_says_why(lines: Lines) -> None:
    found = lines(system={"unloaded_s": 1.0, "capacity_per_s": 4.0})
    (line,) = said(found, "get: ")
    assert "by whole trials of 10 s: responses take 4 s, too long for slices" in line
    assert any(re.match(r"sweep 2 of at least 6, level \d of 8: \d+ users?; ", line) for line in found)


def test_what_needs_no_sweep_says_so_at_once(lines: Lines) -> None:
    def beyond_four(facts: dict[str, Any], users: int) -> None:
        if users > 4:
            full_generator()(facts, users)

    (bound,) = said(lines(system={"facts": beyond_four}), "get: ")
    assert bound.startswith("get: CAPACITY >= 8,000 a second: the generator was saturated at 8 users")


def test_a_system_that_never_answers_is_named(lines: Lines) -> None:
    (line,) = said(lines(spoiled=undriven), "get: ")
    assert line == "get: NO POINT: 100.0% of the replies failed at 1 user (limit 1%)"


def test_it_is_named_in_the_open_model_too(lines: Lines) -> None:
    found = said(lines(SearchOptions(model="open", objective="p99 < 10 ms"), spoiled=undriven), "get: ")
    assert found == ["get: NO POINT: 100.0% of the replies failed at 1 user (limit 1%)"]


def test_the_end_of_the_budget_is_said_once_with_the_remedy(lines: Lines) -> None:
    (line,) = said(lines(verbose=True, budget_s=9.0), "get: ")
    found = re.fullmatch(
        r"get: the next step takes about ([\d.]+) s, and ([\d.]+) s of the budget are left for it; "
        r"go on with --resume and a larger --budget",
        line,
    )
    assert found is not None, line
    assert float(found[1]) >= float(found[2]), "what was left had been enough"


def test_rates_say_which_step_they_are(lines: Lines) -> None:
    found = lines(SearchOptions(model="open", objective="p99 < 10 ms"), verbose=True)
    assert said(found, "! locating the rate, step 8 of 8: ")
    assert said(found, "! bisection 8 of 8, step 4 of 4: ")
    first, second = said(found, "get: ")
    assert first.endswith("now the highest rate that keeps p99 < 10 ms is located in 8 steps")
    assert re.fullmatch(r"get: the rate lies near 4,9\d\d a second; now 8 bisections around it", second)
