import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import markdown_report as markdown
from loadstone.report.figure_format import sentence
from loadstone.report.verdicts import verdict_text


@pytest.fixture(scope="module")
def report(analysis: Analysis) -> tuple[str, set[str]]:
    return written(analysis)


def written(analysis: Analysis) -> tuple[str, set[str]]:
    files = markdown.render(analysis)
    return files.pop("report.md").decode(), set(files)


def test_it_opens_with_question_answer_and_validity(analysis: Analysis, report: tuple[str, set[str]]) -> None:
    text, _ = report
    assert text.split("\n")[:7] == [
        f"# {analysis.question}",
        "",
        f"**{sentence(analysis.answer)}**",
        "",
        "**Read this with care: 0 of 74 figures are within ±10 %; 70 are not: what limited them could not be "
        "observed; 2 are not: the generator may have been the limit; 2 are not: other reasons.**",
        "",
        "78 valid, 1 suspect, 2 invalid and 2 not run of 83 trials; no comparison: one block; quick; incomplete.",
    ]


def test_every_picture_it_shows_is_written_beside(report: tuple[str, set[str]]) -> None:
    text, files = report
    assert set(re.findall(r"\]\((charts/[^)]+)\)", text)) == files
    assert len(files) == 11


def test_the_table_of_the_study(report: tuple[str, set[str]]) -> None:
    text, _ = report
    lines = text.split("\n")
    assert (
        "| condition | operations | elapsed | RPS | published | min | max | avg | P50 | P95 | P99 | P99.9 | busiest |"
        in lines
    )
    figures = "88,009 | 5.00 s | 17,602 | 1,089 | 28 µs | 2.35 ms | 57 µs | 51 µs | 85 µs | 145 µs | — | generator 41 %"
    assert f"| ✓ [set, 10 B, 1 worker](#condition-1) | {figures} |" in lines
    assert (
        "- set, 10 kB, 32 workers: INVALID: without the generator the rate could be up to 93.4 % higher, limit 50 %"
    ) in lines
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert line.count("|") == above.count("|")


def test_checks_and_how_to_reproduce(report: tuple[str, set[str]]) -> None:
    text, _ = report
    assert "| ✕ gain | The generator must leave the server little" in text
    assert "loadstone run json-documents --quick\n" in text
    assert text.endswith("```\n")


def test_hostile_texts_are_texts(analysis: Analysis) -> None:
    bad = "a|b <script>x</script> [l](javascript:1) ![i](x) `c`\n# h"
    rows = [analysis.tables[0].rows[0].model_copy(update={"label": bad})]
    hostile = analysis.model_copy(
        update={
            "question": bad,
            "trials": [],
            "timeline": [],
            "tables": [analysis.tables[0].model_copy(update={"rows": rows, "title": bad})],
        }
    )
    text, _ = written(hostile)
    assert "<script" not in text
    assert "](javascript" not in text.replace("\\]", "")
    assert "\n# h" not in text
    row = next(line for line in text.split("\n") if line.startswith("| ✓ a"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 14


def test_empty_and_all_invalid(empty_analysis: Analysis, build: Callable[..., Analysis]) -> None:
    text, files = written(empty_analysis)
    assert files == set()
    assert "No check was made." in text
    text, files = written(build(all_invalid=True, missing=()))
    assert files == {"charts/timeline.svg", "charts/percentiles.svg", "charts/checks.svg"}
    assert "0 valid and 83 invalid of 83 trials" in text
    assert not re.search(r"^\| ✓ \[", text, re.MULTILINE)


def test_every_link_within_it_leads_somewhere(judged: Analysis) -> None:
    text, _ = written(judged)
    places = re.findall(r'<a id="([^"]+)"></a>', text)
    assert len(set(places)) == len(places)
    targets = re.findall(r"\]\(#([^)]+)\)", text)
    assert len(targets) > 2 * len(judged.families[0].comparisons)
    assert set(targets) <= set(places)


def test_verdicts_stand_before_the_tables(judged: Analysis) -> None:
    text, files = written(judged)
    assert text.index("## Verdicts") < text.index("## Results")
    assert "Took 12 min 3 s of a budget of 45 min." in text
    lines = text.split("\n")
    for family in judged.families:
        assert f"### {family.question}" in lines
        assert sentence(family.answer) in lines
        for comparison in family.comparisons:
            words = re.sub(r"([\[\]~])", r"\\\1", verdict_text(comparison.primary))
            assert sum(words in line for line in lines if line.startswith("|")) >= 1
    assert {"charts/storage-forest.svg", "charts/storage-blocks.svg", "charts/client-library-forest.svg"} <= files
    warned = (
        "- lettuce against jedis, 16 workers: Which one ran first in its block mattered: the order shifts the ratio "
    )
    assert f"{warned}by 4 %." in lines
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", above))


def test_an_invalid_comparison_prints_no_ratio(judged: Analysis) -> None:
    text, _ = written(judged)
    [line] = [line for line in text.split("\n") if line.startswith("| [hash against json, 10 kB, 8 workers](")]
    assert "%" not in line.replace("measured 3.4 %, limit 1 %", "")


def test_the_texts_are_explained(judged: Analysis, report: tuple[str, set[str]]) -> None:
    text, _ = written(judged)
    assert "- **typical difference**: The difference that the blocks have in common" in text
    assert "typical difference" not in report[0]
    assert "- **RPS, goodput**: Requests a second" in report[0]


def test_the_columns_of_verdicts_are_named_by_the_conditions(judged: Analysis) -> None:
    reported, _ = written(judged)
    heads = [line for line in reported.splitlines() if line.startswith(("| pair |", "| pair and metric |"))]
    assert heads
    assert not any("| A |" in head or "B against A" in head for head in heads)
    assert any("against" in head for head in heads)
