"""A defect of loadstone's own: one line that says what to report, and the traceback in a file."""

import contextlib
import os
import platform
import sys
import tempfile
import threading
import traceback
from pathlib import Path

from loadstone import __version__
from loadstone.safety import terminal
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.secrets.known import redact

STATUS = 70
"""Exit status, `EX_SOFTWARE` of sysexits.h."""
SHOW = "LOADSTONE_TRACEBACK"
"""Set in the environment, it shows the traceback on stderr, as `--verbose` does."""
FILE = "defect"
_LARGEST_BYTES = 256 * 1024
_folder: Path | None = None


def write_tracebacks_to(folder: Path) -> None:
    """From now on the traceback of a defect is written into this folder, that of the run."""
    global _folder
    _folder = folder


def report(error: BaseException) -> str:
    """The line about `error`; its traceback is written to a file that no one else may read."""
    if isinstance(error, MemoryError):
        what = "the memory that loadstone may use is used up; stop what else runs, or make the experiment smaller"
    else:
        what = f"a defect of loadstone: {type(error).__name__}: {_short(error)}"
    text = _text(error)
    if os.environ.get(SHOW) or "--verbose" in sys.argv:
        terminal.remark(text.rstrip())
    file = _written(text)
    where = f"report it with {file}" if file else f"report it with the traceback, which {SHOW}=1 shows"
    return f"{what}; {where}; what was finished is kept"


def report_those_of_threads() -> None:
    """A defect in a thread of ours is reported in the same way; the thread ends, the command goes on."""

    def hook(found: threading.ExceptHookArgs) -> None:
        if found.exc_value is not None and not isinstance(found.exc_value, SystemExit):
            terminal.remark(f"loadstone: {report(found.exc_value)}")

    threading.excepthook = hook


def _short(error: BaseException) -> str:
    try:
        return shortened(redact(str(error)), 160)
    except Exception:  # an error that cannot say what it is
        return ""


def _text(error: BaseException) -> str:
    """The traceback, with versions; of one that is endless its two ends."""
    head = f"loadstone {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    try:
        lines = "".join(traceback.format_exception(error))
    except Exception as second:  # an error that cannot be printed, or no memory to do it
        lines = f"{type(error).__name__}, and its traceback cannot be made: {type(second).__name__}\n"
    if len(lines) > _LARGEST_BYTES:
        lines = f"{lines[: _LARGEST_BYTES // 2]}\n...\n{lines[-_LARGEST_BYTES // 2 :]}"
    return head + redact(lines)


def _written(text: str) -> Path | None:
    """The file: in the run's folder if there is one, or else in the temporary folder; None where neither takes it."""
    for folder in filter(None, (_folder, Path(tempfile.gettempdir()))):
        with contextlib.suppress(OSError):
            number, name = tempfile.mkstemp(prefix=f"{FILE}-", suffix=".txt", dir=folder)  # mode 0600, no link
            with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return Path(name)
    return None
