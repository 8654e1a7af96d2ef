"""What went wrong in the original measurement, and what this run shows of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, median
from typing import Literal

from loadstone.analyse.lesson_facts import errors_kept_apart, held_back, percent, rows_as_rows, same_data
from loadstone.analyse.model import CheckSummary, Family, LessonAnswer, ResultTable
from loadstone.judge.validity.checks import CHECKS, forbidding
from loadstone.judge.verdict import DECIDED
from loadstone.plan.run_plan import WARM_BLOCK
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.spec.experiment import Experiment, Lesson
from loadstone.spec.levels import identity

Verdict = Literal["caught", "did not happen", "unknown"]
Told = tuple[Verdict, str]
RENAMED = {
    "generator_cpu": "gain", "generator_ceiling": "gain", "generator_wait": "taken", "server_wait": "taken",
    "steal": "taken",
}  # fmt: skip
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


def learn(outcome: Outcome) -> list[LessonAnswer]:
    """An answer to each lesson of the experiment, in its order."""
    answers = []
    for lesson in outcome.experiment.lessons:
        verdict, now = _told(lesson, outcome)
        answers.append(LessonAnswer(then=" ".join(lesson.then.split()), now=now, verdict=verdict))
    return answers


def _told(lesson: Lesson, outcome: Outcome) -> Told:
    measured = [trial for trial in outcome.trials if trial.block != WARM_BLOCK]
    match lesson.kind:
        case "check":
            return _check({summary.name: summary for summary in outcome.checks}, RENAMED.get(lesson.name, lesson.name))
        case "comparison":
            return _comparison({family.name: family for family in outcome.families}, lesson.name)
        case "errors":
            return errors_kept_apart(outcome.experiment, measured)
        case "held_back":
            return held_back(outcome.experiment, outcome.tables, measured)
        case "stored":
            return rows_as_rows(outcome.experiment, measured)
        case "data":
            return same_data(outcome.experiment, measured, outcome.scale)
        case "repeats":
            return _repeats(measured)


def _check(checks: Mapping[str, CheckSummary], name: str) -> Told:
    """One check over all trials, with its worst figure."""
    found = checks.get(name)
    if found is None or found.valid + found.suspect + found.invalid == 0:
        return "unknown", f"No trial of this run could tell: the check `{name}` has no figure."
    failed = {"suspect": found.suspect, "invalid": found.invalid}
    parts = [f"valid in {_trials(found.valid)}", *(f"{verdict} in {n}" for verdict, n in failed.items() if n)]
    if found.unknown:
        parts.append(f"unknown in {found.unknown}")
    worst = found.worst
    beyond = any(failed.values()) or (name in _INFORMATION and worst is not None and _is_beyond(worst))
    figure = (
        f"; the worst figure is {_figure(worst)} ({found.worst_trial})" if worst is not None and _figure(worst) else ""
    )
    refused = " Invalid trials give no figure." if found.invalid else ""
    return "caught" if beyond else "did not happen", f"`{name}` is {', '.join(parts)}{figure}.{refused}"


def _is_beyond(result: CheckResult) -> bool:
    return result.measured is not None and result.limit is not None and result.measured > result.limit


def _figure(result: CheckResult) -> str:
    """`83 %, limit 70 %`; nothing without a figure."""
    if result.measured is None:
        return ""
    unit = f" {result.unit}" if result.unit else ""
    limit = "" if result.limit is None else f", limit {result.limit:.3g}{unit}"
    return f"{result.measured:.3g}{unit}{limit}"


def _comparison(families: Mapping[str, Family], name: str) -> Told:
    """The verdicts of a comparison: a difference that is not worth a word, or cuts both ways, is called so."""
    family = families.get(name)
    if family is None or not family.comparisons:
        return "unknown", "This run did not compare these conditions."
    told = [pair.primary for pair in family.comparisons]
    decided = [judged for judged in told if judged.kind in DECIDED]
    if any(judged.kind != "faster" or judged.negligible for judged in decided):
        return "caught", family.answer
    return "did not happen" if len(decided) == len(told) else "unknown", family.answer


def _repeats(trials: Sequence[TrialRecord]) -> Told:
    """How often each condition was measured, and how far its single trials lie apart."""
    by_condition: dict[str, list[float]] = {}
    for trial in trials:
        if not forbidding(trial) and trial.goodput_per_s > 0:
            by_condition.setdefault(identity(trial.condition), []).append(trial.goodput_per_s)
    if not by_condition:
        return "unknown", "No trial of this run gave a figure."
    numbers = sorted(len(rates) for rates in by_condition.values())
    repeated = [rates for rates in by_condition.values() if len(rates) > 1]
    if not repeated:
        return "caught", "Each condition was measured once here, too: no difference is claimed from that."
    spreads = sorted(max(rates) / min(rates) - 1 for rates in repeated)
    better = median(_better_of_two(rates) for rates in repeated)
    often = f"{numbers[0]}" if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"
    return "did not happen" if numbers[0] > 1 else "caught", (
        f"Each condition was measured in {often} blocks, in random order. Single trials of one condition lie up to "
        f"{percent(spreads[-1])} apart, typically {percent(median(spreads))}: two single runs could not tell a smaller "
        f"difference from chance, and keeping the better of two would have added {percent(better, 1)}."
    )


def _better_of_two(rates: Sequence[float]) -> float:
    """How much the better of two trials is above the mean, on average."""
    return mean(max(pair) for pair in combinations(rates, 2)) / mean(rates) - 1


def _trials(number: int) -> str:
    return "1 trial" if number == 1 else f"{number} trials"
