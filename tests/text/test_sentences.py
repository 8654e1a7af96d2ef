"""Every message that the code makes has a sentence with the same figures, in every language."""

import ast
import inspect
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from pydantic_core import to_jsonable_python
from tests.scripts import script

from loadstone.judge.checks.checks import CHECKS
from loadstone.text import sentences
from loadstone.text.message import Message, message, read_message, verbatim
from loadstone.text.sentences import CATALOGUES, ENGLISH, render_message

PACKAGE = Path(__file__).parents[2] / "python" / "loadstone"
OF_ADD_ONS = [pair for _, catalogue in CATALOGUES.items() for pair in catalogue.items()]
SENTENCES = {**ENGLISH, **dict(OF_ADD_ONS)}


@cache
def made() -> list[tuple[str, str, frozenset[str] | None]]:
    """Where a message is made, its kind, and its figures (None: they are not written out)."""
    found: list[tuple[str, str, frozenset[str] | None]] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "message(" not in text:
            continue  # to parse the package takes seconds
        for node in ast.walk(ast.parse(text)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "message"):
                continue
            where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
            kind = node.args[0]
            if where.startswith("judge/checks/check.py:"):  # the question of a check is named after it
                found += [(where, f"check.{one.name}", frozenset()) for one in CHECKS]
                continue
            assert isinstance(kind, ast.Constant), f"{where}: the kind of a message is written out"
            names = [keyword.arg for keyword in node.keywords]
            known = frozenset(name for name in names if name)
            found.append((where, str(kind.value), None if None in names else known))
    return found


def figures_of(sentence: object) -> tuple[frozenset[str], frozenset[str]]:
    """The figures that a sentence needs, and all that it takes."""
    if isinstance(sentence, str):
        names = frozenset(name.split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(sentence) if name)
        return names, names
    assert callable(sentence)
    parameters = inspect.signature(sentence).parameters
    needed = frozenset(name for name, one in parameters.items() if one.default is inspect.Parameter.empty)
    return needed, frozenset(parameters)


def misfit(kind: str, figures: frozenset[str] | None) -> str:
    """What is wrong with the sentence of a message; empty: nothing."""
    if kind not in SENTENCES:
        return "has no sentence"
    needed, taken = figures_of(SENTENCES[kind])
    if figures is None:
        return ""
    if missing := needed - figures:
        return f"its sentence needs {sorted(missing)}"
    left = frozenset() if isinstance(SENTENCES[kind], str) else figures - taken
    return f"its sentence does not take {sorted(left)}" if left else ""


def test_every_message_has_its_sentence() -> None:
    assert len(made()) > 500
    assert [f"{where}: {kind} {wrong}" for where, kind, figures in made() if (wrong := misfit(kind, figures))] == []


def test_a_message_that_does_not_fit_its_sentence_is_noticed() -> None:
    assert misfit("no.such", frozenset()) == "has no sentence"
    assert misfit("check.taken.bound", frozenset({"bound", "stolen"})) == "its sentence needs ['programs']"
    taking = next(kind for kind, one in SENTENCES.items() if not isinstance(one, str))
    needed, _ = figures_of(SENTENCES[taking])
    assert misfit(taking, needed | {"nobodys"}) == "its sentence does not take ['nobodys']"
    assert misfit(taking, needed) == ""


def test_no_sentence_is_left_over() -> None:
    assert set(SENTENCES) - {kind for _, kind, _ in made()} == {"as_written"}
    assert len(SENTENCES) == len(ENGLISH) + len(OF_ADD_ONS), "two have the same name"


def test_a_text_of_others_is_said_as_it_is() -> None:
    assert render_message(verbatim("ERR {not} a format")) == "ERR {not} a format"


def test_no_template_is_taken_for_a_code() -> None:
    said = (node.args[0] for _, node, name in script("texts").calls() if name in ("said", "said_as") and node.args)
    templates = {first.value for first in said if isinstance(first, ast.Constant) and isinstance(first.value, str)}
    assert len(templates) > 1000
    assert {text for text in templates if text in SENTENCES or sentences.CODE.fullmatch(text)} == set()


def test_a_message_that_came_back_from_a_file() -> None:
    inner = message("as_written", text="here")
    there = read_message(to_jsonable_python(message("as_written", text=inner)))
    assert render_message(there) == "here"


@pytest.mark.parametrize(
    ("kind", "figures", "said"),
    [
        ("of_a_later_version", {}, "[of_a_later_version]"),
        ("of_a_later_version", {"share": 0.5}, "[of_a_later_version: share=0.5]"),
        ("check.swap.not_reported", {"share": 1}, "This system does not report whether memory was swapped."),
        ("check.temporary_files.written", {"server": "db"}, "[check.temporary_files.written: server=db]"),
        (
            "check.temporary_files.written",
            {"server": "{0.__class__}", "megabytes_per_s": "much"},
            "[check.temporary_files.written: server={0.__class__}, megabytes_per_s=much]",
        ),
        ("check.taken.bound", {"taken": []}, "[check.taken.bound: taken=[]]"),
        ("{text.__class__}", {"text": "a"}, "[{text.__class__}: text=a]"),
        ("{text[0]}", {"text": "a"}, "[{text[0]}: text=a]"),
        ("{text:>999999999}", {"text": "a"}, "[{text:>999999999}: text=a]"),
        ("{share:{text}}", {"share": 1, "text": "999999999d"}, "[{share:{text}}: share=1, text=999999999d]"),
        ("half of it} {", {}, "[half of it} {]"),
    ],
)
def test_a_message_of_a_damaged_folder_is_printed_as_it_is(kind: str, figures: dict[str, object], said: str) -> None:
    assert render_message(Message(kind=kind, figures=figures)) == said
