"""Who draws is another process: without memory the report lacks pictures, and nothing else."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from loadstone.report.charts import renderer_process

LOADSTONE = str(Path(sys.executable).parent / "loadstone")
ROOM_BYTES = 1_200 * 1024**2
"""Of addresses: enough for loadstone, and too little for the engine that draws."""


@pytest.fixture
def drawer() -> Iterator[renderer_process._Pen]:
    one = renderer_process._Pen()
    yield one
    one.close()


def test_a_specification_becomes_a_drawing(drawer: renderer_process._Pen) -> None:
    assert drawer.draw({"svg": renderer_process._NOTHING}).startswith(b"<svg")
    assert drawer.failure == ""


def test_one_that_is_none_is_told_and_the_next_one_is_drawn(drawer: renderer_process._Pen) -> None:
    with pytest.raises(renderer_process.NotDrawn, match="a picture cannot be drawn"):
        drawer.draw({"svg": "{"})
    assert drawer.draw({"svg": renderer_process._NOTHING}).startswith(b"<svg")


@pytest.mark.fault("charts find no memory, or hang")
def test_one_that_ends_is_started_once_more_and_then_no_more(drawer: renderer_process._Pen) -> None:
    for _ in range(renderer_process.STARTS_MAX):
        drawer.draw({"svg": renderer_process._NOTHING})
        assert drawer._process is not None
        os.kill(drawer._process.pid, signal.SIGKILL)
        with pytest.raises(renderer_process.NotDrawn, match=r"their process ended"):
            drawer.draw({"svg": renderer_process._NOTHING})
    with pytest.raises(renderer_process.NotDrawn, match=r"their process ended"):
        drawer.draw({"svg": renderer_process._NOTHING})
    assert drawer._process is None


@pytest.mark.fault("charts find no memory, or hang")
def test_one_that_hangs_is_ended(drawer: renderer_process._Pen, monkeypatch: pytest.MonkeyPatch) -> None:
    drawer.draw({"svg": renderer_process._NOTHING})
    process = drawer._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    monkeypatch.setattr(renderer_process, "LONGEST_S", 0.2)
    with pytest.raises(renderer_process.NotDrawn, match=r"not drawn within 0\.2 s"):
        drawer.draw({"svg": renderer_process._NOTHING})
    assert process.returncode is not None


@pytest.mark.fault("charts find no memory, or hang", "the report lacks them and says so, status 2", area="disk")
@pytest.mark.skipif(sys.platform != "linux", reason="macOS keeps no such limit")
def test_a_report_without_memory_for_pictures_has_the_rest(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=2)
    done = subprocess.run(
        [LOADSTONE, "report", str(path), "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM_BYTES, ROOM_BYTES)),
    )
    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if line.startswith("loadstone: ")]
    assert "pictures cannot be drawn: their process ended" in line
    assert f"the rest of the report is written: give it more memory, and then loadstone report {path}" in line
    assert "v8" not in done.stderr.lower()
    assert "This picture could not be drawn." in (path / "report.html").read_text()
    assert "This picture could not be drawn." in (path / "report.md").read_text()
    assert {"analysis.json", "tables.csv"} <= {file.name for file in path.iterdir()}
    assert not (path / "charts").exists()
