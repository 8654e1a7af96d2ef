"""What a gate leaves for CI, with the names that a stranger may give a branch, a command or a reply."""

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from loadstone.addons.gate.ci.formats import bencher, github, junit
from loadstone.addons.gate.ci.summary import code, summary
from loadstone.addons.gate.output import GateOutput
from loadstone.addons.gate.result import GateFigure, GateResult, GateVerdict
from loadstone.addons.gate.section import NAMES
from loadstone.addons.gate.terminal import gate_lines, verdict_text
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import markdown_report
from loadstone.report.html import page as html_report
from loadstone.safety.errors import UserError
from loadstone.text.language import of_author, use_language
from loadstone.text.message import message, verbatim

HOSTILE = (
    "`x` ``| a | <script>alert(1)</script> [y](javascript:z) ![i](http://e/x.png) <!-- @octocat #12 https://evil.example",
    "a\n\n# big\n\n| t |\n|---|\n| x |\n\n```\n::error::x",
    "`",
    "\x1b[2J\x00\x08\ud800\ufffe\u202e]]>&amp;<x/>",
    "%0A::add-mask::x\r\n::stop-commands::y",
    "",
    "x" * 5000,
)
STATUS: dict[GateVerdict, int] = {"slower": 1, "same": 0, "faster": 0, "undecided": 4, "invalid": 3}


def figure(verdict: str = "slower", **changed: Any) -> GateFigure:
    figures = {"base": 26_000.0, "head": 27_560.0, "ratio": 1.06, "low": 1.04, "high": 1.08}
    shares = {"slower": 0.06, "slower_low": 0.04, "slower_high": 0.08, "tolerance": 0.03, "visible": 0.04}
    return GateFigure(**{"name": "cpu", "unit": "ns", "verdict": verdict, **figures, **shares, **changed})


def of_base(ratio: float, low: float, high: float) -> dict[str, float]:
    """The head over the base, of what is better where it is smaller."""
    losses = {"slower": ratio - 1, "slower_low": low - 1, "slower_high": high - 1}
    return {"ratio": ratio, "low": low, "high": high, **losses}


def gate(verdict: GateVerdict = "slower", **changed: Any) -> GateResult:
    said = message("gate_slower", figure="cpu", change=[1.06, 1.04, 1.08], others=[])
    given = {
        "base": "main",
        "head": "faster-json",
        "verdict": verdict,
        "status": STATUS[verdict],
        "message": said,
        "decided_by": ["cpu"],
        "figures": [figure()],
        "level": 0.001,
        "tolerance": 0.03,
        "run": "20260101T000000Z-gate",
        "began_unix_s": 0.0,
        "elapsed_s": 61.0,
        "budget_s": 60.0,
        "machine": {"cpu_model": "AMD EPYC", "cpu_count": "2"},
    }
    return GateResult(**{**given, **changed})


def test_a_summary_is_short() -> None:
    text = summary(gate(twin=[figure("same", **of_base(1.001, 0.99, 1.012))]))
    assert text.startswith("### ❌ SLOWER by 6 % \\[4, 8\\]: CPU per request\n")
    assert "`faster-json` against `main`" in text
    assert "| CPU per request | SLOWER | +6 % \\[4, 8\\] | 26 µs | 28 µs | 4 % | +0.1 % \\[-1.0, 1.2\\] |" in text
    assert "├" in text.split("```")[1]
    assert len(text.splitlines()) < 20


@pytest.mark.parametrize("name", HOSTILE)
def test_a_summary_has_one_heading_and_one_table_whatever_names_hold(name: str) -> None:
    hostile = gate(base=name, head=name, run=name, message=verbatim(name), machine={"cpu_model": name})
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(summary(hostile))
    tags = set(re.findall(r"</?([a-z0-9]+)", page))
    assert tags <= {"h3", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "pre", "sub"}, page
    assert (page.count("<h3>"), page.count("<table>"), page.count("<pre>")) == (1, 1, 1)
    outside = re.sub(r"<(code|pre)>.*?</\1>", "", page, flags=re.S)
    assert not re.search(r"@\w|#\d|://|\x1b|\x00", outside), outside
    assert len(page) < 4000


def test_a_name_is_shown_as_it_is() -> None:
    assert code("feature/a|b") == "`feature/a|b`"
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"


@pytest.mark.parametrize("name", HOSTILE)
def test_junit_is_xml_whatever_names_hold(name: str) -> None:
    found = ElementTree.fromstring(junit(gate(base=name, head=name, message=verbatim(name))))
    suite = found.find("testsuite")
    assert suite is not None
    assert [case.get("name") for case in suite.findall("testcase")] == ["verdict", "CPU per request"]


@pytest.mark.parametrize(
    ("verdict", "status", "of_figure", "failures", "errors", "skipped"),
    [("slower", 1, "slower", 2, 0, 0), ("undecided", 4, "undecided", 0, 0, 2), ("undecided", 1, "undecided", 1, 0, 1),
     ("invalid", 3, "unclaimed", 0, 1, 1), ("same", 0, "invalid", 0, 0, 1), ("same", 0, "same", 0, 0, 0)],
)  # fmt: skip
def test_a_test_report_is_red_as_the_exit_status_is(
    verdict: GateVerdict, status: int, of_figure: str, failures: int, errors: int, skipped: int
) -> None:
    """A figure that is invalid by itself, as a P99 of too few requests, makes no test of a gate red that passes."""
    found = gate(verdict, status=status, figures=[figure(of_figure)])
    suite = ElementTree.fromstring(junit(found)).find("testsuite")
    assert suite is not None
    counts = {"failures": failures, "errors": errors, "skipped": skipped}
    assert {name: int(suite.get(name, "")) for name in counts} == counts
    assert {tag: len(suite.findall(f"testcase/{tag[:-1] if tag != 'skipped' else tag}")) for tag in counts} == counts


COMMAND = re.compile(r"^\s*::(?P<name>[a-z-]+)(?: (?P<properties>[^:]*(?:%3A[^:]*)*))?::(?P<data>.*)$", re.M)
"""As GitHub's runner reads a line of a step's output."""


@pytest.mark.parametrize("name", HOSTILE)
def test_an_annotation_is_one_command(name: str) -> None:
    text = github(gate(base=name, head=name, message=verbatim(name)))
    assert text.count("\n") == 1
    (command,) = COMMAND.finditer(text)
    assert (command["name"], command["properties"]) == ("error", "title=loadstone gate")
    assert "%0A" not in command["data"].replace("%250A", "")


@pytest.mark.parametrize(
    ("verdict", "status", "kind"),
    [("slower", 1, "error"), ("invalid", 3, "error"), ("undecided", 4, "warning"), ("undecided", 0, "warning"),
     ("undecided", 1, "error"), ("same", 0, "notice"), ("faster", 0, "notice")],
)  # fmt: skip
def test_an_annotation_is_as_red_as_the_verdict(verdict: GateVerdict, status: int, kind: str) -> None:
    assert github(gate(verdict, status=status)).startswith(f"::{kind} title=loadstone gate::")


def test_bencher_gets_the_ratio_with_its_interval() -> None:
    assert json.loads(bencher(gate())) == {
        "loadstone gate": {
            "cpu-per-request": {"value": 27_560.0},
            "cpu-per-request-ratio": {"value": 1.06, "lower_value": 1.04, "upper_value": 1.08},
        }
    }
    assert json.loads(bencher(gate("invalid", figures=[]))) == {}


def test_files_are_written_where_they_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary is added to what stands there; the rest is replaced."""
    named = {name: tmp_path / name for name in ("summary", "junit", "result", "bencher")}
    for file in named.values():
        file.write_text("before\n")
    output = GateOutput(**named, annotations="github")
    output.check()
    output.write_gate(gate())
    assert named["summary"].read_text().startswith("before\n### ")
    assert ElementTree.parse(named["junit"]).getroot().tag == "testsuites"
    assert GateResult.model_validate_json(named["result"].read_text()) == gate()
    assert json.loads(named["bencher"].read_text())
    assert capsys.readouterr().out.startswith("::error ")


@pytest.mark.parametrize("there", [True, False])
def test_what_a_build_or_service_wrote_to_the_files_does_not_count(there: bool, tmp_path: Path) -> None:
    named = {name: tmp_path / name for name in ("summary", "junit", "result", "bencher")}
    if there:
        named["summary"].write_text("before\n")
    output = GateOutput(**named)
    with output.alone():
        for file in named.values():
            with file.open("a") as opened:
                opened.write("### forged\n")
        output.write_gate(gate())
    assert named["summary"].read_text().startswith("before\n### ❌" if there else "### ❌")
    assert not any("forged" in file.read_text() for file in named.values())


def test_a_file_that_cannot_be_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:  # whom root may not be
        patched.setattr("os.access", lambda *_: False)
        with pytest.raises(UserError, match=r"--junit .*: you may not write there; name another file"):
            GateOutput(junit=tmp_path / "gate.xml").check()
    with pytest.raises(UserError, match=r"--junit .*: there is no folder"):
        GateOutput(junit=tmp_path / "gone" / "x.xml").check()
    with pytest.raises(UserError, match=r"--summary .*: is a folder"):
        GateOutput(summary=tmp_path).check()


def test_no_file_of_a_gate_is_written_through_a_link(tmp_path: Path) -> None:
    """As a branch's build could put it there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    links = {name: tmp_path / name for name in ("summary", "junit", "result", "bencher")}
    for link in links.values():
        link.symlink_to(elsewhere)
    with pytest.raises(UserError, match=r"--summary .*: is a link, which is not followed; name the file itself"):
        GateOutput(summary=links["summary"]).check()
    summary_alone = {"summary": links.pop("summary")}
    with pytest.raises(UserError, match="it is a link"):
        GateOutput(**summary_alone).write_gate(gate())
    GateOutput(**links).write_gate(gate())
    assert elsewhere.read_text() == "theirs"


@pytest.mark.parametrize(("spoken", "said"), [("en", "SLOWER by 6 % [4, 8]"), ("ko", "6 % [4, 8]")])
def test_every_report_of_the_run_begins_with_the_verdict_and_has_the_figures(
    analysis: Analysis, spoken: str, said: str
) -> None:
    result = gate(twin=[figure("same", **of_base(1.001, 0.99, 1.012))])
    of_gate = analysis.model_copy(update=dict.fromkeys(("headline", "answer"), result.opens_alone())).with_part(
        "gate", result
    )
    with use_language(spoken):
        page = html.unescape(html_report.render(of_gate)["report.html"].decode()).replace("\u00a0", " ")
        page = re.sub("</?span[^>]*>", "", page)
        text = markdown_report.render(of_gate)["report.md"].decode().replace("\\", "")
        cost = of_author(NAMES["cpu"])
    assert "faster-json" in page.split('class="answer"')[1].split("</p>")[0]
    for written in (page, text):
        assert said in written
        assert cost in written
        assert "+0.1 % [-1.0, 1.2]" in written
    assert said in text.splitlines()[2]
    assert "| +6 % [4, 8] | 26 µs | 28 µs |" in text


def test_memory_is_more_or_less_and_of_what_the_base_takes() -> None:
    less = figure("faster", name="memory", unit="bytes", **of_base(0.7, 0.66, 0.73))
    assert verdict_text(less) == "30 % [27, 34] LESS"
    assert "| LESS | -30 % \\[-34, -27\\] |" in summary(gate(figures=[less]))
    assert verdict_text(less.model_copy(update={"name": "cpu"})) == "FASTER by 30 % [27, 34]"


def test_a_rate_that_falls_is_slower_by_what_is_missing_of_the_base() -> None:
    """208,547 to 173,641 was called 20 % slower, which is the way back."""
    rate = figure(name="rate", unit="/s", base=208_547.0, head=173_641.0, **of_base(0.8326, 0.82, 0.845))
    assert verdict_text(rate) == "SLOWER by 16.7 % [15.5, 18.0]"
    result = gate(figures=[rate], message=message("gate_slower", figure="rate", change=rate.change, others=[]))
    assert "173,641/s: SLOWER by 16.7 % [15.5, 18.0]" in junit(result)
    assert "| SLOWER | -16.7 % \\[-18.0, -15.5\\] |" in summary(result)
    assert summary(result).startswith("### ❌ SLOWER by 16.7 % \\[15.5, 18.0\\]: requests a second\n")
    assert "SLOWER by 16.7 %25 [15.5, 18.0]" in github(result)
    assert list(gate_lines(result))[1].endswith("208,547/s → 173,641/s: SLOWER by 16.7 % [15.5, 18.0]")


def test_more_than_a_half_is_a_factor() -> None:
    assert verdict_text(figure(**of_base(2.54, 2.4, 2.7))) == "SLOWER, 2.5 times [2.4, 2.7]"
    rate = figure(name="rate", unit="/s", **of_base(0.41, 0.38, 0.44))
    assert verdict_text(rate) == "SLOWER, 0.41 times [0.38, 0.44]"
