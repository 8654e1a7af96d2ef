"""In which language a person is spoken to."""

import io
import json
import pickle
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import pytest
from babel.messages.pofile import read_po as read_by_babel
from pydantic_core import to_jsonable_python

from loadstone.cli import main
from loadstone.safety import terminal
from loadstone.safety.errors import UserError
from loadstone.text import language
from loadstone.text.language import (
    _,
    in_language,
    of_author,
    of_locale,
    of_request,
    plural,
    po_file,
    read_po,
    retold,
    use_language,
)
from loadstone.text.message import read_message, said

WHEN = datetime(2026, 11, 30, tzinfo=UTC)
PO = """
msgid ""
msgstr "Language: ko\\n"

msgid "{server} is slow"
msgstr "{server}[은/는] 느립니다"

msgid "took {rate:,.0f}/s: {why}"
msgstr "초당 {rate:,.0f}: {why}"

msgid "{n} run"
msgid_plural "{n} runs"
msgstr[0] "실행 {n}개"

#, fuzzy
msgid "unsure"
msgstr "모름"
"""


@pytest.fixture
def korean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A catalogue with four sentences."""
    (tmp_path / "ko.po").write_text(PO, encoding="utf-8")
    catalogue = language._Catalogue(tmp_path / "ko.po")
    monkeypatch.setattr(language, "_catalogue", lambda _name: catalogue)


@pytest.mark.usefixtures("korean")
def test_a_sentence_is_said_in_the_language_of_the_block() -> None:
    assert _("{server} is slow", server="Redis") == "Redis is slow"
    with use_language("ko"):
        assert _("{server} is slow", server="JSON") == "JSON은 느립니다"
        assert plural(1, "{n} run", "{n} runs") == plural(3, "{n} run", "{n} runs").replace("3", "1") == "실행 1개"
        assert (_("unsure"), _("not there {x}", x=1)) == ("unsure", "not there 1")
    assert plural(3, "{n} run", "{n} runs") == "3 runs"


@pytest.mark.usefixtures("korean")
def test_what_is_said_is_english_data_and_korean_for_a_person() -> None:
    inner = said("{server} is slow", server="Redis")
    error = UserError("took {rate:,.0f}/s: {why}", rate=12345.6, why=UserError.of(inner))
    assert str(error) == str(error.message) == f"{error}" == f"{error.message:s}" == "took 12,346/s: Redis is slow"
    recorded = json.dumps(to_jsonable_python(error.message))
    assert json.loads(recorded).keys() == {"kind", "figures"}
    copies = (read_message(json.loads(recorded)), pickle.loads(pickle.dumps(error)), error.message, error)
    with use_language("ko"):
        assert {in_language(one) for one in copies} == {"초당 12,346: Redis는 느립니다"}
        assert terminal.shown(error.message) == "초당 12,346: Redis는 느립니다"
        assert f"{error}" == str(error.message) == "took 12,346/s: Redis is slow"


def test_figures_are_kept_as_data() -> None:
    levels = ["1", said("two")]
    text = said(
        "{path} {when:%Y-%m} {levels:list} {share:percent}", path=Path("/a"), when=WHEN, levels=levels, share=0.5
    )
    levels.append("3")
    assert str(text) == "/a 2026-11 1, two 50 %"
    assert text == pickle.loads(pickle.dumps(text))
    assert len({text, said("{path}", path="/a"), said("{path}", path=Path("/a"))}) == 2
    with pytest.raises(KeyError, match="share"):
        said("{path} {share}", path="/a")


@pytest.mark.usefixtures("korean")
def test_a_page_escapes_what_others_wrote() -> None:
    environment = jinja2.Environment(autoescape=True)
    language.speak_in_templates(environment)
    template = environment.from_string(
        "{{ _('{server} is slow', server=name) }} {% trans %}{{ name }} is{% endtrans %}"
    )
    assert template.render(name="<b>") == "&lt;b&gt; is slow &lt;b&gt; is"
    with use_language("ko"):
        assert template.render(name="<JSON'") == "&lt;JSON&#39;은 느립니다 &lt;JSON&#39; is"


def test_threads_speak_the_language_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "_WHOLE_PROCESS", ["en"])
    language.set_language("ko")
    heard: list[str] = []
    thread = threading.Thread(target=lambda: heard.append(language.language()))
    thread.start()
    thread.join()
    assert heard == ["ko"]
    with pytest.raises(ValueError, match="there are en, ko"):
        language.set_language("fr")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LC_MESSAGES": "ko", "LANG": "en_US"}, "ko"),
        ({"LANG": "kok_IN"}, "en"),
        ({"LC_ALL": "", "LANG": "ko.UTF-8"}, "ko"),
    ],
)
def test_the_language_of_a_locale(environment: dict[str, str], expected: str) -> None:
    assert of_locale(environment) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("en-US,en;q=0.9,ko;q=0.8", "en"),
        ("", "en"),
        ("ko;q=x,*", "en"),
        ("fr, ko", "ko"),
    ],
)
def test_the_language_of_a_browser(header: str, expected: str) -> None:
    assert of_request(header) == expected


def test_the_option_may_stand_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "_WHOLE_PROCESS", ["en"])
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for words, spoken in ((["--lang", "ko", "list"], "ko"), (["list", "--lang=ko"], "ko"), (["list"], "en")):
        monkeypatch.setattr(sys, "argv", ["loadstone", *words])
        main._choose_language()
        assert (sys.argv, language.language()) == (["loadstone", "list"], spoken)
    for words in (["list", "--lang", "fr"], ["list", "--lang"]):
        monkeypatch.setattr(sys, "argv", ["loadstone", *words])
        with pytest.raises(UserError, match=r"--lang (fr)?: write en or ko"):
            main._choose_language()


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("set, 1 kB, 8 workers", "set, 1 kB, 워커 8개"),
        ("client lettuce", "클라이언트 lettuce"),
        ("string against json, 1 worker", "json 대비 string, 워커 1개"),
        ("remote against local x 2 replicas", "local 대비 remote x 레플리카 2개"),
        ("Is valkey faster than redis under get, set?", "get, set 부하에서 valkey가 redis보다 빠른가?"),
        ("How fast is an embedded Redis under get?", "get 부하에서 내장 Redis는 얼마나 빠른가?"),
        ("Does the append-only file make SET slower?", "AOF를 켜면 SET이 느려지는가?"),
        # Somebody else's words stay as they are.
        ("Is a small document read faster than a large one?", "Is a small document read faster than a large one?"),
        ("set, large documents", "set, large documents"),
        ("8 apples", "8 apples"),
        ("워커 8개, 8 workers", "워커 8개, 8 workers"),
    ],
)
def test_what_experiments_say_is_known_by_its_text_or_its_template(english: str, korean: str) -> None:
    assert of_author(english) == english
    with use_language("ko"):
        assert of_author(english) == korean


def test_our_reader_and_babel_read_the_same() -> None:
    content = po_file("ko").read_bytes()
    catalogue = read_by_babel(io.BytesIO(content), locale="ko")
    expected, several = {}, {}
    for one in catalogue:
        string = one.string[0] if isinstance(one.string, tuple) else one.string
        if one.id and string and not one.fuzzy:
            context = f"{one.context}\x04" if one.context else ""
            forms = one.id if isinstance(one.id, tuple) else (one.id,)
            expected[context + forms[0]] = string
            several |= {context + form: string for form in forms[1:] if context + form not in several}
    assert read_po(content.decode()) == several | expected


@pytest.mark.parametrize(
    ("told", "korean"),
    [
        ("writing the report", "보고서 쓰는 중"),
        ("starting base again", "base 다시 시작 중"),
        ("rate: rounds 5 to 8", "rate: 라운드 5~8"),
        ("storing 12,000 keys: 40 % done, about 3 s left", "키 12,000개 저장 중: 40 % 완료, 약 3초 남음"),
        ("head against base: UNDECIDED: 0 % [-8, 4]", "base 대비 head: 미결: 0 % [-8, 4]"),
        (
            "set, 100 B: 1.5 % of the operations failed: 15 timeout.",
            "set, 100 B: 연산의 1.5 %가 실패했습니다: 15 timeout.",
        ),
        ("rate", "rate"),
        ("no sentence of ours: it says {this}", "no sentence of ours: it says {this}"),
        ("이미 한국어", "이미 한국어"),
    ],
)
def test_what_was_told_in_english_is_known_again(told: str, korean: str) -> None:
    assert retold(told) == told
    with use_language("ko"):
        assert retold(told) == korean


def test_a_strangers_text_takes_no_time() -> None:
    """No pattern goes back over it: each literal is looked for once."""
    with use_language("ko"):
        for text in ("a: " * 160, " and " * 100, "x, " * 166, "{n} " * 120):
            assert retold(text) == text
