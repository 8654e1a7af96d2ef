"""What `loadstone upgrade-check` prints: the answer, a table of commands, and what else to think of."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from loadstone.addons.upgrade.check import (
    MEMORY_LEAST,
    CommandFound,
    CpuFound,
    UpgradeAnswer,
    UpgradeReport,
    WayBackFound,
)
from loadstone.report import figure_format as fmt
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Paragraph,
    SectionCell,
    SectionColumn,
    SectionTable,
    TableRow,
)
from loadstone.report.terminal.sections import print_blocks
from loadstone.text.figures import difference_text, three_digits
from loadstone.text.language import _

if TYPE_CHECKING:
    from rich.console import Console

ROWS_MAX = 20
START_LEAST_S = 1.0
"""Shorter starts are not told."""
NAMED_MAX = 8
"""Most names of one kind that are printed; all of them stand in the JSON."""
STYLES: dict[UpgradeAnswer, str] = {
    "yes": "bold green",
    "yes_but": "bold green",
    "no": "bold red",
    "not_decidable": "bold yellow",
}


def show(found: UpgradeReport, console: "Console") -> None:
    """Print it for a person."""
    print_blocks(console, _answer(found), _blocks(found), STYLES[found.answer])


def _answer(found: UpgradeReport) -> str:
    both = {"a": found.versions[0], "b": found.versions[1], "compared": fmt.count(found.compared)}
    match found.answer:
        case "no" if found.broken_off is not None:
            return _("NO: {b} breaks off where {a} answers ({compared} replies compared before)", **both)
        case "no":
            return _("NO: {differ} of {compared} replies differ ({a} -> {b})", differ=fmt.count(found.differ), **both)
        case "not_decidable":
            return _("NOT DECIDABLE HERE: {compared} replies could be compared ({a} -> {b})", **both)
        case "yes_but":
            return _("YES, BUT read what stands below: {compared} replies are the same ({a} -> {b})", **both)
        case "yes":
            return _("YES: {compared} replies are the same ({a} -> {b})", **both)


def _blocks(found: UpgradeReport) -> Iterator[Block]:
    if found.commands:
        yield _table(found.commands[:ROWS_MAX])
    if len(found.commands) > ROWS_MAX:
        yield Paragraph(_("{more} more commands: --json", more=len(found.commands) - ROWS_MAX), "note")
    remarks = tuple(map(Bullet, _remarks(found)))
    if remarks:
        yield Bullets(remarks)
    if found.answer != "no":
        command = f"loadstone gate redis --base {found.a} --head {found.b} --replay FILE"
        yield Paragraph(_("Nothing here says how fast they are: {command}", command=command), "note")


def _table(commands: list[CommandFound]) -> SectionTable:
    columns = (
        SectionColumn(_("commands"), kind="names"),
        SectionColumn(_("sent")),
        SectionColumn(_("equal")),
        SectionColumn(_("as numbers"), _("The same number, written in other digits.")),
        SectionColumn(_("by chance")),
        SectionColumn(_("unclear")),
        SectionColumn(_("differ")),
        SectionColumn(_("only B fails")),
        SectionColumn(_("only A fails")),
    )
    return SectionTable("", columns, tuple(map(_row, commands)))


def _row(one: CommandFound) -> TableRow:
    figures = (
        one.sent,
        one.equal + one.unordered,
        one.numbers,
        one.free,
        one.unclear,
        one.differ,
        one.only_b_fails,
        one.only_a_fails,
    )
    return TableRow(one.name, tuple(SectionCell(figure) for figure in figures))


def _remarks(found: UpgradeReport) -> Iterator[str]:
    if (off := found.broken_off) is not None:
        what = _("B ended") if off.ended else _("B closed the connection")
        yield _(
            "{what} at one of the commands of lines {first} to {last}; what follows was not sent",
            what=what,
            first=fmt.count(off.first_line),
            last=fmt.count(off.last_line),
        )
    for one in found.commands:
        for example in one.examples:
            yield _("{command}, {example}", command=one.name, example=example)
    if found.unclear:
        yield _(
            "unclear: {unclear} replies differ between two equal servers, too; that is the replay's own doing",
            unclear=fmt.count(found.unclear),
        )
    if found.unknown_commands:
        yield _("commands that B does not know: {names}", names=_some(found.unknown_commands))
    if found.unknown_settings:
        yield _("settings that B does not know: {names}", names=_some(found.unknown_settings))
    if found.changed_defaults:
        changed = [f"{one.name} {one.a or '-'} -> {one.b or '-'}" for one in found.changed_defaults]
        yield _("defaults that changed: {names}", names=_some(changed))
    if found.cpu is not None:
        yield _cpu_line(found.cpu)
    a_bytes, b_bytes = found.data_bytes
    if min(a_bytes, b_bytes) >= MEMORY_LEAST:
        yield _(
            "memory for the same data: {a} -> {b} ({share})",
            a=fmt.size(a_bytes),
            b=fmt.size(b_bytes),
            share=f"{100 * (b_bytes / a_bytes - 1):+.0f} %",
        )
    a_s, b_s = found.start_s
    if max(a_s, b_s) >= START_LEAST_S:
        yield _("start and loading the data: {a} -> {b}", a=fmt.seconds(a_s), b=fmt.seconds(b_s))
    if found.way_back is not None:
        yield from _way_back_lines(found.way_back)
    if found.only_writes:
        yield _("an append-only file holds writes alone: no read was compared")
    if found.left_out:
        left_out = [f"{count:,} {why}" for why, count in found.left_out.items()]
        yield _("not sent: {names}", names=_some(left_out))
    if found.cut_off:
        yield _("the last line of the recording has no end; it was left out")


def _cpu_line(cpu: CpuFound) -> str:
    return _(
        "CPU of a command: {a} µs -> {b} µs: {difference}, over two starts of each",
        a=three_digits(cpu.a_us),
        b=three_digits(cpu.b_us),
        difference=difference_text(math.log(cpu.b_to_a), math.log(cpu.low), math.log(cpu.high)),
    )


def _way_back_lines(back: WayBackFound) -> Iterator[str]:
    if back.from_snapshot == back.as_replica == back.keys:
        yield _(
            "the way back: A loads what B saved, and follows B as a replica ({keys} keys)", keys=fmt.count(back.keys)
        )
        return
    if back.from_snapshot != back.keys:
        yield _("no way back by a snapshot: A does not load what B saved")
    if back.as_replica != back.keys:
        yield _("no way back by replication: A does not follow B")
    yield from (fmt.plain(why) for why in back.why_not)


def _some(names: list[str]) -> str:
    more, shown = len(names) - NAMED_MAX, ", ".join(names[:NAMED_MAX])
    return _("{names} and {more} more (--json)", names=shown, more=more) if more > 0 else shown
