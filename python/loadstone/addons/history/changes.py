"""Where a figure changed over runs: hints, each between two runs that follow each other on one machine.

Runs are looked at in courses: those of one machine, versions of loadstone, placement and load, whatever the versions
and settings of their servers are, since a change of these is what is asked. `addons/history/change_points.py` finds
the places. What is found is a hint: runs of different days share no block, and the machine changes, too.
"""

import math
from collections.abc import Sequence

from loadstone.addons.history.change_points import LEVEL, RUNS_MIN, changes
from loadstone.addons.history.run_differences import gate_command, heads_unlike, is_same_but_servers, servers_unlike
from loadstone.addons.history.trends import (
    MeasuredTrials,
    OverRuns,
    RunFigures,
    TrendFigure,
    drivens,
    in_order,
    joined,
    measured_in,
    metrics_of,
    over_runs,
    places_of,
)
from loadstone.judge.verdict import AnalysisModel
from loadstone.text.message import AnyText, Message

_ENDS = 1.96
"""Ends of a 95 % interval, in standard errors."""


class Numbered(AnalysisModel):
    """A run of a history."""

    number: int
    """Counted from 1, the oldest first."""
    run: str


class Hint(AnalysisModel):
    """A change between two runs that follow each other in a course."""

    before: Numbered
    after: Numbered
    earliest: int
    latest: int
    """Numbers of runs: the new level begins with one of these, 19 times in 20."""
    ratio: float
    """The level after, by that before, with its 95 % interval."""
    low: float
    high: float
    p_value: float
    differs: list[Message]
    """In which versions and settings the servers of the two runs differ; of gates in the head, too."""
    gate: str
    """The command that compares both versions now, in turns, under a load that is given to it."""


class FigureHistory(AnalysisModel):
    """A figure of one condition over runs, with the hints where it changed."""

    key: str
    over: OverRuns
    courses: list[list[str]]
    """Runs of one machine, placement and load, in rows, that of the newest run first."""
    looked: int
    """Courses that are long enough to look for a change."""
    hints: list[Hint]
    others: list[str]
    """The other metrics that runs have of it."""


class History(AnalysisModel):
    """Figures over the runs of one experiment."""

    format: int = 1
    experiment: str
    runs: list[Numbered]
    level: float
    """Level of the hints together: without a change there is one in so many histories at most."""
    runs_min: int
    """A change is looked for among so many runs at least."""
    figures: list[FigureHistory]
    unread: dict[str, AnyText]
    """Runs that cannot be read, and why."""


def history_of(
    experiment: str, runs: Sequence[RunFigures], chosen: Sequence[tuple[str, str]], unread: dict[str, AnyText]
) -> History:
    """The history of these figures (key of a condition or pair, metric), which share the level of hints."""
    ordered = in_order(runs)
    numbers = {run.run: Numbered(number=number, run=run.run) for number, run in enumerate(ordered, start=1)}
    courses = {one: _courses(ordered, *one) for one in chosen}
    long = {one: [course for course in found if len(course) >= RUNS_MIN] for one, found in courses.items()}
    tested = sum(map(len, long.values()))
    return History(
        experiment=experiment,
        runs=list(numbers.values()),
        level=LEVEL,
        runs_min=RUNS_MIN,
        figures=[
            FigureHistory(
                key=key,
                over=over_runs(ordered, key, metric),
                courses=[[run.run for run, _ in course] for course in courses[key, metric]],
                looked=len(long[key, metric]),
                hints=[
                    hint for course in long[key, metric] for hint in _hints(course, metric, LEVEL / tested, numbers)
                ],
                others=[name for name in metrics_of(ordered, key) if name != metric],
            )
            for key, metric in chosen
        ],
        unread=unread,
    )


def first_figures(runs: Sequence[RunFigures], metric: str | None = None) -> list[tuple[str, str]]:
    """Each condition and pair with its first metric, or with one by name if it has that."""
    found = []
    for key in places_of(runs):
        metrics = metrics_of(runs, key)
        if metrics and (metric is None or metric in metrics):
            found.append((key, metric or metrics[0]))
    return found


def _courses(runs: Sequence[RunFigures], key: str, metric: str) -> list[list[MeasuredTrials]]:
    measured, _ = measured_in(runs, key, metric)
    positive = [one for one in measured if one[1].figures[metric].value > 0]
    found = joined(
        positive,
        lambda one, other: is_same_but_servers(one[0].surroundings, other[0].surroundings, drivens(one, other)),
    )
    return sorted(found, key=lambda course: -course[-1][0].began_unix_s)


def _hints(course: Sequence[MeasuredTrials], metric: str, level: float, numbers: dict[str, Numbered]) -> list[Hint]:
    figures = [place.figures[metric] for _, place in course]
    found = changes([math.log(one.value) for one in figures], [_error(one) for one in figures], level)
    names = [numbers[run.run] for run, _ in course]
    return [
        Hint(
            before=names[one.at - 1],
            after=names[one.at],
            earliest=names[one.earliest].number,
            latest=names[one.latest].number,
            ratio=math.exp(one.estimate),
            low=math.exp(one.low),
            high=math.exp(one.high),
            p_value=one.p_value,
            differs=_differs(course[one.at - 1], course[one.at], names[one.at - 1], names[one.at]),
            gate=gate_command(course[one.at - 1][0].surroundings, course[one.at][0].surroundings),
        )
        for one in found
    ]


def _differs(before: MeasuredTrials, after: MeasuredTrials, *names: Numbered) -> list[Message]:
    one, other = (f"run {name.number}" for name in names)
    a, b = before[0].head, after[0].head
    heads = [heads_unlike(a, b, (one, other))] if a != b else []
    return [*heads, *servers_unlike(before[0].surroundings, after[0].surroundings, (one, other))]


def _error(figure: TrendFigure) -> float | None:
    """The standard error of the figure's logarithm, by its interval."""
    if figure.low is None or figure.high is None or not 0 < figure.low <= figure.high < math.inf:
        return None
    return (math.log(figure.high) - math.log(figure.low)) / (2 * _ENDS)
