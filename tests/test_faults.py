"""`docs/faults.md` promises nothing that no test shows: each row names tests that are there and that run."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "faults.md"
HEADER = ["case", "what is promised", "the test that shows it"]
NAMED = re.compile(r"`([\w/.-]+)::([\w:]+)`")
Finder = Callable[[str, str], str]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each row below a header of ours, in whichever part of the page it stands."""
    within = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells == HEADER:
            within = True
        elif not cells:
            within = False
        elif within and set("".join(cells)) - set("-: "):
            yield cells


def mistakes(text: str, find: Finder) -> list[str]:
    """What is wrong with the table, a line each; `find` says what is wrong with one test, or nothing."""
    found = []
    cases: set[str] = set()
    for cells in rows(text):
        if len(cells) != len(HEADER) or not all(cells[:2]):
            found.append(f"{' | '.join(cells)}: a row has {len(HEADER)} cells, and none is empty")
            continue
        case, _, tests = cells
        if case.lower() in cases:
            found.append(f"{case}: stands there twice")
        cases.add(case.lower())
        named = NAMED.findall(tests)
        if not named:
            found.append(f"{case}: names no test; write `tests/file.py::test_name`")
        left = NAMED.sub("", tests).replace(",", "").strip()
        if named and left:
            found.append(f"{case}: '{left}' is no test; write `tests/file.py::test_name`")
        found += [f"{case}: {wrong}" for file, name in named if (wrong := find(file, name))]
    return found


def wrong_with(file: str, name: str) -> str:
    """Why a test cannot show anything: it is not there, or it never runs. Nothing if it can."""
    path = ROOT / file
    if not path.is_file():
        return f"there is no {file}"
    source = path.read_text()
    if path.suffix == ".rs":
        return wrong_with_rust(source, file, name)
    return wrong_with_python(ast.parse(source), file, name)


def wrong_with_rust(source: str, file: str, name: str) -> str:
    """Tests of `proptest!` stand under the same attribute."""
    found = re.search(rf"#\[test\]\s*((?:(?:#\[.*\]|//.*)\s*)*)fn {re.escape(name)}\b", source)
    if found is None:
        return f"{file} has no test {name}"
    return f"{file}::{name} is ignored" if "#[ignore" in found[1] else ""


def wrong_with_python(module: ast.Module, file: str, name: str) -> str:
    """`name` may be `Class::test_name`."""
    body, marks = module.body, marks_of(module)
    *classes, test = name.split("::")
    for required in classes:
        within = next((node for node in body if isinstance(node, ast.ClassDef) and node.name == required), None)
        if within is None:
            return f"{file} has no class {required}"
        marks += within.decorator_list
        body = within.body
    functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == test]
    if not functions or not test.startswith("test"):
        return f"{file} has no test {name}"
    marks += functions[-1].decorator_list
    if any(never_runs(mark) for mark in marks) or gives_up_at_once(functions[-1]):
        return f"{file}::{name} is skipped or may fail, whatever happens"
    return ""


def marks_of(module: ast.Module) -> list[ast.expr]:
    """Those of `pytestmark`, one or a list."""
    for node in module.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == "pytestmark" for target in node.targets):
            return list(node.value.elts) if isinstance(node.value, ast.List) else [node.value]
    return []


def never_runs(mark: ast.expr) -> bool:
    """`skip`, `skipif(True)`, or `xfail`, by which a test that fails is none."""
    call = ast.unparse(mark)
    if re.match(r"pytest\.mark\.(skip|xfail)\b(?!if)", call):
        return True
    condition = mark.args[0] if isinstance(mark, ast.Call) and mark.args else None
    return "pytest.mark.skipif" in call and isinstance(condition, ast.Constant) and bool(condition.value)


def gives_up_at_once(function: ast.FunctionDef) -> bool:
    """Whether what it does first, under no condition, is to skip; or whether it does nothing."""
    said = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    first = ast.unparse(said[0]) if said else "pass"
    return first == "pass" or first.startswith(("pytest.skip(", "pytest.xfail("))


def unread(text: str) -> list[str]:
    """Lines of tables that are no rows of ours: below another header, or below none."""
    read = {tuple(cells) for cells in rows(text)}
    lines = [line.strip() for line in text.splitlines() if line.startswith("|") and set(line) - set("|-: ")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return [" | ".join(one) for one in cells if one not in read and list(one) != HEADER]


def test_every_promise_is_shown_by_a_test_that_runs() -> None:
    text = TABLE.read_text()
    assert len(list(rows(text))) >= 140
    assert mistakes(text, wrong_with) == []


def test_no_section_of_the_page_is_left_out() -> None:
    text = TABLE.read_text()
    assert unread(text) == []
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [part.splitlines()[0] for part in sections if not list(rows(part))] == []


@pytest.mark.parametrize("header", ["| case | promise | test |\n|---|---|---|\n", ""])
def test_a_row_below_another_header_is_found(header: str) -> None:
    assert "a | b | `f.py::test_x`" in unread(f"{header}| a | b | `f.py::test_x` |")


ROW = "| case | what is promised | the test that shows it |\n|---|---|---|\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("| a | b | |", "names no test"),
        ("| a | b | to come |", "names no test"),
        ("| a | b |", "a row has 3 cells"),
        ("| a | | `f.py::test_x` |", "a row has 3 cells"),
        ("| a | b | `f.py::test_x` and more |", "'and more' is no test"),
        ("| a | b | `f.py::test_x` |\n| A | b | `f.py::test_x` |", "stands there twice"),
        ("| a | b | `tests/none.py::test_x` |", "there is no tests/none.py"),
        ("| a | b | `tests/test_faults.py::test_that_is_not_there` |", "has no test"),
        ("| a | b | `tests/test_faults.py::mistakes` |", "has no test"),
        ("| a | b | `engine/tests/drive/faults.rs::no_such_test` |", "has no test"),
    ],
)
def test_a_row_without_a_test_is_found(row: str, said: str) -> None:
    find = wrong_with if "/" in row else lambda _file, _name: ""
    found = mistakes(ROW + row, find)
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.skip\ndef test_x(): assert f()",
        "@pytest.mark.skip(reason='later')\ndef test_x(): assert f()",
        "@pytest.mark.skipif(True, reason='later')\ndef test_x(): assert f()",
        "@pytest.mark.xfail(reason='a defect')\ndef test_x(): assert f()",
        "pytestmark = pytest.mark.skip\ndef test_x(): assert f()",
        "pytestmark = [pytest.mark.slow, pytest.mark.skip]\ndef test_x(): assert f()",
        "def test_x():\n    '''Shows it.'''\n    pytest.skip('later')",
        "def test_x():\n    '''Shows it.'''",
        "@pytest.mark.skip\nclass A:\n    def test_x(self): assert f()",
    ],
)
def test_a_test_that_never_runs_shows_nothing(source: str) -> None:
    name = "A::test_x" if "class A" in source else "test_x"
    assert "whatever happens" in wrong_with_python(ast.parse(source), "f.py", name)


@pytest.mark.parametrize(
    "source",
    [
        "def test_x(): assert f()",
        "@pytest.mark.skipif(shutil.which('mvn') is None, reason='no Maven')\ndef test_x(): assert f()",
        "def test_x():\n    if os.getuid() != 0:\n        pytest.skip('needs root')\n    assert f()",
    ],
)
def test_a_test_that_needs_something_may_say_so(source: str) -> None:
    assert wrong_with_python(ast.parse(source), "f.py", "test_x") == ""


def test_rust_tests_are_found_ignored_or_not() -> None:
    source = "#[test]\nfn one() {}\n\n#[test]\n#[ignore]\nfn two() {}\nfn three() {}\n"
    assert wrong_with_rust(source, "f.rs", "one") == ""
    assert "ignored" in wrong_with_rust(source, "f.rs", "two")
    assert "no test" in wrong_with_rust(source, "f.rs", "three")
