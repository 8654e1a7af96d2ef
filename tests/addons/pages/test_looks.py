"""What every page is for its readers: by axe-core in a real Chromium, at three widths, light and dark.

`axe.min.js` is axe-core 4.14.1 (MPL 2.0, LICENSE.axe) as npm has it; it is for tests alone.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.addons.pages.conftest import Pages, serving
from tests.addons.pages.live_runs import tell_of_comparisons
from tests.browsers import screen
from tests.frozen_runs import unpacked

from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import render
from loadstone.run_folder.files import ANALYSIS, EVENTS, PLAN

AXE = (Path(__file__).parent / "axe.min.js").read_text()
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
EVERY_RULE = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
OF_COLOURS = {"type": "rule", "values": ["color-contrast"]}
BETWEEN = 768
"""Pixels at which a page has the parts of a narrow or of a wide one: it must not be wider, and that is all."""
LOOKS = [(360, "light"), (360, "dark"), (BETWEEN, "light"), (1440, "light"), (1440, "dark")]
"""A scheme changes colours and nothing else."""
RUN = "20261126T125116Z-json"
LINK = re.compile(r'href="(/(?!static|language)[^"#]*(?<!/report))"')
"""But for reports, which are long, and files of their own as well: one is looked at in the narrowest light and the
widest dark."""
PAGES_MAX = 24
COMPARED = ("redis-rate", "redis-rate-again")
"""Frozen runs of one study."""


def test_axe_is_as_published() -> None:
    assert hashlib.sha256(AXE.encode()).hexdigest() == AXE_SHA256


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("looks")
    run = folder / "runs" / RUN
    run.mkdir(parents=True)
    (run / PLAN).write_text("{}")
    tell_of_comparisons(run / EVENTS, os.getpid())
    for name in COMPARED:
        ended = unpacked(name, folder / "runs")
        (ended / ANALYSIS).write_bytes(render(analyse(ended))[ANALYSIS])
    with serving(folder) as found:
        yield found


def addresses(pages: Pages) -> list[str]:
    """A page of each kind, found by following links from the first; the run's own first."""
    a, b = COMPARED
    found = {f"/runs/{RUN}": f"/runs/{RUN}"}
    waiting = ["/", f"/compare?run={a}&run={b}", "/figures?experiment=redis", f"/runs/{a}/trials/b01-001"]
    while waiting and len(found) < PAGES_MAX:
        address = waiting.pop(0)
        kind = re.sub(r"(?<=^/)(experiments|own|runs|edit|starts)/[^/]+", r"\1/*", urlsplit(address).path)
        if kind in found:
            continue
        answer = pages.client.get(address)
        if answer.status_code == 200 and answer.headers["content-type"].startswith("text/html"):
            found[kind] = address
            waiting += LINK.findall(answer.text)
    return list(found.values())


def violations(browser: webdriver.Chrome, rules: dict[str, object]) -> list[str]:
    """What axe-core finds, a line each."""
    if not browser.execute_script("return 'axe' in window"):
        browser.execute_script(AXE)
    found = browser.execute_async_script(
        "const done = arguments[1];"
        "axe.run({runOnly: arguments[0], resultTypes: ['violations']}).then(r => done(JSON.stringify(r.violations)))",
        rules,
    )
    return [f"{one['id']}: {node['target']} {node['html'][:160]}" for one in json.loads(found) for node in one["nodes"]]


def test_every_page_is_for_everybody(pages: Pages, browser: webdriver.Chrome) -> None:
    browser.get(pages.entry)
    browser.get_log("browser")
    wrong = []
    looks = dict.fromkeys(addresses(pages), LOOKS) | {f"/runs/{COMPARED[0]}/report": [LOOKS[0], LOOKS[-1]]}
    for address in looks:
        browser.get(pages.base + address)
        for width, scheme in looks[address]:
            screen(browser, width, scheme)
            time.sleep(0.1)  # the page's pictures follow the width
            rules = EVERY_RULE if scheme == "light" or len(looks[address]) < len(LOOKS) else OF_COLOURS
            if width != BETWEEN:
                wrong += [f"{address} {width} {scheme}: {one}" for one in violations(browser, rules)]
            if (wide := browser.execute_script("return document.documentElement.scrollWidth")) > width:
                wrong.append(f"{address} {width} {scheme}: {wide} pixels wide")
        wrong += [f"{address}: {one['message']}" for one in browser.get_log("browser") if one["level"] == "SEVERE"]
    assert not wrong, "\n".join(wrong)


def test_the_live_page_shows_what_falls_while_it_is_open(pages: Pages, browser: webdriver.Chrome) -> None:
    screen(browser, 1440)
    browser.get(pages.entry)
    browser.get(f"{pages.base}/runs/{RUN}")
    events = pages.runs / RUN / EVENTS
    until(browser, "return document.querySelectorAll('#charts canvas').length >= 4")
    assert browser.execute_script("return document.querySelectorAll('.narrowing .newest').length") == 2
    before = browser.execute_script("return document.querySelectorAll('.pair.faster').length")
    second = browser.find_elements(By.CSS_SELECTOR, "#live-answers summary")[1]
    second.send_keys(Keys.ENTER)  # by keyboard: its table opens
    tell_of_comparisons(events, os.getpid(), rounds=48, kind="faster", said="b FASTER by 30 %")
    until(browser, f"return document.querySelectorAll('.pair.faster').length === {before + 2}")
    assert "b FASTER by 30 %" in browser.execute_script("return document.getElementById('live-said').textContent")
    opened = "[...document.querySelectorAll('#live-answers details')]"
    assert browser.execute_script(f"return {opened}.map(e => e.open)") == [False, True]
    assert browser.execute_script(f"return {opened}.map(e => e.firstElementChild === document.activeElement)")[1]
    assert "48" in browser.find_elements(By.CSS_SELECTOR, "#live-answers details")[1].text
    agents = [row.text for row in browser.find_elements(By.CSS_SELECTOR, "#live-conditions table:last-child tbody tr")]
    assert agents == ["b <1> agent lost: no answer for 5 s — — — — — —", "a ready 900 50 % 4.00 ms 2 50 % 0.70 s"]
    tables = browser.execute_script("return [...document.querySelectorAll('#charts tbody th')].map(e => e.textContent)")
    assert {"set <b>", "redis"} <= set(tables)
    assert browser.execute_script("return document.querySelectorAll('#live b:not(.state b)').length") == 0
    assert [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


ORDER = """const places = ids => ids.map(id => document.getElementById(id).getBoundingClientRect().top);
const top = places(['live-head', 'charts', 'live-answers', 'more', 'live-conditions', 'live-log']);
return top.every((one, n) => !n || one > top[n - 1]);"""
LEGENDS = """return [...document.querySelectorAll('#charts figure')].map(figure => [
  figure.querySelector('figcaption').textContent, [...figure.querySelectorAll('.u-series')].slice(1).map(
    one => one.querySelector('.u-label').textContent + one.querySelector('.u-marker').style.border)]);"""


def test_the_first_screen_of_a_run_has_its_figures(pages: Pages, browser: webdriver.Chrome) -> None:
    """Tiles, then TPS, P99, errors and CPU over time, then the answers: also after a reload, in the same colours."""
    screen(browser, 1440)
    browser.get(pages.entry)
    browser.get(f"{pages.base}/runs/{RUN}")
    until(browser, "return document.querySelectorAll('#charts canvas').length === 4")
    assert browser.execute_script(ORDER)
    seen = browser.execute_script(
        "return [...document.querySelectorAll('.tiles, #charts .canvas')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(seen) == 5
    assert max(seen) <= 900
    before = browser.execute_script(LEGENDS)
    assert [caption for caption, _ in before] == [
        "TPS of each condition", "P99 of each condition", "Errors a second of each condition", "CPU of each part"
    ]  # fmt: skip
    assert before[0][1] == before[1][1]
    turn = {
        "what": "now",
        "group": "storage",
        "state": "running",
        "conditions": {"set <b>": {"tps": 5.0, "p99_ns": 1e6}},
    }
    with (pages.runs / RUN / EVENTS).open("a") as file:  # one alone: it was the first, and stays it
        file.write(json.dumps({"format": 1, "unix_s": time.time(), **turn}) + "\n")
    until(browser, "return document.querySelector('.tiles dd').textContent === '5.00'")
    time.sleep(0.3)
    assert browser.execute_script(LEGENDS) == before
    browser.refresh()
    until(browser, "return document.querySelectorAll('#charts canvas').length === 4")
    assert browser.execute_script(LEGENDS) == before
    summary = browser.find_element(By.CSS_SELECTOR, "#more > summary")
    summary.send_keys(Keys.ENTER)
    until(browser, "return document.querySelectorAll('#more-charts canvas').length === 4")
    costs = "return [...document.querySelectorAll('#more-charts tbody th')].map(e => e.textContent)"
    assert "set <b> · redis" in browser.execute_script(costs)


def test_charts_stand_in_one_order_whatever_comes_first(pages: Pages, browser: webdriver.Chrome) -> None:
    """While servers start only parts have figures: TPS comes later, and stands above them."""
    screen(browser, 1440)
    run = pages.runs / f"{RUN}-2"
    run.mkdir()
    (run / PLAN).write_text("{}")
    tell_of_comparisons(run / EVENTS, os.getpid())
    lines = (run / EVENTS).read_text().splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if json.loads(line)["what"] == "now")
    alone = json.dumps({**json.loads(lines[first]), "conditions": {}}) + "\n"
    (run / EVENTS).write_text("".join([*lines[:first], alone]))
    browser.get(pages.entry)
    browser.get(f"{pages.base}/runs/{run.name}")
    until(browser, "return document.querySelectorAll('#charts canvas').length === 1")
    with (run / EVENTS).open("a") as file:
        file.writelines(lines[first:])
    until(browser, "return document.querySelectorAll('#charts canvas').length === 4")
    assert [caption for caption, _ in browser.execute_script(LEGENDS)] == [
        "TPS of each condition", "P99 of each condition", "Errors a second of each condition", "CPU of each part"
    ]  # fmt: skip


def test_the_start_is_always_in_sight_and_never_beside_an_old_estimate(pages: Pages, browser: webdriver.Chrome) -> None:
    browser.get(pages.entry)
    for width in (390, 1280):
        screen(browser, width)
        browser.get(f"{pages.base}/experiments/json-documents")
        until(browser, "return document.querySelector('#told .estimate') !== null")
        bar = "document.querySelector('.start-bar').getBoundingClientRect()"
        for place in ("0", "document.querySelector('form.checked').offsetHeight / 2"):
            browser.execute_script(f"window.scrollTo({{top: {place}, behavior: 'instant'}})")
            assert browser.execute_script(f"return {bar}.top > 0 && {bar}.bottom <= innerHeight"), (width, place)
    dimmed = "return [...document.querySelectorAll('.left-out')].map(e => e.textContent.trim())"
    assert browser.execute_script(dimmed), "a quick run leaves out levels"
    budget = browser.find_element(By.ID, "budget")
    budget.send_keys("soon")
    assert browser.execute_script("return document.getElementById('told').getAttribute('aria-busy')") == "true"
    until(browser, "return document.querySelector('#budget + .at-field') !== null")
    assert "is not a time" in browser.find_element(By.ID, "at-field").text
    assert budget.get_attribute("aria-invalid") == "true"
    budget.clear()
    budget.send_keys("9m")
    until(browser, "return document.querySelector('#told .estimate') !== null")
    assert browser.find_elements(By.CSS_SELECTOR, ".at-field, [aria-invalid], [aria-busy]") == []


def test_letters_are_large_enough_on_a_phone(pages: Pages, browser: webdriver.Chrome) -> None:
    """11 pixels as they are seen, in the pictures too; and what is wider says that it scrolls."""
    screen(browser, 390)
    browser.get(pages.entry)
    small = """return [...document.querySelectorAll('main svg text')].filter(e => e.textContent.trim()).map(e => {
      const svg = e.ownerSVGElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      return parseFloat(getComputedStyle(e).fontSize) * scale; }).filter(size => size < 11)"""
    a, b = COMPARED
    for address in (f"/runs/{RUN}", f"/compare?run={a}&run={b}", "/figures?experiment=redis"):
        browser.get(pages.base + address)
        until(browser, "return document.querySelectorAll('main svg text').length > 0")
        assert browser.execute_script(small) == [], address
    scrolls, hint = browser.execute_script(
        "const e = document.querySelector('.picture .wide');"
        "return [e.scrollWidth > e.clientWidth, getComputedStyle(e, '::before').content]"
    )
    assert scrolls
    assert "↔" in hint


def until(browser: webdriver.Chrome, condition: str) -> None:
    """Waits until a script's answer is true."""
    end = time.monotonic() + 20
    while not browser.execute_script(condition):
        assert time.monotonic() < end, f"never: {condition}"
        time.sleep(0.1)
