"""The editor of experiments: what it did not show it never writes over; what it wrote it says."""

import html
import re

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from tests.tiny_experiment import TINY

from loadstone.addons.pages.literal_secrets import has_mask, shown
from loadstone.cli.init_command import TEMPLATE
from loadstone.experiment.spec.built_in import FOLDER

from .conftest import Pages

URL = "redis://user:hunter2@127.0.0.1:6379"
SECRET = TINY.replace("{kind: embedded}", f"{{url: '{URL}'}}")
OPEN = TINY.replace("{kind: embedded}", "{url: 'redis://user:${env:REDIS_PASSWORD}@127.0.0.1:6379'}")
AREA = re.compile(r'<textarea id="text"[^>]*>\n(.*?)</textarea>', re.DOTALL)
VERSION = re.compile(r'name="version" value="(\w*)"')


def text_in(page: str) -> str:
    """What the editor offers to be changed."""
    found = AREA.search(page)
    assert found is not None, page
    return html.unescape(found[1])


@pytest.mark.fault(
    "a file with a password is opened in the editor", "it is read only, and stays as it is", area="secrets"
)
@pytest.mark.parametrize(
    ("secret", "literal"),
    [
        (SECRET, "hunter2"),
        (TINY + "# redis://user:hunter2@h\n", "hunter2"),
        (TINY.replace("embedded}", "embedded, settings: {requirepass: sesame-9}}"), "sesame-9"),
        ("a: [\npassword: sesame-9\n", "sesame-9"),
        ('environment:\n  DB_PASSWORD: "sesa\\x6de-9"\n', "sesa"),
    ],
)
def test_a_file_with_a_password_can_be_read_only(pages: Pages, secret: str, literal: str) -> None:
    file = pages.experiments / "mine.yaml"
    file.write_text(secret)
    page = pages.client.get("/edit/mine.yaml")
    assert page.status_code == 200
    assert literal not in page.text
    assert "<textarea" not in page.text
    assert "Save" not in page.text
    assert "${env:NAME}" in page.text
    for sent in (secret.replace("hunter2", "***").replace("user:***", "***"), OPEN):
        for version in ({}, {"version": "x" * 64}):
            fields = {"name": "mine.yaml", "text": sent, "over": "on", **version}
            assert pages.client.post("/edit/save", data=fields).status_code == 400
            assert file.read_text() == secret


def test_stars_and_passwords_are_never_written(pages: Pages) -> None:
    for text in (SECRET, SECRET.replace("user:hunter2", "***"), "password: '***'\n", "a: http://h/?token=***\n"):
        answer = pages.client.post("/edit/save", data={"name": "new.yaml", "text": text})
        assert answer.status_code == 400
        assert "${env:NAME}" in answer.text
        assert "hunter2" not in answer.text
        assert not (pages.experiments / "new.yaml").exists()
    kept = TINY + "# *** stars that stand for nothing ***\n"
    assert pages.client.post("/edit/save", data={"name": "new.yaml", "text": kept}).status_code == 303
    assert (pages.experiments / "new.yaml").read_text() == kept


def test_a_password_that_a_form_gave_makes_a_file_read_only_too(pages: Pages) -> None:
    """It is known to the process of the pages alone, and hidden in all of them."""
    pages.client.post("/quick/check", data={"kind": "redis", "url": "redis://:tr0ub4dor-3@127.0.0.1:1"})
    (pages.experiments / "word.yaml").write_text(f"{TINY}# tr0ub4dor-3\n")
    page = pages.client.get("/edit/word.yaml").text
    assert "tr0ub4dor-3" not in page
    assert "<textarea" not in page


def test_what_changed_meanwhile_is_not_written_over(pages: Pages) -> None:
    file = pages.experiments / "two.yaml"
    file.write_text(OPEN)
    opened = pages.client.get("/edit/two.yaml").text
    assert text_in(opened) == OPEN
    version = VERSION.findall(opened)[0]
    file.write_text(OPEN + "# by another tab\n")
    fields = {"name": "two.yaml", "text": OPEN + "# mine\n", "over": "on", "version": version}
    answer = pages.client.post("/edit/save", data=fields)
    assert answer.status_code == 400
    assert "it changed since it was opened here" in answer.text
    assert text_in(answer.text) == OPEN + "# mine\n"
    assert "another tab" in file.read_text()
    assert pages.client.post("/edit/save", data={**fields, "version": ""}).status_code == 303
    assert "# mine" in file.read_text()


def test_saved_is_said(pages: Pages) -> None:
    for fields, heading in (
        ({"then": "edit"}, "An experiment as a file"),
        ({}, "tiny"),
        ({"text": "x: 1"}, "as a file"),
    ):
        sent = {"name": "said.yaml", "text": TINY, "over": "on", **fields}
        answer = pages.client.post("/edit/save", data=sent, follow_redirects=True)
        assert answer.status_code == 200
        assert heading in answer.text
        assert '<p role="status" class="ok">Saved: said.yaml</p>' in answer.text
    assert "Saved:" not in pages.client.get("/edit/said.yaml").text


def test_our_own_texts_can_be_changed() -> None:
    for file in (TEMPLATE, *sorted(FOLDER.glob("*.yaml"))):
        assert shown(file.read_text()).whole, file.name


@pytest.mark.parametrize(
    ("text", "masked"),
    [("redis://***@h", True), ("password: ***", True), ("password: '***'", True), ("token: ***", True),
     ("# *** look ***", False), ("a: 2***3", False), ("", False), ("password: ${env:P}", False)],
)  # fmt: skip
def test_a_mask_is_told_from_stars(text: str, masked: bool) -> None:
    assert has_mask(text) == masked


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_a_browser_keeps_the_bytes(browser: webdriver.Chrome, pages: Pages) -> None:
    """Opened and saved in a real Chromium, a file is what it was; one with a password has no button to save it."""
    wait = WebDriverWait(browser, 60)
    browser.get(pages.entry)
    for name, text in (("plain.yaml", OPEN), ("secret.yaml", SECRET)):
        (pages.experiments / name).write_text(text)
        browser.get(f"{pages.base}/edit/{name}")
        buttons = browser.find_elements(By.NAME, "then")
        assert len(buttons) == (name == "plain.yaml")
        if buttons:
            browser.execute_script("arguments[0].click()", buttons[0])
            wait.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "[role=status]"))
            assert browser.find_element(By.CSS_SELECTOR, "[role=status]").text == "Saved: plain.yaml"
        else:
            assert "hunter2" not in browser.page_source
            assert "${env:NAME}" in browser.find_element(By.CSS_SELECTOR, "[role=alert]").text
        assert (pages.experiments / name).read_text() == text
