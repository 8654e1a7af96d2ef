"""In what two runs differ."""

from collections.abc import Callable, Mapping
from typing import Any

from loadstone.text.language import _

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


RUN_DIFFERENCES: dict[str, str | Callable[..., str]] = {
    "run_difference": _difference,
    "run_machines_differ": "{a_name} and {b_name} were measured on different machines",
}
