"""What went wrong in the original measurement, and what this run shows of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, median

from loadstone.analyse.effects_answer import EffectsAnswer
from loadstone.analyse.lesson_facts import Found, bottlenecks, errors_kept_apart, rows_as_rows, same_data
from loadstone.analyse.lessons_of_factorials import cpu_of_parts, factors_separated, saturation_points
from loadstone.analyse.model import CheckSummary, Family, LessonAnswer, ResultTable
from loadstone.analyse.saturation_answer import SaturationAnswer
from loadstone.judge.validity.checks import CHECKS, forbidding
from loadstone.judge.verdict import DECIDED
from loadstone.message import Message, message
from loadstone.plan.run_plan import WARM_BLOCK
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.spec.experiment import Experiment, Lesson
from loadstone.spec.levels import identity

RENAMED = {old: check.name for check in CHECKS for old in check.formerly}
"""Checks of earlier versions -> what answers their question now: experiments of old folders name them."""
_INFORMATION = {check.name for check in CHECKS if check.information}


@dataclass(frozen=True)
class Outcome:
    """What a run found, as far as lessons look at it."""

    experiment: Experiment
    trials: Sequence[TrialRecord]
    """Judged."""
    tables: Sequence[ResultTable]
    families: Sequence[Family]
    checks: Sequence[CheckSummary]
    scale: float = 1.0
    effects: Sequence[EffectsAnswer] = ()
    saturations: Sequence[SaturationAnswer] = ()


def learn(outcome: Outcome) -> list[LessonAnswer]:
    """An answer to each lesson of the experiment, in its order."""
    answers = []
    for lesson in outcome.experiment.lessons:
        verdict, now = _found(lesson, outcome)
        answers.append(LessonAnswer(then=" ".join(lesson.then.split()), now=now, verdict=verdict))
    return answers


def _found(lesson: Lesson, outcome: Outcome) -> Found:
    measured = [trial for trial in outcome.trials if trial.block != WARM_BLOCK]
    match lesson.kind:
        case "check":
            return _check({summary.name: summary for summary in outcome.checks}, RENAMED.get(lesson.name, lesson.name))
        case "comparison":
            return _comparison({family.name: family for family in outcome.families}, lesson.name)
        case "errors":
            return errors_kept_apart(outcome.experiment, measured)
        case "held_back":
            return bottlenecks(outcome.experiment, outcome.tables, measured)
        case "stored":
            return rows_as_rows(outcome.experiment, measured)
        case "data":
            return same_data(outcome.experiment, measured, outcome.scale)
        case "repeats":
            return _repeats(measured)
        case "apart":
            return factors_separated(outcome.effects, lesson.name)
        case "saturation":
            return saturation_points(outcome.saturations)
        case "cpu":
            return cpu_of_parts(outcome.experiment, measured)


def _check(checks: Mapping[str, CheckSummary], name: str) -> Found:
    """One check over all trials, with its worst figure."""
    found = checks.get(name)
    if found is None or found.valid + found.suspect + found.invalid == 0:
        return "unknown", message("lesson_check_unknown", check=name)
    failed = found.suspect or found.invalid
    beyond = failed or (name in _INFORMATION and found.worst is not None and _is_beyond(found.worst))
    return "caught" if beyond else "did_not_happen", message(
        "lesson_check",
        check=name,
        valid=found.valid,
        suspect=found.suspect,
        invalid=found.invalid,
        unknown=found.unknown,
        worst=_worst(found),
    )


def _is_beyond(result: CheckResult) -> bool:
    return result.measured is not None and result.limit is not None and result.measured > result.limit


def _worst(found: CheckSummary) -> Message | None:
    """The worst figure with its limit and trial; None without a figure."""
    worst = found.worst
    if worst is None or worst.measured is None:
        return None
    return message(
        "lesson_check_worst",
        measured=worst.measured,
        limit=worst.limit,
        unit=worst.unit,
        trial=found.worst_trial,
    )


def _comparison(families: Mapping[str, Family], name: str) -> Found:
    """The verdicts of a comparison: a difference that is too small to matter, or cuts both ways, is called so."""
    family = families.get(name)
    if family is None or not family.comparisons:
        return "unknown", message("lesson_not_compared")
    verdicts = [pair.primary for pair in family.comparisons]
    decided = [judged for judged in verdicts if judged.kind in DECIDED]
    answer = message("sentences", parts=[family.answer])
    if any(judged.kind != "faster" or judged.negligible for judged in decided):
        return "caught", answer
    return "did_not_happen" if len(decided) == len(verdicts) else "unknown", answer


def _repeats(trials: Sequence[TrialRecord]) -> Found:
    """How often each condition was measured, and how far its single trials lie apart."""
    by_condition: dict[str, list[float]] = {}
    for trial in trials:
        if not forbidding(trial) and trial.goodput_per_s > 0:
            by_condition.setdefault(identity(trial.condition), []).append(trial.goodput_per_s)
    if not by_condition:
        return "unknown", message("lesson_no_figure")
    numbers = sorted(len(rates) for rates in by_condition.values())
    repeated = [rates for rates in by_condition.values() if len(rates) > 1]
    if not repeated:
        return "caught", message("lesson_once")
    spreads = sorted(max(rates) / min(rates) - 1 for rates in repeated)
    return "did_not_happen" if numbers[0] > 1 else "caught", message(
        "lesson_repeats",
        blocks_min=numbers[0],
        blocks_max=numbers[-1],
        spread_max=spreads[-1],
        spread_typical=median(spreads),
        better_of_two=median(_better_of_two(rates) for rates in repeated),
    )


def _better_of_two(rates: Sequence[float]) -> float:
    """How much the better of two trials is above the mean, on average."""
    return mean(max(pair) for pair in combinations(rates, 2)) / mean(rates) - 1
