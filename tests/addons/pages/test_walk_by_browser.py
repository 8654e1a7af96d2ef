"""A form in a real Chromium: what a browser sends of our own pages is taken, and is checked while it is typed."""

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from .conftest import Pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PATIENCE_S = 60.0


def test_a_form_is_checked_and_sent(browser: webdriver.Chrome, pages: Pages) -> None:
    wait = WebDriverWait(browser, PATIENCE_S)
    browser.get(pages.entry)
    assert pages.token not in browser.current_url
    browser.find_element(By.ID, "quick-url").send_keys("nowhere:1")
    wait.until(lambda _: "begins with no scheme" in browser.find_element(By.ID, "told").text)
    browser.get_log("browser")
    browser.find_element(By.ID, "quick-url").submit()
    wait.until(lambda _: browser.current_url.endswith("/quick/start"))
    assert "begins with no scheme" in browser.find_element(By.CSS_SELECTOR, "[role=alert]").text
    policy = [entry for entry in browser.get_log("browser") if "Security" in entry["message"]]
    assert policy == []


def test_a_message_leads_to_its_line(browser: webdriver.Chrome, pages: Pages) -> None:
    wait = WebDriverWait(browser, PATIENCE_S)
    browser.get(pages.entry)
    browser.get(f"{pages.base}/edit")
    wait.until(lambda _: "can be run" in browser.find_element(By.ID, "checked").text)
    area = browser.find_element(By.ID, "text")
    wrong = "x" * 30
    browser.execute_script("arguments[0].value = arguments[0].value.replace('kind: closed', arguments[1])", area, wrong)
    area.send_keys(" ")
    wait.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#checked .to-line"))
    line = area.get_attribute("value").split(wrong)[0].count("\n") + 1
    button = browser.find_element(By.CSS_SELECTOR, "#checked .to-line")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()
    picked = "const a = document.activeElement; return a.value.slice(a.selectionStart, a.selectionEnd)"
    assert browser.find_element(By.CSS_SELECTOR, "#checked .to-line").text == f"Go to line {line}"
    assert wrong in browser.execute_script(picked)
