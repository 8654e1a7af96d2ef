"""The folder where loadstone keeps what takes long to make: builds of subjects, and rows of data."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Where builds and data are kept between runs: `$XDG_CACHE_HOME/loadstone`, or `~/.cache/loadstone`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "loadstone"


@contextmanager
def only_one(lock: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """One maker of the same thing at a time, over all runs of this user; `waiting` is called if another is at it."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
