"""A defect of ours: a status of its own, one line, the traceback in a file that no one else may read."""

import re
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.cli import main
from loadstone.safety import defect
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets import known


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of its own; no run's folder is known. Signals do afterwards what they did before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr(defect, "_folder", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["loadstone", "list"])
    monkeypatch.delenv(defect.SHOW, raising=False)
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


def deep() -> None:
    deep()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def ended_by(error: BaseException | None, monkeypatch: pytest.MonkeyPatch) -> int:
    def fails(**_: object) -> None:
        deep() if error is None else None
        raise error  # type: ignore[misc]

    monkeypatch.setattr(main, "whole", lambda: fails)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.fault(
    "a defect of loadstone", "status 70, one line, the traceback without secrets in a 0600 file", area="input"
)
@pytest.mark.parametrize(
    "error",
    [KeyError("x"), ValueError("a\x1b[31mb\nc"), RuntimeError("x" * 9999), AssertionError(), None, Unspeakable()],
)
def test_any_other_error_is_70_one_line_and_a_file(
    error: Exception | None,
    own_place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended_by(error, monkeypatch) == 70
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    assert "\x1b" not in said
    file = Path(re.search(r"report it with (\S+);", said)[1])  # type: ignore[index]
    assert file.parent == own_place
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Traceback" in file.read_text() or isinstance(error, Unspeakable)


def test_no_memory_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended_by(MemoryError(), monkeypatch) == 70
    assert "the memory that loadstone may use is used up" in capsys.readouterr().err


def test_the_file_lies_in_the_runs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    defect.write_tracebacks_to(run)
    assert ended_by(KeyError("x"), monkeypatch) == 70
    assert len(list(run.glob("defect-*.txt"))) == 1
    defect.write_tracebacks_to(tmp_path / "nowhere")
    assert ended_by(KeyError("x"), monkeypatch) == 70
    assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize("by", ["--verbose", "environment"])
def test_the_traceback_is_shown_to_who_wants_it(
    by: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if by == "environment":
        monkeypatch.setenv(defect.SHOW, "1")
    else:
        monkeypatch.setattr(sys, "argv", ["loadstone", "run", "x", "--verbose"])
    assert ended_by(KeyError("x"), monkeypatch) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.fault("a defect of loadstone")
def test_what_is_secret_is_in_no_file(
    own_place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known.learn("hunter2")
    assert ended_by(ValueError("redis://:hunter2@host"), monkeypatch) == 70
    (file,) = own_place.glob("defect-*.txt")
    assert "hunter2" not in file.read_text() + capsys.readouterr().err


@pytest.mark.fault("a defect of loadstone")
def test_a_defect_in_a_thread_is_reported_in_the_same_way(
    own_place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    defect.report_those_of_threads()
    thread = threading.Thread(target={}.__getitem__, args=("x",))
    thread.start()
    thread.join()
    said = capsys.readouterr().err
    assert said.startswith("loadstone: a defect of loadstone: KeyError: 'x'; report it with ")
    assert said.count("\n") == 1
    assert len(list(own_place.glob("defect-*.txt"))) == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [(UserError("x"), 2), (LoadstoneError("x"), 3), (OSError(28, "No space"), 2), (KeyboardInterrupt(), 130)],
)
def test_what_is_no_defect_has_its_own_status(
    error: BaseException, status: int, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ended_by(error, monkeypatch) == status
    assert list(own_place.iterdir()) == []
