"""Why trials are not valid."""

from collections.abc import Container, Iterable, Sequence

from loadstone.judge.validity import accounting, keys, load
from loadstone.message import Message, message
from loadstone.record.trial import CheckResult, CheckVerdict, TrialRecord

OF_MEANING = (load.finished.name, accounting.errors.name, keys.hit_rate.name)
"""What these say comes before all that is said of how exact a figure is, in this order: a part that died explains the
errors that it left."""


def failed_checks(
    trial: TrialRecord, verdicts: Iterable[CheckVerdict] = ("invalid", "suspect"), without: Container[str] = ()
) -> list[CheckResult]:
    """The checks that the trial did not pass, those of the first verdict first, of these what figures mean."""
    in_order = sorted(trial.checks, key=lambda check: _rank(check.name))
    failed = [check for verdict in verdicts for check in in_order if check.verdict == verdict]
    return [check for check in failed if check.name not in without]


def _rank(check: str) -> int:
    return OF_MEANING.index(check) if check in OF_MEANING else len(OF_MEANING)


def counted_reasons(
    trials: Sequence[TrialRecord],
    verdicts: Iterable[CheckVerdict] = ("invalid", "suspect"),
    without: Container[str] = (),
) -> list[Message]:
    """One for each check that failed: in how many of the trials, and the reason of the first.

    As `swap suspect in 9 of 24 trials: ...`.
    """
    found: dict[tuple[CheckVerdict, str], list[Message | None]] = {}
    verdicts = tuple(verdicts)
    for trial in trials:
        for check in failed_checks(trial, verdicts, without):
            found.setdefault((check.verdict, check.name), []).append(check.reason)
    ranked = sorted(
        found.items(),
        key=lambda item: (verdicts.index(item[0][0]), _rank(item[0][1]), -len(item[1]), item[0][1]),
    )
    return [
        message("check.failed_in", check=name, verdict=verdict, trials=len(reasons), of=len(trials), reason=reasons[0])
        for (verdict, name), reasons in ranked
    ]
