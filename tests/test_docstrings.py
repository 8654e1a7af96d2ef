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
NAME = re.compile(r"`(?:loadstone\.)?([a-z_]+(?:\.\w+)+)`")
FILE = re.compile(r"`([\w./-]+\.(?:py|rs))`")
ANY_ROOM = "servers/NAME/"
KEYS = {"experiment.servers", "servers.NAME.kind"}
"""Keys of an experiment that are no modules, though a folder has the name of the first part."""
DATA = (".json", ".jsonl", ".md", ".yaml", ".html", ".csv", ".py")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a file, those below its constants and fields, and its comments, with their lines."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


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
            if not there and ("/" in name or not any(PACKAGE.rglob(name))):
                found.append(f"{where}:{line}: {name}")
    return found


def test_what_docstrings_refer_to_is_there() -> None:
    assert [line for path in MODULES for line in missing(path)] == []


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
