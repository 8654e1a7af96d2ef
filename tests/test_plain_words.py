"""Messages, documentation and code say things in words that a backend engineer uses."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from loadstone.cli import app

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
CODE = sorted(PACKAGE.rglob("*.py"))
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
EXPERIMENTS = sorted([*(ROOT / "experiments").glob("*.yaml"), *PACKAGE.rglob("*.yaml")])
TEMPLATES = sorted((PACKAGE / "report").rglob("*.j2"))

NOT_PLAIN = re.compile(
    r"\b(told|asked|wanted|seen|heed\w*|knock\w*|unlike|nobody|anew|words|lanes?|in vain|at hand|in hand|for want of"
    r"|of its own accord|(?<!so )that what|out of breath|could see|held back|right repl(y|ies)|load programs?"
    r"|cannot tell|tell apart|somebody|whoever|held against|taken for|readably|right answers?)\b",
    re.IGNORECASE,
)
"""What must not come back; `requested`, `required`, `observed`, `correct reply`, `bottleneck` and `text` do."""
RECORDED = {"seen", "unlike", "words"}
"""Keys of a run's folder, of today or of before: they keep their names, and alone they are no sentence."""
ACCOUNTS = {"nobody"}
"""Users of a system, by name."""


def plain(text: str) -> list[str]:
    """The words in `text` that are not plain."""
    return [found[0] for found in NOT_PLAIN.finditer(text)]


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every string that is no docstring."""
    explained = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
            yield node.lineno, node.value


@pytest.mark.parametrize("text", ["The server was ASKED.", "right replies", "nobody tells", "a heedless run"])
def test_the_list_finds_what_it_is_for(text: str) -> None:
    assert plain(text)
    assert not plain("The server reported no correct reply; it was queried again.")


def test_there_is_something_to_read() -> None:
    assert min(map(len, (CODE, DOCS, EXPERIMENTS, TEMPLATES))) > 3


def test_messages_are_in_plain_words() -> None:
    found = [
        (str(path.relative_to(PACKAGE)), line, text)
        for path in CODE
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert [place for place in found if place[2] not in RECORDED | ACCOUNTS and plain(place[2])] == []


def test_every_help_text_is_in_plain_words() -> None:
    group = typer.main.get_command(app)
    commands = list(getattr(group, "commands").values())  # noqa: B009
    commands += [inner for one in commands for inner in getattr(one, "commands", {}).values()]
    assert len(commands) > 5
    for command in commands:
        shown = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        assert [text for text in shown if plain(text)] == [], command.name


@pytest.mark.parametrize("path", [*DOCS, *EXPERIMENTS], ids=lambda path: path.name)
def test_documents_and_experiments_are_in_plain_words(path: Path) -> None:
    said = re.sub(r"`[^`]*`|```.*?```|\]\([^)]*\)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [line for line in said.splitlines() if plain(line)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_the_page_is_in_plain_words(path: Path) -> None:
    said = re.sub(r"<[^>]*>|\{[{%#].*?[}%#]\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert plain(said) == []
