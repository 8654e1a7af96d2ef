"""The list of runs, two of them compared, a report and a trial, as a browser gets them from a real server."""

import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from pydantic_core import to_jsonable_python
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.addons.pages.conftest import PATIENCE_S, Pages, serving
from tests.browsers import screen
from tests.frozen_runs import unpacked

from loadstone.addons.history.compare_command import compare
from loadstone.addons.history.compare_options import CompareOptions
from loadstone.addons.history.tags import write_tags
from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import render
from loadstone.run_folder.folder import RunFolder
from loadstone.safety.console import SafeConsole
from loadstone.safety.errors import UserError
from loadstone.text.message import verbatim

A, B = "redis-rate", "redis-rate-again"
SCRIPT = "<script>alert(1)</script>"
PLAN = {"format": 1, "experiment": "tiny", "seed": 1, "quick": True, "as_published": False, "expected_s": 1.0}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Two runs of one study, one of another, and one that a stranger wrote."""
    folder = tmp_path_factory.mktemp("history")
    for name in (A, B, "pipeline"):
        run = unpacked(name, folder / "runs")
        (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    theirs = folder / "runs" / "<script>alert(1)"
    theirs.mkdir()
    (theirs / "plan.json").write_text(json.dumps(PLAN | {"experiment": SCRIPT}))
    (theirs / "analysis.json").write_text(
        json.dumps({"experiment": SCRIPT, "answer": to_jsonable_python(verbatim(SCRIPT)), "question": SCRIPT})
    )
    (folder / "runs" / "link").symlink_to(folder / "runs" / A)
    with serving(folder) as found:
        yield found


def made(root: Path, name: str) -> Path:
    (root / name).mkdir()
    (root / name / "plan.json").write_text(json.dumps(PLAN | {"trials": []}))
    return root / name


def listed(pages: Pages) -> str:
    """The list, once each run was read: a page waits for that no longer than it may."""
    until = time.monotonic() + 20
    while True:
        text = pages.client.get("/runs").text
        if all(f'href="/runs/{name}' in text for name in (A, B, "pipeline")):
            return text
        assert time.monotonic() < until, text
        time.sleep(0.1)


def figures_read(pages: Pages, experiment: str) -> str:
    """The page of figures of an experiment once its runs are read: until then it says so, and is loaded again."""
    until = time.monotonic() + 20
    while True:
        text = unescape(pages.client.get("/figures", params={"experiment": experiment}).text)
        if "still to be read" not in text:
            return text
        assert time.monotonic() < until, text
        time.sleep(0.1)


def test_runs_are_listed_and_found(pages: Pages) -> None:
    text = listed(pages)
    assert SCRIPT not in text
    assert "<script>alert" not in text
    found = pages.client.get("/runs", params={"find": "experiment:pipeline verdict:faster"}).text
    assert "/runs/pipeline/" in found
    assert f"/runs/{A}" not in found
    for odd in ({"page": "-1"}, {"page": "9" * 30}, {"find": '"%\0'}, {"find": "x" * 5000}):
        assert pages.client.get("/runs", params=odd).status_code == 200


def test_tags_and_notes_by_a_form(pages: Pages) -> None:
    sent = {"tags": "baseline, v8", "note": f"new kernel {SCRIPT}", "back": "//elsewhere/"}
    answer = pages.client.post(f"/runs/{A}/tags", data=sent)
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    text = pages.client.get("/runs", params={"find": "tag:baseline kernel"}).text
    assert f"/runs/{A}/" in text
    assert SCRIPT not in text
    assert pages.client.post(f"/runs/{A}/tags", data={"tags": "<b>"}).status_code == 400
    assert pages.client.post(f"/runs/{A}/tags", data={"tags": ""}).status_code == 303
    assert pages.client.post("/runs/link/tags", data={"tags": "x"}).status_code == 404
    with pytest.raises(UserError, match="it is a link"):  # one that took the place of a run that was found
        write_tags(pages.runs / "link", ["x"], "", pages.runs)


def test_a_run_is_archived_and_removed_after_a_question(pages: Pages) -> None:
    folder = made(pages.runs, "20260102T000000Z-tiny")
    address = f"/runs/{folder.name}"
    with RunFolder.resume(folder):
        assert pages.client.post(f"{address}/remove").status_code == 400
    assert pages.client.post(f"{address}/archive").status_code == 303
    assert (pages.runs / "archive" / folder.name).is_dir()
    assert folder.name in pages.client.get("/runs?archived=1").text
    assert folder.name not in pages.client.get("/runs").text
    assert pages.client.post(f"{address}/restore").status_code == 303
    assert "for good?" in pages.client.get(f"{address}/remove").text
    assert folder.is_dir()
    assert pages.client.post(f"{address}/remove").status_code == 303
    assert not folder.exists()
    for wrong in (f"{address}/remove", "/runs/link/remove", "/runs/..%2f..%2fetc/remove", "/runs/%2e%2e/remove"):
        assert pages.client.post(wrong).status_code in (404, 405)


def test_two_runs_are_compared_in_the_words_of_the_command(pages: Pages) -> None:
    folders = (pages.runs / A, pages.runs / B)
    printed = io.StringIO()
    compare(CompareOptions(folders), SafeConsole(file=printed, width=1000, color_system=None))
    text = unescape(pages.client.get("/compare", params={"run": [A, B]}).text).replace("\u00a0", " ")
    lines = [line.strip() for line in printed.getvalue().splitlines() if line.strip()]
    assert len(lines) > 3
    assert [line for line in lines if line not in text] == []
    assert text.count("<svg") == 2
    refused = unescape(pages.client.get("/compare", params={"run": [A, "pipeline"]}).text)
    with pytest.raises(UserError) as why:
        compare(CompareOptions((pages.runs / A, pages.runs / "pipeline")), SafeConsole(file=io.StringIO()))
    assert str(why.value).replace(f"{pages.runs}/", "") in refused
    assert f">redis, {A} (complete)<" in text, "a run is picked by its experiment and its time"
    for odd in ([A], [A, A], [A, "nowhere"], [A, B, B], [A, "<script>alert(1)"]):
        assert pages.client.get("/compare", params={"run": odd}).status_code in (200, 404)
    margin = pages.client.get("/compare", params={"run": [A, B], "margin": "x", "place": "9" * 9}).text
    assert "--margin x: must be a share" in margin


def test_versions_that_differ_are_compared_by_one_click(tmp_path: Path) -> None:
    for name in (A, B):
        run = unpacked(name, tmp_path / "runs")
        (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    environment = json.loads((run / "environment.json").read_text())
    environment["servers"]["redis"]["version"] = "7.0.15"
    (run / "environment.json").write_text(json.dumps(environment))
    with serving(tmp_path) as pages:
        refused = pages.client.get("/compare", params={"run": [A, B]}).text
        assert "7.0.15" in refused
        form = re.search(r'<form action="/compare">(.*?)</form>', refused)
        assert form is not None, refused
        sent = re.findall(r'name="(\w+)" value="([^"]*)"', form[1])
        compared = pages.client.get("/compare", params=sent).text
    assert compared.count("<svg") == 2
    assert "7.0.15" in compared


def test_the_list_is_a_table_of_figures(pages: Pages) -> None:
    rows = {
        name: dict(re.findall(r'data-name="([^"]*)">(.*?)</td>', row))
        for row in listed(pages).split('<tr class="run">')[1:]
        for name in re.findall(r'href="/runs/([^/"]*)/report"', row)[:1]
    }
    pipeline = rows["pipeline"]
    low, high = (float(one.replace(",", "")) for one in pipeline["TPS"].split(" – "))
    assert 100_000 < low < 300_000
    assert 1_000_000 < high < 3_000_000
    assert (pipeline["Errors"], pipeline["Took"], pipeline["Of"]) == ("0 %", "9 s", "redis 8.2.3")
    assert "faster" in pipeline["Verdict"]
    assert pipeline["P99"].endswith("µs") or pipeline["P99"].endswith("ms")
    assert rows[A]["Verdict"].strip() == "–"


def test_a_figure_over_runs(pages: Pages) -> None:
    text = figures_read(pages, "redis")
    assert text.count("<h3>Line ") == 1
    assert all(f'href="/runs/{name}/report" title="{name}">redis, ' in text for name in (A, B)), "name and time"
    assert text.count("<svg") == 1
    for odd in ({}, {"experiment": "nowhere"}, {"experiment": "redis", "place": "x", "metric": "y"}):
        assert pages.client.get("/figures", params=odd).status_code == 200


def test_a_gate_over_runs_names_its_heads(tmp_path: Path) -> None:
    run = unpacked("gate-twin", tmp_path / "runs")
    (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    with serving(tmp_path) as pages:
        text = figures_read(pages, "gate")
    assert "requests a second, head/base" in text
    assert '<th scope="col">head</th>' in text
    assert "<td>redis,hz=11</td>" in text


def test_a_report_and_its_downloads(pages: Pages) -> None:
    answer = pages.client.get(f"/runs/{A}/report")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert ' style="' not in answer.text
    assert f'href="/runs/{A}/trials/' in answer.text
    files = {
        file: pages.client.get(f"/runs/{A}/{file}")
        for file in ("report.html", "report.md", "analysis.json", "tables.zip", "charts.zip")
    }
    assert all(one.headers["content-disposition"].startswith("attachment") for one in files.values())
    assert json.loads(files["analysis.json"].content)["run"] == A
    assert files["report.html"].text.startswith("<!doctype html>") or "<!doctype html>" in files["report.html"].text
    assert f"{A}/tables.csv" in zipfile.ZipFile(io.BytesIO(files["tables.zip"].content)).namelist()
    assert all(name.endswith(".svg") for name in zipfile.ZipFile(io.BytesIO(files["charts.zip"].content)).namelist())
    trial = pages.client.get(f"/runs/{A}/trials/b01-001")
    assert trial.status_code == 200
    assert trial.text.count("<h2") >= 4
    for wrong in (f"/runs/{A}/plan.json", f"/runs/{A}/trials/nowhere", "/runs/nowhere/report", "/runs/link/report"):
        assert pages.client.get(wrong).status_code == 404
    broken = pages.client.get("/runs/%3Cscript%3Ealert(1)/report")
    assert broken.status_code == 400
    assert "<script>alert" not in broken.text


def test_the_way_from_the_list_to_a_trial_in_a_browser(pages: Pages, browser: webdriver.Chrome) -> None:
    screen(browser, 1100)
    browser.get(pages.entry)
    browser.get_log("browser")
    browser.get(f"{pages.base}/runs")
    for name in (A, B):
        browser.find_element(By.CSS_SELECTOR, f'input[value="{name}"]').click()
    browser.find_element(By.CSS_SELECTOR, 'button[form="picked"]').click()
    wait = WebDriverWait(browser, PATIENCE_S)
    wait.until(lambda shown: len(shown.find_elements(By.CSS_SELECTOR, "figure svg")) == 2)
    browser.find_element(By.LINK_TEXT, f"{A}: {A} (redis, 16 trials)").click()
    wait.until(lambda shown: shown.find_elements(By.CSS_SELECTOR, "nav.hosted"))
    bar = browser.find_element(By.CSS_SELECTOR, "nav.hosted")
    assert bar.value_of_css_property("display") == "flex"
    address = browser.find_element(By.CSS_SELECTOR, '#trials a[href*="/trials/"]').get_attribute("href")
    assert address is not None
    browser.get(address)
    assert browser.find_element(By.ID, "checks").is_displayed()
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
