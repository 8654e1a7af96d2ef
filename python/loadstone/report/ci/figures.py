"""The figures of a gate as every format says them."""

from collections.abc import Sequence

from loadstone.judge.gate_result import GateFigure, GateResult
from loadstone.language import translated
from loadstone.report import format as fmt
from loadstone.report.text.english.gate import NAMES, percent, standing_text


def name_of(figure: GateFigure) -> str:
    """What a figure is called."""
    return translated(NAMES[figure.name])


def standing_of(figure: GateFigure) -> str:
    """What became of it, in one or two words."""
    return standing_text(figure.verdict, figure.name)


def visible_text(figure: GateFigure) -> str:
    """The smallest difference that would have been seen: `4 %`."""
    return fmt.NONE if figure.visible is None else f"{percent(figure.visible)} %"


def mark_of(result: GateResult) -> str:
    """A sign for whoever reads only that."""
    return {"slower": "❌", "invalid": "⛔", "undecided": "❔"}.get(result.verdict, "✅")


def with_twin(result: GateResult) -> list[tuple[GateFigure, GateFigure | None]]:
    """Each figure with the same of the base against itself, where that was measured."""
    twins = {one.name: one for one in result.twin}
    return [(figure, twins.get(figure.name)) for figure in result.figures]


def drawing(figures: Sequence[GateFigure], columns: int = 41) -> list[str]:
    """The intervals on one scale, a line a figure: `├──●──┤`, with no difference `│` and the tolerances `┊`."""
    shown = [one for one in figures if one.slower is not None]
    if not shown:
        return []
    ends = [abs(end) for one in shown for end in one.by if end is not None]
    reach = max(*ends, *(1.5 * one.tolerance for one in shown))
    reach = min(reach, 1.0)

    def at(share: float) -> int:
        return round((min(max(share, -reach), reach) / reach + 1) / 2 * (columns - 1))

    wide = max(len(name_of(one)) for one in shown)
    left, right = f"-{percent(reach)} %", f"+{percent(reach)} %"
    lines = [f"{'':<{wide}}  {left}{right:>{columns - len(left)}}"]
    for one in shown:
        row = [" "] * columns
        row[at(-one.tolerance)] = row[at(one.tolerance)] = "┊"
        row[at(0)] = "│"
        if one.slower_low is not None and one.slower_high is not None:
            begin, end = at(one.slower_low), at(one.slower_high)
            row[begin : end + 1] = "─" * (end + 1 - begin)
            row[begin], row[end] = "├", "┤"
        row[at(one.slower or 0.0)] = "●"
        lines.append(f"{name_of(one):<{wide}}  {''.join(row).rstrip()}")
    return lines
