"""The figures of a gate as every format says them, and annotations for GitHub, JUnit's XML and Bencher's JSON."""

import json
from collections.abc import Sequence
from typing import Any, Literal
from xml.etree import ElementTree

from loadstone.addons.gate.result import GateFigure, GateResult, Standing
from loadstone.addons.gate.terminal import value_text, verdict_text
from loadstone.addons.gate.texts import NAMES, percent
from loadstone.report import figure_format as fmt
from loadstone.text.language import _, translated


def name_of(figure: GateFigure) -> str:
    """What a figure is called."""
    return translated(NAMES[figure.name])


def mark_of(result: GateResult) -> str:
    """A sign for whoever reads only that."""
    return {"slower": "❌", "invalid": "⛔", "undecided": "❔"}.get(result.verdict, "✅")


def drawing(figures: Sequence[GateFigure], columns: int = 41) -> list[str]:
    """The intervals on one scale, a line a figure: `├──●──┤`, with no difference `│` and the tolerances `┊`."""
    shown = [one for one in figures if one.slower is not None]
    if not shown:
        return []
    ends = [abs(end) for one in shown for end in one.losses if end is not None]
    reach = max(*ends, *(1.5 * one.tolerance for one in shown))
    reach = min(reach, 1.0)

    def at(share: float) -> int:
        return round((min(max(share, -reach), reach) / reach + 1) / 2 * (columns - 1))

    wide = max(len(name_of(one)) for one in shown)
    left, right = (_("{reach} % faster", reach=percent(reach)), _("{reach} % slower", reach=percent(reach)))
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


TITLE = "loadstone gate"


def github(result: GateResult) -> str:
    """One command, which ends with a line break."""
    kind = "notice"
    if result.verdict in ("slower", "invalid") or result.status == 1:
        kind = "error"
    elif result.verdict == "undecided":
        kind = "warning"
    text = f"{fmt.sentence(result.message)} ({fmt.plain(result.head)} against {fmt.plain(result.base)})"
    return f"::{kind} title={_property(TITLE)}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


MEASURES = {"rate": "throughput", "cpu": "cpu-per-request", "p99": "latency-p99", "memory": "memory"}
"""`throughput` is one of Bencher's own."""
_NAME_MAX = 200


def bencher(result: GateResult, name: str = "loadstone gate") -> str:
    """The document; a gate without figures has none, nor has one that is invalid."""
    measures: dict[str, Any] = {}
    for figure in result.figures if result.verdict != "invalid" else ():
        measure = MEASURES[figure.name]
        if figure.head is not None:
            measures[measure] = {"value": figure.head}
        if figure.ratio is not None:
            ends = {"lower_value": figure.low, "upper_value": figure.high}
            known = {end: value for end, value in ends.items() if value is not None}
            measures[f"{measure}-ratio"] = {"value": figure.ratio, **known}
    return json.dumps({fmt.plain(name)[:_NAME_MAX]: measures} if measures else {}, indent=1) + "\n"


SUITE = "loadstone gate"
_Outcome = Literal["failure", "error", "skipped"]
_OUTCOMES: dict[Standing, _Outcome] = {
    "slower": "failure",
    "invalid": "skipped",
    "unclaimed": "skipped",
    "undecided": "skipped",
}


def junit(result: GateResult) -> str:
    """The document, in UTF-8. What is open or invalid is skipped: no test is red by it but that of the verdict."""
    cases = [(SUITE, "verdict", _outcome_of_all(result), fmt.sentence(result.message), result.elapsed_s)]
    apart = result.decided_by if result.verdict == "invalid" else []
    for figure in result.figures:
        cases.append((f"{SUITE}.figures", name_of(figure), _OUTCOMES.get(figure.verdict), _said(figure), 0.0))
    for figure in result.twin:  # its noise is no failure
        outcome: _Outcome | None = "error" if figure.name in apart else None
        cases.append((f"{SUITE}.base against itself", name_of(figure), outcome, _said(figure), 0.0))
    counts = {kind: sum(1 for case in cases if case[2] == kind) for kind in ("failure", "error", "skipped")}
    totals = {
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "time": f"{result.elapsed_s:.3f}",
    }
    suites = ElementTree.Element("testsuites", {"name": SUITE, **totals})
    of = _clean(f"{result.head} against {result.base}")
    suite = ElementTree.SubElement(suites, "testsuite", {"name": of, **totals, "skipped": str(counts["skipped"])})
    for of_class, name, outcome, text, took_s in cases:
        named = {"classname": of_class, "name": _clean(name), "time": f"{took_s:.3f}"}
        case = ElementTree.SubElement(suite, "testcase", named)
        if outcome is not None:
            told = ElementTree.SubElement(case, outcome, {"message": _clean(text)})
            if outcome != "skipped":
                told.set("type", result.verdict)
                told.text = _clean(text)
        else:
            ElementTree.SubElement(case, "system-out").text = _clean(text)
    ElementTree.indent(suites)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{head}\n{ElementTree.tostring(suites, encoding='unicode')}\n"


def _outcome_of_all(result: GateResult) -> _Outcome | None:
    if result.status == 0:
        return None
    if result.verdict == "undecided":
        return "failure" if result.status == 1 else "skipped"
    return "error" if result.verdict == "invalid" else "failure"


def _said(figure: GateFigure) -> str:
    sides = f"{value_text(figure, figure.base)} -> {value_text(figure, figure.head)}"
    return f"{sides}: {verdict_text(figure)}"


def _clean(text: str) -> str:
    """Without what XML 1.0 cannot hold: control characters, halves of characters."""
    return fmt.plain(text)
