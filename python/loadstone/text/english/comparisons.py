"""Comparisons: how they went on and ended, and what is to be said of two runs."""

from collections.abc import Callable, Mapping, Sequence

from loadstone.text.english.figures import blocks_text, metric_text, part_text
from loadstone.text.figures import slice_text
from loadstone.text.language import _, plural


def _left_out(left_out: int, of: int, reasons: str) -> str:
    return _(
        "{left_out} of {of} blocks left out, by the checks of their trials: {reasons}.",
        left_out=left_out,
        of=of,
        reasons=reasons,
    )


def _invalid_in(check: str, trials: int) -> str:
    return plural(trials, "{check} invalid in {n} trial", "{check} invalid in {n} trials", check=check)


def _after_last_look(blocks: int) -> str:
    return plural(
        blocks,
        "{n} block was measured after the last look and not used: the error level allows no further look.",
        "{n} blocks were measured after the last look and not used: the error level allows no further look.",
    )


def _lengthened(slice_s: float | None, why: str) -> str:
    if slice_s is None:
        return _("Whole trials took the place of slices: {why}.", why=why)
    return _("Slices were lengthened to {slice}: {why}.", slice=slice_text(slice_s), why=why)


def _goes_on_longer(slice_s: float | None, why: str) -> str:
    if slice_s is None:
        return _("whole trials from now on: {why}", why=why)
    return _("slices of {slice} from now on: {why}", slice=slice_text(slice_s), why=why)


def _metrics(metrics: Sequence[str]) -> str:
    return ", ".join(map(metric_text, metrics))


COMPARISONS: dict[str, str | Callable[..., str]] = {
    "ended_decided": "It stopped because every pair was settled, by its rates or by what a request costs.",
    "ended_last_look": "It stopped at the last planned look.",
    "ended_out_of_budget": "It stopped because the time budget was spent.",
    "ended_not_needed": "It stopped because the run had its answer.",
    "ended_carry_over": (
        "It stopped because something reached from one slice into the next, and there was no time for longer ones."
    ),
    "slices_lengthened": _lengthened,
    "goes_on_longer": _goes_on_longer,
    "ended_interrupted": "It stopped because the run was interrupted.",
    "ended_going_on": "It was still going on when the run ended.",
    "ended_two_runs": "two separate runs",
    "block_trials_invalid": lambda trials: "; ".join(trials),
    "trial_invalid": "{trial}: {checks:list} invalid",
    "block_after_last_look": "measured after the last look",
    "block_without_figure": "a trial gives no such figure",
    "block_left_out": "block {block} ({why})",
    "blocks_left_out": lambda left_out, of, blocks: _left_out(left_out, of, "; ".join(blocks)),
    "blocks_left_out_by": lambda left_out, of, checks: _left_out(left_out, of, ", ".join(checks)),
    "check_invalid_in": _invalid_in,
    "blocks_after_last_look": _after_last_look,
    "one_process": (
        "both sides are one process that gets the same requests: a difference is noise, or comes from the way to it, "
        "and its CPU time is no side's. --twin shows the noise of a run."
    ),
    "bound_by_shared_cpu": (
        "the processes of a condition share CPUs that are full, so their placement decides: instances on CPUs of "
        "their own may differ otherwise."
    ),
    "rate_against_cost": lambda faster, cheaper, part: _(
        "rate and cost differ: {faster} is faster with this client and this load; {cheaper} uses less CPU of "
        "{part_text}, which decides once {part_text} is full.",
        faster=faster,
        cheaper=cheaper,
        part_text=part_text(part),
    ),
    "both_latency_bound": "both conditions were latency-bound: this ranks round trips, not capacity.",
    "both_generator_bound": (
        "both conditions were generator-bound: this ranks what the generator can send, not the server."
    ),
    "both_pool_bound": "both conditions were pool-bound: this ranks the waiting for connections, not the server.",
    "both_paced": "both conditions were paced: their rates were set from outside, and only latencies can differ.",
    "not_listed": lambda metrics, like: _(
        "Not listed: {metrics}. The same ratios as {metric_text}.",
        metrics=_metrics(metrics),
        metric_text=metric_text(like),
    ),
    "metrics_not_compared": lambda metrics, reason: _(
        "Not compared: {metrics}. {reason}.", metrics=_metrics(metrics), reason=reason.rstrip(".")
    ),
    "latencies_not_compared": lambda reason: _("Not compared: latencies. {reason}.", reason=reason.rstrip(".")),
}


def _few(blocks: int, needed: int, unit: str = "block") -> str:
    return _(
        "{blocks_text}: a verdict needs {needed}, since one run differs from the next by chance.",
        blocks_text=blocks_text(blocks, unit),
        needed=needed,
    )


def _few_trials(a: int, b: int, names: list[str], needed: int) -> str:
    return _(
        "{a} usable trials in {first} and {b} in {second}: a verdict needs {needed} in each.",
        a=a,
        first=names[0],
        b=b,
        second=names[1],
        needed=needed,
    )


def _rates(a: float, b: float, closed: bool) -> str:
    why = _(": in a closed model the faster one also sends more") if closed else ""
    return _("{a:,.0f} operations a second were offered to the one and {b:,.0f} to the other{why}.", a=a, b=b, why=why)


PAIR_CHECKS: Mapping[str, str | Callable[..., str]] = {
    "pair.carry_over.few": "Too few slices follow one of their own condition.",
    "pair.carry_over.shifts": (
        "Slices right after another condition's differ by {percent:.1f} % from those after their own: something is "
        "carried over, and longer slices are needed."
    ),
    "pair.carry_over.paused": (
        "A condition's own servers or applications went on working while it was paused: {percent:.1f} % of the CPU "
        "time that they use in its slices, taken from the slices of others."
    ),
    "pair.clock.coarse": (
        "The clock moves in steps of {step_ns:,.0f} ns, and the figures are around {figures_ns:,.0f} ns."
    ),
    "pair.error_difference.unequal": (
        "{a:.3g} % of the operations of the one failed, and {b:.3g} % of the other: not the same work."
    ),
    "pair.figures.missing": "{without} of {of} blocks give no such figure.",
    "pair.gain.both": (
        "The generator limited both: without it each could do up to {percent:.0f} % more, and the interval is as much "
        "wider."
    ),
    "pair.offered_rate.differs": _rates,
    "pair.offered_rate.not_known": "No rate is known.",
    "pair.order_effect.depends": (
        "The difference depends on which of the two runs first (p = {p_value:.2g}): something is carried over "
        "from one trial to the next."
    ),
    "pair.order_effect.no_block": "No block was used.",
    "pair.order_effect.one_first": "The same one always ran first.",
    "pair.replication.few": _few,
    "pair.replication.few_trials": _few_trials,
    "pair.replication.one_first": (
        "The same condition ran first in every block: what the order does looks like a difference."
    ),
    "pair.samples.few": "{operations:,} operations lie beyond the quantile: so few move it by chance.",
    "pair.warm_up.rises": "The rate rises by {percent:.0f} % within the trials of one of the two: it was not warm yet.",
}
