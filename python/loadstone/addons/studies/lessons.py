"""What went wrong in the original measurement, and what this run shows of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, mean, median

from loadstone.addons.studies.answers import LessonAnswer, LessonAnswers, LessonVerdict
from loadstone.experiment.plan.labels import label_of, level_label
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.experiment import Experiment, Lesson
from loadstone.experiment.spec.levels import REFERENCE, drop_factors, identity, level_text, matches
from loadstone.judge.analysis.analysis import (
    CheckSummary,
    ConditionFigures,
    EffectsAnswer,
    Family,
    KnownFigure,
    ResultTable,
    Row,
)
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.analysis.server_side import stored_keys, stored_rows, users_of
from loadstone.judge.checks.checks import CHECKS, forbidding
from loadstone.judge.checks.data import stored_rows as stored
from loadstone.judge.verdict import DECIDED
from loadstone.run_folder.part_kinds import declared
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message

_Found = tuple[LessonVerdict, Message]
_FALLS = 0.05
"""J: a store's CPU that falls by less is not called falling."""


_FREE = 0.05
"""J: of the CPUs that the parts share, less is none to speak of."""
_POINT = "saturation"
"""The figure of answers that is a saturation point: its users."""
_INFORMATION = {check.name for check in CHECKS if check.information}


@dataclass(frozen=True)
class StudyEvidence:
    """What a run found, as far as lessons look at it."""

    experiment: Experiment
    trials: Sequence[TrialRecord]
    """Judged."""
    tables: Sequence[ResultTable]
    families: Sequence[Family]
    checks: Sequence[CheckSummary]
    scale: float = 1.0
    effects: Sequence[EffectsAnswer] = ()
    points: Sequence[ConditionFigures] = ()
    """Where it was searched for saturation points."""


def evaluate_study(judged: RunFindings) -> LessonAnswers:
    """The answers that stand under `lessons` in the analysis; none where the study has no lessons."""
    return LessonAnswers(
        evaluate_lessons(
            StudyEvidence(
                judged.run.experiment,
                judged.own_load,
                judged.tables,
                judged.families,
                judged.checks,
                judged.run.plan.scale,
                judged.effects,
                _points(judged),
            )
        )
    )


def evaluate_lessons(outcome: StudyEvidence) -> list[LessonAnswer]:
    """An answer to each lesson of the experiment, in its order."""
    answers = []
    for lesson in outcome.experiment.lessons:
        verdict, now = _found(lesson, outcome)
        answers.append(LessonAnswer(then=" ".join(lesson.then.split()), now=now, verdict=verdict))
    return answers


def _found(lesson: Lesson, outcome: StudyEvidence) -> _Found:
    measured = [trial for trial in outcome.trials if trial.block != WARM_BLOCK]
    match lesson.kind:
        case "check":
            return _check({summary.name: summary for summary in outcome.checks}, lesson.name)
        case "comparison":
            return _comparison({family.name: family for family in outcome.families}, lesson.name)
        case "errors":
            return _errors_kept_apart(outcome.experiment, measured)
        case "held_back":
            return _bottlenecks(outcome.experiment, outcome.tables, measured)
        case "stored":
            return _rows_as_rows(outcome.experiment, measured)
        case "data":
            return _same_data(outcome.experiment, measured, outcome.scale)
        case "repeats":
            return _repeats(measured)
        case "apart":
            return _factors_separated(outcome.effects, lesson.name)
        case "saturation":
            return _saturation_points(outcome.points)
        case "cpu":
            return _cpu_of_parts(outcome.experiment, measured)


def _check(checks: Mapping[str, CheckSummary], name: str) -> _Found:
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


def _comparison(families: Mapping[str, Family], name: str) -> _Found:
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


def _repeats(trials: Sequence[TrialRecord]) -> _Found:
    """Find how often each condition was measured, and how far its single trials lie apart."""
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
    """Return by what share the better of two trials exceeds the mean, averaged over all pairs of trials."""
    return mean(max(pair) for pair in combinations(rates, 2)) / mean(rates) - 1


def _errors_kept_apart(experiment: Experiment, trials: Sequence[TrialRecord]) -> _Found:
    """Conditions in which operations failed, and how much higher their rate looks with the failures in it."""
    groups = [members for members in _by_condition(trials) if any(trial.counts.sent for trial in members)]
    if not groups:
        return "unknown", message("lesson_nothing_sent")
    failing = [members for members in groups if any(_failed(trial) for trial in members)]
    if not failing:
        return "did_not_happen", message("lesson_no_errors", conditions=len(groups))
    worst = max(failing, key=_failed_share)
    elapsed_s = sum(trial.duration_s for trial in worst)
    counted = sum(trial.throughput_per_s * trial.duration_s for trial in worst) / elapsed_s if elapsed_s else 0.0
    correct = sum(trial.replies for trial in worst) / elapsed_s if elapsed_s else 0.0
    return "caught", message(
        "lesson_errors",
        failing=len(failing),
        conditions=len(groups),
        label=label_of(experiment, worst[0].condition),
        failed_share=_failed_share(worst),
        counted_per_s=counted,
        correct_per_s=correct,
    )


def _by_condition(trials: Sequence[TrialRecord]) -> list[list[TrialRecord]]:
    groups: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        groups.setdefault(identity(trial.condition), []).append(trial)
    return list(groups.values())


def _failed(trial: TrialRecord) -> int:
    return sum(trial.counts.errors.values()) + trial.counts.timeouts + trial.counts.in_flight


def _failed_share(trials: Sequence[TrialRecord]) -> float:
    sent = sum(trial.counts.sent for trial in trials)
    return sum(_failed(trial) for trial in trials) / sent if sent else 0.0


def _bottlenecks(experiment: Experiment, tables: Sequence[ResultTable], trials: Sequence[TrialRecord]) -> _Found:
    """Find how often which part was the bottleneck, and whether the store's CPU falls as users grow.

    Where it is named for every condition, what was not examined then is answered.
    """
    every = {identity(row.condition): row for table in tables for row in table.rows}
    rows = [row for row in every.values() if row.bottleneck]
    parts = Counter(row.bottleneck.part for row in rows if row.bottleneck is not None)
    known = sum(number for part, number in parts.items() if part != "unknown")
    if not known:
        return "unknown", message("lesson_bottlenecks_unknown")
    return "did_not_happen" if known == len(every) else "unknown", message(
        "lesson_bottlenecks",
        conditions=len(rows),
        parts=[message("lesson_part_in", part=part, conditions=number) for part, number in parts.most_common()],
        without=len(every) - len(rows),
        falls=_falling(experiment, rows, trials),
    )


def _falling(experiment: Experiment, rows: Sequence[Row], trials: Sequence[TrialRecord]) -> Message | None:
    """The case in which the store's CPU falls most while users grow: something before the store is the bottleneck."""
    users = {identity(trial.condition): _users(trial) for trial in trials}
    found: list[_Fall] = []
    for group, factor in _by_users(rows, users):
        first, last = group[0], group[-1]
        before, after = _store_cpu(first), _store_cpu(last)
        if before and after is not None and after < (1 - _FALLS) * before:
            ends = [level_label(factor, row.condition[factor], experiment.factors.get(factor)) for row in (first, last)]
            found.append(_Fall(before, after, ends[0], ends[1], last.label))
    if not found:
        return None
    most = min(found, key=lambda fall: (fall.after / fall.before, fall.first, fall.last, fall.label))
    return message(
        "lesson_store_cpu_falls",
        before_cores=most.before,
        after_cores=most.after,
        first=most.first,
        last=most.last,
        label=most.label,
        more_cases=len(found) - 1,
    )


def _by_users(rows: Sequence[Row], users: dict[str, int]) -> Iterator[tuple[list[Row], str]]:
    """Rows that differ in one factor alone, which changes the number of users; the fewest first."""
    for factor in sorted({name for row in rows for name in row.condition}):
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(identity(drop_factors(row.condition, {factor})), []).append(row)
        for group in groups.values():
            known = [row for row in group if users.get(identity(row.condition))]
            if len({users[identity(row.condition)] for row in known}) > 1:
                yield sorted(known, key=lambda row: users[identity(row.condition)]), factor


def _users(trial: TrialRecord) -> int:
    return users_of(trial) or 0


def _store_cpu(row: Row) -> float | None:
    """CPU of all stores together, in cores; None where none was observed."""
    stores = [figures for part, figures in row.seen.items() if declared(row.kinds.get(part)).store]
    shares = [figures["cpu_share"].avg for figures in stores if "cpu_share" in figures]
    return sum(shares) if shares else None


def _same_data(experiment: Experiment, trials: Sequence[TrialRecord], scale: float) -> _Found:
    """Whether the stores that were driven had been given the same rows."""
    driven = [
        members[0].condition for members in _by_condition(trials) if any(member.counts.sent for member in members)
    ]
    same: list[Message] = []
    for name, data in experiment.data.items():
        stores = {place.server for place in data.into if any(matches(condition, place.when) for condition in driven)}
        if not stores:
            continue
        if not isinstance(data.rows, int):
            return "unknown", message("lesson_rows_vary", data=name)
        rows = max(1, round(scale * data.rows))
        same.append(message("lesson_rows_of", data=name, rows=rows, stores=sorted(stores)))
    if not same:
        return "unknown", message("lesson_no_rows")
    return "did_not_happen", message("lesson_same_rows", data=same)


def _rows_as_rows(experiment: Experiment, trials: Sequence[TrialRecord]) -> _Found:
    """Whether what was stored, counted as rows, is what was answered; and what counting keys would have said."""
    counted, off = 0, 0
    keyed: dict[str, tuple[int, int]] = {}
    for trial in trials:
        rows = stored_rows(trial.facts)
        if rows is None:
            continue
        counted += 1
        off += any(check.name == stored.name and check.verdict == "invalid" for check in trial.checks)
        keys = stored_keys(trial.facts)
        if keys is not None and keys != rows:
            before = keyed.get(identity(trial.condition), (0, 0))
            keyed[identity(trial.condition)] = (before[0] + rows, before[1] + keys)
    if not counted:
        return "unknown", message("lesson_nothing_counted")
    labels = {identity(trial.condition): label_of(experiment, trial.condition) for trial in trials}
    said = message("lesson_rows_counted", counted=counted, unequal=off, keyed=_keyed(keyed, labels))
    return "caught" if keyed or off else "did_not_happen", said


def _keyed(keyed: Mapping[str, tuple[int, int]], labels: Mapping[str, str]) -> Message | None:
    """The condition in which the number of keys is furthest from that of rows; None where they are the same."""
    if not keyed:
        return None
    condition, (rows, keys) = max(keyed.items(), key=lambda one: abs(one[1][1] / max(1, one[1][0]) - 1))
    return message("lesson_keys_counted", rows=rows, keys=keys, label=labels[condition])


def _factors_separated(effects: Sequence[EffectsAnswer], name: str) -> _Found:
    """The effects of factors that the original changed together: caught where they depend on each other."""
    answer = next((effect for effect in effects if effect.name == name), None)
    if answer is None or not answer.terms:
        return "unknown", message("lesson_not_compared")
    known = [term for term in answer.terms if term.verdict.kind in DECIDED]
    depend = [one for one in known if one.kind == "interaction" and one.verdict.kind != "equivalent"]
    said = message("lesson_separated", depend=bool(depend), effects=answer.answer)
    if depend:
        return "caught", said
    return "did_not_happen" if len(known) == len(answer.terms) else "unknown", said


def _points(judged: RunFindings) -> list[ConditionFigures]:
    """What add-ons say of saturation points."""
    every = (one for answer in judged.answers.values() for one in answer.condition_figures())
    return [one for one in every if _POINT in one.figures]


def _saturation_points(points: Sequence[ConditionFigures]) -> _Found:
    """Whether each condition's saturation point has an interval, found by loads that stand still."""
    if not points:
        return "unknown", message("lesson_no_saturation")
    known = [(one.label, figure) for one in points if isinstance(figure := one.figures[_POINT], KnownFigure)]
    said = [
        message("lesson_saturates", label=label, users=figure.value, low=figure.low, high=figure.high)
        for label, figure in known
    ]
    without = len(points) - len(known)
    answer = message("lesson_saturation_points", points=said, without=without)
    return "unknown" if without else "did_not_happen", answer


@dataclass(frozen=True)
class _Fall:
    """The store's CPU with the fewest users and with the most, in cores."""

    before: float
    after: float
    first: str
    last: str
    label: str


def _cpu_of_parts(experiment: Experiment, trials: Sequence[TrialRecord]) -> _Found:
    """CPU attributed to each part of every condition, beside the CPUs that servers and applications share.

    Caught where nothing of them is free: more processes then share what there is.
    """
    by_condition: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        if not forbidding(trial) and trial.cpu_s and trial.duration_s > 0:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    said: list[Message] = []
    full = 0
    for members in by_condition.values():
        cpus = _cpus(members[0])
        shares = _shares(members, apart=_apart(experiment, members[0]))
        used = sum(shares.values())
        full += cpus > 0 and used >= (1 - _FREE) * cpus
        parts = [message("lesson_cpu_of", part=part, cores=cores) for part, cores in shares.items()]
        label = label_of(experiment, members[0].condition)
        said.append(message("lesson_cpu_of_condition", label=label, parts=parts, used=used, cpus=cpus))
    if not said:
        return "unknown", message("lesson_cpu_unknown")
    answer = message("lesson_cpu", conditions=said, full=full)
    return "caught" if full else "did_not_happen", answer


def _cpus(trial: TrialRecord) -> int:
    """Return how many CPUs servers and applications share; 0 where that is not known."""
    placement = trial.facts.placement
    return 0 if placement is None else len(placement.server_cpus)


def _apart(experiment: Experiment, trial: TrialRecord) -> set[str]:
    """Servers with CPUs of their own under a trial's condition: they take nothing of what the others share."""
    found = set()
    for name, settings in experiment.servers.items():
        written = str(settings.get("cpus", ""))
        if (match := REFERENCE.fullmatch(written)) is not None:
            factor, _, value = match[1].partition(".")
            level = trial.condition[factor]
            written = str(experiment.factors[factor].values[level_text(level)][value] if value else level)
        if written == "own":
            found.add(name)
    return found


def _shares(trials: Sequence[TrialRecord], apart: set[str]) -> dict[str, float]:
    """Part -> its CPU in cores, over all trials, of those that share CPUs with the application; the largest first."""
    elsewhere = {"generator", "loadstone", *apart}
    names = {part for trial in trials for part in trial.cpu_s if part not in elsewhere and not part.endswith(".link")}
    mean = {part: fmean(trial.cpu_s.get(part, 0.0) / trial.duration_s for trial in trials) for part in names}
    return dict(sorted(mean.items(), key=lambda one: -one[1]))
