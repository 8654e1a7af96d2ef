"""Every command that the documentation shows is one that the command line accepts.

Of all pages the names of commands and options are checked. Of the guides, from which users copy, the command line also
parses every value (`make_context`), and nothing is carried out. A command whose output a guide shows is run
(`addons/test_shown_outputs.py`).
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.exceptions import TyperException

from loadstone.safety.errors import UserError
from tests.parser import parser

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "README.ko.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")])
GUIDES = [ROOT / name for name in ("README.md", "README.ko.md", "docs/tutorial.md", "docs/ko/tutorial.md")]
OURS = re.compile(r"(\.venv/bin/)?loadstone ")
OTHERS = ("make ", "tail -f ")
"""What else is typed in the guides."""
MADE = re.compile(r"\bmake ([a-z-]+)\b")
BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:\.venv/bin/)?loadstone [^`]+)`")
ELLIPSIS = {"...", "…"}
"""Where a command is shown in part: what stands before it must be right."""


def commands(page: str) -> Iterator[str]:
    """The commands of a page's blocks and of its sentences, a line each, as they would be typed."""
    for block in BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            typed = line.removeprefix("$ ").strip()
            if OURS.match(typed):
                yield typed
    yield from INLINE.findall(BLOCK.sub("", page))


def words(command: str) -> list[str]:
    """Without its comment, and without what its output is sent to."""
    lexer = shlex.shlex(re.split(r" {4,}", command)[0], posix=True, punctuation_chars=True)  # and what explains it
    lexer.whitespace_split = True
    found: list[str] = []
    for word in lexer:
        if word in {"|", "||", ">", ";", "&&", "2>"} or word in ELLIPSIS:
            break
        found.append(word)
    return found[1:]


def named(arguments: list[str]) -> tuple[Any, list[str]]:
    """The command that these words name, and what follows it."""
    command = parser()
    while isinstance(command, TyperGroup) and arguments and not arguments[0].startswith("-"):
        name, arguments = arguments[0], arguments[1:]
        following = command.commands.get(name)
        assert following is not None, f"there is no command {name}"
        command = following
    return command, arguments


def parse(arguments: list[str]) -> None:
    """As the command line does before it carries anything out. Raises what it raises of a wrong option."""
    command, arguments = named(arguments)
    if arguments and not isinstance(command, TyperGroup):
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        typed = [word.partition("=")[0] for word in arguments if re.match(r"--?[a-zA-Z3]", word)]
        assert [word for word in typed if word not in known | {"--help", "-h"}] == []


def take(arguments: list[str]) -> None:
    """The same with the values of options and arguments. Raises TyperException, UserError."""
    command, arguments = named(arguments)
    command.make_context("loadstone", arguments)


@pytest.mark.whole
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_of_a_page_is_taken(path: Path) -> None:
    wrong = []
    for command in commands(path.read_text(encoding="utf-8")):
        try:
            parse(words(command))
        except (AssertionError, ValueError) as error:
            wrong.append(f"{command}: {str(error).splitlines()[0]}")
    assert wrong == []


@pytest.mark.whole
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_every_command_of_a_guide_can_be_typed(path: Path) -> None:
    wrong = []
    for command in commands(path.read_text(encoding="utf-8")):
        if ELLIPSIS.isdisjoint(command.split()):
            try:
                take(words(command))
            except (TyperException, UserError, AssertionError) as error:
                wrong.append(f"{command}: {error}")
    assert wrong == []


@pytest.mark.parametrize("path", [*GUIDES, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_what_is_made_is_a_target_of_the_makefile(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = path.read_text(encoding="utf-8")
    quoted = [*re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)), *BLOCK.findall(text)]
    named = {name for code in quoted for name in MADE.findall(code)}
    assert named
    assert named <= targets


def test_the_pages_name_commands() -> None:
    assert len(list(commands((ROOT / "README.md").read_text()))) > 15
    assert len(list(commands((ROOT / "docs" / "load-commands.md").read_text()))) > 30


@pytest.mark.parametrize("command", ["loadstone redis --no-such", "loadstone rdis", "loadstone saturate nothing"])
def test_what_is_wrong_is_found(command: str) -> None:
    with pytest.raises(AssertionError):
        parse(words(command))


@pytest.mark.parametrize(
    "command",
    [
        "loadstone run a.yaml --blocks many",
        "loadstone run a.yaml --budget",
        "loadstone run a.yaml b.yaml",
        "loadstone report",
        "loadstone redis -c 0.5",
    ],
)
def test_a_wrong_value_is_found(command: str) -> None:
    parse(words(command))
    with pytest.raises((TyperException, UserError)):
        take(words(command))
