"""The effects of a run's factorials: each main effect and interaction, and every combination."""

from collections.abc import Mapping, Sequence

from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.analysis.analysis import EffectCell, EffectsAnswer, EffectTerm
from loadstone.judge.analysis.comparisons import case_of, latencies_of
from loadstone.judge.analysis.completion import newest_look
from loadstone.judge.compare.carried import apply_carry_over_check
from loadstone.judge.compare.cases import GroupCase, judge_group
from loadstone.judge.compare.contrasts import ExcludedPlace, FactorialCell, JudgedContrast, cells_of, judge_contrasts
from loadstone.judge.compare.sides import effect_names, effect_sides
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message


def effects_of(run: RecordedRun, judged_trials: Sequence[TrialRecord]) -> list[EffectsAnswer]:
    """The declared effects of a run, in the order of its plan; those of which two factors are left in it."""
    latencies = latencies_of(run)
    return [
        _answer(case_of(run, group, newest_look(run, group.name), judged_trials, latencies))
        for group in run.plan.groups
        if group.contrasts
    ]


def _answer(case: GroupCase) -> EffectsAnswer:
    pairs = judge_group(case)
    found = apply_carry_over_check(case, pairs, judge_contrasts(case, pairs))
    declared, experiment = case.declared, case.experiment
    factors = list(declared.at if declared is not None else ())
    names = effect_names(experiment, case.design.contrasts)
    cells = [_cell(experiment, cell, factors) for cell in cells_of(case)]
    refused = {identity(cell.condition): cell.label for cell in cells if cell.refusal is not None}
    terms = [_term(case, one, name, factors, refused) for one, name in zip(found.contrasts, names, strict=True)]
    return EffectsAnswer(
        name=case.design.name,
        question=declared.question if declared is not None else "",
        note=" ".join(declared.note.split()) if declared is not None else "",
        metric=case.design.metric,
        factors=factors,
        answer=message(
            "effects_answer",
            terms=_terms(terms),
            quick=case.quick,
            refused=[_refused(cell.label, cell.refusal) for cell in cells if cell.refusal is not None],
        ),
        terms=terms,
        cells=cells,
        quick=case.quick,
    )


def _terms(terms: Sequence[EffectTerm]) -> list[Message]:
    """What each says; once for all where none has an interval, for the same reason."""
    first = terms[0].verdict if terms else None
    if first is None or first.kind != "undecided" or any(term.verdict.brief != first.brief for term in terms):
        return [term.message for term in terms]
    return [message("effects_alike", effects=len(terms), verdict=first.brief)]


def _refused(label: str, check: CheckResult) -> Message:
    return message("effect_cell_refused", label=label, check=check.name, reason=check.reason)


def _term(
    case: GroupCase, one: JudgedContrast, name: str, factors: Sequence[str], refused: Mapping[str, str]
) -> EffectTerm:
    """An effect. Combinations that have no figure are named in `refused`: of them the answer has the check, once."""
    others = [factor for factor in factors if factor not in one.design.levels]
    skipped = {left.pair for left in one.left_out}
    kept = [place for place in one.design.places if not skipped.intersection(place)]
    over = [condition_label(case.experiment, case.design.pairs[place[0]].a, others) for place in kept] if others else []
    named = [_left_out(case, left, others, refused) for left in one.left_out] if over else []
    return EffectTerm(
        kind=one.design.kind,
        factors=list(one.design.levels),
        levels=one.design.levels,
        references=one.design.references,
        name=name,
        message=_said(case.experiment, one, name, over, named, _without(case, one, refused)),
        verdict=one.verdict,
        over=over,
        left_out=[_left_out(case, left, others, {}) for left in one.left_out],
    )


def _left_out(case: GroupCase, left: ExcludedPlace, others: Sequence[str], refused: Mapping[str, str]) -> Message:
    """A place that does not count, with the check, unless that is of a combination in `refused`."""
    pair = case.design.pairs[left.pair]
    of_cell = bool(refused.keys() & {identity(pair.a), identity(pair.b)})
    return message(
        "effect_place_left_out",
        place=_place(case.experiment, pair.a, others),
        check=None if of_cell else left.check.name,
        reason=None if of_cell else left.check.reason,
    )


def _without(case: GroupCase, one: JudgedContrast, refused: Mapping[str, str]) -> Message | None:
    """Why there is no verdict at all, where that is due to combinations without a figure."""
    if one.weights:
        return None
    pairs = [case.design.pairs[left.pair] for left in one.left_out]
    keys = dict.fromkeys(identity(side) for pair in pairs for side in (pair.a, pair.b))
    names = [refused[key] for key in keys if key in refused]
    return message("effect_without_cells", cells=names) if names else None


def _said(
    experiment: Experiment,
    one: JudgedContrast,
    name: str,
    over: Sequence[str],
    left_out: Sequence[Message],
    without: Message | None,
) -> Message:
    """The verdict of an effect in a sentence.

    `left_out`: places that do not count. `without`: why there is no verdict, where the answer has the check already.
    """
    brief = without or one.verdict.brief
    if one.design.kind == "main":
        return message("effect_main", name=name, verdict=brief, over=over, left_out=left_out)
    (reference, level), (there, here) = effect_sides(experiment, one.design)
    verdict = one.verdict
    return message(
        "effect_interaction",
        kind=verdict.kind,
        level=level,
        reference=reference,
        here=here,
        there=there,
        metric=verdict.metric,
        estimate=verdict.estimate,
        low=verdict.low,
        high=verdict.high,
        margin=verdict.log_margin,
        verdict=brief,
        left_out=left_out,
    )


def _place(experiment: Experiment, condition: Condition, others: Sequence[str]) -> str:
    return condition_label(experiment, condition, others) if others else ""


def _cell(experiment: Experiment, cell: FactorialCell, factors: Sequence[str]) -> EffectCell:
    return EffectCell(
        condition=cell.condition,
        label=condition_label(experiment, cell.condition, factors),
        levels=[condition_label(experiment, cell.condition, [name]) for name in factors],
        figure=cell.figure,
        low=cell.low,
        high=cell.high,
        refusal=cell.refusal,
    )
