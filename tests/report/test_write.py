import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loadstone.cli.main import whole
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.write import REPORTERS, write_report
from loadstone.run.run import _named
from loadstone.safety.bounds.disk import SystemDisk, on_disk
from loadstone.safety.errors import UserError

ROOT = Path(__file__).parents[2]


def test_every_format_writes_its_files(small: Analysis, tmp_path: Path) -> None:
    written = write_report(small, tmp_path, REPORTERS)
    names = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert sorted(path.relative_to(tmp_path).as_posix() for path in written) == names
    assert {"report.html", "report.md", "tables.csv", "comparisons.csv", "analysis.json", "charts/timeline.svg"} <= set(
        names
    )
    assert "charts/timeline.png" in names


@pytest.mark.parametrize("page", ["README.md", "README.ko.md"])
def test_every_format_is_named_where_a_user_looks(page: str) -> None:
    assert f"--format {','.join(REPORTERS)}`" in (ROOT / page).read_text()


def test_every_format_stands_among_the_files_of_a_run(small: Analysis) -> None:
    text = (ROOT / "docs" / "run-folder.md").read_text()
    for render in REPORTERS.values():
        assert all(f"`{name.partition('/')[0]}" in text for name in render(small))


def test_the_files_are_named(small: Analysis, tmp_path: Path) -> None:
    files = write_report(small, tmp_path, ["json", "csv", "svg"])
    charts = [path for path in files if path.parent != tmp_path]
    named = [path.name for path in files if path.parent == tmp_path]
    assert "tables.csv" in named
    assert _named(files, tmp_path) == f"{', '.join(named)}, charts/ ({len(charts)} files)"


def test_a_command_line_offers_every_format() -> None:
    shown = CliRunner().invoke(whole(), ["report", "--help"], env={"COLUMNS": "200"}).stdout
    assert f"Comma-separated: {', '.join(REPORTERS)}." in shown
    assert "while it runs" not in shown


def test_the_json_is_the_analysis_as_it_is(small: Analysis, tmp_path: Path) -> None:
    [path] = write_report(small, tmp_path, ["json"])
    assert Analysis.model_validate_json(path.read_bytes()) == small
    assert json.loads(path.read_bytes())["format"] == 1


def test_a_report_is_replaced_whole(small: Analysis, tmp_path: Path) -> None:
    (tmp_path / "tables.csv").write_text("old")
    write_report(small, tmp_path, ["csv", "csv"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparisons.csv", "tables.csv"]
    assert (tmp_path / "tables.csv").read_text().startswith("table,")
    assert (tmp_path / "tables.csv").stat().st_mode & 0o777 == 0o600


def test_an_unknown_format_is_refused_before_anything_is_written(small: Analysis, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        write_report(small, tmp_path, ["csv", "htm"])
    assert str(refused.value) == (
        "--format htm: no such format; did you mean html? there are html, md, csv, json, svg, png"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_one_line(small: Analysis, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as refused:
        write_report(small, tmp_path / "file", ["csv"])
    assert "cannot write" in str(refused.value)
    assert "\n" not in str(refused.value)


class FullDisk(SystemDisk):
    """It tells that there is no room where what was written is to be brought to it."""

    @staticmethod
    def fsync(fd: int) -> None:  # noqa: ARG004 (the signature of the real one)
        raise OSError(28, "No space left on device")


def test_a_failed_write_leaves_the_old_report(small: Analysis, tmp_path: Path) -> None:
    (tmp_path / "tables.csv").write_text("old")
    with on_disk(FullDisk()), pytest.raises(UserError, match="No space left on device"):
        write_report(small, tmp_path, ["csv"])
    assert [path.name for path in tmp_path.iterdir()] == ["tables.csv"]
    assert (tmp_path / "tables.csv").read_text() == "old"


def test_commands_that_draw_nothing_do_not_load_what_draws() -> None:
    imports = "import sys, loadstone.report.write, loadstone.report.terminal.outcome, loadstone.report.live.progress"
    code = f"{imports}; print({{'altair', 'vl_convert'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_without_what_draws_a_report_is_whole_but_for_charts_and_says_how_to_get_them(tmp_path: Path) -> None:
    """In a process that cannot import it: an import in passing would break every report of the base package."""
    run = tmp_path / "run"
    run.mkdir()
    with tarfile.open(ROOT / "tests/examples/frozen/json-documents/run.tar.xz") as frozen:
        frozen.extractall(run, filter="data")
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('altair', 'vl_convert'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from loadstone.machine import extras\n"
        "extras.find_spec = lambda name: None if name in ('altair', 'vl_convert') else sys\n"
        "from loadstone.cli.main import main\n"
        "main()"
    )

    def report(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, "report", str(run), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = report()
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    page, text = (run / "report.html").read_text(), (run / "report.md").read_text()
    told = "This report has no charts. They need"
    assert (told in page, told in text, "![" in text, "<svg" in page) == (True, True, False, False)
    assert "## Verdicts" in text
    assert not (run / "charts").exists()
    refused = report("--format", "svg")
    assert refused.returncode == 2
    assert "--format svg: what draws is not installed; type" in refused.stderr
    assert "loadstone[charts]" in refused.stderr
