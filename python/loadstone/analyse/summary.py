"""Each check over all trials of a run, and what a reader must know of the run as a whole."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadstone.analyse.course import is_complete, is_finished, needed_trials
from loadstone.analyse.model import CheckSummary
from loadstone.analyse.speed import machine_speed
from loadstone.judge.validity.checks import CHECKS, Check
from loadstone.record.reading import Run
from loadstone.record.trial import CheckResult, TrialRecord

_ORDER = {"invalid": 3, "suspect": 2, "valid": 1, "unknown": 0}


def summarise_checks(trials: Sequence[TrialRecord]) -> list[CheckSummary]:
    """How often each check passed, and where it was worst; without checks that applied to no trial."""
    return [summary for check in CHECKS if (summary := _summary(check, trials)) is not None]


def _summary(check: Check, trials: Sequence[TrialRecord]) -> CheckSummary | None:
    found = [(result, trial.trial) for trial in trials for result in trial.checks if result.name == check.name]
    if not found:
        return None
    verdicts = Counter(result.verdict for result, _ in found)
    worst, trial = max(found, key=lambda pair: _badness(check, pair[0]))
    return CheckSummary(
        name=check.name,
        explanation=check.explanation,
        valid=verdicts["valid"],
        suspect=verdicts["suspect"],
        invalid=verdicts["invalid"],
        unknown=verdicts["unknown"],
        worst=worst,
        worst_trial=trial,
    )


def _badness(check: Check, result: CheckResult) -> tuple[int, float]:
    measured = result.measured if result.measured is not None else 0.0
    return _ORDER[result.verdict], -measured if check.less_is_worse else measured


def one_sentence(sources: Sequence[str]) -> str:
    """Where the original's figures come from: the study, and what else of it is printed, as one list."""
    first, *others = dict.fromkeys(" ".join(source.split()) for source in sources) or [""]
    if not others:
        return first
    *init, last = others
    listed = f"{', '.join(init)}, and {last}" if init else last
    return f"{first}; also {listed}"


def notes_of(run: Run, judged: Sequence[TrialRecord]) -> list[str]:
    """What a reader must know of the run as a whole, one sentence each."""
    return [*run.notes, *_course(run, judged), *_surroundings(run.environment)]


def _course(run: Run, judged: Sequence[TrialRecord]) -> Iterator[str]:
    if not is_complete(run):
        yield (
            f"{len(run.trials)} of {_at_most(run)} trials are finished: the run was cut short; "
            f"`loadstone run --resume {run.path}` goes on with it."
        )
    yield from _beyond_budget(run)
    yield from _repeated(run)
    if spread := ", ".join(f"{one.cpu} by {one.spread:.0%}" for one in machine_speed(judged)):
        yield f"The machine's own speed varied between trials (slow tenth over fast tenth): {spread}."
    otherwise = sum(then.verdict != now.verdict for then, now in zip(run.trials, judged, strict=True))
    if otherwise:
        trials = "1 trial is" if otherwise == 1 else f"{otherwise} trials are"
        yield f"{trials} judged otherwise by this version than when the run was made."
    if run.plan.scale != 1:
        share = f"{100 * run.plan.scale:.3g} %"
        yield f"Scaled: users (where the experiment scales them) and rows are {share} of those that it writes."
    if run.plan.quick and (left_out := [table.title for table in run.experiment.tables if not table.quick]):
        yield f"Left out of a quick run: {'; '.join(left_out)}."
    if run.plan.as_published and run.experiment.as_published is not None and run.experiment.as_published.note:
        yield " ".join(run.experiment.as_published.note.split())


def _beyond_budget(run: Run) -> Iterator[str]:
    """Conditions of a table that the budget did not reach."""
    done = {trial.trial for trial in run.trials}
    tables = {group.name for group in run.plan.groups if not group.pairs}
    first = [line for line in run.plan.trials if line.group in tables and line.block == 1]
    left = sum(line.trial not in done for line in first)
    if left and all(is_finished(run, name) for name in tables):
        yield (
            f"{left} of {len(first)} conditions of the tables were not measured: budget. "
            f"`loadstone run --resume {run.path} --budget TIME` measures them."
        )


def _at_most(run: Run) -> str:
    """How many trials the run needs; of a group that may stop early nobody knows beforehand."""
    number = len(needed_trials(run))
    open_ended = any(group.sequential and not is_finished(run, group.name) for group in run.plan.groups)
    return f"at most {number}" if open_ended else str(number)


def _repeated(run: Run) -> Iterator[str]:
    """Trials that were measured again, in folders of older versions."""
    if not run.superseded:
        return
    blocks = {(trial.group, trial.block) for trial in run.superseded}
    trials = "1 trial" if len(run.superseded) == 1 else f"{len(run.superseded)} trials"
    where = "1 block" if len(blocks) == 1 else f"{len(blocks)} blocks"
    yield f"{trials} of {where} measured again: only the last counts."


def _surroundings(environment: Mapping[str, Any]) -> Iterator[str]:
    """Settings of the machine that spoil figures, where they are so."""
    kernel, machine = _part(environment, "kernel"), _part(environment, "machine")
    engine = _part(_part(environment, "versions"), "engine")
    if engine.get("profile") not in (None, "release"):
        yield f"The engine is a {engine['profile']} build: it measures itself."
    if kernel.get("transparent_huge_pages") == "always":
        yield "Transparent huge pages are `always`: a server that forks then stalls longer; Redis advises `madvise`."
    if kernel.get("overcommit_memory") == 0:
        yield "Memory overcommit is 0: a background save of a large data set can fail; Redis advises 1."
    if isinstance(machine.get("cpu_limit"), (int, float)):
        yield f"loadstone runs under a limit of {machine['cpu_limit']:g} CPUs."
    governor = machine.get("frequency_governor")
    if governor not in (None, "performance"):
        yield f"The CPU's frequency governor is `{governor}`: its clock changes with the load."
    if _part(environment, "placement").get("shared"):
        yield "Driver and servers share CPUs on this machine: each takes time from the other."
    others = environment.get("other_runs")
    if isinstance(others, list) and others:
        names = ", ".join(str(one.get("run")) for one in others if isinstance(one, Mapping))
        yield f"Another run measured on this machine at the same time ({names}): each took time from the other."


def _part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = record.get(key)
    return value if isinstance(value, Mapping) else {}
