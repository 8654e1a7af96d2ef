"""What one server does when it is full: the answer, and the section of the report that has it."""

from collections.abc import Sequence

from loadstone.goals.answer import Cell, Column, Line, Section, SectionTable
from loadstone.judge.full_server import FullServer
from loadstone.judge.verdict import Piece
from loadstone.message import Message, message
from loadstone.spec.levels import Level

FULL_SERVERS = "full-servers"


class ServerWhenFull(Piece):
    """What one server does at most, at one place of the run's conditions."""

    server: str
    condition: dict[str, Level]
    """Without the factors that set how many users there are."""
    label: str
    """`set, 1 kB`."""
    users_are: str = "users"
    """What the experiment calls them: `workers`."""
    users_vary: bool = False
    """Whether the experiment varies how many there are."""
    capacity: FullServer

    @property
    def said(self) -> Message:
        """`127,000 [125,000, 129,000] a second (measured at 32 workers)`, or why it is not known."""
        found = self.capacity
        if found.per_s is None:
            return found.why or message("full_unknown")
        return message(
            "full_figure",
            per_s=found.per_s,
            low=found.low_per_s,
            high=found.high_per_s,
            how=found.how,
            users=found.users,
            users_are=self.users_are,
            busy=found.busy,
        )


_COLUMNS = (
    Column(message("full_place"), message("full_place_meaning")),
    Column(message("full_server"), message("full_server_meaning")),
    Column(message("full_figure_head"), message("full_figure_head_meaning")),
    Column(message("full_low"), message("full_low_meaning")),
    Column(message("full_high"), message("full_high_meaning")),
    Column(message("full_how"), message("full_how_meaning")),
    Column(message("full_users"), message("full_users_meaning")),
    Column(message("full_busy"), message("full_busy_meaning")),
)
_HOW = {
    "measured": message("full_measured"),
    "estimated": message("full_estimated"),
    "refused": message("full_unknown"),
}


def full_server_section(found: Sequence[ServerWhenFull]) -> Section:
    """A line for each place and server."""
    return Section(
        name=FULL_SERVERS,
        heading=message("full_heading"),
        tables=(SectionTable("", _COLUMNS, tuple(map(_line, found))),),
        reading=message("full_reading"),
    )


def _line(one: ServerWhenFull) -> Line:
    found = one.capacity
    known = found.per_s is not None
    cells = (
        Cell(None, said=message("full_name", server=one.server)),
        Cell(found.per_s, "per_s"),
        Cell(found.low_per_s, "per_s"),
        Cell(found.high_per_s, "per_s"),
        Cell(None, said=_HOW[found.how]),
        Cell(found.users),
        Cell(found.busy, "share"),
    )
    short = message("full_short", server=one.server, figure=one.said)
    return Line(one.label or one.server, cells, short, () if known else (one.said,))
