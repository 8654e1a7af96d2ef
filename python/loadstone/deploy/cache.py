"""The folder where loadstone keeps what takes long to make: builds of subjects, and rows of data."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

POLL_S = 0.1


def cache_folder() -> Path:
    """Where builds and data are kept between runs: `$XDG_CACHE_HOME/loadstone`, or `~/.cache/loadstone`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "loadstone"


@contextmanager
def only_one(lock: Path, waiting: Callable[[], None], heed: Callable[[], None]) -> Iterator[None]:
    """One maker of the same thing at a time, over all runs of this user.

    `waiting` is called once if another is at it, and `heed` until that one is done; it may raise.
    """
    with lock.open("w") as file:
        if not _held(file):
            waiting()
            while not _held(file):
                heed()
                time.sleep(POLL_S)
        yield


def _held(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
