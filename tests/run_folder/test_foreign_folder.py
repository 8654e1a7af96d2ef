"""A folder that another user laid out decides nothing, and nothing outside of it is written to."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.calling import called

from loadstone.machine.processes.guarded_process import ProcessEnvironment, guarded
from loadstone.machine.processes.resource_limits import Limits
from loadstone.run_folder.earlier_runs import folder_to_resume, run_folder
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.lines import LineFile
from loadstone.run_folder.reading import read_histogram, read_round_histograms, read_run
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.servers.server import DeployContext

LOADSTONE = str(Path(sys.executable).parent / "loadstone")
NONE = ProcessEnvironment()
SECRET = "text-of-a-foreign-file"
FILES = ["plan.json", "environment.json", "experiment.yaml", "trials.jsonl", "intervals.jsonl", "samples.jsonl"]
FILES += ["looks.jsonl", "crashes.jsonl"]
THEIRS = b"a line of another's\nand half a li"


@pytest.mark.fault(
    "links, hard links, pipes and devices in a run's folder",
    "nothing outside is read, written or waited for",
    area="users",
)
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_lines_are_written_to_a_file_of_the_folder_alone(kind: str, tmp_path: Path) -> None:
    theirs, planted = tmp_path / "theirs", tmp_path / "trials.jsonl"
    theirs.write_bytes(THEIRS)
    if kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.symlink_to(theirs if kind == "link" else tmp_path / "made")
    before = set(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else set()
    with pytest.raises(UserError, match=r"trials\.jsonl: it is (a link|not a regular file)"):
        LineFile(planted)
    assert theirs.read_bytes() == THEIRS
    assert not (tmp_path / "made").exists()
    if before:
        assert len(set(Path("/proc/self/fd").iterdir())) == len(before)


@pytest.mark.fault("`--resume` of a folder that others own or may write", "refused", area="users")
def test_only_its_own_user_goes_on_with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "20261122T101112Z-shop"
    folder.mkdir(mode=0o755)
    (folder / "plan.json").touch()
    assert folder_to_resume(folder) == folder
    folder.chmod(0o757)
    with pytest.raises(UserError, match=r"every user may write to it.*chmod o-w"):
        folder_to_resume(folder)
    folder.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(folder)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    for named in (folder, link):
        with pytest.raises(UserError, match=f"belongs to the user with the id {owner}"):
            folder_to_resume(named)


def test_a_folder_that_is_no_runs_is_named_with_the_option(tmp_path: Path) -> None:
    for wrong, says in ((tmp_path / "nowhere", "No such file"), (tmp_path, "plan.json is missing")):
        with pytest.raises(UserError, match=rf"^--resume {wrong}: .*{says}"):
            folder_to_resume(wrong)


@pytest.fixture
def run(synthetic: ModuleType, tmp_path: Path) -> Path:
    path: Path = synthetic.write_run(tmp_path / "runs", until=2)
    (tmp_path / "theirs").mkdir()
    return path


def reported(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`loadstone report`, as a user calls it."""
    return called("report", path, *options)


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.parametrize("name", FILES)
def test_a_link_in_the_place_of_a_file_is_not_read(name: str, run: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "x"
    text = (run / name).read_text()
    theirs.write_text(text.replace('"format": 1', f'"format": 1, "command": "loadstone {SECRET}"', 1))
    (run / name).unlink()
    (run / name).symlink_to(theirs)
    going_on = [] if name in ("environment.json", "experiment.yaml") else [lambda path: RunFolder.resume(path).close()]
    for read in (read_run, *going_on):
        with pytest.raises(UserError, match=rf"{re.escape(name)}: (cannot be read: )?it is a link, .* put the file"):
            read(run)
    done = reported(run)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (run / "report.html").exists()
    assert not (run / "analysis.json").exists()


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
def test_a_link_in_the_place_of_charts_has_nothing_written_behind_it(run: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs" / "checks.svg").write_text("theirs")
    (run / "charts").symlink_to(tmp_path / "theirs")
    done = reported(run)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"{run}/charts: it is a link" in done.stderr
    assert f"put the folder itself there, and then loadstone report {run}" in done.stderr
    assert [path.read_text() for path in (tmp_path / "theirs").iterdir()] == ["theirs"]


def test_a_link_in_the_place_of_a_report_is_replaced(run: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs" / "page").write_text("theirs")
    (run / "report.html").symlink_to(tmp_path / "theirs" / "page")
    assert reported(run, "--format", "html").returncode == 0
    assert not (run / "report.html").is_symlink()
    assert (tmp_path / "theirs" / "page").read_text() == "theirs"


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.parametrize("place", ["latency", "latency/b01-001.hlog"])
def test_latencies_behind_a_link_are_not_read(place: str, run: Path, tmp_path: Path) -> None:
    (run / place).rename(tmp_path / "theirs" / "moved")
    (run / place).symlink_to(tmp_path / "theirs" / "moved")
    for read in (read_histogram, read_round_histograms):
        with pytest.raises(DriveFailed, match=rf"{place}: cannot be read: it is a link"):
            read(run, "b01-001", "response")


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
def test_latencies_are_not_written_behind_a_link(run: Path, synthetic: ModuleType, tmp_path: Path) -> None:
    (run / "latency").rename(run / "before")
    (run / "latency").symlink_to(tmp_path / "theirs")
    planned = synthetic.make_run_plan().trials[2]
    with RunFolder.resume(run) as folder, pytest.raises(UserError, match="latency: it is a link"):
        synthetic.write_trial(folder, planned)
    assert list((tmp_path / "theirs").iterdir()) == []
    assert len(read_run(run).trials) == 2


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.parametrize("place", ["logs", "logs/redis.log", "logs/2"])
def test_logs_are_not_written_behind_a_link(place: str, run: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "redis.log").write_text("theirs\n")
    (run / place).parent.mkdir(exist_ok=True)
    (run / place).symlink_to(theirs / "redis.log" if place.endswith("log") else theirs)
    context = DeployContext(work_root=tmp_path, log_folder=run / "logs", run_folder=run)
    with pytest.raises(UserError, match=rf"server redis: its log cannot be written: .*{place}: it is a link"):
        guarded("server", "redis", Limits(), context.with_own_log(2 if place == "logs/2" else 1), lambda _: ((), NONE))
    assert [path.name for path in theirs.iterdir()] == ["redis.log"]
    assert (theirs / "redis.log").read_text() == "theirs\n"
    assert not list(tmp_path.glob("loadstone-*"))


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
def test_a_link_that_appears_later_is_not_followed_by_the_guard(run: Path, tmp_path: Path) -> None:
    context = DeployContext(work_root=tmp_path, log_folder=run / "logs", run_folder=run)
    process, _ = guarded("server", "redis", Limits(), context, lambda _: (("echo", "ours"), NONE))
    try:
        (run / "logs").rename(run / "before")
        (run / "logs").symlink_to(tmp_path / "theirs")
        with pytest.raises(OSError, match="it is a link"):
            process.start()
    finally:
        process.close()
    assert list((tmp_path / "theirs").iterdir()) == []


def test_the_newest_run_is_found_behind_a_linked_folder_of_runs(run: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "runs").symlink_to(tmp_path / "runs")
    newest = run_folder("latest", tmp_path / "here" / "runs")
    assert newest.name == run.name
    assert len(read_run(newest).trials) == 2


def test_a_run_that_goes_on_is_the_one_that_was_found_first(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its recorded command names another `--out`, which is not there seen from here: `runs` is a link."""
    environment = json.loads((run / "environment.json").read_text())
    environment["command"] = "loadstone run small --out elsewhere"
    (run / "environment.json").write_text(json.dumps(environment))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "runs").symlink_to(tmp_path / "runs")
    monkeypatch.chdir(tmp_path / "here")
    said = called("run", "--resume", "latest").stderr
    assert "there is no run in elsewhere" not in said
    assert "experiment 'small'" in said or "'small'" in said  # it is no built-in one: found, and read


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
def test_half_a_character_is_shown_as_a_mark(run: Path) -> None:
    environment = json.loads((run / "environment.json").read_text())
    environment["kernel"] = {"release": "6.1 \ud800"}
    environment["command"] = "loadstone run \udfff"
    (run / "environment.json").write_text(json.dumps(environment))
    done = reported(run)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert "\ufffd" in (run / "report.html").read_text()


EVIL = "=cmd|' /C calc'!A0 <script>alert(1)</script> [a](javascript:alert(1)) \x1b]0;owned\x07\x9b31m\u202e"


@pytest.mark.fault(
    "script, links, formulas or control characters in a planted folder", "escaped in every format", area="users"
)
def test_planted_texts_are_text_in_every_format(run: Path) -> None:
    """A name of a condition, a server's version, an error and a command, as someone else may have written them."""
    (run / "digests.jsonl").unlink()
    environment = json.loads((run / "environment.json").read_text())
    environment |= {"command": f"loadstone run {EVIL}", "kernel": {"release": EVIL}}
    environment["servers"] = {EVIL: {"software": EVIL, "version": EVIL}}
    (run / "environment.json").write_text(json.dumps(environment))
    experiment = (run / "experiment.yaml").read_text()
    for place in ("    - {}\n", "operation: {}\n"):
        experiment = experiment.replace(place.format("set"), place.format(json.dumps(EVIL)))
    (run / "experiment.yaml").write_text(experiment)
    plan = json.loads((run / "plan.json").read_text())
    for trial in plan["trials"]:
        trial["condition"] = {name: EVIL if level == "set" else level for name, level in trial["condition"].items()}
    (run / "plan.json").write_text(json.dumps(plan))
    lines = []
    for line in (run / "trials.jsonl").read_text().splitlines():
        trial = json.loads(line)
        trial["condition"] = {name: EVIL if level == "set" else level for name, level in trial["condition"].items()}
        trial["counts"]["ok"] -= 3
        trial["counts"]["errors"] = {EVIL: 3}
        lines.append(json.dumps(trial))
    (run / "trials.jsonl").write_text("".join(f"{line}\n" for line in lines))
    done = reported(run, "--verbose")
    assert done.returncode == 0, done.stderr
    page, text = (run / "report.html").read_text(), (run / "report.md").read_text()
    text = re.sub(r"(?ms)^```sh\n.*?^```$", "", text)  # in a fence all is text
    assert "alert(1)" in page
    assert "alert(1)" in text
    for written in (page, text, *(file.read_text() for file in (run / "charts").iterdir())):
        assert "<script>alert" not in written
        assert not set(written) & set("\x1b\x07\x9b\u202e")
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    assert 'href="javascript' not in page
    cells = [cell for file in run.glob("*.csv") for row in csv.reader(io.StringIO(file.read_text())) for cell in row]
    assert any("cmd|" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize("command", ["loadstone run", "loadstone run --resume ."])
def test_a_command_that_names_no_experiment_is_one_line(command: str, tmp_path: Path) -> None:
    """It led to itself until the stack was full."""
    (tmp_path / "plan.json").write_text('{"format": 1}')
    (tmp_path / "environment.json").write_text(json.dumps({"format": 1, "command": command}))
    refused = called("run", "--resume", tmp_path, folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "names no experiment; name it, too" in refused.stderr
