"""Levels of factors: the number behind a level, and the words for it."""

import re

from loadstone.analyse.model import FactorView, Level
from loadstone.report import format as fmt

_UNITS = {
    "": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
    "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "%": 0.01, "/s": 1.0,
}  # fmt: skip
_WITH_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ%/]*)\s*")


def number_of(level: Level) -> float | None:
    """The level as a number, `10 kB` being 10,000; None for a level that is a name or a switch."""
    if isinstance(level, bool):
        return None
    if isinstance(level, int | float):
        return float(level)
    match = _WITH_UNIT.fullmatch(level)
    if match is None or match[2] not in _UNITS:
        return None
    return float(match[1]) * _UNITS[match[2]]


def level_text(level: Level, factor: FactorView | None = None) -> str:
    """The level in words: switches as on and off, byte counts with their unit."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, str):
        return fmt.plain(level)
    unit = factor.unit if factor else ""
    if unit in ("B", "bytes"):
        return fmt.size(level)
    return f"{fmt.number(level)} {unit}".strip() if unit else fmt.number(level)


def factor_title(name: str, factors: dict[str, FactorView]) -> str:
    """What a factor is called on an axis: its title, else its name with spaces."""
    view = factors.get(name)
    return fmt.plain((view.title if view else "") or name.replace("_", " "))
