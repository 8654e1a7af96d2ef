"""The report as sections of blocks, which a terminal, the page and Markdown each lay out.

Blocks hold texts, messages and figures as they are: each layout escapes what it prints, in one place.
"""

from dataclasses import dataclass
from typing import Literal

from loadstone.run_folder.look import VerdictKind
from loadstone.run_folder.trial import CheckVerdict
from loadstone.text.message import Message

Layout = Literal["page", "markdown", "terminal"]
Unit = Literal["count", "seconds", "ns", "per_s", "share", "bytes"]
RowVerdict = CheckVerdict | Literal["missing"]
Words = str | Message
"""A text in the reader's language, somebody's name for something, or a message."""


@dataclass(frozen=True)
class Link:
    """A place of the report; without an anchor, its name."""

    text: Words
    anchor: str | None


@dataclass(frozen=True)
class SectionCell:
    """A figure."""

    value: float | None
    """None: it is not known."""
    unit: Unit = "count"
    """How it is written: `1,000`, `2.5 s`; ns: as a latency; share: in per cent."""
    said: Words | None = None
    """What is printed in place of the figure, by which the cell is still sorted."""
    alarm: bool = False
    faint: bool = False
    """Whether it is grey on the page: a count of nothing."""
    verdict: VerdictKind | None = None
    """The verdict that it states, as a mark before it."""
    aside: Words = ""
    """Behind it in brackets, smaller."""
    link: Link | None = None
    """Where it was found."""
    reason: Words = ""
    """Behind all of it."""
    title: Words = ""
    """Explains it where it is pointed at."""
    narrow: Words | None = None
    """What is printed where there is little room; None: the same."""
    struck: bool = False
    """Whether the figure was refused."""
    bar: float | None = None
    """Length of a bar below it, as a share of the longest."""
    style: str = ""
    """In the page's style."""


@dataclass(frozen=True)
class SectionColumn:
    """The head of a column, and what it means."""

    head: Words
    meaning: Words = ""
    kind: Literal["figures", "words", "names", "parts"] = "figures"
    """What its cells hold. words: sentences, which are set in many lines; parts: names of parts of a run."""
    drop: int = 0
    """How soon a narrow terminal gives it up: the highest first, then the last one."""
    role: Literal["", "ranks", "context"] = ""
    """ranks: rows are ranked by it; context: its figures are not of this run."""
    is_minor: bool = False
    """Whether a telephone has no room for it."""


@dataclass(frozen=True)
class TableRow:
    """One condition of a table."""

    label: Words
    cells: tuple[SectionCell, ...]
    """Cells of each column but the first, which has the label; without any the label heads the rows below it."""
    short: Words = ""
    """Text in one line, where there is no room for a table."""
    problems: tuple[Words, ...] = ()
    """What could not be measured, or is wrong with it, and why."""
    verdict: RowVerdict | None = None
    """The mark before the label."""
    hue: int | None = None
    """Place of the colour that pictures give the condition, on the page."""
    target: str | None = None
    """Anchor of what the label leads to."""
    anchor: str = ""
    note: Words = ""
    """Below it on the page, small."""
    group: Words = ""
    """A terminal draws a line where it changes."""


@dataclass(frozen=True)
class SectionTable:
    """What was found under some conditions."""

    title: str
    """Empty where the section's heading says it."""
    columns: tuple[SectionColumn, ...]
    lines: tuple[TableRow, ...]
    note: str = ""
    style: str = "sortable"
    """In the page's style."""
    label: Words = ""
    """What it is called for someone who cannot see it, where that is neither its title nor the section's heading."""


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
    rests_on: "tuple[Block, ...]" = ()
    """Tables behind it."""
    note: Message | None = None
    """How it was found."""
    style: str = ""
    """Name of its kind, in the page's style."""
    basis: Message | None = None
    """What it rests on, where that is folded."""


@dataclass(frozen=True)
class Paragraph:
    """A sentence or a few."""

    text: Words
    tone: Literal["plain", "note", "doubt", "good", "bad", "answer", "banner"] = "plain"
    """note: small on the page and dim on a terminal; doubt: small, and yellow on a terminal; banner: a doubt that
    nobody may overlook."""
    target: str = ""
    """Anchor of what it leads to."""


@dataclass(frozen=True)
class Term:
    """A word within a phrase that is explained where it is pointed at."""

    term: str
    """As the glossary has it."""
    text: str = ""
    """What stands there; empty: the term."""


@dataclass(frozen=True)
class Phrase:
    """A sentence with terms in it."""

    template: str
    """In English, with the terms by name."""
    terms: tuple[tuple[str, Term], ...]
    before: Words = ""
    """What stands before it."""
    tone: Literal["plain", "note", "source"] = "plain"


@dataclass(frozen=True)
class Bullet:
    """One line of a list."""

    text: Words
    name: Words = ""
    """What it is about, before the text."""
    verdict: CheckVerdict | None = None
    """A check's, as a mark at the beginning."""
    aside: Words = ""
    """Behind the text, dim."""
    answer: "Answered | None" = None
    below: tuple[Words, ...] = ()
    """What the answer rests on."""


@dataclass(frozen=True)
class Answered:
    """What this run says of what somebody said."""

    verdict: Message
    text: Message
    tone: Literal["open", "good", "bad"] = "open"
    style: str = ""
    """In the page's style."""


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[Bullet, ...]
    is_numbered: bool = False
    style: str = ""
    """In the page's style."""


@dataclass(frozen=True)
class Picture:
    """A picture, if there are data for it and it can be drawn."""

    kind: str
    """As `Chart.kind` has it."""
    of: str = ""
    """Name of the table or comparison that it belongs to; empty: the first of its kind."""
    is_titled: bool = False
    """Whether it needs a heading where it has none of its own."""


@dataclass(frozen=True)
class FactsBlock:
    """Names with their values, or words with what they mean."""

    title: str
    facts: tuple[tuple[str, str], ...]
    style: str = "facts"
    """In the page's style."""


@dataclass(frozen=True)
class Code:
    """Lines to be copied as they stand."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Shares:
    """A bar of how many trials have which verdict."""

    shares: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Pictures:
    """Pictures in one frame, below each other."""

    parts: tuple[tuple[str, Picture], ...]
    """Each with its heading, which may be empty."""


@dataclass(frozen=True)
class Fold:
    """Blocks that the page folds under a heading."""

    heading: Words
    reading: Words
    """How they are to be read."""
    blocks: "tuple[Block, ...]"
    anchor: str = ""
    style: str = "observed"
    """In the page's style."""


@dataclass(frozen=True)
class Part:
    """Blocks under a heading within a section."""

    heading: Words
    blocks: "tuple[Block, ...]"
    anchor: str = ""


@dataclass(frozen=True)
class Only:
    """Blocks of some layouts: others have no room for them, or say the same elsewhere."""

    layouts: tuple[Layout, ...]
    blocks: "tuple[Block, ...]"


Block = (
    Bullets
    | Code
    | FactsBlock
    | Finding
    | Fold
    | Only
    | Paragraph
    | Part
    | Phrase
    | Picture
    | Pictures
    | SectionTable
    | Shares
)


@dataclass(frozen=True)
class Section:
    """A part of the report under a heading of its own."""

    name: str
    """Leads to it: no other section of the report has it."""
    heading: Words
    blocks: tuple[Block, ...]
    alarms: tuple[Message, ...] = ()
    """Promises that were broken: they open the report, and the run ends with the status of what is invalid."""
    in_outcome: bool = True
    """Whether the few lines that end a run have it, too."""
    leads: bool = False
    """Whether it is the answer: before the comparisons that it was drawn from, and unfolded."""
    closes: bool = False
    """Whether it stands behind all other sections."""
    brief_heading: Words | None = None
    """The heading on a terminal; None: the same."""
    hint: Words = ""
    """What is in it, in a few words beside its heading where it is folded."""
    in_foot: Message | None = None
    """A sentence among those on how far the run can be trusted, in the few lines that end it."""
    anchor: str = ""
    """The heading's, where it is not that of the section."""
    layouts: tuple[Layout, ...] = ("page", "markdown", "terminal")
    """Those that have it."""
    is_open: bool = False
    """Whether the page does not fold it."""
    is_part: bool = False
    """Whether the terminal shows its parts without its heading."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A section that has some stands before tables and comparisons, unfolded, and has nothing else."""
        return tuple(block for block in self.blocks if isinstance(block, Finding))


@dataclass(frozen=True)
class Document:
    """All sections of a report, in their order; a layout leaves out those that it does not have."""

    sections: tuple[Section, ...]

    def of(self, layout: Layout) -> list[Section]:
        """Those of one layout."""
        return [section for section in self.sections if layout in section.layouts]
