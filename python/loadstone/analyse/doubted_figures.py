"""Which figures of the response time a check near its limit doubts: a mark belongs to the figure that it is about."""

from collections.abc import Iterable, Sequence

from loadstone.analyse.waiting_users import is_bounded
from loadstone.judge.validity.load import POOL_WAIT, pool_wait
from loadstone.judge.validity.standing_still import own_stalls, stalls
from loadstone.judge.validity.stores import connection_leak
from loadstone.record.histogram import PER_MILLE
from loadstone.record.trial import CheckResult, Quantiles, TrialRecord

FIGURES = tuple(Quantiles.model_fields)
_STALL_REACHES = 2.0
"""J: a stall may make twice as many late as came due in it: those that queue behind them."""


def doubted_figures(doubts: Iterable[tuple[TrialRecord, CheckResult]], least: Quantiles | None) -> list[str]:
    """The figures that these checks, each of its trial, doubt; in the order of `Quantiles`.

    `least`: the response times without what the driver may have added, which bound what lateness does.
    """
    found = {name for trial, check in doubts for name in _doubted(trial, check, least)}
    return [name for name in FIGURES if name in found]


def _doubted(trial: TrialRecord, check: CheckResult, least: Quantiles | None) -> Sequence[str]:
    if is_bounded(check, least) or check.name == connection_leak.name:  # which is about what is left on the server
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
