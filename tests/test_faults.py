"""`scripts/faults.py` lists the promises of the tests that show them, and each of these tests runs."""

from pathlib import Path
from types import ModuleType

import pytest

from tests import scripts

ROOT = Path(__file__).parents[1]
LEAST = 165
"""Promises of the list; fewer means that a marker was lost."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return scripts.script("faults")


@pytest.mark.whole
def test_every_promise_is_printed(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([]) == 0
    printed = capsys.readouterr().out
    assert all(f"{heading}\n" in printed for heading in script.AREAS.values())
    assert printed.count("\n  ") == sum(map(len, script.faults(script.marks()).values()))


@pytest.mark.whole
def test_one_area_is_printed_alone(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["disk"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{script.AREAS['disk']}\n  ")
    assert script.AREAS["fleet"] not in printed


def test_an_unknown_area_is_refused(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["weather"]) == 2
    assert "unknown: weather; areas are servers, " in capsys.readouterr().err


@pytest.mark.whole
def test_no_promise_was_lost(script: ModuleType) -> None:
    areas = script.faults(script.marks())
    assert sum(map(len, areas.values())) >= LEAST
    assert all(areas.values()), "an area without a promise"


MAIN = '@pytest.mark.fault("a case", "a promise", area="disk")\n'
PYTHON = "def test_x(): assert f()\n"


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        (MAIN + PYTHON + MAIN + "def test_y(): assert f()", "'a case' is promised twice"),
        ('@pytest.mark.fault("a case", "a promise", area="weather")\n' + PYTHON, "area 'weather' is unknown"),
        ('@pytest.mark.fault("a case", "a promise")\n' + PYTHON, "area '' is unknown"),
        ('@pytest.mark.fault("another case")\n' + PYTHON, "no test promises anything of 'another case'"),
        ("@pytest.mark.fault()\n" + PYTHON, "write fault("),
        ("@pytest.mark.fault(CASE)\n" + PYTHON, "write fault("),
        (MAIN + "def helper(): assert f()", "f.py::helper is no test"),
    ],
)
def test_a_marker_of_another_form_is_named(script: ModuleType, source: str, reported: str) -> None:
    with pytest.raises(script.Mistake, match=reported.replace("(", r"\(")):
        script.faults(script.marks_of_python(source, "f.py"))


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.skip\n" + MAIN + PYTHON,
        MAIN + "@pytest.mark.skip(reason='later')\n" + PYTHON,
        "@pytest.mark.skipif(True, reason='later')\n" + MAIN + PYTHON,
        "@pytest.mark.xfail(reason='a defect')\n" + MAIN + PYTHON,
        "pytestmark = pytest.mark.skip\n" + MAIN + PYTHON,
        "pytestmark = [pytest.mark.slow, pytest.mark.skip]\n" + MAIN + PYTHON,
        MAIN + "def test_x():\n    '''Shows it.'''\n    pytest.skip('later')",
        MAIN + "def test_x():\n    '''Shows it.'''",
        "@pytest.mark.skip\nclass A:\n    " + MAIN + "    def test_x(self): assert f()",
    ],
)
def test_a_test_that_never_runs_shows_nothing(script: ModuleType, source: str) -> None:
    with pytest.raises(script.Mistake, match="whatever happens"):
        list(script.marks_of_python(source, "f.py"))


@pytest.mark.parametrize(
    "source",
    [
        MAIN + PYTHON,
        "@pytest.mark.skipif(shutil.which('mvn') is None, reason='no Maven')\n" + MAIN + PYTHON,
        MAIN + "def test_x():\n    if os.getuid() != 0:\n        pytest.skip('needs root')\n    assert f()",
        "class A:\n    " + MAIN + "    def test_x(self): assert f()",
    ],
)
def test_a_test_that_needs_something_may_say_so(script: ModuleType, source: str) -> None:
    (mark,) = script.marks_of_python(source, "f.py")
    assert (mark.case, mark.promise, mark.area) == ("a case", "a promise", "disk")


def test_a_case_has_one_line_which_names_the_test_that_promises_it(script: ModuleType) -> None:
    first = list(script.marks_of_python(MAIN + PYTHON, "tests/a.py"))
    more = list(script.marks_of_python('@pytest.mark.fault("a case")\n' + PYTHON, "tests/b.py"))
    text = script.text(script.faults([*more, *first, *more]))
    assert text.count("a promise") == 1
    assert "  A case: a promise. (tests/a.py)\n" in text


RUST = "/// Fault (disk): a case: a promise: with a colon\n/// Fault: another\n"


@pytest.mark.parametrize("rest", ["#[test]\nfn one() {}", "#[test]\n#[cfg(unix)]\n    fn one(x in 0..2) {}"])
def test_tests_in_rust_are_read(script: ModuleType, rest: str) -> None:
    marks = list(script.marks_of_rust(RUST + rest, "f.rs"))
    assert [(mark.case, mark.promise, mark.area, mark.test) for mark in marks] == [
        ("a case", "a promise: with a colon", "disk", "one"),
        ("another", "", "", "one"),
    ]


@pytest.mark.parametrize(
    ("rest", "reported"), [("fn one() {}", "f.rs::one is no test"), ("#[test]\n#[ignore]\nfn one() {}", "is ignored")]
)
def test_rust_tests_that_never_run_show_nothing(script: ModuleType, rest: str, reported: str) -> None:
    with pytest.raises(script.Mistake, match=reported):
        list(script.marks_of_rust(RUST + rest, "f.rs"))


def test_a_marker_in_rust_is_never_passed_over(script: ModuleType) -> None:
    """As many as a plain search finds."""
    lines = sum(path.read_text().count("/// Fault") for path in (ROOT / "engine").rglob("*.rs"))
    assert lines == sum(mark.file.endswith(".rs") for mark in script.marks()) > 10
