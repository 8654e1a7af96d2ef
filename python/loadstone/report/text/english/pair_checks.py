"""What the checks of a pair found."""

from collections.abc import Callable, Mapping

from loadstone.language import _
from loadstone.report.text.english.figures import blocks_text


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
    "pair.samples.no_figure": (
        "{without} of {of} trials give no such figure: too few operations in a trial, or too many failed"
    ),
    "pair.warm_up.rises": "The rate rises by {percent:.0f} % within the trials of one of the two: it was not warm yet.",
}
