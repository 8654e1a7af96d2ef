"""The original author's conclusions, answered with our data.

What was compared is answered by its verdicts. Everything else stands side by side and is not ranked: one
block of trials cannot distinguish a difference from chance.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.addons.studies.answers import AnswerVerdict, ConclusionAnswer, ConclusionAnswers
from loadstone.addons.studies.claims import answer_by_verdicts
from loadstone.experiment.spec.experiment import Conclusion, Experiment, conditions_of_effects, conditions_varied
from loadstone.experiment.spec.levels import Condition, Level, drop_factors, identity, matches
from loadstone.judge.analysis.analysis import Family, ResultTable, Row
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.analysis.tables import tables_of_mode
from loadstone.judge.metrics import figure, less_is_better
from loadstone.run_folder.reading import RecordedRun
from loadstone.text.message import Message, message, verbatim

NEAR = 0.25
"""A figure without an interval that is nearer than this to a claimed one decides nothing: rates of one machine
differ by so much between runs (`docs/checks.md`)."""


@dataclass(frozen=True)
class Planned:
    """What the run set out to measure: a claim about anything else was left out of it."""

    conditions: Sequence[Condition]
    comparisons: Collection[str] = ()
    quick: bool = False
    of_quick: "Planned | None" = None
    """What `--quick` alone would have planned: what is in it was left out otherwise. None: what was planned."""

    def left_out_by_quick(self, conclusion: Conclusion) -> bool:
        """Whether it is `--quick` that leaves out what answers the conclusion."""
        plan = self.of_quick or self
        return self.quick and not (plan.holds(conclusion) and plan.compares(conclusion))

    def compares(self, conclusion: Conclusion) -> bool:
        """Whether the run planned the comparison that the conclusion names, if it names one."""
        return conclusion.comparison is None or conclusion.comparison in self.comparisons

    def holds(self, conclusion: Conclusion) -> bool:
        """Whether the run planned what answers the conclusion."""
        where = any(_has(condition, conclusion.where) for condition in self.conditions)
        return where and (
            not conclusion.against or any(_has(condition, conclusion.against) for condition in self.conditions)
        )


def planned_by(run: RecordedRun) -> Planned:
    """The conditions and comparisons of the run's plan."""
    compared = {group.name for group in run.plan.groups if group.pairs}
    conditions = [line.condition for line in run.plan.trials]
    return Planned(conditions, compared, quick=run.plan.quick, of_quick=_of_quick(run) if run.plan.quick else None)


def _of_quick(run: RecordedRun) -> Planned:
    """What `--quick` leaves in of the whole experiment, whatever `--only` names."""
    compared = [comparison for comparison in run.experiment.comparisons if comparison.quick]
    tables = tables_of_mode(run)
    conditions = [
        condition for table in tables for condition in conditions_varied(run.experiment, table.varied(quick=True))
    ]
    for one in compared:
        places = one.at if one.quick_at is None else one.quick_at
        conditions += conditions_varied(run.experiment, {**places, one.between: one.levels})
    effects = [effect for effect in run.experiment.effects if effect.quick]
    for factorial in effects:
        conditions += conditions_of_effects(run.experiment, factorial)
    return Planned(conditions, {*(one.name for one in compared), *(effect.name for effect in effects)}, quick=True)


def evaluate_conclusions(judged: RunFindings) -> ConclusionAnswers:
    """The answers that stand under `answers` in the analysis; none where the study has no conclusions."""
    run = judged.run
    return ConclusionAnswers(answer_conclusions(run.experiment, judged.tables, judged.families, planned_by(run)))


def answer_conclusions(
    experiment: Experiment,
    tables: Sequence[ResultTable],
    families: Sequence[Family],
    planned: Planned | None = None,
) -> list[ConclusionAnswer]:
    """An answer to each conclusion of the experiment. `planned`: None where everything was."""
    rows = _measured(tables)
    by_name = {family.name: family for family in families}
    back_to_back = _is_back_to_back(experiment)
    answers = [
        _answer(conclusion, rows, by_name.get(conclusion.comparison or ""), back_to_back=back_to_back)
        for conclusion in experiment.conclusions
    ]
    if planned is None:
        return answers
    pairs = zip(experiment.conclusions, answers, strict=True)
    return [_or_left_out(conclusion, answer, planned) for conclusion, answer in pairs]


def _or_left_out(conclusion: Conclusion, answer: ConclusionAnswer, planned: Planned) -> ConclusionAnswer:
    """The answer, or that this run left it out: what was never planned did not fail."""
    if conclusion.kind == "beyond" or answer.verdict not in ("no_valid_data", "not_answered_here", "one_block"):
        return answer
    if planned.holds(conclusion) and (planned.compares(conclusion) or answer.verdict == "no_valid_data"):
        return answer
    by_quick = planned.left_out_by_quick(conclusion)
    said = message("answer_left_out", quick=by_quick, side_by_side=bool(answer.evidence))
    verdict: AnswerVerdict = "left_out_of_quick" if by_quick else "left_out"
    return answer.model_copy(update={"answer": said, "verdict": verdict})


def _is_back_to_back(experiment: Experiment) -> bool:
    """Whether users send again as soon as they are answered: a closed model without pauses."""
    model = experiment.workload.model
    return model.get("kind") == "closed" and model.get("think_time_ms", 0) in (0, "0", "0 ms")


def _measured(tables: Iterable[ResultTable]) -> list[Row]:
    """Every condition with a figure, once."""
    found: dict[str, Row] = {}
    for row in (row for table in tables for row in table.rows):
        if row.verdict in ("valid", "suspect"):
            found.setdefault(identity(row.condition), row)
    return list(found.values())


def _answer(conclusion: Conclusion, rows: list[Row], family: Family | None, *, back_to_back: bool) -> ConclusionAnswer:
    found = answer_by_verdicts(conclusion, family, back_to_back=back_to_back) if family is not None else None
    if found is not None:
        waiting = _waiting(conclusion, rows) if conclusion.kind == "pool_wait" else None
        return found if waiting is None else _both(found, waiting)
    match conclusion.kind:
        case "beyond":
            said = verbatim(conclusion.answer)
            return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=[], verdict="not_answered_here")
        case "at_least":
            return _at_least(conclusion, rows)
        case "ratio":
            return _side_by_side(conclusion, rows)
        case "pool_wait":
            return _waiting(conclusion, rows) or _no_data(conclusion)


def _both(found: ConclusionAnswer, waiting: ConclusionAnswer) -> ConclusionAnswer:
    """The answer by verdicts, and after it how long users waited for a connection."""
    said = message("sentences", parts=[found.answer, waiting.answer])
    return found.model_copy(update={"answer": said, "evidence": [*found.evidence, *waiting.evidence]})


def _at_least(conclusion: Conclusion, rows: list[Row]) -> ConclusionAnswer:
    """The best figure of the conditions against the claimed one."""
    metric, claimed = conclusion.metric, conclusion.value or 0.0
    measured = [(value, row) for row in _where(rows, conclusion.where) if (value := figure(row, metric)) is not None]
    if not measured:
        return _no_data(conclusion)
    sign = -1 if less_is_better(metric) else 1
    best, row = max(measured, key=lambda pair: (pair[1].verdict == "valid", sign * pair[0]))
    if row.interval(metric) is not None:
        verdict, said = _by_interval(metric, claimed, row, [other for _, other in measured])
    else:
        verdict, said = _without_interval(metric, claimed, row, best)
    return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=[_evidence(row, metric)], verdict=verdict)


def _without_interval(metric: str, claimed: float, best: Row, value: float) -> tuple[AnswerVerdict, Message]:
    """A claimed figure against one that has no interval: near to it nothing is decided."""
    measured = _figure(best, metric)
    if best.verdict == "suspect":
        return "undecided", message("answer_suspect", figure=measured, metric=metric, label=best.label)
    if abs(value - claimed) <= NEAR * claimed:
        return "undecided", message(
            "answer_too_near", figure=measured, metric=metric, label=best.label, near_share=NEAR, blocks=best.blocks
        )
    sign = -1 if less_is_better(metric) else 1
    if sign * value >= sign * claimed:
        return "holds", message("answer_reached", figure=measured, metric=metric, label=best.label, suspect=False)
    return "does_not_hold", message(
        "answer_not_reached", figure=measured, metric=metric, label=best.label, suspect=False
    )


def _by_interval(metric: str, claimed: float, best: Row, rows: Sequence[Row]) -> tuple[AnswerVerdict, Message]:
    """A claimed rate against intervals: reached by the best condition, by none, or too near to tell."""
    low, _ = best.interval(metric) or (0.0, 0.0)
    highest = max((known[1] for row in rows if (known := row.interval(metric))), default=claimed)
    measured, suspect = _figure(best, metric), best.verdict == "suspect"
    if low > claimed:
        return "holds", message("answer_reached", figure=measured, metric=metric, label=best.label, suspect=suspect)
    if highest < claimed:
        return "does_not_hold", message(
            "answer_not_reached", figure=measured, metric=metric, label=best.label, suspect=suspect
        )
    return "undecided", message("answer_in_interval", figure=measured, metric=metric, label=best.label, suspect=suspect)


def _side_by_side(conclusion: Conclusion, rows: list[Row]) -> ConclusionAnswer:
    """Figures of matched conditions beside each other, without a ratio."""
    metric = conclusion.metric
    pairs = [
        (one, other)
        for one, other in _pairs(conclusion, rows)
        if figure(one, metric) is not None and figure(other, metric) is not None
    ]
    if not pairs:
        return _no_data(conclusion)
    evidence = [
        message("evidence_pair", one=_evidence(one, metric), other=_evidence(other, metric)) for one, other in pairs
    ]
    if _once(pairs):
        said = message("answer_pairs_once", pairs=len(pairs))
        return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=evidence, verdict="one_block")
    said = message("answer_pairs_not_compared", pairs=len(pairs))
    return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=evidence, verdict="not_answered_here")


def _once(pairs: Sequence[tuple[Row, Row]]) -> bool:
    return all(row.blocks <= 1 and not row.slices for pair in pairs for row in pair)


def _waiting(conclusion: Conclusion, rows: list[Row]) -> ConclusionAnswer | None:
    """Shares of the response time that were spent waiting for a connection, beside each other; None without any."""
    evidence: list[Message] = []
    ours: list[float] = []
    theirs: list[float] = []
    pairs = _pairs(conclusion, rows)
    for one, other in pairs:
        our, their = _wait_share(one), _wait_share(other)
        if our is not None and their is not None:
            ours.append(our)
            theirs.append(their)
            evidence.append(message("evidence_pair", one=_waited(one, our), other=_waited(other, their)))
    if not evidence:
        return None
    said = message("answer_waiting", shares=ours, against=theirs)
    verdict: AnswerVerdict = "one_block" if _once(pairs) else "not_answered_here"
    return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=evidence, verdict=verdict)


def _pairs(conclusion: Conclusion, rows: list[Row]) -> list[tuple[Row, Row]]:
    """Rows of `where` with their partners of `against`: equal in every factor that neither names."""
    named = {*conclusion.where, *conclusion.against}
    partners = {_rest(row.condition, named): row for row in _where(rows, conclusion.against)}
    found = [(row, partners.get(_rest(row.condition, named))) for row in _where(rows, conclusion.where)]
    return [(row, partner) for row, partner in found if partner is not None]


def _rest(condition: Condition, named: set[str]) -> str:
    return identity(drop_factors(condition, named))


def _where(rows: list[Row], where: Mapping[str, Level]) -> list[Row]:
    return [row for row in rows if _has(row.condition, where)]


def _has(condition: Condition, where: Mapping[str, Level]) -> bool:
    return all(name in condition for name in where) and matches(condition, where)


def _wait_share(row: Row) -> float | None:
    """Mean pool wait as a share of the mean response time."""
    if row.pool_wait_ns is None or row.response_ns is None or not row.response_ns.mean:
        return None
    return None if row.pool_wait_ns.mean is None else row.pool_wait_ns.mean / row.response_ns.mean


def _waited(row: Row, share: float) -> Message:
    """Return a message that says how long it waited, with the trials behind it, and that they are suspect where they
    are."""
    suspect = row.verdict == "suspect"
    return message("evidence_waiting", label=row.label, waiting_share=share, trials=row.trials, suspect=suspect)


def _evidence(row: Row, metric: str) -> Message:
    """A figure with the trials behind it, and that it is suspect where it is."""
    suspect = row.verdict == "suspect"
    return message("evidence_figure", label=row.label, figure=_figure(row, metric), trials=row.trials, suspect=suspect)


def _figure(row: Row, metric: str) -> Message:
    low, high = row.interval(metric) or (None, None)
    return message("figure", metric=metric, value=figure(row, metric), low=low, high=high)


def _no_data(conclusion: Conclusion) -> ConclusionAnswer:
    said = message("answer_no_data")
    return ConclusionAnswer(claim=conclusion.claim, answer=said, evidence=[], verdict="no_valid_data")
