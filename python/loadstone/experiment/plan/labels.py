"""Levels and conditions as text, as rows and answers name them."""

from collections.abc import Iterable, Mapping

from loadstone.experiment.spec.experiment import Experiment, Factor, TableSpec
from loadstone.experiment.spec.levels import Condition, Level

_SWITCHES = frozenset({"on", "off", "yes", "no", "true", "false"})
_WORD = 3
"""Letters from which on a name can be a word."""
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def level_label(name: str, level: Level, factor: Factor | None, *, shared: bool = False) -> str:
    """A level as text: `8 workers`, `1 kB`, `json`; a switch with its factor: `warm-up on`.

    So is a name for settings that says nothing without it: a number, a short word, or one that is a level of another
    factor, too (`shared`).
    """
    unit = factor.unit if factor else ""
    if isinstance(level, bool):
        return f"{_name(name)} {'on' if level else 'off'}"
    if isinstance(level, str):
        alone = factor is None or level not in factor.values or (_speaks(level) and not shared)
        return level if alone else f"{_name(name)} {level}"
    if unit in ("B", "bytes"):
        return _size(level)
    number = f"{level:,}"
    if not unit:
        return f"{_name(name)} {number}"
    return f"{number} {unit.removesuffix('s') if level == 1 else unit}"


def condition_label(experiment: Experiment, condition: Mapping[str, Level], factors: Iterable[str]) -> str:
    """These factors of a condition as text, with commas between."""
    known = experiment.factors
    return ", ".join(
        level_label(name, condition[name], known.get(name), shared=_is_shared(experiment, name, condition[name]))
        for name in factors
    )


def label_of(experiment: Experiment, condition: Condition) -> str:
    """A condition as the first table that prints it calls it; outside of any table by what the first one varies, and
    by what is not as usual."""
    table = next((table for table in experiment.tables if prints(experiment, table, condition)), None)
    if table is not None or not experiment.tables:
        return condition_label(experiment, condition, table.vary if table else condition)
    known, varied = experiment.factors, experiment.tables[0].vary
    named = (
        name for name, level in condition.items() if name in varied or name not in known or level != known[name].usual
    )
    return condition_label(experiment, condition, named)


def prints(experiment: Experiment, table: TableSpec, condition: Condition) -> bool:
    """Whether a condition is a row of a table: a varied level, and every other factor at its usual one."""
    for name, factor in experiment.factors.items():
        if name not in condition:
            return False
        levels = table.vary.get(name, (factor.usual,))
        if not any(type(level) is type(condition[name]) and level == condition[name] for level in levels):
            return False
    return True


def _speaks(level: str) -> bool:
    """Whether a level says what it is without the name of its factor."""
    return len(level) >= _WORD and level[0].isalpha() and level.lower() not in _SWITCHES


def _is_shared(experiment: Experiment, name: str, level: Level) -> bool:
    return any(level in factor.levels for other, factor in experiment.factors.items() if other != name)


def _name(factor: str) -> str:
    return factor.replace("_", "-")


def _size(byte_count: float) -> str:
    for size, unit in _SIZES:
        if abs(byte_count) >= size:
            return f"{byte_count / size:.3g} {unit}"
    return f"{byte_count:g} B"
