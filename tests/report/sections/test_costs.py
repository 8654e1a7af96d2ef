"""CPU per request, by part: a line where there is more to tell than the cost, and what is beside it is named."""

from loadstone.judge.verdict import CpuCost
from loadstone.report import written
from loadstone.report.document import SectionTable
from loadstone.report.sections.costs import cost_section
from loadstone.text.sentences import render_message


def cells(label: str, cost: CpuCost, *, in_turns: bool) -> tuple[list[str], list[str]]:
    section = cost_section([(label, {"redis": cost}, in_turns)])
    assert section is not None
    table = section.blocks[0]
    assert isinstance(table, SectionTable)
    (line,) = table.lines
    assert line.label == f"{label}: redis"
    return [written.cell(cell) for cell in line.cells], [render_message(said) for said in line.problems]


def test_threads_kernel_and_children_are_told_apart() -> None:
    cost = CpuCost(ns=12_000, main_ns=7_000, system_ns=6_000, children_ns=2_000)
    figures, named = cells("set", cost, in_turns=False)
    assert figures == ["12 µs", "7.0 µs", "3.0 µs", "4.0 µs", "6.0 µs", "2.0 µs"]
    assert named == []


def test_what_ran_beside_slices_is_named() -> None:
    figures, named = cells("set", CpuCost(ns=10_000, main_ns=9_900, children_ns=2_000), in_turns=True)
    assert figures == ["10 µs", "9.9 µs", "100 ns", "—", "—", "2.0 µs"]
    (said,) = named
    assert said.startswith("child processes of redis (a snapshot, a rewrite of its file) took CPU beside these ")
    assert "2 µs each" in said
    assert said.endswith("not in their cost")


def test_where_one_thread_does_all_there_is_nothing_to_tell() -> None:
    rows = [("set", {"redis": CpuCost(ns=10_000, main_ns=9_900, children_ns=10.0)}, True)]
    assert cost_section(rows) is None
    assert cost_section([("set", {"spring": CpuCost(ns=90_000)}, True)]) is None
