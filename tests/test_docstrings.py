"""What docstrings and comments refer to is there: modules, what stands in them, and files."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
MODULES = sorted(PACKAGE.rglob("*.py"))
TOPS = {path.stem if path.suffix else path.name for path in PACKAGE.iterdir()}
NO_BEGINNING = re.compile(r"\s*(?:Of|The same|So|By)\b")
"""A docstring that begins so has no subject, or needs the line above it."""
NO_BEGINNING_OF_CODE = re.compile(r"\s*(?:Of|The same|So|By|How)\b")
"""A field may be described as 'How many connections are open'; a function returns it, a class or module is a noun."""
NAME = re.compile(r"`(?:loadstone\.)?([a-z_]+(?:\.\w+)+)`")
FILE = re.compile(r"`([\w./-]+\.(?:py|rs))`")
REFERRING_COMMENT = re.compile(r"#.*`")
"""A line that may hold a comment with a reference: every reference stands in backquotes."""
ANY_ROOM = "servers/NAME/"
KEYS = {"experiment.servers", "servers.NAME.kind"}
"""Keys of an experiment that are no modules, though a folder has the name of the first part."""
DATA = (".json", ".jsonl", ".md", ".yaml", ".html", ".csv", ".py")


@cache
def strings(path: Path) -> tuple[tuple[int, str, bool, bool], ...]:
    """The texts that are statements: line, text, whether one begins a body, and whether it stands in a body at all.

    Kept for all tests: to parse the package takes seconds.
    """
    found: dict[int, tuple[int, str, bool, bool]] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.setdefault(id(node), (node.lineno, node.value.value, False, False))
        for place, statement in enumerate(body if isinstance(body := getattr(node, "body", None), list) else []):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[id(statement)] = (statement.lineno, value.value, place == 0, True)
    return tuple(found.values())


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a file, those below its constants and fields, and its comments that refer to something."""
    yield from ((line, text) for line, text, _, _ in strings(path))
    text = path.read_text()
    if not REFERRING_COMMENT.search(text):
        return  # to look for tokens takes longer than all else
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def docstrings(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield the line and text of each docstring, and whether it is of a module, a class or a function."""
    yield from ((line, text, begins) for line, text, begins, in_body in strings(path) if in_body)


def without_a_subject(path: Path) -> list[str]:
    """Return the docstrings of a file that begin in a way that needs the line above, each with its line."""
    return [
        f"{path.parent.name}/{path.name}:{line}: {text.strip()[:60]}"
        for line, text, of_code in docstrings(path)
        if (NO_BEGINNING_OF_CODE if of_code else NO_BEGINNING).match(text)
    ]


@cache
def defined_in(path: Path) -> frozenset[str]:
    """The names that a module has."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return frozenset(found)


@cache
def files() -> frozenset[str]:
    """The names of all files of the package."""
    return frozenset(path.name for path in PACKAGE.rglob("*"))


def is_there(name: str, folder: Path) -> bool:
    """Whether a dotted name is a module or a room, or stands in one; below `folder`, too."""
    parts = name.split(".")
    for root in (PACKAGE, folder):
        for length in range(len(parts), 0, -1):
            at = root.joinpath(*parts[:length])
            if at.with_suffix(".py").exists():
                return length == len(parts) or parts[length] in defined_in(at.with_suffix(".py"))
            if length == len(parts) and at.is_dir():
                return True
    return False


def missing(path: Path) -> list[str]:
    """What the prose of a file refers to and is not there."""
    found = []
    where = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
    for line, text in prose(path):
        for name in NAME.findall(text):
            if name.split(".")[0] in TOPS and name not in KEYS and not name.endswith(DATA):
                found += [] if is_there(name, path.parent) else [f"{where}:{line}: {name}"]
        for name in FILE.findall(text):
            roots = (ROOT, PACKAGE, path.parent, ROOT / "engine" / "src", ROOT / "engine", ROOT / "clients")
            there = any((root / name).exists() for root in roots) or name.startswith(ANY_ROOM)
            if not there and ("/" in name or name not in files()):
                found.append(f"{where}:{line}: {name}")
    return found


def test_what_docstrings_refer_to_is_there() -> None:
    assert [line for path in MODULES for line in missing(path)] == []


def test_a_docstring_stands_alone() -> None:
    assert [line for path in MODULES for line in without_a_subject(path)] == []


@pytest.mark.parametrize(
    ("text", "stands_alone"),
    [
        ('def f():\n    """Of a plan."""', False),
        ('def f():\n    """How long it takes."""', False),
        ('class C:\n    """The same of a gate."""', False),
        ('N = 1\n"""So many are kept."""', False),
        ('class C:\n    n: int\n    """By command."""', False),
        ('def f():\n    """Return how long it takes."""', True),
        ('class C:\n    """A byte range."""\n\n    n: int\n    """How many connections are open."""', True),
    ],
)
def test_a_docstring_that_needs_the_line_above_is_noticed(text: str, stands_alone: bool, tmp_path: Path) -> None:
    module = tmp_path / "x.py"
    module.write_text(f"{text}\n")
    assert (without_a_subject(module) == []) is stands_alone


@pytest.mark.parametrize(
    "text",
    [
        "`judge.checks.no.judge_trial`",
        "`servers.registry.NO_SUCH`",
        "`run_folder/no.py`",
        "`no_such.py`",
        "`experiment.x`",
    ],
)
def test_what_is_gone_is_noticed(text: str, tmp_path: Path) -> None:
    module = tmp_path / "x.py"
    module.write_text(f'"""See {text}, `experiment.software.SOFTWARE` and `run_folder/facts.py`."""\n')
    assert len(missing(module)) == 1
