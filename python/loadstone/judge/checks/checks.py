"""The checks of a trial: which there are, how a trial is judged by them, and which of them failed."""

from collections.abc import Container, Iterable, Sequence

from loadstone.judge.checks import (
    accounting,
    agents,
    data,
    generator_bounds,
    interference,
    link_delay,
    load,
    parts,
    server,
    stall_checks,
    timing,
)
from loadstone.judge.checks.check import Check, DirectVerdict
from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.run_folder.trial import CheckResult, CheckVerdict, TrialRecord, TrialVerdict
from loadstone.text.message import Message, message

CHECKS: tuple[Check, ...] = (
    load.finished,
    parts.restarted,
    stall_checks.stalls,
    stall_checks.own_stalls,
    stall_checks.own_time,
    stall_checks.clock_set,
    generator_bounds.gain,
    generator_bounds.taken,
    timing.round_trip,
    timing.clock,
    agents.beginning,
    timing.schedule_sent,
    timing.schedule_lag,
    timing.dropped_arrivals,
    accounting.errors,
    accounting.conservation,
    accounting.server_counter,
    data.stored_rows,
    accounting.replies,
    accounting.payload,
    accounting.deliveries,
    load.little,
    load.pool_wait,
    load.connections,
    link_delay.link_delay,
    link_delay.link_busy,
    load.warm_up,
    load.samples,
    data.hit_rate,
    data.key_count,
    parts.settings,
    parts.limits,
    interference.connection_leak,
    interference.temporary_files,
    interference.evicted_keys,
    interference.swap,
    interference.accept_queue,
    interference.placement,
    interference.background,
    server.monitor_clients,
    server.slow_log,
    server.log_level,
    server.huge_pages,
    server.overcommit,
    interference.server_cpu,
    parts.subject_throttled,
)
"""In the order in which they are run, recorded and shown. Each is declared where its function stands."""

BOUNDS: frozenset[str] = frozenset(check.name for check in CHECKS if check.about == "rate")
"""Checks that bound the figure and do not doubt it: a trial that fails one still takes part in comparisons, where the
first widens the interval and the second, which falls on both sides by chance, is in it already."""
OF_MEANING = (load.finished.name, accounting.errors.name, data.hit_rate.name)
"""What these say comes before all that is said of how exact a figure is, in this order: a part that died explains the
errors that it left."""


def judge_trial(trial: TrialRecord) -> TrialRecord:
    """The trial with its checks and its verdict, made from the facts in its record alone."""
    checks = run_checks(trial, evidence_of(trial))
    return trial.model_copy(update={"checks": checks, "verdict": verdict_of(checks)})


def run_checks(trial: TrialRecord, evidence: TrialEvidence | None) -> list[CheckResult]:
    """The result of each check that applies to the trial."""
    if trial.facts.plan is None:
        return [_not_finished(message("check.finished.no_facts"), "unknown")]
    if evidence is None:
        why = trial.facts.failure
        reason = message("check.finished.not_driven", why=why) if why else message("check.finished.never_driven")
        return [_not_finished(reason, "invalid")]
    results = (check(evidence) for check in CHECKS)
    return [result for result in results if result is not None]


def verdict_of(checks: Iterable[CheckResult]) -> TrialVerdict:
    """Invalid if any check is, else suspect if any is, else valid. What is unknown does not spoil a trial.

    A trial of which nothing at all is known is suspect.
    """
    verdicts = {check.verdict for check in checks}
    if "invalid" in verdicts:
        return "invalid"
    return "suspect" if "suspect" in verdicts or "valid" not in verdicts else "valid"


def _not_finished(reason: Message, verdict: CheckVerdict) -> CheckResult:
    return load.finished.result(DirectVerdict(verdict, None, None, reason))


def forbidding(trial: TrialRecord) -> list[CheckResult]:
    """The checks for which no figure of a judged trial may be used; those that bound it are not among them."""
    return failed_checks(trial, ("invalid",), without=BOUNDS)


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
    reasons_of: dict[tuple[CheckVerdict, str], list[Message | None]] = {}
    verdicts = tuple(verdicts)
    for trial in trials:
        for check in failed_checks(trial, verdicts, without):
            reasons_of.setdefault((check.verdict, check.name), []).append(check.reason)
    ranked = sorted(
        reasons_of.items(),
        key=lambda item: (verdicts.index(item[0][0]), _rank(item[0][1]), -len(item[1]), item[0][1]),
    )
    return [
        message("check.failed_in", check=name, verdict=verdict, trials=len(reasons), of=len(trials), reason=reasons[0])
        for (verdict, name), reasons in ranked
    ]
