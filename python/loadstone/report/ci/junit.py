"""`--junit`: a gate as JUnit's XML, which GitLab, Jenkins and others show: a test for the verdict, and one a figure."""

from typing import Literal
from xml.etree import ElementTree

from loadstone.judge.gate_result import GateFigure, GateResult, Standing
from loadstone.report import format as fmt
from loadstone.report.ci.figures import name_of
from loadstone.report.gate import value_text, verdict_text

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
