"""One column of a table: the same figure and text for terminal, page and Markdown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadstone.judge.analysis.analysis import AtRate, Row, own_ns, printed_ns
from loadstone.judge.verdict import CpuCost
from loadstone.report import figure_format as fmt
from loadstone.text.english.figures import part_text
from loadstone.text.language import _, translated

STALLED = "†"
"""Stands behind a quantile from which stalls are told apart."""
CsvValue = str | int | float | bool | None
"""Value of a cell of a spreadsheet; None is an empty one."""
_FEW = 4
"""In fewer rows each has its mark."""


@dataclass(frozen=True)
class Column:
    """One figure of a row.

    `drop` says how soon a narrow terminal gives the column up: 0 never, else the highest first. `context`: the figure
    is not of this run. `optional`: without a word in any row it is left out. `ranks`: it is the rate that rows are
    ranked by. `own_load`: a latency under the load that the row was measured with.
    """

    key: str
    header: str
    explanation: str
    value: Callable[[Row], float | None]
    text: Callable[[float | None], str]
    drop: int = 0
    quantile: str = ""
    row_text: Callable[[Row], str] | None = None
    """The whole cell, where it is more than one figure; empty for none."""
    context: bool = False
    optional: bool = False
    ranks: bool = False
    own_load: bool = False
    source: Callable[[Row], Row | AtRate | None] = lambda row: row
    """What it is read off, and what says why a figure is missing: the row itself, or what it did at a fixed rate."""
    is_response: bool = False
    """A quantile of the response time: its interval and what of it may be the generator's own stand behind it, a doubt
    before it."""
    mostly_doubted: bool = False
    """The mark of a doubt stands in the header, since most rows would have it."""
    when: Callable[[Sequence[Row]], bool] | None = None
    """Whether these rows have something of it that matters; None: `optional` says it."""
    csv: Mapping[str, Callable[[Row], CsvValue]] = field(default_factory=dict)
    """What a spreadsheet has of it: header with the unit -> value. Empty: nothing."""
    narrow: bool = False
    """For want of room what may be the generator's own stands in the bracket alone, which contains it."""
    narrow_text: Callable[[Row], str] | None = None
    """The whole cell for want of room; None: it is `row_text` there, too."""

    @property
    def title(self) -> str:
        """The header in the reader's language."""
        return f"{'! ' if self.mostly_doubted else ''}{translated(self.header)}"

    @property
    def meaning(self) -> str:
        """The explanation in the reader's language."""
        why = _("Most of these figures are suspect: the lines below the table say why.") if self.mostly_doubted else ""
        return f"{translated(self.explanation)} {why}".rstrip()

    def cell(self, row: Row) -> str:
        """The figure as text; a dash if there is none."""
        whole = self.narrow_text if self.narrow and self.narrow_text is not None else self.row_text
        if whole is not None:
            return whole(row) or fmt.NONE
        value, source = self.value(row), self.source(row)
        text = self.text(value)
        if not self.is_response or value is None or source is None:
            return text
        ours, ends = own_ns(source, self.quantile), source.response_interval_ns.get(self.quantile)
        mark = "! " if not self.mostly_doubted and _is_doubted(source, self.quantile) else ""
        stalls = source.stalls.get(self.quantile)
        text += STALLED if stalls is not None and stalls.said is not None else ""
        said = "" if self.narrow and ends is not None else fmt.generator_share(value, ours)
        return f"{mark}{text}{fmt.around(value, ends)}{said}"

    def marked_once(self, rows: Sequence[Row]) -> "Column":
        """With the mark of a doubt in its header where most rows would have it: there it would tell none apart."""
        sources = [self.source(row) for row in rows if self.is_response and self.value(row) is not None]
        doubted = sum(source is not None and _is_doubted(source, self.quantile) for source in sources)
        if len(sources) < _FEW or 2 * doubted <= len(sources):
            return self
        return replace(self, mostly_doubted=True)

    def has_content(self, row: Row) -> bool:
        """Whether the row has a figure or a word here."""
        return self.cell(row) != fmt.NONE

    def belongs_to(self, rows: Sequence[Row]) -> bool:
        """Whether a table of these rows has the column."""
        if self.when is not None:
            return self.when(rows)
        return not self.optional or any(self.has_content(row) for row in rows)

    def why_missing(self, row: Row) -> str:
        """Why the row has no such figure; empty where it has one or nothing is known."""
        if self.value(row) is not None:
            return ""
        source = self.source(row)
        if source is None or source.verdict in ("missing", "invalid"):
            return " ".join(map(fmt.sentence, (source or row).reasons)) or _("not measured")
        return self.unmeasurable(row)

    def unmeasurable(self, row: Row) -> str:
        """Why the data do not support this quantile; empty where they do, or this is none."""
        source = self.source(row)
        if source is None or self.quantile not in source.unmeasurable:
            return ""
        return fmt.sentence(source.unmeasurable[self.quantile]) or _("the data do not support it")

    def is_struck(self, row: Row) -> bool:
        """Whether what stands here was refused."""
        source = self.source(row)
        return source is not None and source.verdict == "invalid" and not self.context


def _is_doubted(source: Row | AtRate, quantile: str) -> bool:
    """Whether a check, or the units it was measured in, doubt this figure of the response time."""
    return quantile in source.doubted if source.doubted else source.latencies_doubted


def errors(row: Row) -> int | None:
    """Operations that failed, of every kind; None where nothing was measured."""
    return None if row.operations is None and not row.errors else sum(row.errors.values())


def latency(name: str) -> Callable[[Row], float | None]:
    """Return what reads this figure of the response time, in ns, off a row."""
    return lambda row: printed_ns(row, name)


def cost_text(costs: Mapping[str, CpuCost], *, ends: bool = True) -> str:
    """CPU per request: `7.9 µs [7.8, 8.0]` of one part, `spring 94 µs + redis 4.0 µs` of several; empty for none."""
    if len(costs) != 1:
        return " + ".join(f"{fmt.plain(part_text(part))} {fmt.duration(one.ns)}" for part, one in costs.items())
    (one,) = costs.values()
    around = None if one.low_ns is None or not ends else (one.low_ns, one.high_ns)
    return f"{fmt.duration(one.ns)}{fmt.around(one.ns, around)}"


def rate_range(ends: tuple[float, float] | None) -> str:
    """An interval of rates in brackets; empty for none."""
    return f"[{fmt.rate(ends[0])}, {fmt.rate(ends[1])}]" if ends else ""
