"""What opens a report: the question's answer in figures and verdicts, and a line on what was compared."""

from collections.abc import Callable, Sequence

from loadstone.report.text.english.grammar import listed, several
from loadstone.report.text.english.metrics import metric_text


def _figures(place: str, figures: Sequence[str], metric: str, suspect: bool, quick: bool) -> str:
    at = f"At {place}: " if place else ""
    return f"{at}{listed(figures)} {metric_text(metric)}{_remarks(quick, suspect=suspect)}."


def _without_interval(
    conditions: int, times: int, rates_have_interval: bool, quick: bool, in_rounds: int = 0, times_min: int = 0
) -> str:
    were = "The one condition was" if conditions == 1 else f"{conditions} conditions were"
    if rates_have_interval:
        return f"{were} measured; the tables show how often, with the intervals of the rates{_remarks(quick)}."
    most = "once" if times <= 1 else f"{times} times" if times == times_min else f"up to {times} times"
    often = most
    if in_rounds:
        often = "in rounds of slices"
        if in_rounds < conditions:
            often = f"{most}, and {in_rounds} of them in rounds of slices"
    return f"{were} measured {often}: the tables describe this run, and no figure has an interval{_remarks(quick)}."


def _others_took_cpu(quick: bool) -> str:
    why = "no rate is printed, since it could be half as high again; comparisons remain valid"
    return f"Other programs took CPU time: {why}{_remarks(quick)}."


def _remarks(quick: bool, *, suspect: bool = False) -> str:
    remarks = [*(["suspect"] if suspect else []), *(["quick run"] if quick else [])]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _compared(verdicts: Sequence[str], more: int) -> str:
    rest = f"; and {several(more, 'more comparison')}" if more > 0 else ""
    return f"Compared: {'; '.join(verdicts)}{rest}."


def _verdict(a: str, b: str, place: str, verdict: str, more_pairs: int) -> str:
    more = f" (and {several(more_pairs, 'more pair')})" if more_pairs else ""
    return f"{b} against {a}{f' at {place}' if place else ''}: {verdict}{more}"


def _comparisons(total: int, decided: int, undecided: int, not_decidable: int, invalid: int) -> str:
    parts = {"decided": decided, "undecided": undecided, "not decidable here": not_decidable, "invalid": invalid}
    counted = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    return f"{several(total, 'comparison')}: {counted}"


def _budget_too_short(budget_s: float, needed_s: float, quick: bool) -> str:
    return (
        f"Nothing was measured: the budget of {budget_s:.0f} s ended before the first block; about {needed_s:.0f} s "
        f"are needed{_remarks(quick)}."
    )


HEADLINE: dict[str, str | Callable[..., str]] = {
    "headline_budget_too_short": _budget_too_short,
    "headline_nothing_measured": lambda quick: f"Nothing was measured{_remarks(quick)}.",
    "headline_others_took_cpu": _others_took_cpu,
    "headline_no_figure": lambda quick: f"No trial gave a usable figure; the checks give the reasons{_remarks(quick)}.",
    "headline_figures": _figures,
    "headline_level": "{level} {figure}",
    "headline_without_interval": _without_interval,
    "headline_compared": _compared,
    "headline_verdict": _verdict,
    "comparisons_counted": _comparisons,
    "no_comparison_one_block": "no comparison: one block",
    "no_comparison_declared": "no comparison was declared",
}
