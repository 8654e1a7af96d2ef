"""The page in a real browser, opened from a file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from tests.browsers import chromium, screen

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.write import write_report
from loadstone.text.message import verbatim

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]  # a browser starts slowly on a busy machine
PATIENCE_S = 60.0

HOSTILE = """</script><script>window.hacked=1</script>"'><img src=x onerror="window.hacked=1">{{7*7}}${7*7}"""
FIXED = {
    "format", "verdict", "phase", "unit", "experiment", "published_source", "kind", "role", "winner", "metric", "part",
    "columns", "ended",
}  # fmt: skip
"""Keys whose values are not free text, or shown where the test does not look."""


SHOWN = "[...document.querySelectorAll('figure svg.marks')].filter((s) => s.checkVisibility())"
OVER_THE_EDGE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAPER_PX = 718
"""A4 between its margins."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome


@pytest.fixture(scope="module")
def report(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    [path] = write_report(analysis, tmp_path_factory.mktemp("report"), ["html"])
    return path


def open_page(
    browser: webdriver.Chrome, path: Path, width: int = 1280, scheme: str = "light", unfolded: bool = True
) -> None:
    """Open the page and, unless the test is about that, all its folded parts."""
    screen(browser, width, scheme)
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(path.as_uri())
    if unfolded:
        browser.execute_script("document.querySelectorAll('details.fold').forEach((fold) => { fold.open = true; })")


def ask(browser: webdriver.Chrome, expression: str) -> Any:
    return browser.execute_script(f"return {expression}")


def requests_of(browser: webdriver.Chrome) -> list[str]:
    """Addresses that the page requested, data within the page left out."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if not url.startswith(("data:", "blob:"))]


def column(browser: webdriver.Chrome, header: str) -> list[str]:
    """The words of one column of the second table of the results, row by row."""
    table = browser.find_elements(By.CSS_SELECTOR, "#results table.figures")[1]
    names = [cell.text for cell in table.find_elements(By.CSS_SELECTOR, "thead th")]
    place = next(i for i, name in enumerate(names) if name.rstrip(" ↑↓") == header)
    rows = "[...arguments[0].tBodies[0].rows].filter((r) => !r.classList.contains('why'))"
    found: list[str] = browser.execute_script(f"return {rows}.map((r) => r.cells[{place}].textContent.trim())", table)
    return found


def sort_by(browser: webdriver.Chrome, header: str) -> None:
    table = browser.find_elements(By.CSS_SELECTOR, "#results table.figures")[1]
    buttons = table.find_elements(By.CSS_SELECTOR, "thead button")
    button = next(button for button in buttons if button.text.rstrip(" ↑↓") == header)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_picture_is_drawn_without_an_error_or_a_request(
    browser: webdriver.Chrome, report: Path, scheme: str
) -> None:
    open_page(browser, report, scheme=scheme)
    assert ask(browser, f"{SHOWN}.length") == 11
    assert ask(browser, f"Math.min(...{SHOWN}.map(s => s.clientHeight))") > 60
    labels = "getComputedStyle(document.querySelector('svg.marks text')).fill"
    assert ask(browser, labels) == {"light": "rgb(86, 96, 109)", "dark": "rgb(169, 177, 188)"}[scheme]
    assert browser.get_log("browser") == []
    assert requests_of(browser) == [report.as_uri()]


def test_the_pictures_of_comparisons_are_drawn_too(
    browser: webdriver.Chrome, judged: Analysis, small: Analysis, tmp_path: Path
) -> None:
    alone = judged.model_copy(update={"tables": small.tables, "timeline": []})
    [path] = write_report(alone, tmp_path, ["html"])
    for width, shown in ((1280, "wide"), (360, "narrow")):
        open_page(browser, path, width, "dark")
        heights = "[...document.querySelectorAll('#verdicts svg.{}')].map((s) => s.clientHeight)"
        assert all(height > 60 for height in ask(browser, heights.format(shown)))
        assert len(ask(browser, heights.format(shown))) == 2
        assert ask(browser, heights.format("narrow" if shown == "wide" else "wide")) == [0, 0]
        assert ask(browser, f"{SHOWN}.filter((s) => s.closest('#comparisons')).length") == 2
        assert browser.get_log("browser") == []
        assert ask(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.fixture(scope="module")
def study(application: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    [path] = write_report(application, tmp_path_factory.mktemp("study"), ["html"])
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_a_study_of_an_application_opens_whole(browser: webdriver.Chrome, study: Path, width: int, scheme: str) -> None:
    open_page(browser, study, width, scheme)
    assert browser.get_log("browser") == []
    assert requests_of(browser) == [study.as_uri()]
    assert ask(browser, f"{SHOWN}.length") == 5
    browser.execute_script("document.querySelectorAll('details.observed').forEach((d) => { d.open = true; })")
    assert ask(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert ask(browser, "document.getElementById('crashes').clientHeight") > 100
    if width == 1280:
        hidden = "[...document.querySelectorAll('.scroll')].map((s) => s.scrollWidth - s.clientWidth)"
        assert ask(browser, f"Math.max(...{hidden})") == 0


def test_pictures_of_a_study_are_about_tps_and_name_their_conditions_in_full(
    browser: webdriver.Chrome, study: Path, application: Analysis
) -> None:
    open_page(browser, study)
    words = "[...document.querySelectorAll('figure svg text')].map((t) => t.textContent)"
    said = set(ask(browser, words))
    assert "TPS" in said
    assert "RPS" not in said
    assert {row.label for table in application.tables for row in table.rows} <= said
    assert "310 (goodput 301)" in said


def test_lost_writes_sort_by_their_figures(browser: webdriver.Chrome, study: Path) -> None:
    open_page(browser, study)
    table = "document.querySelector('#crashes table')"
    browser.execute_script(f"{table}.tHead.rows[0].cells[6].querySelector('button').click()")
    names = f"[...{table}.tBodies[0].rows].filter((r) => !r.matches('.why')).map((r) => r.cells[0].textContent.trim())"
    assert ask(browser, names) == ["AOF no", "AOF everysec", "AOF always", "AOF off"]
    browser.execute_script(f"{table}.tHead.rows[0].cells[6].querySelector('button').click()")
    assert ask(browser, names) == ["AOF always", "AOF everysec", "AOF no", "AOF off"]


def test_a_term_is_explained_at_the_keyboard(browser: webdriver.Chrome, judged: Analysis, tmp_path: Path) -> None:
    [path] = write_report(judged, tmp_path, ["html"])
    open_page(browser, path)
    term = browser.find_element(By.CSS_SELECTOR, "#comparisons abbr.term")
    said = "getComputedStyle(document.querySelector('#comparisons abbr.term'), '::after').content"
    assert ask(browser, said) == "none"
    browser.execute_script("arguments[0].focus()", term)
    assert ask(browser, said) == json.dumps(term.get_attribute("title"))


def test_a_block_leads_to_its_trial(browser: webdriver.Chrome, judged: Analysis, tmp_path: Path) -> None:
    [path] = write_report(judged, tmp_path, ["html"])
    open_page(browser, path)
    name = judged.families[0].comparisons[0].primary.points[0].trial_a
    browser.execute_script("document.getElementById('basis-1-1').open = true")
    browser.execute_script("arguments[0].click()", browser.find_element(By.LINK_TEXT, name))
    target = f"document.getElementById('trial-{name}').closest('details').open"
    WebDriverWait(browser, PATIENCE_S).until(lambda b: ask(b, target))


def test_a_picture_is_saved_and_a_stretch_of_time_enlarged(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report)
    assert ask(browser, "document.querySelectorAll('.tools').length") == ask(browser, f"{SHOWN}.length")
    browser.execute_script(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href.slice(0, 22)]; };"
        "document.querySelector('#picture-timeline .tools button').click()"
    )
    WebDriverWait(browser, PATIENCE_S).until(lambda b: ask(b, "window.saved"))
    assert ask(browser, "window.saved") == ["timeline.png", "data:image/png;base64,"]
    frame = browser.find_element(By.CSS_SELECTOR, "#picture-percentiles .frame")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", frame)
    clocks = (
        "[...document.querySelectorAll('#picture-percentiles text')].map((t) => t.textContent)"
        ".filter((t) => /^\\d+:\\d\\d$/.test(t))"
    )
    whole = ask(browser, clocks)
    WebDriverWait(browser, PATIENCE_S).until(
        lambda b: ask(b, "document.querySelector('#picture-percentiles .tools').childNodes.length") == 3
    )
    drawing = frame.find_element(By.CSS_SELECTOR, "svg.marks")
    ActionChains(browser).move_to_element(drawing).click_and_hold().move_by_offset(160, 0).release().perform()
    assert ask(browser, clocks) != whole
    back = browser.find_element(By.CSS_SELECTOR, "#picture-percentiles .tools button:last-of-type")
    assert back.is_displayed()
    browser.execute_script("arguments[0].click()", back)
    assert ask(browser, clocks) == whole
    assert not back.is_displayed()
    frame.send_keys("+")
    assert ask(browser, clocks) != whole
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [1280, 768, 400, 360])
def test_the_page_never_scrolls_sideways(browser: webdriver.Chrome, report: Path, width: int) -> None:
    open_page(browser, report, width)
    assert ask(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.fixture(scope="module")
def at_rates(paced: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    [path] = write_report(paced, tmp_path_factory.mktemp("paced"), ["html"])
    return path


def test_on_a_phone_pictures_have_a_form_of_their_own(browser: webdriver.Chrome, at_rates: Path) -> None:
    open_page(browser, at_rates, 360)
    assert ask(browser, OVER_THE_EDGE) == 0
    forms = f"{SHOWN}.filter((s) => !s.closest('#timeline, #checks')).map((s) => s.classList.contains('narrow'))"
    assert set(ask(browser, forms)) == {True}
    smaller = f"{SHOWN}.filter((s) => s.matches('.narrow')).map((s) => s.clientWidth / s.viewBox.baseVal.width)"
    assert min(ask(browser, smaller)) > 0.85, "letters stay as large as they are meant"


def test_what_opens_the_page_is_the_answer_then_the_verdicts_then_one_table(
    browser: webdriver.Chrome, at_rates: Path
) -> None:
    for width in (360, 768, 1280):
        open_page(browser, at_rates, width, unfolded=False)
        tops = ask(
            browser,
            "['h1', '.answer', '#verdicts .frame', '#figures table', '#details']"
            ".map((s) => document.querySelector(s).getBoundingClientRect().top)",
        )
        assert tops == sorted(tops)
        assert tops[1] < 700, "without scrolling"
        assert ask(browser, "document.querySelectorAll('details.fold[open]').length") == 0
        heads = ask(browser, "[...document.querySelectorAll('#figures thead th')].map((h) => h.textContent.trim())")
        assert [head for head in heads if "rate" in head] == [
            "half rate", "P50 at half rate", "P99 at half rate", "P99.9 at half rate",
        ]  # fmt: skip


def test_latency_under_full_load_is_folded_and_called_what_it_is(browser: webdriver.Chrome, at_rates: Path) -> None:
    open_page(browser, at_rates)
    fold = "document.getElementById('full-load-2').closest('details')"
    assert "users / throughput" in ask(browser, f"{fold}.querySelector('summary').textContent")
    assert not ask(browser, f"{fold}.open")
    heads = ask(browser, f"[...{fold}.querySelectorAll('thead th')].map((h) => h.textContent.trim())")
    assert {"P50", "P99", "P99.9"} <= set(heads)


def test_on_paper_nothing_is_over_the_edge(browser: webdriver.Chrome, at_rates: Path, study: Path) -> None:
    for path in (at_rates, study):
        open_page(browser, path, PAPER_PX)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
            assert ask(browser, OVER_THE_EDGE) == 0
        finally:
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_at_1280_pixels_every_table_shows_all_its_columns(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report)
    assert (
        ask(browser, "Math.max(...[...document.querySelectorAll('.scroll')].map(s => s.scrollWidth - s.clientWidth))")
        == 0
    )


def test_a_table_sorts_by_its_figures_and_unknown_ones_stay_last(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report)
    before = column(browser, "condition")
    sort_by(browser, "RPS")
    rates = [float(cell.replace(",", "")) for cell in column(browser, "RPS")[:32]]
    assert rates == sorted(rates)
    assert column(browser, "RPS")[32:] == ["—"] * 4
    sort_by(browser, "RPS")
    rates = [float(cell.replace(",", "")) for cell in column(browser, "RPS")[:32]]
    assert rates == sorted(rates, reverse=True)
    assert column(browser, "RPS")[32:] == ["—"] * 4
    sort_by(browser, "condition")
    assert column(browser, "condition") == before


def test_the_reason_of_a_row_moves_with_it(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report)
    sort_by(browser, "P99")
    above = (
        "[...document.querySelectorAll('#results tr.why')].map((r) => r.previousElementSibling.querySelector('th a'))"
    )
    assert sorted(ask(browser, f"{above}.map((cell) => cell.textContent.trim())")) == [
        "get, 100 B, 32 workers",
        "set, 10 kB, 32 workers",
        "update, 1 kB, 8 workers",
    ]


def test_a_row_leads_to_its_trials(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report, unfolded=False)
    browser.execute_script("document.getElementById('results').open = true")
    link = browser.find_element(By.LINK_TEXT, "update, 1 kB, 8 workers")
    target = str(link.get_attribute("hash"))
    opened = f"document.querySelector('{target}').closest('details').open"
    assert not ask(browser, opened)
    browser.execute_script("arguments[0].click()", link)
    WebDriverWait(browser, PATIENCE_S).until(lambda b: ask(b, opened))
    below = f"document.querySelector('{target}').nextElementSibling.nextElementSibling.textContent"
    assert "warm up: warm-up: the first and the last third differ by 12.5 %" in " ".join(ask(browser, below).split())


def test_without_scripts_tables_and_pictures_are_there(browser: webdriver.Chrome, report: Path) -> None:
    screen(browser, 1280)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(report.as_uri())
        for fold in browser.find_elements(By.CSS_SELECTOR, "details.fold > summary"):
            fold.send_keys(Keys.ENTER)
        assert ask(browser, f"{SHOWN}.filter((s) => s.clientWidth > 200 && s.clientHeight > 60).length") == 11
        assert len(browser.find_elements(By.CSS_SELECTOR, "#results table.figures tbody th")) == 83
        assert browser.find_elements(By.CSS_SELECTOR, "thead button") == []
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_on_paper_the_folded_parts_are_open_and_light_but_for_the_trials(
    browser: webdriver.Chrome, report: Path
) -> None:
    open_page(browser, report, scheme="dark", unfolded=False)
    seen = "[...document.querySelectorAll('#details svg.marks:not(.narrow)')].map((s) => s.checkVisibility())"
    assert set(ask(browser, seen)) == {False}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert set(ask(browser, seen)) == {True}
        assert ask(browser, "getComputedStyle(document.getElementById('trials')).display") == "none"
        assert ask(browser, "getComputedStyle(document.querySelector('svg.marks text')).fill") == "rgb(86, 96, 109)"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    for event, opened in (("beforeprint", True), ("afterprint", False)):
        browser.execute_script(f"window.dispatchEvent(new Event('{event}'))")
        assert ask(browser, "document.getElementById('results').open") is opened
        assert not ask(browser, "document.getElementById('trials').open")


def test_a_link_opens_every_fold_on_its_way(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report, unfolded=False)
    assert ask(browser, "document.querySelectorAll('details.fold[open]').length") == 0
    browser.execute_script("document.querySelector('#figures tbody th a').click()")
    opened = "[...document.querySelectorAll('details[open]')].map((d) => d.id.replace(/-.*/, ''))"
    WebDriverWait(browser, PATIENCE_S).until(lambda b: "trials" in ask(b, opened))
    browser.execute_script("document.getElementById('trials').open = false")
    browser.execute_script("document.querySelector('#figures tbody th a').click()")
    assert ask(browser, "document.getElementById('trials').open"), "the same link again"


def test_a_mark_says_what_it_is_when_it_is_pointed_at(browser: webdriver.Chrome, report: Path) -> None:
    open_page(browser, report)
    said = ask(browser, "[...document.querySelectorAll('#picture-storage-latency title')].map((t) => t.textContent)")
    assert [one for one in said if not re.search(r"\nP\d\d(\.9)?: [\d.]+ \S*s$", one)] == []
    assert len(said) > 10


def hostile(value: Any, key: str = "") -> Any:
    """Every free text and every free key, made hostile."""
    if isinstance(value, dict):
        free = key in ("condition", "vary", "factors", "errors", "cpu_share", "environment", "seen")
        free = free and set(value) != {"avg", "max"}
        return {f"{k}{HOSTILE}" if free else k: hostile(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(item, key) for item in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) and key not in FIXED else value


def test_hostile_names_are_only_texts(
    browser: webdriver.Chrome, small: Analysis, judged: Analysis, application: Analysis, tmp_path: Path
) -> None:
    tables = [*small.tables, judged.tables[1]]
    family = judged.families[0].model_copy(update={"comparisons": judged.families[0].comparisons[:2]})
    tables.append(application.tables[1])
    of_study = {"crashes": application.crashes, "scale": application.scale}
    mixed = small.model_copy(update={"tables": tables, "notes": [verbatim("note")], "families": [family], **of_study})
    evil = Analysis.model_validate(hostile(mixed.model_dump()))
    [path] = write_report(evil, tmp_path, ["html"])
    open_page(browser, path)
    assert ask(browser, "window.hacked") is None
    assert HOSTILE in browser.find_element(By.TAG_NAME, "h1").text
    drawn = "g, path, line, rect, text, tspan, title, defs, clipPath"
    assert ask(browser, f"document.querySelectorAll('img, svg :not({drawn})').length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert requests_of(browser) == [path.as_uri()]
    assert ask(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_an_empty_run_opens_without_an_error(
    browser: webdriver.Chrome, empty_analysis: Analysis, tmp_path: Path
) -> None:
    [path] = write_report(empty_analysis, tmp_path, ["html"])
    open_page(browser, path, 400)
    assert browser.get_log("browser") == []
    assert ask(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
