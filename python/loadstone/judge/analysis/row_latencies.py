"""The latencies of a row: of several trials together, which quantiles mean something, and which a check doubts.

Of some rows users waited all through the measure phase: their rate stands, and of their latency the mean. A pool that
is not fair gives a connection to who comes while others wait, and an application may answer some of its connections
alone. What the others' operations took is in no histogram then; how long all of them waited on average follows from the
rate by Little's law.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadstone.drivers.histogram import PER_MILLE, SAMPLES_BEYOND, measurable
from loadstone.drivers.outcome import Quantiles
from loadstone.judge.checks.generator_bounds import TAKEN_AT_RATE
from loadstone.judge.checks.interference import connection_leak
from loadstone.judge.checks.load import POOL_WAIT, little, pool_wait
from loadstone.judge.checks.stall_checks import own_stalls, own_time, stalls
from loadstone.judge.checks.timing import schedule_lag
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.safety.errors import DriveFailed
from loadstone.text.message import Message, message

_BEGUN_EARLIER = "check.little.begun_earlier"
FIGURES = tuple(Quantiles.model_fields)
_OF_LATENCY = (schedule_lag.name, own_time.name)
"""Checks whose doubt `least_ns` bounds."""
_STALL_REACHES = 2.0
"""J: a stall may make twice as many late as came due in it: those that queue behind them."""


def saturates(trials: Sequence[TrialRecord]) -> bool:
    """Whether their load was a closed model without think time: latency is users / throughput then."""
    models = [trial.facts.closed for trial in trials]
    return bool(models) and all(model is not None and not model.think_time_ms for model in models)


def has_a_rate(trials: Sequence[TrialRecord]) -> bool:
    """Whether their load came at a rate that was set, the open model."""
    return bool(trials) and all(trial.facts.open is not None for trial in trials)


@dataclass(frozen=True)
class RowLatencies:
    """Latencies of all trials together."""

    response: Quantiles | None
    service: Quantiles | None
    least: Quantiles | None
    """The response time without what the driver itself may have added; None where that was not measured."""
    unread: list[Message]
    """Why there are none."""


def merged_latencies(run: RecordedRun, trials: list[TrialRecord]) -> RowLatencies:
    """The latencies of all trials together, from their merged histograms."""
    if len(trials) == 1:
        return RowLatencies(trials[0].response_ns, trials[0].service_ns, trials[0].least_ns, [])
    try:
        return RowLatencies(run.response_ns(trials), run.service_ns(trials), run.least_ns(trials), [])
    except DriveFailed as error:
        return RowLatencies(None, None, None, [message("row.not_merged", error=error.message)])


def unmeasurable(response: Quantiles | None, trials: Sequence[TrialRecord]) -> dict[str, Message]:
    """Quantiles that the data do not support, each with the reason."""
    operations = sum(trial.counts.offered for trial in trials)
    reasons: dict[str, Message] = {}
    for name, per_mille in PER_MILLE.items():
        if response is None or getattr(response, name) is not None:
            continue
        if measurable(per_mille, operations):
            reasons[name] = message("quantile_failed")
        else:
            needed = SAMPLES_BEYOND * 1000 // (1000 - per_mille)
            reasons[name] = message("quantile_needs", quantile=name, needed=needed, operations=operations)
    return reasons


def is_of_latency(check: CheckResult) -> bool:
    """Whether it doubts the latencies alone, and not the rate: users are missing from them, or requests left late."""
    return check.name in _OF_LATENCY or is_disturbed(check) or _is_of_waiting(check)


def is_disturbed(check: CheckResult) -> bool:
    """Whether others had CPU time while a rate that was set was held."""
    return check.reason is not None and check.reason.kind == TAKEN_AT_RATE


def _is_of_waiting(check: CheckResult) -> bool:
    return check.name == little.name and check.reason is not None and check.reason.kind == _BEGUN_EARLIER


def _is_bounded(check: CheckResult, least: Quantiles | None) -> bool:
    """Whether what a check doubts is what the latencies' own bound says."""
    return check.name in _OF_LATENCY and least is not None


def some_waited(trials: Sequence[TrialRecord]) -> bool:
    """Whether any of the trials has users whose operations ended in none of its histograms."""
    return any(check.verdict == "suspect" and _is_of_waiting(check) for trial in trials for check in trial.checks)


def time_of_all_users(trials: Sequence[TrialRecord]) -> Quantiles:
    """The mean response time in ns by Little's law, N / X less the think time; no quantile."""
    closed = [(model, trial) for trial in trials if (model := trial.facts.closed) is not None]  # no other has users
    users_s = sum(model.users * trial.duration_s for model, trial in closed)
    ended = sum(trial.throughput_per_s * trial.duration_s for _, trial in closed)
    mean_s = users_s / ended - closed[0][0].think_time_ms / 1e3 if ended else None
    return Quantiles(min=None, mean=None if mean_s is None else 1e9 * mean_s, max=None, **dict.fromkeys(PER_MILLE))


def no_quantiles() -> dict[str, Message]:
    """The reason for which such a row has none, by quantile."""
    return {name: message("quantile_users_waited") for name in PER_MILLE}


def doubted_figures(doubts: Iterable[tuple[TrialRecord, CheckResult]], least: Quantiles | None) -> list[str]:
    """The figures that these checks, each of its trial, doubt; in the order of `Quantiles`.

    `least`: the response times without what the driver may have added, which bound what lateness does.
    """
    found = {name for trial, check in doubts for name in _doubted(trial, check, least)}
    return [name for name in FIGURES if name in found]


def _doubted(trial: TrialRecord, check: CheckResult, least: Quantiles | None) -> Sequence[str]:
    if _is_bounded(check, least) or check.name == connection_leak.name:  # which is about what is left on the server
        return ()
    if check.name == pool_wait.name:
        return [name for name in FIGURES if _waits(trial, name)]
    if check.name in (stalls.name, own_stalls.name) and check.measured is not None and trial.duration_s:
        percent = check.measured if check.unit != "s" else 100 * check.measured / trial.duration_s
        reached = {name for name, per_mille in PER_MILLE.items() if _STALL_REACHES * percent >= 100 - per_mille / 10}
        return [name for name in FIGURES if name in reached or name in ("mean", "max")]
    return FIGURES


def _waits(trial: TrialRecord, name: str) -> bool:
    """Whether waiting for a connection is, at this quantile, more of the response time than the check allows."""
    wait, response = getattr(trial.pool_wait_ns, name), getattr(trial.response_ns, name)
    return bool(response) and wait is not None and 100 * wait > POOL_WAIT.valid * response
