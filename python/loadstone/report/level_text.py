"""Levels of factors: the number behind a level, and the text for it."""

from loadstone.analyse.model import FactorView
from loadstone.judge.verdict import Level
from loadstone.report import format as fmt
from loadstone.spec.units import parse_any


def number_of(level: Level) -> float | None:
    """The level as a number, `10 kB` being 10,000; None for a level that is a name or a switch."""
    if isinstance(level, bool):
        return None
    if isinstance(level, int | float):
        return float(level)
    quantity = parse_any(level)
    return float(quantity[1]) if quantity else None


def level_text(level: Level, factor: FactorView | None = None) -> str:
    """The level as text: switches as on and off, numbers with the factor's unit."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, str):
        return fmt.plain(level)
    return fmt.quantity(level, fmt.plain(factor.unit) if factor else "")


def axis_text(level: Level, factor: FactorView | None = None) -> str:
    """The level as an axis prints it: without the unit that the axis' title says already."""
    says_unit = factor is not None and factor.unit.lower() in factor.title.lower()
    return level_text(level, None if says_unit else factor)


def factor_title(name: str, factors: dict[str, FactorView]) -> str:
    """What a factor is called on an axis: its title, else its name with spaces."""
    view = factors.get(name)
    return fmt.plain((view.title if view else "") or name.replace("_", " "))
