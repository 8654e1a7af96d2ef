"""In what two runs differ, and what is said of conditions that are compared between them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadstone.text.english.figures import listed
from loadstone.text.figures import size_text, slice_text
from loadstone.text.language import _, plural

_DECLARE = "declare a comparison of them, so that each block measures both."
_LONGEST = 80


def _difference(what: str, a_name: str, b_name: str, a: Any, b: Any, conditions: int) -> str:
    number = _(" ({conditions} conditions)", conditions=conditions) if conditions > 1 else ""
    return _(
        "{what} is {in_a} in {a_name} and {in_b} in {b_name}{number}",
        what=what,
        in_a=_shortened(a),
        a_name=a_name,
        in_b=_shortened(b),
        b_name=b_name,
        number=number,
    )


def _shortened(value: Any) -> str:
    said = _value(value)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."


def _value(value: Any) -> str:
    if value is None:
        return _("not set")
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if isinstance(value, list):
        return ", ".join(map(str, value)) or _("none")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {word}" for key, word in value.items()) or _("none")
    return str(value) or _("empty")


def _slices_of_runs(group: str, names: Sequence[str], slices_s: Sequence[float]) -> str:
    longer, shorter = (0, 1) if slices_s[0] > slices_s[1] else (1, 0)
    return _(
        "{group}: {longer} was measured in slices of {long}, {shorter} of {short}: slices get longer where something "
        "carries over, and at the end nothing was found to in either.",
        group=group,
        longer=names[longer],
        long=slice_text(slices_s[longer]),
        shorter=names[shorter],
        short=slice_text(slices_s[shorter]),
    )


def _apart_in_time(a: str, b: str, groups_a: Sequence[str], groups_b: Sequence[str]) -> str:
    measured = _(
        "{a} with '{groups_a}' and {b} with '{groups_b}'",
        a=a,
        groups_a=", ".join(groups_a),
        b=b,
        groups_b=", ".join(groups_b),
    )
    return _(
        "Not compared: {a} and {b} were measured at different times, {measured}; {declare}",
        a=a,
        b=b,
        measured=measured,
        declare=_DECLARE,
    )


def _runs_apart(slower: float, others: float, idle: float = 0.0) -> str:
    """Between two runs: what the second one's machine may have added or taken; `slower`: ln of its time over the
    first's."""
    found = []
    if slower >= _TELLING:
        found.append(_("its CPUs were {share} slower in the second run", share=size_text(slower)))
    if slower <= -_TELLING:
        found.append(_("its CPUs were {share} faster in the second run", share=size_text(slower)))
    if others >= _TELLING:
        found.append(_("other programs took up to {share:.0f} % of the CPUs", share=100 * others))
    if idle >= _WAKING:
        found.append(
            _("for {share:.0f} % of the time the part was idle, and each wake-up is in its cost", share=100 * idle)
        )
    return _("the machine may be the reason: {found}", found=listed(found))


_TELLING = 0.01
"""A smaller difference between two machines is not named."""
_WAKING = 0.1
"""Nor a part that was idle for less."""


RUN_DIFFERENCES: dict[str, str | Callable[..., str]] = {
    "run_difference": _difference,
    "run_machines_differ": "{a_name} and {b_name} were measured on different machines",
}
BETWEEN_RUNS: dict[str, str | Callable[..., str]] = {
    "slices_of_runs_unlike": _slices_of_runs,
    "pair_not_measured": "Not compared: {name} was not measured.",
    "pair_apart_in_time": _apart_in_time,
    "pair_without_block": (
        "Not compared: {a} and {b} have no finished block in common; declare a comparison of them, so that each block "
        "measures both."
    ),
    "pairs_apart": "{pairs} more pairs match and cannot be compared, for example: {first}",
    "costs_of_runs_unlike": lambda first, more: _(
        "CPU per request is not compared: {first}{rest}.",
        first=first,
        rest=_(", and {more} more", more=more) if more else "",
    ),
    "conditions_in_one_run": lambda conditions: plural(
        conditions,
        "{n} condition was not measured in both runs and not compared.",
        "{n} conditions were not measured in both runs and not compared.",
    ),
    "trials_left_out": "{trials} of {of} trials in {run} invalid and left out: {check}.",
    "trials_suspect": "{trials} of {of} trials in {run} suspect and used: {check}.",
    "note_of_run": "{run}: {note}",
    "pair.samples.no_figure": (
        "{without} of {of} trials give no such figure: too few operations in a trial, or too many failed"
    ),
    "cost_of_runs_apart": _runs_apart,
}
