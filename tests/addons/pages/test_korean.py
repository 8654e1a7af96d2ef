"""What is refused, as a Korean reader gets it: no English but names, code and the terms of the field."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.addons.pages.conftest import Pages, serving
from tests.korean_terms import english_in

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
