"""Every command that the documentation names is one that the command line takes, as it stands there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from loadstone.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "README.ko.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:\.venv/bin/)?loadstone [^`]+)`")
ELLIPSIS = {"...", "…"}
"""Where a command is shown in part: what stands before it must be right."""


def commands(page: str) -> Iterator[str]:
    """The commands of a page's blocks and of its sentences, a line each, as they would be typed."""
    for block in BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            typed = line.removeprefix("$ ").strip()
            if re.match(r"(\.venv/bin/)?loadstone ", typed):
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


def parse(arguments: list[str]) -> None:
    """As the command line does before it carries anything out. Raises what it raises of a wrong option."""
    command = typer.main.get_command(app)
    while isinstance(command, TyperGroup) and arguments and not arguments[0].startswith("-"):
        name, arguments = arguments[0], arguments[1:]
        following = command.commands.get(name)
        assert following is not None, f"there is no command {name}"
        command = following
    if arguments and not isinstance(command, TyperGroup):
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        typed = [word.partition("=")[0] for word in arguments if re.match(r"--?[a-zA-Z3]", word)]
        assert [word for word in typed if word not in known | {"--help", "-h"}] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_of_a_page_is_taken(path: Path) -> None:
    wrong = []
    for command in commands(path.read_text(encoding="utf-8")):
        try:
            parse(words(command))
        except (AssertionError, ValueError) as error:
            wrong.append(f"{command}: {str(error).splitlines()[0]}")
    assert wrong == []


def test_the_pages_name_commands() -> None:
    assert len(list(commands((ROOT / "README.md").read_text()))) > 15
    assert len(list(commands((ROOT / "docs" / "load-commands.md").read_text()))) > 30


@pytest.mark.parametrize("command", ["loadstone redis --no-such", "loadstone rdis", "loadstone saturate nothing"])
def test_what_is_wrong_is_found(command: str) -> None:
    with pytest.raises(AssertionError):
        parse(words(command))
