#!/usr/bin/env python3
"""Prints what loadstone promises for each fault, with the test that shows it; `faults.py disk` prints one area.

In Python the test carries `@pytest.mark.fault("case", "promise", area="servers")`, in Rust a line
`/// Fault (servers): case: promise` above `#[test]`. A further test of the same case names the case only.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
AREAS = {
    "servers": "Servers and applications that die or restart",
    "interrupted": "Loadstone is interrupted or killed",
    "leftovers": "Leftovers on your servers",
    "data": "Data of others on your servers",
    "commands": "Commands and SQL for your servers",
    "users": "Other users and processes of the machine",
    "limits": "The machine's limits",
    "disk": "The disk and the run's folder",
    "load": "Load that stalls or breaks",
    "replies": "Replies and parsers",
    "drivers": "Drivers, images and container engines",
    "transport": "Hostile databases, and the way to a server",
    "secrets": "Secrets",
    "foreign": "An experiment from someone else",
    "fleet": "A fleet of agents",
    "input": "Input, terminal and defects",
}
"""Name in a marker -> heading, in the order of the list."""
RUST_LINE = r"///\s*Fault(?: \((?P<area>\w+)\))?: (?P<text>.+)"
RUST = re.compile(RUST_LINE + r"\n(?P<between>(?:\s*(?:///|//|#\[).*\n)*)\s*fn (?P<name>\w+)")


class Mistake(Exception):
    """A marker that cannot be used; the text names the file and the test."""


@dataclass(frozen=True)
class Mark:
    """What a test says that it shows."""

    file: str
    test: str
    case: str
    promise: str = ""
    area: str = ""


@dataclass
class Fault:
    """A case, with what is promised and the file of the test that shows it."""

    case: str
    promise: str
    file: str


def marks_of_python(source: str, file: str) -> Iterator[Mark]:
    """The markers of a module's tests.

    Raises:
        Mistake: a marker is not of the form above, or its test never runs.
    """
    module = ast.parse(source)
    yield from _within(module.body, marks_of_module(module), file, "")


def _within(body: list[ast.stmt], outer: list[ast.expr], file: str, prefix: str) -> Iterator[Mark]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _within(node.body, [*outer, *node.decorator_list], file, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef):
            marks = [*outer, *node.decorator_list]
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.fault":
                    where = f"{file}::{prefix}{node.name}"
                    if not node.name.startswith("test"):
                        raise Mistake(f"{where} is no test")
                    if any(map(never_runs, marks)) or gives_up_at_once(node):
                        raise Mistake(f"{where} is skipped or may fail, whatever happens")
                    yield _mark(mark, file, prefix + node.name)


def _mark(call: ast.Call, file: str, test: str) -> Mark:
    try:
        texts = [str(ast.literal_eval(argument)) for argument in call.args]
        named = {keyword.arg: str(ast.literal_eval(keyword.value)) for keyword in call.keywords}
        return Mark(file, test, *texts, **named)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise Mistake(f"{file}::{test}: write fault('case', 'promise', area='...'), or fault('case')") from None


def marks_of_rust(source: str, file: str) -> Iterator[Mark]:
    """The markers of a file's tests, those of `proptest!` included.

    Raises:
        Mistake: what follows is no test, or it is ignored.
    """
    for test in RUST.finditer(source):
        where, between = f"{file}::{test['name']}", test["between"]
        if "#[test]" not in between:
            raise Mistake(f"{where} is no test")
        if "#[ignore" in between:
            raise Mistake(f"{where} is ignored")
        for line in [test, *re.finditer(RUST_LINE, between)]:
            case, _, promise = line["text"].partition(": ")
            yield Mark(file, test["name"], case, promise, line["area"] or "")


def marks_of_module(module: ast.Module) -> list[ast.expr]:
    """Those of `pytestmark`, one or a list."""
    for node in module.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == "pytestmark" for target in node.targets):
            return list(node.value.elts) if isinstance(node.value, ast.List) else [node.value]
    return []


def never_runs(mark: ast.expr) -> bool:
    """`skip`, `skipif(True)`, or `xfail`: such a test cannot fail."""
    call = ast.unparse(mark)
    if re.match(r"pytest\.mark\.(skip|xfail)\b(?!if)", call):
        return True
    condition = mark.args[0] if isinstance(mark, ast.Call) and mark.args else None
    return "pytest.mark.skipif" in call and isinstance(condition, ast.Constant) and bool(condition.value)


def gives_up_at_once(function: ast.FunctionDef) -> bool:
    """Whether its first statement skips under no condition, or it has no statement."""
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    first = ast.unparse(body[0]) if body else "pass"
    return first == "pass" or first.startswith(("pytest.skip(", "pytest.xfail("))


def marks() -> Iterator[Mark]:
    """All markers of the project, file by file."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "mark.fault(" in source:
            yield from marks_of_python(source, str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "engine").rglob("*.rs")):
        source = path.read_text(encoding="utf-8")
        if "/// Fault" in source:
            yield from marks_of_rust(source, str(path.relative_to(ROOT)))


def faults(marked: Iterable[Mark]) -> dict[str, list[Fault]]:
    """Area -> its cases, in order of the files of their tests.

    Raises:
        Mistake: a case is promised twice, promised nothing, or of an area that the list does not have.
    """
    marked = list(marked)
    cases: dict[str, Fault] = {}
    areas: dict[str, list[Fault]] = {area: [] for area in AREAS}
    for mark in marked:
        if mark.promise:
            if mark.case.lower() in cases:
                raise Mistake(f"{mark.file}::{mark.test}: '{mark.case}' is promised twice")
            if mark.area not in AREAS:
                raise Mistake(f"{mark.file}::{mark.test}: area '{mark.area}' is unknown; areas are {', '.join(AREAS)}")
            cases[mark.case.lower()] = fault = Fault(mark.case, mark.promise, mark.file)
            areas[mark.area].append(fault)
    for mark in marked:
        if mark.case.lower() not in cases:
            raise Mistake(f"{mark.file}::{mark.test}: no test promises anything of '{mark.case}'")
    return areas


def text(areas: dict[str, list[Fault]]) -> str:
    """The list: under the heading of each area a line for each case."""
    return "\n".join(f"{AREAS[area]}\n{''.join(map(_line, cases))}" for area, cases in areas.items())


def _line(fault: Fault) -> str:
    case = fault.case[:1].upper() + fault.case[1:]
    return f"  {case}: {fault.promise}. ({fault.file})\n"


def main(asked: list[str]) -> int:
    """Print the areas that are asked for, or all of them."""
    unknown = [area for area in asked if area not in AREAS]
    if unknown:
        sys.stderr.write(f"unknown: {', '.join(unknown)}; areas are {', '.join(AREAS)}\n")
        return 2
    try:
        found = faults(marks())
    except Mistake as mistake:
        sys.stderr.write(f"{mistake}\n")
        return 1
    sys.stdout.write(text({area: found[area] for area in asked or AREAS}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
