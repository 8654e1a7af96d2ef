"""The page of one run (`--watch`): a server of pages beside the run, which reads its folder and needs nothing of it."""

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from loadstone.machine.extras import how_to_add, lacks
from loadstone.text.language import _, by_option

PATIENCE_S = 20.0
_ADDRESS = re.compile(rb"https?://\S+")


def watched(folder: Path, note: Callable[[str], None]) -> None:
    """Start the page of a run, open it in a browser, and note its address; the page ends by itself, after the run.

    Returns once it is there, so that its start disturbs no trial. Where it cannot be started, that is noted.
    """
    if lacks("serve"):
        note(
            _(
                "--watch: the page cannot be started: loadstone[serve] is not installed; type {how}",
                how=how_to_add("serve"),
            )
        )
        return
    command = [sys.executable, "-P", "-m", "loadstone", "serve", "--port", "0", "--open"]
    command += ["--runs", str(folder.parent), "--run", folder.name]
    command += ["--lang", named] if (named := by_option()) is not None else []
    try:
        page = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        note(_("--watch: the page cannot be started: {why}", why=error.strerror or str(error)))
        return
    assert page.stdout is not None
    address = _address(page.stdout.fileno())
    if address is None:
        note(_("--watch: the page does not come; look at the run by: loadstone serve"))
        with contextlib.suppress(OSError):
            page.terminate()
    else:
        note(_("watch it at {address}", address=address))
    page.stdout.close()


def _address(fd: int) -> str | None:
    text, end = b"", time.monotonic() + PATIENCE_S
    while (found := _ADDRESS.search(text)) is None or not text.endswith(b"\n"):
        ready = select.select([fd], [], [], max(0.0, end - time.monotonic()))[0]
        more = os.read(fd, 4096) if ready else b""
        if not more:
            return None
        text += more
    return found[0].decode()
