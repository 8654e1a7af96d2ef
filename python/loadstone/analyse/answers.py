"""The original author's conclusions, answered with our data.

What was compared is answered by its verdicts. Everything else stands side by side and is not ranked: one
block of trials cannot tell a difference from chance.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.analyse.claims import answer_by_verdicts
from loadstone.analyse.model import Answer, Family, ResultTable, Row
from loadstone.analyse.row_figures import interval, range_words
from loadstone.judge.metrics import figure, figure_words, less_is_better, metric_words
from loadstone.spec.experiment import Conclusion, Experiment
from loadstone.spec.levels import Condition, Level, fits, identity

ONE_BLOCK: Literal["no comparison: one block"] = "no comparison: one block"
NEAR = 0.25
"""A figure without an interval that is nearer than this to a claimed one decides nothing: rates of one machine
differ by so much between runs (`docs/checks.md`)."""


@dataclass(frozen=True)
class Planned:
    """What the run set out to measure: a claim about anything else was left out of it."""

    conditions: Sequence[Condition]
    comparisons: Collection[str] = ()
    quick: bool = False

    def holds(self, conclusion: Conclusion) -> bool:
        """Whether the run planned what answers the conclusion."""
        where = any(_has(one, conclusion.where) for one in self.conditions)
        return where and (not conclusion.against or any(_has(one, conclusion.against) for one in self.conditions))


def answer_conclusions(
    experiment: Experiment,
    tables: Sequence[ResultTable],
    families: Sequence[Family],
    planned: Planned | None = None,
) -> list[Answer]:
    """An answer to each conclusion of the experiment. `planned`: None where everything was."""
    rows = _measured(tables)
    by_name = {family.name: family for family in families}
    back_to_back = _is_back_to_back(experiment)
    answers = [
        _answer(one, rows, by_name.get(one.comparison or ""), back_to_back=back_to_back)
        for one in experiment.conclusions
    ]
    if planned is None:
        return answers
    pairs = zip(experiment.conclusions, answers, strict=True)
    return [_or_left_out(conclusion, answer, planned) for conclusion, answer in pairs]


def _or_left_out(conclusion: Conclusion, answer: Answer, planned: Planned) -> Answer:
    """The answer, or that this run did not ask: what was never planned did not fail."""
    if conclusion.kind == "beyond" or answer.verdict not in ("no valid data", "not answered here", ONE_BLOCK):
        return answer
    compared = conclusion.comparison is None or conclusion.comparison in planned.comparisons
    if planned.holds(conclusion) and (compared or answer.verdict == "no valid data"):
        return answer
    what = "--quick" if planned.quick else "this run"
    if answer.evidence:
        said = f"{what} leaves out the comparison that answers it; the figures stand side by side."
    else:
        said = f"{what} leaves out these conditions."
    full = " Run it without --quick for an answer." if planned.quick else ""
    verdict: Literal["left out of --quick", "left out"] = "left out of --quick" if planned.quick else "left out"
    return answer.model_copy(update={"answer": f"{said[:1].upper()}{said[1:]}{full}", "verdict": verdict})


def _is_back_to_back(experiment: Experiment) -> bool:
    """Whether users ask again as soon as they are answered: a closed model without pauses."""
    model = experiment.workload.model
    return model.get("kind") == "closed" and model.get("think_time_ms", 0) in (0, "0", "0 ms")


def _measured(tables: Iterable[ResultTable]) -> list[Row]:
    """Every condition with a figure, once."""
    found: dict[str, Row] = {}
    for row in (row for table in tables for row in table.rows):
        if row.verdict in ("valid", "suspect"):
            found.setdefault(identity(row.condition), row)
    return list(found.values())


def _answer(conclusion: Conclusion, rows: list[Row], family: Family | None, *, back_to_back: bool) -> Answer:
    found = answer_by_verdicts(conclusion, family, back_to_back=back_to_back) if family is not None else None
    if found is not None:
        waiting = _waiting(conclusion, rows) if conclusion.kind == "pool_wait" else None
        return (
            found
            if waiting is None
            else found.model_copy(
                update={"answer": f"{found.answer} {waiting.answer}", "evidence": [*found.evidence, *waiting.evidence]}
            )
        )
    match conclusion.kind:
        case "beyond":
            return Answer(claim=conclusion.claim, answer=conclusion.answer, evidence=[], verdict="not answered here")
        case "at_least":
            return _at_least(conclusion, rows)
        case "ratio":
            return _side_by_side(conclusion, rows)
        case "pool_wait":
            return _waiting(conclusion, rows) or _no_data(conclusion)


def _at_least(conclusion: Conclusion, rows: list[Row]) -> Answer:
    """The best figure of the conditions against the claimed one."""
    metric, claimed = conclusion.metric, conclusion.value or 0.0
    meant = [(value, row) for row in _where(rows, conclusion.where) if (value := figure(row, metric)) is not None]
    if not meant:
        return _no_data(conclusion)
    sign = -1 if less_is_better(metric) else 1
    best, row = max(meant, key=lambda pair: (pair[1].verdict == "valid", sign * pair[0]))
    words = f"{figure_words(best, metric)}{range_words(row, metric)} {metric_words(metric)} at {row.label}"
    evidence = [_evidence(row, metric)]
    if interval(row, metric) is not None:
        return _by_interval(conclusion, row, [other for _, other in meant], words)
    if row.verdict == "suspect" or abs(best - claimed) <= NEAR * claimed:
        why = "suspect" if row.verdict == "suspect" else f"within {NEAR:.0%} of the claim, too near for {_blocks(row)}"
        answer = f"Measured: {words} ({why})."
        return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict="undecided")
    holds = sign * best >= sign * claimed
    answer = f"{'Yes' if holds else 'Not here'}: {words}."
    return Answer(
        claim=conclusion.claim, answer=answer, evidence=evidence, verdict="holds" if holds else "does not hold"
    )


def _by_interval(conclusion: Conclusion, best: Row, rows: Sequence[Row], words: str) -> Answer:
    """A claimed rate against intervals: reached by the best condition, by none, or too near to tell."""
    metric, claimed = conclusion.metric, conclusion.value or 0.0
    low, _ = interval(best, metric) or (0.0, 0.0)
    highest = max((known[1] for row in rows if (known := interval(row, metric))), default=claimed)
    mark = " (suspect trials)" if best.verdict == "suspect" else ""
    verdict: Literal["holds", "does not hold", "undecided"] = "undecided"
    answer = f"Measured: {words}{mark}: the interval holds the claimed figure."
    if low > claimed:
        verdict, answer = "holds", f"Yes: {words}{mark}."
    elif highest < claimed:
        verdict, answer = "does not hold", f"Not here: {words}{mark}."
    return Answer(claim=conclusion.claim, answer=answer, evidence=[_evidence(best, metric)], verdict=verdict)


def _side_by_side(conclusion: Conclusion, rows: list[Row]) -> Answer:
    """Figures of matched conditions beside each other, without a ratio."""
    metric = conclusion.metric
    pairs = [
        (one, other)
        for one, other in _pairs(conclusion, rows)
        if figure(one, metric) is not None and figure(other, metric) is not None
    ]
    if not pairs:
        return _no_data(conclusion)
    evidence = [f"{_evidence(one, metric)} against {_evidence(other, metric)}" for one, other in pairs]
    measured = f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'} of conditions were measured"
    if _once(pairs):
        answer = f"{measured}, each once: one block cannot tell a difference from chance."
        return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict=ONE_BLOCK)
    answer = f"{measured}, and not compared in this run: their figures stand side by side."
    return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict="not answered here")


def _once(pairs: Sequence[tuple[Row, Row]]) -> bool:
    return all(row.blocks <= 1 for pair in pairs for row in pair)


def _waiting(conclusion: Conclusion, rows: list[Row]) -> Answer | None:
    """Shares of the response time that were spent waiting for a connection, beside each other; None without any."""
    evidence: list[str] = []
    ours: list[float] = []
    theirs: list[float] = []
    pairs = _pairs(conclusion, rows)
    for one, other in pairs:
        our, their = _wait_share(one), _wait_share(other)
        if our is not None and their is not None:
            ours.append(our)
            theirs.append(their)
            evidence.append(f"{_wait_words(one, our)} against {_wait_words(other, their)}")
    if not evidence:
        return None
    answer = f"Waiting for a connection took {_span(ours)} of the response time, against {_span(theirs)}."
    verdict = ONE_BLOCK if _once(pairs) else "not answered here"
    return Answer(claim=conclusion.claim, answer=answer, evidence=evidence, verdict=verdict)


def _pairs(conclusion: Conclusion, rows: list[Row]) -> list[tuple[Row, Row]]:
    """Rows of `where` with their partners of `against`: equal in every factor that neither names."""
    named = {*conclusion.where, *conclusion.against}
    partners = {_rest(row.condition, named): row for row in _where(rows, conclusion.against)}
    found = [(row, partners.get(_rest(row.condition, named))) for row in _where(rows, conclusion.where)]
    return [(row, partner) for row, partner in found if partner is not None]


def _rest(condition: Condition, named: set[str]) -> str:
    return identity({name: level for name, level in condition.items() if name not in named})


def _where(rows: list[Row], where: Mapping[str, Level]) -> list[Row]:
    return [row for row in rows if _has(row.condition, where)]


def _has(condition: Condition, where: Mapping[str, Level]) -> bool:
    return all(name in condition for name in where) and fits(condition, where)


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
    words = "none" if value is None else f"{figure_words(value, metric)}{range_words(row, metric)}"
    return f"{row.label}: {words}{_source(row)}"


def _source(row: Row) -> str:
    """The trials behind a figure, and that it is suspect where it is."""
    return f" ({', '.join(row.trials)}{', suspect' if row.verdict == 'suspect' else ''})"


def _no_data(conclusion: Conclusion) -> Answer:
    answer = "No trial of these conditions gave a figure that may be used; the checks say why."
    return Answer(claim=conclusion.claim, answer=answer, evidence=[], verdict="no valid data")


def _blocks(row: Row) -> str:
    return "one block" if row.blocks <= 1 else f"{row.blocks} blocks"
