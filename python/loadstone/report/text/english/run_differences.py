"""In what two runs differ."""

from collections.abc import Callable, Mapping
from typing import Any

_LONGEST = 80


def _difference(what: str, a_name: str, b_name: str, a: Any, b: Any, conditions: int) -> str:
    number = f" ({conditions} conditions)" if conditions > 1 else ""
    return f"{what} is {_shortened(a)} in {a_name} and {_shortened(b)} in {b_name}{number}"


def _shortened(value: Any) -> str:
    said = _value(value)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."


def _value(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {word}" for key, word in value.items()) or "none"
    return str(value) or "empty"


RUN_DIFFERENCES: dict[str, str | Callable[..., str]] = {
    "run_difference": _difference,
    "run_machines_differ": "{a_name} and {b_name} were measured on different machines",
}
