"""What opens the report: the question's answer in figures and verdicts, and a line on what was compared."""

import json
from collections import Counter
from collections.abc import Sequence

from loadstone.analyse.answers import ONE_BLOCK
from loadstone.analyse.family_words import short_words
from loadstone.analyse.labels import condition_words, identity
from loadstone.analyse.metrics import figure, figure_words, less_is_better, metric_words, range_words
from loadstone.analyse.model import Comparison, Family, ResultTable, Row, VerdictKind
from loadstone.spec.experiment import Experiment

FAMILIES_MAX = 3
"""So many comparisons stand in the answer; the others are counted."""
_DECIDED: tuple[VerdictKind, ...] = ("faster", "equivalent", "mixed")
_SAYS: dict[VerdictKind, int] = {
    "faster": 4, "mixed": 3, "equivalent": 2, "undecided": 1, "not_decidable": 1, "invalid": 0,
}  # fmt: skip
"""How much a verdict says."""


def answer_question(
    experiment: Experiment, tables: Sequence[ResultTable], families: Sequence[Family], *, quick: bool
) -> str:
    """One or two sentences that open the report: the best valid figures of the primary metric, and the main verdicts.

    A figure for each level of the first factor that the first table varies, all at the same levels of
    the other factors: those with the best figures of which every level gave one. Where the valid rows have fewer
    levels than valid and suspect ones together, those stand there, and are called suspect.
    """
    remarks = ["quick run"] if quick else []
    if not families and measured_once(tables):
        remarks.append(ONE_BLOCK)
    verdicts = _main_verdicts(families)
    return f"{_figures(experiment, tables, remarks)}{f' {verdicts}' if verdicts else ''}"


def comparison_line(tables: Sequence[ResultTable], families: Sequence[Family]) -> str:
    """One line on what was compared: `8 comparisons: 6 decided, 2 undecided`; or why nothing was."""
    kinds = Counter(pair.primary.kind for family in families for pair in family.comparisons)
    if not kinds:
        return ONE_BLOCK if measured_once(tables) else "no comparison was declared"
    total = sum(kinds.values())
    parts = {
        "decided": sum(kinds[kind] for kind in _DECIDED),
        "undecided": kinds["undecided"],
        "not decidable here": kinds["not_decidable"],
        "invalid": kinds["invalid"],
    }
    told = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    return f"{total} comparison{'' if total == 1 else 's'}: {told}"


def measured_once(tables: Sequence[ResultTable]) -> bool:
    """Whether no condition was measured more than once."""
    return all(len(row.trials) <= 1 for table in tables for row in table.rows)


def _figures(experiment: Experiment, tables: Sequence[ResultTable], remarks: Sequence[str]) -> str:
    if not tables:
        return f"Nothing was measured{_remarks(remarks)}."
    vary = tables[0].vary
    first = next((name for name, levels in vary.items() if len(levels) > 1), next(iter(vary)))
    others = [name for name in vary if name != first]
    alike = [table for table in tables if _alike(table, tables[0], first)]
    metric = experiment.primary_metric
    valid = _best_group(alike, first, metric, ("valid",))
    usable = _best_group(alike, first, metric, ("valid", "suspect"))
    best = valid if len(valid) >= len(usable) else usable
    if not best:
        return f"No trial gave a figure that may be used; the checks say why{_remarks(remarks)}."
    place = condition_words(experiment, best[0].condition, others)
    figures = _listed([_level_figure(experiment, row, first, metric) for row in best])
    marks = remarks if best is valid else ["suspect", *remarks]
    return f"{f'At {place}: ' if place else ''}{figures} {metric_words(metric)}{_remarks(marks)}."


def _alike(table: ResultTable, first: ResultTable, shown: str) -> bool:
    """Whether a table may stand in for the first: it varies the same factors, and is about no other kind of work.

    `shown`: the factor whose levels are told; it must have one of the first table's.
    """
    if set(table.vary) != set(first.vary) or not set(table.vary[shown]) & set(first.vary[shown]):
        return False
    fixed = [(levels, table.vary[name]) for name, levels in first.vary.items() if len(levels) == 1]
    return all(theirs == ours for ours, theirs in fixed if len(theirs) == 1)


def _remarks(remarks: Sequence[str]) -> str:
    return f" ({'; '.join(remarks)})" if remarks else ""


def _best_group(tables: Sequence[ResultTable], first: str, metric: str, verdicts: Sequence[str]) -> list[Row]:
    """Rows that differ in the first factor only: the most levels, then the best figures."""
    groups: dict[str, dict[str, Row]] = {}
    for row in (row for table in tables for row in table.rows):
        if row.verdict in verdicts and figure(row, metric) is not None:
            others = identity({name: level for name, level in row.condition.items() if name != first})
            groups.setdefault(others, {})[json.dumps(row.condition[first])] = row
    sign = -1 if less_is_better(metric) else 1
    ranked = sorted(
        (list(group.values()) for group in groups.values()),
        key=lambda group: (len(group), sign * sum(figure(row, metric) or 0.0 for row in group)),
    )
    return ranked[-1] if ranked else []


def _level_figure(experiment: Experiment, row: Row, first: str, metric: str) -> str:
    level = condition_words(experiment, row.condition, [first])
    return f"{level} {figure_words(figure(row, metric) or 0.0, metric)}{range_words(row, metric)}"


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
