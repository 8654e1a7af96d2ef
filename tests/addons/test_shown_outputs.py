"""What the READMEs and the tutorial show is what the program prints now, and nothing stands there by hand."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.calling import Running, calling
from tests.scripts import checked, script
from tests.test_documented_commands import GUIDES, OTHERS, OURS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
shown = script("shown")


@pytest.fixture(autouse=True)
def _quick_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are forks of a process that has loaded everything; the first page's start Python."""

    def start(words: Sequence[str], terminal: int, folder: Path, environment: Mapping[str, str]) -> Running:
        files = {"stdin": subprocess.DEVNULL, "stdout": terminal, "stderr": terminal}
        return calling(*words, folder=folder, environment=environment, **files)

    for name in [name for name in os.environ if name.startswith("LOADSTONE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(shown, "start", start)


def test_what_a_page_shows_is_what_is_printed_now() -> None:
    """By the script itself, which starts each command as a shell does."""
    assert checked("shown", shown.PAGES[0]) == (0, "")


@pytest.mark.parametrize("name", [*shown.PAGES[1:], *shown.PICTURES])
def test_what_is_shown_is_what_is_printed_now(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["shown.py", "--check", name])
    assert shown.main() == 0


def test_the_guides_are_the_pages() -> None:
    assert [ROOT / name for name in shown.PAGES] == GUIDES


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_no_output_stands_there_by_hand(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "output of:" in text
    by_hand = shown.SHOWN.sub("", text)
    assert "<!--" not in by_hand, "a comment that makes nothing"
    for language, block in BLOCK.findall(by_hand):
        if language != "yaml":
            typed = [line.removeprefix("$ ") for line in block.splitlines()]
            assert [line for line in typed if not OURS.match(line) and not line.startswith(OTHERS)] == []


@pytest.mark.parametrize("path", GUIDES[:2], ids=lambda path: path.name)
def test_a_terminal_of_100_columns_has_room_for_it(path: Path) -> None:
    lines = [
        line for one in shown.SHOWN.finditer(path.read_text(encoding="utf-8")) for line in one["text"].splitlines()
    ]
    assert len(lines) > 15
    assert [line for line in lines if cell_len(line) > shown.COLUMNS] == []


def test_what_was_changed_by_hand_is_made_again() -> None:
    page = "<!-- output of: loadstone --version -->\n```\nloadstone 99\n```\n<!-- end -->\nText.\n"
    made = shown.page(page)
    assert re.search(r"```\nloadstone \d+\.\d+\.\d+\nengine .*\n```", made)
    assert "99" not in made
    assert made.endswith("<!-- end -->\nText.\n")
    assert shown.page(made) == made


def test_commands_of_a_page_follow_each_other_in_one_folder() -> None:
    made = shown.page(
        "<!-- output of: loadstone init mine.yaml -->\n<!-- end -->\n"
        "<!-- output of: loadstone init mine.yaml | status: 2 -->\n<!-- end -->\n"
        "<!-- content of: mine.yaml -->\n<!-- end -->\n"
    )
    assert "loadstone: init mine.yaml: there is such a file already" in made
    yaml = made.partition("```yaml\n")[2]
    assert yaml.startswith("format: 1\nname: mine\n")
    assert "#" not in yaml.partition("```")[0]


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("output of: loadstone rnu", "ended with status 2 instead of 0"),
        ("output of: loadstone list | status: 3", "ended with status 0 instead of 3"),
        ("output of: rm -r .", "only commands of loadstone are run"),
        ("output of: loadstone list | colums: 80", "unknown: colums"),
        ("output of: loadstone runs | record: no-such", "there is no frozen run no-such; there are "),
    ],
)
def test_what_cannot_be_made_is_an_error(marker: str, said: str) -> None:
    with pytest.raises(shown.Wrong, match=re.escape(said)):
        shown.page(f"<!-- {marker} -->\n<!-- end -->\n")


def test_of_a_run_day_machine_and_servers_are_shown() -> None:
    made = shown.page("(<!-- machine of: json-documents -->long ago<!-- end -->)")
    assert re.fullmatch(r"\(<!-- .+ -->20\d\d-\d\d-\d\d, \w+, \d+ CPUs?, redis [\d.]+<!-- end -->\)", made)


def test_what_a_command_says_of_a_recorded_run_names_its_day(tmp_path: Path) -> None:
    run = shown.recorded("json-documents", tmp_path)
    assert run.parent == tmp_path / "runs"
    assert re.fullmatch(r"20\d{6}T\d{6}Z-json-documents", run.name)
