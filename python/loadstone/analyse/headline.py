"""What opens the report: the question's answer in figures and verdicts, and a line on what was compared."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.analyse.answers import ONE_BLOCK
from loadstone.analyse.family_words import short_words
from loadstone.analyse.model import Comparison, Family, ResultTable, Row
from loadstone.analyse.row_figures import bound_words, interval, range_words
from loadstone.judge.metrics import figure, figure_words, metric_words
from loadstone.judge.verdict import DECIDED, VerdictKind
from loadstone.plan.labels import condition_words
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import identity

FAMILIES_MAX = 3
"""So many comparisons stand in the answer; the others are counted."""
_SAYS: dict[VerdictKind, int] = {
    "faster": 4, "mixed": 3, "equivalent": 2, "undecided": 1, "not_decidable": 1, "invalid": 0,
}  # fmt: skip
"""How much a verdict says."""


def answer_question(
    experiment: Experiment, tables: Sequence[ResultTable], families: Sequence[Family], *, quick: bool
) -> str:
    """One or two sentences that open the report: the headline, and the main verdicts."""
    verdicts = _main_verdicts(families)
    return f"{headline(experiment, tables, families, quick=quick)}{f' {verdicts}' if verdicts else ''}"


def headline(
    experiment: Experiment, tables: Sequence[ResultTable], families: Sequence[Family] = (), *, quick: bool
) -> str:
    """One sentence: figures of the primary metric that have an interval, or else what the run can tell.

    A figure for each level of the first factor that a table varies, all at the same levels of the other factors: the
    place at which the most levels have an interval, the first such place in the order of the tables. It is never
    chosen by the figures: the best of many is one that chance helped.
    """
    remarks = ["quick run"] if quick else []
    if not tables:
        return f"Nothing was measured{_remarks(remarks)}."
    metric = experiment.primary_metric
    usable = [row for table in tables for row in table.rows if row.verdict in ("valid", "suspect")]
    if all(figure(row, metric) is None for row in usable):
        if any(pair.primary.kind in DECIDED for family in families for pair in family.comparisons):
            why = "no rate is printed, since it could be half as high again; what was compared holds"
            return f"Others took CPU time: {why}{_remarks(remarks)}."
        return f"No trial gave a figure that may be used; the checks say why{_remarks(remarks)}."
    found = max(_groups(tables, metric), key=lambda group: group.weight, default=None)
    return _without_interval(usable, remarks) if found is None else _named(experiment, found, metric, remarks)


def comparison_line(tables: Sequence[ResultTable], families: Sequence[Family]) -> str:
    """One line on what was compared: `8 comparisons: 6 decided, 2 undecided`; or why nothing was."""
    kinds = Counter(pair.primary.kind for family in families for pair in family.comparisons)
    if not kinds:
        return ONE_BLOCK if measured_once(tables) else "no comparison was declared"
    total = sum(kinds.values())
    parts = {
        "decided": sum(kinds[kind] for kind in DECIDED),
        "undecided": kinds["undecided"],
        "not decidable here": kinds["not_decidable"],
        "invalid": kinds["invalid"],
    }
    told = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    return f"{total} comparison{'' if total == 1 else 's'}: {told}"


def measured_once(tables: Sequence[ResultTable]) -> bool:
    """Whether no condition was measured more than once."""
    return all(len(row.trials) <= 1 for table in tables for row in table.rows)


@dataclass(frozen=True)
class _Group:
    """Rows with an interval that differ in one factor only."""

    factor: str
    others: tuple[str, ...]
    """The other factors that the table varies."""
    rows: tuple[Row, ...]

    @property
    def weight(self) -> tuple[bool, int]:
        """Capacities before round trips of one user, and many levels before few."""
        return not any(row.bound is not None and row.bound.round_trip for row in self.rows), len(self.rows)


def _groups(tables: Sequence[ResultTable], metric: str) -> Iterator[_Group]:
    for table in tables:
        first = next((name for name, levels in table.vary.items() if len(levels) > 1), next(iter(table.vary)))
        places: dict[str, list[Row]] = {}
        for row in table.rows:
            if row.verdict in ("valid", "suspect") and interval(row, metric) is not None:
                place = identity({name: level for name, level in row.condition.items() if name != first})
                places.setdefault(place, []).append(row)
        others = tuple(name for name in table.vary if name != first)
        yield from (_Group(first, others, tuple(rows)) for rows in places.values())


def _named(experiment: Experiment, group: _Group, metric: str, remarks: Sequence[str]) -> str:
    place = condition_words(experiment, group.rows[0].condition, group.others)
    figures = _listed([_level_figure(experiment, row, group.factor, metric) for row in group.rows])
    marks = ["suspect", *remarks] if any(row.verdict == "suspect" for row in group.rows) else remarks
    return f"{f'At {place}: ' if place else ''}{figures} {metric_words(metric)}{_remarks(marks)}."


def _without_interval(rows: Sequence[Row], remarks: Sequence[str]) -> str:
    """What a run tells whose primary metric has no interval anywhere."""
    number = len({identity(row.condition) for row in rows})
    conditions = "The one condition was" if number == 1 else f"{number} conditions were"
    often = max(row.blocks for row in rows)
    how = "once" if often <= 1 else f"{often} times"
    if any(row.goodput_interval is not None for row in rows):
        return f"{conditions} measured; the tables say how often, and how sure the rates are{_remarks(remarks)}."
    return (
        f"{conditions} measured {how}: the tables describe this run, and no figure has an interval{_remarks(remarks)}."
    )


def _remarks(remarks: Sequence[str]) -> str:
    return f" ({'; '.join(remarks)})" if remarks else ""


def _level_figure(experiment: Experiment, row: Row, first: str, metric: str) -> str:
    level = condition_words(experiment, row.condition, [first])
    value = figure_words(figure(row, metric) or 0.0, metric)
    return f"{level} {value}{range_words(row, metric)}{bound_words(row, metric)}"


def _listed(figures: list[str]) -> str:
    return figures[0] if len(figures) == 1 else f"{', '.join(figures[:-1])} and {figures[-1]}"


def _main_verdicts(families: Sequence[Family]) -> str:
    """The clearest verdict of each of a few comparisons: what was decided first, what is INVALID last."""
    judged = sorted((family for family in families if family.comparisons), key=_rank, reverse=True)
    told = [_verdict(family) for family in judged[:FAMILIES_MAX]]
    if not told:
        return ""
    more = len(judged) - FAMILIES_MAX
    rest = f"; and {more} more comparison{'' if more == 1 else 's'}" if more > 0 else ""
    return f"Compared: {'; '.join(told)}{rest}."


def _verdict(family: Family) -> str:
    pairs = family.comparisons
    clearest = max(pairs, key=_clarity)
    judged = clearest.primary
    at = f" at {clearest.place}" if clearest.place else ""
    more = len(pairs) - 1
    of = f" (and {more} more pair{'' if more == 1 else 's'})" if more else ""
    return f"{judged.b.name} against {judged.a.name}{at}: {short_words(judged)}{of}"


def _rank(family: Family) -> int:
    """How much its clearest verdict says; comparisons that say as much stay in the order they were declared in."""
    return max(min(2, _SAYS[pair.primary.kind]) for pair in family.comparisons)


def _clarity(pair: Comparison) -> tuple[int, float]:
    """What is decided comes before what is not, a large difference before a small one, INVALID last."""
    return _SAYS[pair.primary.kind], abs(pair.primary.estimate or 0.0)
