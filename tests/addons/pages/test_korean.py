"""What is refused, as a Korean reader gets it: no English but names, code and the terms of the field."""

import json
import os
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.addons.pages.conftest import Pages, serving
from tests.addons.pages.live_runs import tell_of_comparisons
from tests.korean_terms import english_in, names_in

from loadstone.experiment.spec.built_in import FOLDER, names
from loadstone.run_folder.files import EVENTS, PLAN

KOREAN = {"accept-language": "ko"}
NAMES = frozenset({"english", "adhoc"})
"""The name of the other language, as it calls itself."""
_NOT_READ = ("script", "style", "code", "pre", "textarea", "kbd", "samp")
_ATTRIBUTES = ("title", "aria-label", "placeholder", "alt")


class Words(HTMLParser):
    """What a person reads of a page, or hears; not code."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._within = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within += tag in _NOT_READ
        self.texts += [value for name, value in attrs if name in _ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self._within -= tag in _NOT_READ

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.texts.append(data)


def words_of(html: str) -> str:
    found = Words()
    found.feed(html)
    found.close()
    return "\n".join(found.texts)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/nothing", {}),
        ("/experiments/nothing", {}),
        ("/runs/nothing", {}),
        ("/quick/start", {"kind": "redis", "url": "redis://127.0.0.1:1", "time": "soon"}),
    ],
)
def test_what_is_refused_is_said_in_korean(pages: Pages, address: str, words: dict[str, str]) -> None:
    if words:
        answer = pages.client.post(address, data=words, headers=KOREAN)
    else:
        answer = pages.client.get(address, headers=KOREAN)
    assert answer.status_code >= 400
    assert english_in(words_of(answer.text), NAMES) == []


def test_the_option_reaches_the_pages(tmp_path: Path) -> None:
    """`--lang ko` counts more than what a browser prefers, and less than what is chosen on a page."""
    with serving(tmp_path, "--lang", "ko") as pages:
        english = {"accept-language": "en"}
        for address in ("/", "/edit", "/nothing"):
            page = pages.client.get(address, headers=english).text
            assert '<html lang="ko">' in page
        refused = pages.client.get("/", headers={**english, "origin": "http://elsewhere"})
        assert english_in(refused.text, NAMES) == []
        pages.client.get("/language/en")
        assert '<html lang="en">' in pages.client.get("/").text


def test_who_may_not_is_told_so_in_korean(pages: Pages) -> None:
    """Before any page: by the browser's language."""
    answer = pages.client.get("/", headers={**KOREAN, "cookie": "", "origin": "http://elsewhere"})
    assert answer.status_code == 403
    assert "다른 사이트" in answer.text
    assert english_in(answer.text, NAMES) == []


@pytest.mark.parametrize("study", names())
def test_the_form_of_a_study_is_korean(pages: Pages, study: str) -> None:
    """Its description, the titles of its factors, the words of its settings; levels are names."""
    page = pages.client.get(f"/experiments/{study}", headers=KOREAN)
    assert page.status_code == 200
    own = names_in(YAML(typ="safe").load(FOLDER / f"{study}.yaml")) | set(re.findall(r"[a-z]{3,}", study))
    assert english_in(words_of(page.text), NAMES | own) == []


def test_what_a_run_told_in_english_is_shown_in_korean(pages: Pages) -> None:
    folder = pages.runs / "told"
    folder.mkdir()
    (folder / PLAN).write_text("{}")
    tell_of_comparisons(folder / EVENTS, os.getpid())
    with (folder / EVENTS).open("a") as file:
        for text in ("starting base again", "storage: rounds 5 to 8", "writing the report"):
            file.write(json.dumps({"format": 1, "unix_s": time.time(), "what": "log", "text": text}) + "\n")
    page = pages.client.get("/runs/told", headers=KOREAN).text
    for told in ("base 다시 시작 중", "storage: 라운드 5~8", "보고서 쓰는 중"):
        assert told in page
