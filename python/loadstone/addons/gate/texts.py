"""What a gate says."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from loadstone.text.figures import difference_text, digits, factor_text, is_times, size_text, times_text
from loadstone.text.language import _, translatable, translated

NAMES = {
    "rate": translatable("requests a second"),
    "cpu": translatable("CPU per request"),
    "p99": translatable("P99 at the same rate"),
    "memory": translatable("memory"),
}
"""What the figures of a gate are called."""
OPTION, OPTION_OF_P99 = "--not-slower-than", "--tolerance-p99"
"""What widens the tolerance of rate and CPU, and that of the P99."""
TOLERABLE = 0.2
"""Nobody means a larger tolerance."""


def percent(share: float) -> str:
    """`6`, `0.8`: a share in per cent, with two digits at most."""
    value = 100 * share
    return f"{value:.0f}" if abs(value) >= 9.95 else digits(round(value, 1)) if value else "0"


def share_text(share: float) -> str:
    """A loss of the base, or a tolerance: `6 %`; beyond the double `2.5 times`."""
    return f"{percent(share)} %" if share <= 1 else _("{factor} times", factor=factor_text(math.log1p(share)))


Change = Sequence[float | None]
"""The head over the base and its interval's ends; None: not known."""


def _logs(change: Change) -> list[float | None]:
    return [None if one is None else math.log(one) if one > 0 else -math.inf for one in change]


def change_text(change: Change) -> str:
    """The head against the base: `-17 % [-19, -15]`, `2.5 times [2.3, 2.8]`; empty where it is not known."""
    middle, low, high = _logs(change)
    return "" if middle is None else difference_text(middle, low, high)


def _by(word: str, change: Change) -> str:
    """`SLOWER by 6 % [4, 8]`, or `SLOWER, 2.5 times [2.3, 2.8]`."""
    middle, low, high = _logs(change)
    if middle is None:
        return word
    if is_times(middle):
        return f"{word}, {times_text(middle, low, high)}"
    return _("{word} by {size}", word=word, size=size_text(middle, low, high))


def slower_text(change: Change) -> str:
    """Who lost so much."""
    return _by(_("SLOWER"), change)


def faster_text(change: Change) -> str:
    """Who gained so much."""
    return _by(_("FASTER"), change)


def memory_text(change: Change) -> str:
    """`6 % [4, 8] MORE`, `30 % [29, 31] LESS`, or `2.5 times [2.3, 2.8]`."""
    middle, low, high = _logs(change)
    if middle is None or is_times(middle):
        return change_text(change)
    size = size_text(middle, low, high)
    return _("{by} MORE", by=size) if middle > 0 else _("{by} LESS", by=size)


STANDINGS = {
    "slower": translatable("SLOWER"),
    "same": translatable("same"),
    "not_slower": translatable("not slower"),
    "faster": translatable("FASTER"),
    "undecided": translatable("open"),
    "invalid": translatable("INVALID"),
    "unclaimed": "—",
}
"""What became of a figure, in one or two words."""
_OF_MEMORY = {"slower": translatable("MORE"), "faster": translatable("LESS"), "not_slower": translatable("not more")}


def standing_text(standing: str, figure: str) -> str:
    """Return the standing in the reader's language: memory is not slow."""
    own = _OF_MEMORY if figure == "memory" else {}
    return translated(own.get(standing) or STANDINGS[standing])


def budget_text(seconds: float) -> str:
    """A budget as the option takes it, rounded up: `90s`, `4m`."""
    return f"{10 * math.ceil(seconds / 10)}s" if seconds <= 120 else f"{math.ceil(seconds / 60)}m"


def _slower(figure: str, change: Change, others: Sequence[str]) -> str:
    if figure == "memory":
        said = _("TAKES {by}: memory", by=memory_text(change))
    else:
        said = f"{slower_text(change)}: {translated(NAMES[figure])}"
    return f"{said}{_also(others)}"


def _faster(figure: str, change: Change, others: Sequence[str], unknown: Sequence[str] = ()) -> str:
    return f"{faster_text(change)}: {translated(NAMES[figure])}{_also(others)}{_not_known(unknown)}"


def _not_known(unknown: Sequence[str]) -> str:
    """`; not known: requests a second (-1.2 % [-31, 20])`."""
    if not unknown:
        return ""
    return _("; not known: {figures}", figures=", ".join(unknown))


def _figure_change(figure: str, change: Change) -> str:
    """`requests a second (-1.2 % [-31, 20])`."""
    name, said = translated(NAMES[figure]), change_text(change)
    return name if not said or None in change else f"{name} ({said})"


def _also(others: Sequence[str]) -> str:
    return _("; also {figures}", figures=_list(others)) if others else ""


def _list(figures: Sequence[str]) -> str:
    return ", ".join(translated(NAMES[name]) for name in figures)


def _same(tolerance: float, figures: Sequence[str], once: bool = False, unknown: Sequence[str] = ()) -> str:
    said = _("same within {tolerance} %: {figures}", tolerance=percent(tolerance), figures=_list(figures))
    if once:
        said = _(
            "same within {tolerance} %, of these two processes: {figures}",
            tolerance=percent(tolerance),
            figures=_list(figures),
        )
    return f"{said}{_not_known(unknown)}"


def _may_be_slower(figure: str, change: Change, good: Sequence[str], shown: str | None = None) -> str:
    said = _(
        "NOT DECIDABLE HERE: the head may be slower: {figure}; not slower: {good}",
        figure=_figure_change(figure, change),
        good=_list(good),
    )
    return said if shown is None else f"{said}; {shown}"


def _shown(figure: str, at_most: float, tolerance: float) -> str:
    return _(
        "not slower than {at_most} % ({figure}), so {option} '{tolerance} %' is green by it",
        figure=translated(NAMES[figure]),
        at_most=percent(at_most),
        option=OPTION_OF_P99 if figure == "p99" else OPTION,
        tolerance=percent(tolerance),
    )


def _undecided(visible: float | None, shown: str | None = None) -> str:
    if shown is not None:
        return _("NOT DECIDABLE HERE: {shown}", shown=shown)
    if visible is None:
        return _("NOT DECIDABLE HERE (too little was measured: give it a longer --budget)")
    return _(
        "NOT DECIDABLE HERE (only differences of {visible} or more could have been detected)",
        visible=share_text(visible),
    )


def _twin_differs(figure: str, change: Change) -> str:
    return _(
        "INVALID: the base differs from itself: {figure}, so nothing is claimed of the head",
        figure=_figure_change(figure, change),
    )


def _advice_budget(units: int, needed: int, unit: str, unit_s: float, budget_s: float) -> str:
    each, budget = _("{n} s", n=digits(unit_s)), budget_text(budget_s)
    figures = {"units": units, "needed": needed, "each": each, "budget": budget}
    if unit == "round":
        return _(
            "A longer run helps most: --budget {budget}. About {needed} rounds of {each} are needed; {units} "
            "were measured.",
            **figures,
        )
    return _(
        "A longer run helps most: --budget {budget}. About {needed} starts of both, {each} each, are needed; "
        "{units} were measured.",
        **figures,
    )


def _advice_warm(warm_up_s: float, budget_s: float) -> str:
    return _(
        "A longer warm-up helps most: --warm-up {warm_up} --budget {budget}. The versions, started once, still got "
        "faster while they were measured.",
        warm_up=budget_text(warm_up_s),
        budget=budget_text(budget_s),
    )


def _starts(differ: float) -> str:
    return _("two starts of one version may differ by {differ} %", differ=percent(differ))


def _withheld(figure: str, change: Change, why: str) -> str:
    return _(
        "NOT DECIDABLE HERE: these two processes differ: {figure}, and {why}",
        figure=_figure_change(figure, change),
        why=why,
    )


def _advice_starts(differ: float = 0.1, way: str = "start again") -> str:
    said = _(
        "No budget decides it: these two processes are all there is, and starts of one version are taken to differ by "
        "{differ} %. If you know better, say so by --starts-differ.",
        differ=percent(differ),
    )
    if not way:
        return said
    if way == "start both":
        return f"{said} {_('Or let the gate start both versions.')}"
    more = _(
        "Or leave --start-once out, which takes a start of both for each of 15 blocks or more, with --warm-up and a "
        "--budget for that."
    )
    return f"{said} {more}"


def _interrupted(units: int, unit: str) -> str:
    if unit == "round":
        return _("NOT DECIDED: interrupted after {units} rounds", units=units)
    return _("NOT DECIDED: interrupted after {units} starts of both", units=units)


def _advice_noise(visible: float) -> str:
    if visible > TOLERABLE:
        return _("No budget decides it here: what both do varies too much. A quieter machine helps.")
    return _(
        "No budget decides it here: what both do varies too much. A quieter machine helps, or {option} '{visible} %'.",
        option=OPTION,
        visible=percent(visible),
    )


def _level(level: float, misleads: float, of_processes: bool) -> str:
    said = _(
        "The interval is a {share} one, so that all figures and looks of the gate together say slower at most once "
        "in {once_in} times where it is not.",
        share=f"{100 * level:.4g} %",
        once_in=f"{1 / misleads:,.0f}",
    )
    return f"{said} {_('It is of these two processes alone.')}" if of_processes else said


def _over_base(name: str) -> str:
    return _("{figure}, head/base", figure=translated(NAMES[name]))


GATE: dict[str, str | Callable[..., str]] = {
    **{f"gate.{name}": partial(_over_base, name) for name in NAMES},
    "gate_level": _level,
    "gate_slower": _slower,
    "gate_faster": _faster,
    "gate_same": _same,
    "gate_undecided": _undecided,
    "gate_interrupted": _interrupted,
    "gate_twin_differs": _twin_differs,
    "gate_refused": "INVALID: {reason} ({check})",
    "gate_one_process": "INVALID: base and head are one process that gets the same requests, so nothing is compared",
    "gate_nothing": "INVALID: nothing was measured",
    "gate_withheld": _withheld,
    "gate_may_be_slower": _may_be_slower,
    "gate_shown": _shown,
    "gate_unknown_figure": _figure_change,
    "gate_advice_starts": _advice_starts,
    "gate_advice_warm_before": "What runs already still got faster while it was measured: load it for some minutes "
    "before, and then ask again.",
    "gate_starts": _starts,
    "gate_advice_budget": _advice_budget,
    "gate_advice_warm": _advice_warm,
    "gate_advice_noise": _advice_noise,
    "gate_answer": "{head} against {base}: {verdict}",
    "gate_heading": "The gate's figures",
    "gate_change": change_text,
    "gate_visible": share_text,
    "gate_standing": standing_text,
    "gate_known_before": "not measured: the answer was known before",
    "gate_not_begun": "not measured: no time was left for it",
    "gate_column_figure": "figure",
    "gate_column_figure_meaning": "What is compared. The P99 is that of a start's slices without the quarter in which "
    "it is highest: the machine's stalls lie there. Of what is started once it is that of a few rounds each, and where "
    "they hold too few requests that of all.",
    "gate_column_base": "base",
    "gate_column_base_meaning": "Of the old version.",
    "gate_column_head": "head",
    "gate_column_head_meaning": "Of the new version.",
    "gate_column_change": "change",
    "gate_column_change_meaning": "From the base to the head, in per cent of the base, with its interval; beyond a "
    "half a factor. Less of a rate is slower; of all others more is.",
    "gate_column_verdict": "verdict",
    "gate_column_verdict_meaning": "Slower only where the whole interval lies beyond the tolerance.",
    "gate_column_visible": "detectable",
    "gate_column_visible_meaning": "The smallest loss that this gate calls slower 8 times in 10.",
    "gate_column_twin": "base against itself",
    "gate_column_twin_meaning": "The noise floor: the base once more in the same rounds; another start of it, "
    "unless it runs already.",
}
