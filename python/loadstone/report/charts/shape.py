"""What a table varies decides its pictures: which factor runs along the axis, which has the colours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from loadstone.experiment.spec.levels import Level, is_level
from loadstone.judge.analysis.analysis import Analysis, FactorView, ResultTable, Row, TrialView
from loadstone.judge.verdict import Side
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.text.units import parse_any

_LOG_FROM = 8.0
"""An axis whose largest level is so many times its smallest is drawn on a log scale."""
_LINE_LEVELS = 3
"""A line needs so many levels; fewer are compared better as bars."""


@dataclass(frozen=True)
class ChartAxes:
    """Parts that the factors of one table, or of all, play in pictures; None or empty where no factor plays it.

    along: the quantity along the axis; colour: the factor reported by colour and mark;
    panels: factors with a panel a level; group: the factor whose levels head a long list.
    """

    along: str | None
    colour: str | None
    panels: tuple[str, ...]
    group: str | None
    levels: dict[str, list[Level]]
    factors: dict[str, FactorView]
    palette: dict[str, str]
    """The colour of each level of `colour`, as text, in the whole report."""

    def title(self, factor: str | None) -> str:
        """The factor as text; empty for None."""
        return _factor_title(factor, self.factors) if factor else ""

    def phrase(self, factor: str | None) -> str:
        """The factor within a sentence: `Payload of the document` begins small, `CPU limit` does not."""
        title = self.title(factor)
        return title[:1].lower() + title[1:] if title[1:2].islower() else title

    def text(self, factor: str | None, row: Row | Side | TrialView) -> str:
        """The row's level of `factor` as text; empty where it has none."""
        if factor is None or factor not in row.condition:
            return ""
        return level_text(row.condition[factor], self.factors.get(factor))

    def texts(self, factor: str | None) -> list[str]:
        """All levels of `factor` as text, in the table's order."""
        return [level_text(level, self.factors.get(factor or "")) for level in self.levels.get(factor or "", [])]

    def panel(self, row: Row | Side | TrialView) -> str:
        """The row's panel, e.g. `Payload 1 kB` or `8 workers`; empty when all rows share one."""
        return ", ".join(self._panel_part(name, self.text(name, row)) for name in self.panels if name in row.condition)

    def colour_of(self, row: Row | Side | TrialView) -> str:
        """The row's colour, the same in all pictures and tables of a report."""
        return self.palette.get(self.text(self.colour, row), theme.SERIES[0])

    def _panel_part(self, factor: str, text: str) -> str:
        view = self.factors.get(factor)
        says_unit = view is not None and view.unit and fmt.has_unit(text, view.unit)
        return text if says_unit else f"{self.title(factor)} {text}"

    def ticks(self) -> dict[float, str]:
        """The levels along the axis, ascending: each number and its text."""
        factor = self.factors.get(self.along or "")
        levels = self.levels.get(self.along or "", [])
        numbered = {number: axis_text(level, factor) for level in levels if (number := number_of(level)) is not None}
        return dict(sorted(numbered.items()))

    def is_log(self) -> bool:
        """Whether the levels along the axis span so much that they need a log scale."""
        numbers = list(self.ticks())
        return bool(numbers) and numbers[0] > 0 and numbers[-1] / numbers[0] >= _LOG_FROM


def shape_of(table: ResultTable, analysis: Analysis) -> ChartAxes:
    """The longest quantity goes along the axis; the report's factor has the colours, else one of the table's own."""
    shape, first = _own_shape(table, analysis), _factor_of_colours(analysis)
    colour = first if first != shape.along and len(shape.levels.get(first or "", ())) > 1 else shape.colour
    panels = tuple(
        name for name, levels in shape.levels.items() if len(levels) > 1 and name not in (shape.along, colour)
    )
    return replace(shape, colour=colour, panels=panels, palette=_palette(colour, analysis, [*analysis.tables, table]))


def shape_of_run(analysis: Analysis) -> ChartAxes:
    """All tables together, where time goes along the axis."""
    levels: dict[str, list[Level]] = {}
    for table in analysis.tables:
        for name in table.vary:
            known = levels.setdefault(name, [])
            known += [level for level in _present(name, table) if not is_level(level, known)]
    colour = _factor_of_colours(analysis)
    panels = tuple(name for name in levels if len(levels[name]) > 1 and name != colour)
    return ChartAxes(None, colour, panels, None, levels, analysis.factors, _palette(colour, analysis, analysis.tables))


def _own_shape(table: ResultTable, analysis: Analysis) -> ChartAxes:
    """The last of the names, which change slowest first, has the colours."""
    levels = {name: _present(name, table) for name in table.vary}
    varied = [name for name in levels if len(levels[name]) > 1]
    quantities = [
        name
        for name in varied
        if len(levels[name]) >= _LINE_LEVELS and all(number_of(level) is not None for level in levels[name])
    ]
    along = max(reversed(quantities), key=lambda name: len(levels[name])) if quantities else None
    rest = [name for name in varied if name != along]
    names = [name for name in rest if any(number_of(level) is None for level in levels[name])] or rest
    colour, group = (names[-1], names[0]) if names else (None, None)
    return ChartAxes(along, colour, (), group, levels, analysis.factors, {})


def _factor_of_colours(analysis: Analysis) -> str | None:
    """The factor whose levels have colours throughout the report: that of the first table with one."""
    colours = (_own_shape(table, analysis).colour for table in analysis.tables)
    return next((colour for colour in colours if colour is not None), None)


def _palette(factor: str | None, analysis: Analysis, tables: Sequence[ResultTable]) -> dict[str, str]:
    """A colour for each level that any table has, in their order."""
    if factor is None:
        return {}
    view = analysis.factors.get(factor)
    texts = dict.fromkeys(
        level_text(level, view) for table in tables if factor in table.vary for level in _present(factor, table)
    )
    return dict(zip(texts, cycle(theme.SERIES)))


def _present(factor: str, table: ResultTable) -> list[Level]:
    """Levels of `factor` that some row has, in the table's order."""
    there = [row.condition[factor] for row in table.rows if factor in row.condition]
    return [level for level in table.vary[factor] if is_level(level, there)]


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


def _factor_title(name: str, factors: dict[str, FactorView]) -> str:
    """What a factor is called on an axis: its title, else its name with spaces."""
    view = factors.get(name)
    return fmt.plain((view.title if view else "") or name.replace("_", " "))
