"""Conclusions and lessons on the page, in a real browser."""

from pathlib import Path

import pytest
from selenium import webdriver
from tests.report.html.test_page import OVER_THE_EDGE, ask, browser, hostile, open_page, requests_of  # noqa: F401

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.write import write_report

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]  # a browser starts slowly on a busy machine


@pytest.fixture(scope="module")
def both(analysis: Analysis, application: Analysis) -> Analysis:
    """A study with conclusions and lessons."""
    return application.model_copy(update={"parts": analysis.parts | application.parts})


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_they_open_whole(
    browser: webdriver.Chrome,  # noqa: F811
    both: Analysis,
    tmp_path: Path,
    width: int,
    scheme: str,
) -> None:
    [path] = write_report(both, tmp_path, ["html"])
    open_page(browser, path, width, scheme)
    assert browser.get_log("browser") == []
    assert ask(browser, OVER_THE_EDGE) == 0
    for section in ("conclusions", "lessons"):
        assert ask(browser, f"document.getElementById('{section}').clientHeight") > 100


def test_hostile_texts_are_only_texts(browser: webdriver.Chrome, both: Analysis, tmp_path: Path) -> None:  # noqa: F811
    evil = Analysis.model_validate(hostile(both.model_copy(update={"tables": [], "timeline": []}).model_dump()))
    [path] = write_report(evil, tmp_path, ["html"])
    open_page(browser, path)
    assert ask(browser, "window.hacked") is None
    assert "window.hacked" in ask(browser, "document.getElementById('lessons').textContent")
    assert ask(browser, "document.querySelectorAll('img').length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert requests_of(browser) == [path.as_uri()]
    assert ask(browser, OVER_THE_EDGE) == 0
