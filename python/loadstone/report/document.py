"""A section of the report, which a terminal, the page and Markdown each lay out.

A section holds messages and figures, whose words and digits are the report's; texts only in the grids of findings.
"""

from dataclasses import dataclass
from typing import Literal

from loadstone.run_folder.trial import TrialVerdict
from loadstone.text.message import Message

Unit = Literal["count", "seconds", "ns", "per_s", "share", "bytes"]


@dataclass(frozen=True)
class SectionCell:
    """A figure."""

    value: float | None
    """None: it is not known."""
    unit: Unit = "count"
    """How it is written: `1,000`, `2.5 s`; ns: as a latency; share: in per cent."""
    said: Message | None = None
    """What is printed in place of the figure, by which the cell is still sorted."""
    alarm: bool = False


@dataclass(frozen=True)
class SectionColumn:
    """The head of a column, and what it means."""

    head: Message
    meaning: Message


@dataclass(frozen=True)
class TableRow:
    """One condition of a table."""

    label: str
    cells: tuple[SectionCell, ...]
    """Cells of each column but the first, which has the label."""
    short: Message
    """Text in one line, where there is no room for a table."""
    problems: tuple[Message, ...] = ()
    """What could not be measured, and why."""


@dataclass(frozen=True)
class SectionTable:
    """What was found under some conditions."""

    title: str
    """Empty where the section's heading says it."""
    columns: tuple[SectionColumn, ...]
    lines: tuple[TableRow, ...]
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """What somebody says, or what went wrong for them, and what this run says of it."""

    text: str
    """As they have it."""
    kind: str
    """The verdict's name in the page's style."""
    verdict: Message
    """What the verdict is called."""
    answer: Message
    tone: Literal["good", "open", "bad"] = "open"
    meaning: Message | None = None
    """What the verdict means."""
    evidence: tuple[Message, ...] = ()
    """What the answer rests on."""


@dataclass(frozen=True)
class GridRow:
    """Texts of one line."""

    cells: tuple[str, ...]
    verdict: TrialVerdict | None = None
    """On the trials behind the line; None where the grid has no verdicts."""
    why: tuple[Message, ...] = ()
    """Why that is not valid."""


@dataclass(frozen=True)
class Grid:
    """A table of texts that a finding rests on."""

    name: str
    """Its name in the page's style."""
    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    has_verdicts: bool = False
    on_terminal: bool = True


@dataclass(frozen=True)
class Shown:
    """Pictures of a kind that belong to a finding, and what is to be said below them."""

    kind: str
    """As `Chart.kind` has it."""
    remarks: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What was found under one condition: the verdict, some facts, pictures, and what it rests on."""

    condition: str
    """Label of the condition, by which its pictures are found; empty where nothing is varied."""
    title: str
    """The condition; where nothing is varied, what is found."""
    kind: str
    """The verdict's name in the page's style."""
    mark: str
    verdict: Message
    facts: tuple[tuple[Message, Message], ...]
    """What is asked, and the answer; the most important first."""
    brief: Message
    """The fact that stands below the verdict where there is room for one."""
    tone: Literal["good", "open", "bad"] = "open"
    shown: tuple[Shown, ...] = ()
    grids: tuple[Grid, ...] = ()
    note: Message | None = None
    """How it was found."""


@dataclass(frozen=True)
class Section:
    """A part of the report under a heading of its own."""

    name: str
    """Leads to it: no other section of the report has it."""
    heading: Message
    tables: tuple[SectionTable, ...] = ()
    claims: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()
    """A section that has some stands before tables and comparisons, unfolded, and has nothing else."""
    basis: Message | None = None
    """What the grids of the findings are, where they are folded."""
    then_and_now: bool = False
    """Whether the claims stand in a table of what was and what is, and not in a list."""
    reading: Message | None = None
    """How the tables are to be read."""
    alarms: tuple[Message, ...] = ()
    """Promises that were broken: they open the report, and the run ends with the status of what is invalid."""
    in_outcome: bool = True
    """Whether the few lines that end a run have it, too."""
    leads: bool = False
    """Whether it is the answer: before the comparisons that it was drawn from, and unfolded."""
    closes: bool = False
    """Whether it stands behind all other sections."""
    brief_heading: Message | None = None
    """The heading on a terminal; None: the same."""
    hint: Message | None = None
    """What is in it, in a few words beside its heading where it is folded."""
    in_foot: Message | None = None
    """A sentence among those on how far the run can be trusted, in the few lines that end it."""
