"""For how much of the time a main thread waits in the kernel for something that it cannot be woken from (state D)."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from loadstone.monitors.host.waits import ThreadWaitSampler

PERIOD_S = 0.01
"""Of the engine: between two looks at a main thread."""

WAITS = """
#include <unistd.h>
int main(void) { if (vfork() == 0) { sleep(20); _exit(0); } return 0; }
"""
"""The parent is in state D until its child ends."""


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A program whose main thread is in state D, whatever the disk does."""
    compiler = shutil.which("cc")
    assert compiler is not None, "the engine's build needs one, too"
    source = tmp_path / "waits.c"
    source.write_text(WAITS)
    program = tmp_path / "waits"
    subprocess.run([compiler, "-o", str(program), str(source)], check=True)
    return program


def _share_of(command: list[str]) -> float | None:
    process = subprocess.Popen(command)
    try:
        time.sleep(0.2)
        waits = ThreadWaitSampler(lambda: (process.pid,), main=process.pid)
        time.sleep(50 * PERIOD_S)
        return share(waits)
    finally:
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)
        process.kill()
        process.wait()


def test_a_thread_that_waits_all_the_time_and_one_that_sleeps(waiting: Path) -> None:
    assert _share_of([str(waiting)]) == pytest.approx(1.0)
    assert _share_of(["sleep", "20"]) == pytest.approx(0.0)


def share(waits: ThreadWaitSampler) -> float | None:
    return waits.figures().get("main_thread_disk_share")


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert share(ThreadWaitSampler(lambda: (), main=1 << 22)) is None
    process = subprocess.Popen(["sleep", "20"])
    waits = ThreadWaitSampler(lambda: (process.pid,), main=process.pid)
    process.kill()
    process.wait()
    time.sleep(5 * PERIOD_S)
    share(waits)
    time.sleep(5 * PERIOD_S)
    assert share(waits) is None
