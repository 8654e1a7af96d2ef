"""What a table varies decides its pictures: which factor runs along the axis, which has the colours."""

from dataclasses import dataclass

from loadstone.analyse.model import Analysis, FactorView, Level, ResultTable, Row
from loadstone.report.levels import factor_title, level_text, number_of

_LOG_FROM = 8.0
"""An axis whose largest level is so many times its smallest is drawn on a log scale."""


@dataclass(frozen=True)
class Shape:
    """Parts that the factors of one table play in its picture; `along` is None when no factor is a quantity."""

    along: str | None
    colour: str | None
    panels: tuple[str, ...]
    levels: dict[str, list[Level]]
    factors: dict[str, FactorView]

    def title(self, factor: str | None) -> str:
        """The factor in words; empty for None."""
        return factor_title(factor, self.factors) if factor else ""

    def text(self, factor: str | None, row: Row) -> str:
        """The row's level of `factor` in words; empty where it has none."""
        if factor is None or factor not in row.condition:
            return ""
        return level_text(row.condition[factor], self.factors.get(factor))

    def texts(self, factor: str | None) -> list[str]:
        """All levels of `factor` in words, in the table's order."""
        return [level_text(level, self.factors.get(factor or "")) for level in self.levels.get(factor or "", [])]

    def panel(self, row: Row) -> str:
        """The row's panel, e.g. `payload 1 kB`; empty when all rows share one."""
        return ", ".join(f"{self.title(name)} {self.text(name, row)}" for name in self.panels)

    def numbers(self) -> list[float]:
        """The levels along the axis as numbers, ascending."""
        return sorted(number for level in self.levels.get(self.along or "", []) if (number := number_of(level)) is not None)

    def is_log(self) -> bool:
        """Whether the levels along the axis span so much that they need a log scale."""
        numbers = self.numbers()
        return bool(numbers) and numbers[0] > 0 and numbers[-1] / numbers[0] >= _LOG_FROM


def shape_of(table: ResultTable, analysis: Analysis) -> Shape:
    """The longest quantity goes along the axis, the first name has the colours, the rest make panels.

    A quantity needs three levels at least: two are compared better as bars.
    """
    levels = {name: _present(name, table) for name in table.vary}
    varied = [name for name in levels if len(levels[name]) > 1]
    quantities = [name for name in varied if len(levels[name]) >= 3 and all(number_of(v) is not None for v in levels[name])]
    along = max(reversed(quantities), key=lambda name: len(levels[name])) if quantities else None
    rest = [name for name in varied if name != along]
    names = [name for name in rest if any(number_of(level) is None for level in levels[name])]
    colour = next(iter(names or rest), None)
    return Shape(along, colour, tuple(name for name in rest if name != colour), levels, analysis.factors)


def _present(factor: str, table: ResultTable) -> list[Level]:
    """Levels of `factor` that some row has, in the table's order; 1, 1.0 and True are three levels."""
    there = {(type(row.condition[factor]), row.condition[factor]) for row in table.rows if factor in row.condition}
    return [level for level in table.vary[factor] if (type(level), level) in there]
