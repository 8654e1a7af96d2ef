"""What `--fail-if` says of saturation points: the interval decides, and a run that looks for none is refused."""

import pytest
from tests.addons.saturation.saturations import at_least, limit, none, plateau

from loadstone.addons.saturation.results import SaturationAnswer, SaturationAnswers
from loadstone.judge.analysis.analyse import Analysis
from loadstone.judge.analysis.objectives import missed, parse_objective, require_measured, require_relative
from loadstone.judge.verdict import CpuCost
from loadstone.safety.errors import UserError
from loadstone.text.sentences import render_message


@pytest.mark.parametrize(
    ("written", "metric", "value"),
    [
        ("saturation < 20", "saturation", 20),
        ("Saturation <= 20 users", "saturation", 20),
        ("capacity < 1000/s", "capacity", 1000),
        ("capacity < 50k", "capacity", 50_000),
        ("capacity >= 1.5 k/s", "capacity", 1500),
    ],
)
def test_points_have_names_and_units(written: str, metric: str, value: float) -> None:
    found = parse_objective(written)
    assert (found.metric, found.value, found.relative, found.of_point) == (metric, value, False, True)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("saturation < 20 ms", "has the unit 'ms'; units here are users, for example 'saturation < 20'"),
        ("capacity < 20 users", "for example 'capacity < 50k/s'"),
        ("capacity < -5%", "not compared by ratios"),
        ("saturation < 5%", "not compared by ratios"),
        ("saturations < 5", "of a saturation point saturation, capacity"),
    ],
)
def test_what_is_wrong_is_one_line_with_an_example(written: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse_objective(written)
    assert said in str(error.value)
    assert str(error.value).startswith(f"--fail-if '{written}'")
    assert "\n" not in str(error.value)


def lines(written: str, *answers: SaturationAnswer) -> list[str]:
    analysis = Analysis.model_construct(tables=[], parts={"saturations": SaturationAnswers(list(answers))})
    return [render_message(line) for line in missed([parse_objective(written)], analysis)]


@pytest.mark.parametrize(
    "written", ["saturation < 10", "saturation > 12", "capacity < 90k/s", "capacity > 100k/s where operation=get"]
)
def test_an_interval_wholly_outside_keeps_it(written: str) -> None:
    assert lines(written, plateau()) == []


def test_an_interval_wholly_inside_misses_it() -> None:
    assert lines("saturation < 12", plateau()) == ["get: 'saturation < 12': missed: 10.8 [10.5, 11.1] users"]
    assert lines("capacity < 120k", plateau()) == ["get: 'capacity < 120k': missed: 98,200 [97,218, 99,182] a second"]


def test_an_interval_partly_inside_cannot_decide() -> None:
    (line,) = lines("saturation < 10.8", plateau())
    assert (
        line == "get: 'saturation < 10.8': cannot be decided: 10.8 [10.5, 11.1] users, which lies on both sides of it"
    )


def test_a_bound_decides_what_lies_below_it() -> None:
    assert lines("capacity < 80k", at_least()) == []
    (line,) = lines("capacity < 100k", at_least())
    assert line.endswith("cannot be decided: at least 88,000 a second, which may be more")
    assert lines("capacity > 80k", at_least()) == ["pipeline: 'capacity > 80k': missed: at least 88,000 a second"]
    (users,) = lines("saturation < 1", at_least())
    assert "cannot be decided: CAPACITY >= 88,000 a second" in users


def test_without_a_point_nothing_is_kept() -> None:
    assert lines("capacity < 1", none()) == [
        "error: 'capacity < 1': cannot be decided: NO POINT: there was no correct reply"
    ]
    (nothing,) = lines("capacity < 1 where operation=del", plateau())
    assert nothing.endswith("there is no search for a saturation point where operation=del")


def test_the_open_model_has_a_capacity_and_no_users() -> None:
    assert lines("capacity < 45k", limit()) == []
    assert len(lines("capacity < 60k", limit())) == 1
    (line,) = lines("saturation < 20", limit())
    assert line.endswith("cannot be decided: rates were offered, not users; name the capacity instead")


def test_a_cost_is_that_of_the_level_nearest_to_the_point() -> None:
    found = plateau()
    near = min(found.points, key=lambda point: abs((point.users or 0) - 10.8))
    costs = {point.users: {"redis": CpuCost(ns=1e6), "app": CpuCost(ns=1e6)} for point in found.points}
    costs[near.users] = {"redis": CpuCost(ns=8e3, low_ns=7.5e3, high_ns=8.5e3), "app": CpuCost(ns=4e3)}
    measured = [point.model_copy(update={"costs": costs[point.users]}) for point in found.points]
    answer = found.model_copy(update={"points": measured})
    assert lines("cpu redis > 9us", answer) == []
    assert lines("cpu redis > 7us", answer) == ["get: 'cpu redis > 7us': missed: 8.00 µs [7.50 µs, 8.50 µs]"]
    assert lines("cpu > 9us", answer) == ["get: 'cpu > 9us': missed: 12.0 µs"]
    (other,) = lines("cpu mariadb > 9us", answer)
    assert other.endswith("cannot be decided: there is no such figure; parts with a cost are redis, app")
    assert lines("cpu > 9us", found)[0].endswith("cannot be decided: there is no such figure")
    assert lines("cpu > 20us", at_least().model_copy(update={"points": measured}))[0].endswith("missed: 2.00 ms")


def test_each_condition_is_judged() -> None:
    assert len(lines("saturation < 100", plateau(), at_least(), none())) == 3


def test_what_a_run_will_not_have_is_refused_before_it_starts() -> None:
    point, row = parse_objective("saturation < 20"), parse_objective("p99 > 5ms")
    require_measured([point, row], rows=True, points=True)
    with pytest.raises(UserError, match="looks for no saturation point"):
        require_measured([point], rows=True, points=False)
    with pytest.raises(UserError, match="no figure but saturation points"):
        require_measured([row], rows=False, points=True)
    require_measured([row], rows=False, points=False)
    require_measured([parse_objective("cpu redis > 20us")], rows=False, points=True)
    with pytest.raises(UserError, match="single condition"):
        require_relative([point])
    assert lines("saturation < 20") == [
        "'saturation < 20': cannot be decided: there is no search for a saturation point"
    ]
