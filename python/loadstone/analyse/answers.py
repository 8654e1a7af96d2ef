"""The original author's conclusions, and the question, answered with our data. Nothing is ranked.

One block of trials cannot tell a difference from chance, so figures stand side by side.
"""

from collections.abc import Iterable, Mapping, Sequence

from loadstone.analyse.labels import condition_words, identity
from loadstone.analyse.metrics import figure, figure_words, less_is_better, metric_words
from loadstone.analyse.model import Answer, ResultTable, Row
from loadstone.spec.experiment import Conclusion, Experiment
from loadstone.spec.levels import Condition, Level, fits

ONE_BLOCK = "no comparison: one block"
NEAR = 0.25
"""A single figure nearer than this to a claimed one decides nothing: rates of one machine differ by
so much between runs (`docs/checks.md`)."""
_NO_DATA = "no valid data"


def answer_conclusions(experiment: Experiment, tables: Sequence[ResultTable]) -> list[Answer]:
    """An answer to each conclusion of the experiment."""
    rows = _measured(tables)
    return [_answer(conclusion, rows) for conclusion in experiment.conclusions]


def _measured(tables: Iterable[ResultTable]) -> list[Row]:
    """Every condition with a figure, once."""
    found: dict[str, Row] = {}
    for row in (row for table in tables for row in table.rows):
        if row.verdict in ("valid", "suspect"):
            found.setdefault(identity(row.condition), row)
    return list(found.values())


def _answer(conclusion: Conclusion, rows: list[Row]) -> Answer:
    match conclusion.kind:
        case "beyond":
            return Answer(claim=conclusion.claim, answer=conclusion.answer, evidence=[], verdict="not answered here")
        case "at_least":
            return _at_least(conclusion, rows)
        case "ratio":
            return _side_by_side(conclusion, rows)
        case "pool_wait":
            return _pool_wait(conclusion, rows)


def _at_least(conclusion: Conclusion, rows: list[Row]) -> Answer:
    """The best figure of the conditions against the claimed one."""
    metric, claimed = conclusion.metric, conclusion.value or 0.0
    meant = [(value, row) for row in _where(rows, conclusion.where) if (value := figure(row, metric)) is not None]
    if not meant:
        return _no_data(conclusion)
    sign = -1 if less_is_better(metric) else 1
    best, row = max(meant, key=lambda pair: (pair[1].verdict == "valid", sign * pair[0]))
    words = f"{figure_words(best, metric)} {metric_words(metric)} at {row.label}"
    evidence = [_evidence(row, metric)]
    if row.verdict == "suspect" or abs(best - claimed) <= NEAR * claimed:
        why = "suspect" if row.verdict == "suspect" else f"within {NEAR:.0%} of the claim, too near for one block"
        answer = f"Measured: {words} ({why})."
        return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict=ONE_BLOCK)
    holds = sign * best >= sign * claimed
    answer = f"{'Yes' if holds else 'Not here'}: {words}."
    return Answer(
        claim=conclusion.claim, answer=answer, evidence=evidence, verdict="holds" if holds else "does not hold"
    )


def _side_by_side(conclusion: Conclusion, rows: list[Row]) -> Answer:
    """Figures of matched conditions beside each other, without a ratio."""
    metric = conclusion.metric
    evidence = [
        f"{_evidence(one, metric)} against {_evidence(other, metric)}"
        for one, other in _pairs(conclusion, rows)
        if figure(one, metric) is not None and figure(other, metric) is not None
    ]
    if not evidence:
        return _no_data(conclusion)
    answer = (
        f"{len(evidence)} {'pair' if len(evidence) == 1 else 'pairs'} of conditions were measured, each once: "
        "one block cannot tell a difference from chance."
    )
    return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict=ONE_BLOCK)


def _pool_wait(conclusion: Conclusion, rows: list[Row]) -> Answer:
    """Shares of the response time that were spent waiting for a connection, beside each other."""
    evidence: list[str] = []
    ours: list[float] = []
    theirs: list[float] = []
    for one, other in _pairs(conclusion, rows):
        our, their = _wait_share(one), _wait_share(other)
        if our is not None and their is not None:
            ours.append(our)
            theirs.append(their)
            evidence.append(f"{_wait_words(one, our)} against {_wait_words(other, their)}")
    if not evidence:
        return _no_data(conclusion)
    answer = f"Waiting for a connection took {_span(ours)} of the response time, against {_span(theirs)}."
    return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict=ONE_BLOCK)


def _pairs(conclusion: Conclusion, rows: list[Row]) -> list[tuple[Row, Row]]:
    """Rows of `where` with their partners of `against`: equal in every factor that neither names."""
    named = {*conclusion.where, *conclusion.against}
    partners = {_rest(row.condition, named): row for row in _where(rows, conclusion.against)}
    found = [(row, partners.get(_rest(row.condition, named))) for row in _where(rows, conclusion.where)]
    return [(row, partner) for row, partner in found if partner is not None]


def _rest(condition: Condition, named: set[str]) -> str:
    return identity({name: level for name, level in condition.items() if name not in named})


def _where(rows: list[Row], where: Mapping[str, Level]) -> list[Row]:
    return [row for row in rows if all(name in row.condition for name in where) and fits(row.condition, where)]


def _wait_share(row: Row) -> float | None:
    """Mean pool wait as a share of the mean response time."""
    if row.pool_wait_ns is None or row.response_ns is None or not row.response_ns.mean:
        return None
    return None if row.pool_wait_ns.mean is None else row.pool_wait_ns.mean / row.response_ns.mean


def _span(shares: list[float]) -> str:
    known = sorted(shares)
    low, high = f"{known[0]:.0%}", f"{known[-1]:.0%}"
    return low if low == high else f"{low} to {high}"


def _wait_words(row: Row, share: float) -> str:
    return f"{row.label}: {share:.1%} waiting{_source(row)}"


def _evidence(row: Row, metric: str) -> str:
    value = figure(row, metric)
    return f"{row.label}: {'none' if value is None else figure_words(value, metric)}{_source(row)}"


def _source(row: Row) -> str:
    """The trials behind a figure, and that it is suspect where it is."""
    return f" ({', '.join(row.trials)}{', suspect' if row.verdict == 'suspect' else ''})"


def _no_data(conclusion: Conclusion) -> Answer:
    answer = "No valid trial of these conditions was measured."
    return Answer(claim=conclusion.claim, answer=answer, evidence=[], verdict=_NO_DATA)


def answer_question(experiment: Experiment, tables: Sequence[ResultTable], *, quick: bool) -> str:
    """One sentence that opens the report: the best valid figures of the primary metric.

    A figure for each level of the factor that the first table varies first, all at the same levels of
    the other factors: those with the best figures of which every level was measured validly.
    """
    qualifier = f"({'quick run; ' if quick else ''}{ONE_BLOCK})"
    if not tables:
        return f"Nothing was measured {qualifier}."
    first, *others = tables[0].vary
    alike = [table for table in tables if set(table.vary) == set(tables[0].vary)]
    metric = experiment.primary_metric
    for verdict in ("valid", "suspect"):
        best = _best_group(alike, first, metric, verdict)
        if best:
            place = condition_words(experiment, best[0].condition, others)
            figures = [_level_figure(experiment, row, first, metric) for row in best]
            mark = "" if verdict == "valid" else "suspect; "
            at = f"At {place}: " if place else ""
            return f"{at}{_listed(figures)} {metric_words(metric)} {qualifier[0]}{mark}{qualifier[1:]}."
    return f"No trial gave a figure that may be used; the checks say why {qualifier}."


def _best_group(tables: Sequence[ResultTable], first: str, metric: str, verdict: str) -> list[Row]:
    """Rows that differ in the first factor only: the most levels, then the best figures."""
    groups: dict[str, dict[str, Row]] = {}
    for row in (row for table in tables for row in table.rows):
        if row.verdict == verdict and figure(row, metric) is not None:
            groups.setdefault(_rest(row.condition, {first}), {})[identity({first: row.condition[first]})] = row
    sign = -1 if less_is_better(metric) else 1
    ranked = sorted(
        (list(group.values()) for group in groups.values()),
        key=lambda group: (len(group), sign * sum(figure(row, metric) or 0.0 for row in group)),
    )
    return ranked[-1] if ranked else []


def _level_figure(experiment: Experiment, row: Row, first: str, metric: str) -> str:
    return f"{condition_words(experiment, row.condition, [first])} {figure_words(figure(row, metric) or 0.0, metric)}"


def _listed(figures: list[str]) -> str:
    return figures[0] if len(figures) == 1 else f"{', '.join(figures[:-1])} and {figures[-1]}"
