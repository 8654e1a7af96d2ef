"""The page as text; `test_page.py` opens it in a browser."""

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from pydantic_core import to_jsonable_python

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.glossary import VERDICT_TERMS
from loadstone.report.html import page as html
from loadstone.report.sections.opening import PARAGRAPH_MAX, answer_lines
from loadstone.report.tables.columns import columns_for
from loadstone.report.verdicts import short_text, verdict_text
from loadstone.text.message import Message, message, read_message, verbatim
from loadstone.text.sentences import render_message

MAIN_ROWS = 20
"""Of the table that is not folded."""


class Page(HTMLParser):
    """What the tests ask of a page: its elements and its visible words."""

    VOID = frozenset({"meta", "img", "link", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.words = ""
        """Those of the page itself; the drawings' are in `drawn`."""
        self.drawn = ""
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)
        elif "svg" in self._open:
            self.drawn += data
        elif not self._open or self._open[-1] != "style":
            self.words += data

    def all(self, tag: str, **required: str) -> list[dict[str, str]]:
        return [a for name, a in self.elements if name == tag and required.items() <= a.items()]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def page_of(analysis: Analysis) -> Page:
    return page_of_text(html.render(analysis)["report.html"].decode())


def page_of_text(text: str) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def page(analysis: Analysis) -> Page:
    return page_of(analysis)


@pytest.fixture(scope="module")
def judged_page(judged: Analysis) -> Page:
    return page_of(judged)


def test_it_opens_with_the_question_the_answer_and_the_validity(analysis: Analysis, page: Page) -> None:
    words = " ".join(page.words.split())
    order = [
        analysis.question,
        render_message(analysis.answer),
        "0 of 74 figures are within ±10 %",
        "no comparison: one block",
        "78 valid, 1 suspect, 2 invalid and 2 not run of 83 trials",
        "Results",
        "By document size, one worker",
        "Time line",
        "Checks",
        "Trials",
        "Environment",
        "loadstone run json-documents --quick",
    ]
    places = [words.index(part) for part in order[:6]] + [words.rindex(part) for part in order[6:]]
    assert places[:6] == sorted(places[:6])


BYTES_MAX = 1_000_000
"""Of the page of a quick run."""


def test_answer_picture_and_table_come_before_the_first_fold(judged: Analysis, analysis: Analysis) -> None:
    for found, pictures in ((judged, 4), (analysis, 2)):
        whole = html.render(found)["report.html"].decode()
        first = whole.index("<details")
        opening = page_of_text(whole[:first] + "</div></main></body></html>")
        words = " ".join(opening.words.split())
        assert words.index(found.question) < words.index(render_message(found.answer)) < words.index("Main figures")
        assert whole.index('<p class="answer">') < whole.index("<svg") < whole.index("<table") < first
        assert len(opening.all("svg", role="img")) == pictures, "each wide and narrow"
        assert len(opening.all("table")) == 1
        assert len(opening.all("tr", **{"class": "valid"})) >= MAIN_ROWS - 1
        for family in found.families:
            for comparison in family.comparisons:
                assert short_text(comparison.primary).split(" (")[0] in opening.drawn.replace("\n", " ")


def test_all_else_is_folded(judged_page: Page) -> None:
    folds = judged_page.all("details", **{"class": "fold"})
    parts = ["comparisons", "results", "timeline", "checks", "trials", "environment", "reproduce"]
    assert [fold["id"] for fold in folds] == [*parts, "terms"]
    assert all("open" not in fold for fold in folds)


def test_the_page_is_small(judged: Analysis, application: Analysis) -> None:
    """Trials with checks as many as those of a real run, and a line of time as long."""
    checks = [
        check.model_copy(update={"name": f"check {lap}"}) for lap in range(30) for check in judged.trials[0].checks[:1]
    ]
    trials = [view.model_copy(update={"checks": [*view.checks[-4:], *checks]}) for view in judged.trials]
    seconds = [
        point.model_copy(update={"unix_s": point.unix_s + 600 * lap}) for lap in range(3) for point in judged.timeline
    ]
    real = judged.model_copy(update={"trials": trials, "timeline": seconds})
    for found in (judged, application, real):
        assert len(html.render(found)["report.html"]) <= BYTES_MAX


def test_every_link_leads_somewhere_and_every_id_is_one(page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)
    targets = [link["href"] for link in page.all("a")]
    assert len(targets) > 80
    for target in targets:
        assert target.removeprefix("#") in page.ids


def test_of_comparisons_too_every_link_leads_somewhere(judged_page: Page) -> None:
    assert len(set(judged_page.ids)) == len(judged_page.ids)
    targets = [link["href"].removeprefix("#") for link in judged_page.all("a")]
    assert set(targets) <= set(judged_page.ids)


def test_every_block_links_to_its_two_trials(judged: Analysis, judged_page: Page) -> None:
    points = [p for family in judged.families for one in family.comparisons for p in one.primary.points]
    targets = [link["href"] for link in judged_page.all("a")]
    for point in points:
        assert {f"#trial-{point.trial_a}", f"#trial-{point.trial_b}"} <= set(targets)
    assert re.search(r"storage ?4 ?8 ?2 ?valid", " ".join(judged_page.words.split()))


def test_a_name_that_two_trials_share_has_two_anchors(judged: Analysis) -> None:
    view = judged.trials[-1]
    twins = judged.model_copy(update={"trials": [*judged.trials, view.model_copy(update={"attempt": 3})]})
    page = page_of(twins)
    assert len(set(page.ids)) == len(page.ids)
    assert {link["href"].removeprefix("#") for link in page.all("a")} <= set(page.ids)


def test_verdicts_stand_before_the_tables_in_fixed_texts(judged: Analysis, judged_page: Page) -> None:
    words = " ".join(judged_page.words.replace("\u00a0", " ").split())
    assert words.index(render_message(judged.answer)) < words.index(
        "Compared by correct replies a second; a difference below 5 %"
    )
    assert words.rindex("Compared by P50 of the response time") < words.index("By document size, one worker")
    assert {one.primary.kind for family in judged.families for one in family.comparisons} == set(VERDICT_TERMS)
    for family in judged.families:
        assert family.question in words
        assert render_message(family.answer) in words
        for comparison in family.comparisons:
            assert verdict_text(comparison.primary) in words
            assert all(render_message(warning) in words for warning in comparison.warnings)
    assert "Took 12 min 3 s of a budget of 45 min." in words


def test_an_invalid_comparison_prints_no_ratio(judged: Analysis) -> None:
    family = judged.families[0]
    one = next(c for c in family.comparisons if c.primary.kind == "invalid").model_copy(update={"exploratory": []})
    ratio = one.primary.model_copy(update={"estimate": 1.2345, "low": 1.1, "high": 1.3, "total": 1.2345})
    alone = family.model_copy(update={"comparisons": [one.model_copy(update={"primary": ratio})]})
    found = judged.model_copy(update={"families": [alone], "tables": [], "trials": [], "parts": {}})
    text = html.render(found)["report.html"].decode()
    body = text[text.index('id="verdicts"') : text.index('id="results"')]
    shown = re.sub(r'src="data:[^"]+"', "", body)
    assert "+244" not in shown
    assert "20,567" not in shown
    assert "INVALID: errors" in shown


def test_why_it_ended_and_what_was_repeated(judged_page: Page) -> None:
    words = " ".join(judged_page.words.split())
    assert (
        "It stopped because something reached from one slice into the next, and there was no time for longer ones."
        in words
    )
    assert "2 blocks were measured again, since the run was interrupted in them; never because of the result." in words
    assert "18 blocks measured, 17 of them used." in words
    assert "no: storage-b05-140 is invalid: generator cpu" in words
    assert (
        "The interval is a 99.69 % one, chosen so that all looks and 5 pairs together mislead at most 5 times in 100."
        in words
    )


def test_exploratory_figures_are_folded_and_say_what_they_are(judged_page: Page) -> None:
    folded = judged_page.all("details", **{"class": "words exploratory"})
    assert len(folded) == 2
    assert all("open" not in attributes for attributes in folded)
    assert (
        "exploratory figures: in addition to the question, many figures, some will differ by chance"
        in judged_page.words
    )


def test_checks_of_comparisons_are_listed(judged_page: Page) -> None:
    words = " ".join(judged_page.words.split())
    assert re.search(r"errors ?0 ?0 ?1 ?0 ?3\.4 % \(limit 1 %\) hash against json, 10 kB, 8 workers", words)


def test_the_bottleneck_of_a_condition_stands_in_the_table_and_at_its_trials(judged_page: Page) -> None:
    assert "server-bound: main thread of redis 98 % busy" in judged_page.words
    assert "bottleneck" in judged_page.words


def test_every_row_links_to_its_trials(analysis: Analysis, page: Page) -> None:
    measured = [row for table in analysis.tables for row in table.rows if row.trials]
    links = [link for link in page.all("a") if link["href"].startswith("#condition-")]
    assert len(links) == len(measured) + MAIN_ROWS
    heads = {row["id"] for row in page.all("tr", **{"class": "heads"})}
    assert len(heads) == len({row.trials[0] for row in measured})
    assert {link["href"].removeprefix("#") for link in links} == heads


def test_it_asks_nothing_of_the_network(page: Page) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data"):
            value = attributes.get(name, "")
            assert value.startswith(("data:", "#")) or value == "", f"<{tag} {name}={value[:40]}>"
    [policy] = [m["content"] for m in page.all("meta", **{"http-equiv": "Content-Security-Policy"})]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe-eval" not in policy
    assert "connect-src" not in policy


def test_only_its_own_scripts_may_run(page: Page) -> None:
    [policy] = [m["content"] for m in page.all("meta", **{"http-equiv": "Content-Security-Policy"})]
    [program] = page.scripts
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    assert policy.endswith(f"script-src 'sha256-{digest}'")


def test_pictures_have_texts_for_those_who_cannot_see_them(page: Page) -> None:
    pictures = page.all("svg")
    assert len(pictures) == 11 + 8, "those of rates and of latencies are there for phones, too"
    assert len(page.all("svg", role="img")) == len(pictures)
    assert all(len(picture["aria-label"]) > 20 for picture in pictures)


def test_tables_have_headers_and_each_term_its_explanation(analysis: Analysis, page: Page) -> None:
    assert len(page.all("th", scope="row")) == 83 + 13 + MAIN_ROWS + len(analysis.trials)
    explained = {abbr["title"] for abbr in page.all("abbr")}
    assert {column.explanation for table in analysis.tables for column in columns_for(table)} <= explained
    for term in ("RPS, goodput", "service time", "pool wait", "taken", "P50, P95, P99, P99.9"):
        assert term in page.words


def test_an_invalid_row_gives_its_reason_and_no_figure(page: Page) -> None:
    assert page.words.count("INVALID: without the generator the rate could be up to 93.4 % higher") == 2
    assert len([a for a in page.all("tr") if a.get("class") == "invalid"]) == 2


def test_a_figure_of_an_invalid_row_is_struck(analysis: Analysis) -> None:
    table = analysis.tables[-1]
    row = table.rows[0].model_copy(update={"verdict": "invalid", "reasons": [verbatim("generator CPU")]})
    text = html.render(
        analysis.model_copy(update={"tables": [table.model_copy(update={"rows": [row]})], "timeline": []})
    )
    assert "<s>34,785</s>" in text["report.html"].decode()


def test_a_percentile_that_cannot_be_determined_says_why(page: Page) -> None:
    reasons = [abbr["title"] for abbr in page.all("abbr") if "100 beyond the quantile are needed" in abbr["title"]]
    assert len(reasons) == 18
    assert "P99.9 cannot be measured for any condition" in page.words


def test_an_empty_run_is_a_page_too(empty_analysis: Analysis) -> None:
    page = page_of(empty_analysis)
    assert page.all("svg") == []
    for words in ("Nothing was measured.", "0 valid and 83 not run of 83 trials", "No check was made.", "incomplete"):
        assert words in page.words


def test_a_run_without_tables_is_a_page_too(empty_analysis: Analysis) -> None:
    assert "There are no results." in page_of(empty_analysis.model_copy(update={"tables": []})).words


def test_an_all_invalid_run_shows_reasons_and_no_rate(build: Callable[..., Analysis]) -> None:
    page = page_of(build(all_invalid=True, missing=()))
    assert "0 valid and 83 invalid of 83 trials" in page.words
    assert len(page.all("svg")) == 3


def test_the_environment_is_reported_with_units(page: Page) -> None:
    words = " ".join(page.words.split())
    assert re.search(r"memory ?8\.59 GB", words)
    assert re.search(r"shared ?no", words)


def said(*sentences: str) -> list[Message]:
    return [verbatim(one) for one in sentences]


def test_a_few_sentences_are_one_paragraph() -> None:
    answer = message("sentences", parts=said(*"abcd"[:PARAGRAPH_MAX]))
    assert answer_lines(answer) == [answer]
    assert answer_lines(verbatim("a")) == [verbatim("a")]


def test_effects_and_saturation_points_have_a_line_each() -> None:
    effects = message("effects_answer", terms=said("b", "c"), quick=False, refused=said("d"))
    points = message("saturations", answers=said("e", "f"))
    answer = message("sentences", parts=[verbatim("a"), effects, points])
    assert [render_message(line) for line in answer_lines(answer)] == list("abcdef")


def test_an_answer_that_came_back_from_a_file_is_the_same() -> None:
    answer = message("sentences", parts=said(*"abcdef"))
    assert answer_lines(read_message(to_jsonable_python(answer))) == said(*"abcdef")


BIDI = "a\u202eb\u2066c<script>"
