"""The run's folder: what is finished stays, whatever ends the writing."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.changed_facts import with_facts

from loadstone.experiment.spec.loading import load_experiment
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.reading import read_run
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.known import learn

SECRET = "hunter2-very-secret"


def finished(folder: RunFolder) -> set[str]:
    """Names of the trials that were finished when the folder was opened."""
    return {trial.trial for trial in folder.earlier_trials}


def create(synthetic: ModuleType, root: Path, **changes):
    given = {
        "experiment_name": "small",
        "resolved_experiment": synthetic.make_experiment().model_dump(mode="json"),
        "environment": synthetic.ENVIRONMENT,
        "plan_summary": summarise_plan(synthetic.make_run_plan()),
    }
    return RunFolder.create(root, **(given | changes))


def test_a_new_folder_holds_what_is_known_before_the_first_trial(synthetic: ModuleType, tmp_path: Path) -> None:
    with create(synthetic, tmp_path / "runs") as folder:
        path = folder.path
    assert path.parent == tmp_path / "runs"
    assert path.name.endswith("Z-small")
    assert sorted(p.name for p in path.iterdir()) == [
        "crashes.jsonl",
        "digests.jsonl",
        "environment.json",
        "experiment.yaml",
        "intervals.jsonl",
        "latency",
        "looks.jsonl",
        "plan.json",
        "samples.jsonl",
        "trials.jsonl",
    ]
    run = read_run(path)
    assert run.trials == ()
    assert run.notes == ()
    assert run.plan == summarise_plan(synthetic.make_run_plan())
    assert run.environment["machine"] == synthetic.ENVIRONMENT["machine"]


def test_the_experiment_comes_back_in_its_order(synthetic: ModuleType, tmp_path: Path) -> None:
    """The order of factors and levels is the order of rows."""
    experiment = synthetic.make_experiment()
    with create(synthetic, tmp_path) as folder:
        found = read_run(folder.path).experiment
    assert list(found.factors) == list(experiment.factors)
    assert [list(t.vary.items()) for t in found.tables] == [list(t.vary.items()) for t in experiment.tables]
    assert found.tables == experiment.tables
    assert found.factors == experiment.factors


@pytest.mark.parametrize("name", ["json-documents"])
def test_a_built_in_experiment_comes_back_and_can_be_run_again(
    synthetic: ModuleType, tmp_path: Path, name: str
) -> None:
    written = load_experiment(Path(__file__).parents[2] / "experiments" / f"{name}.yaml")
    with create(synthetic, tmp_path, resolved_experiment=written.model_dump(mode="json")) as folder:
        assert read_run(folder.path).experiment.model_dump(mode="json") == written.model_dump(mode="json")
        again = load_experiment(folder.path / "experiment.yaml")
        assert again.model_dump(mode="json") == written.model_dump(mode="json")
        text = (folder.path / "experiment.yaml").read_text()
    assert 'default: "on"' in text  # other readers of YAML take a bare `on` for a switch


def test_each_file_carries_its_format(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=1)
    assert "format: 1" in (path / "experiment.yaml").read_text().splitlines()
    for name in ("environment.json", "plan.json"):
        assert json.loads((path / name).read_text())["format"] == 1
    for name in ("trials.jsonl", "intervals.jsonl", "samples.jsonl"):
        assert {json.loads(line)["format"] for line in (path / name).read_text().splitlines()} == {1}
    assert "format 1" in (path / "latency" / "b01-001.hlog").read_text().splitlines()[1]


def test_two_runs_within_a_second_have_two_folders(synthetic: ModuleType, tmp_path: Path) -> None:
    paths = set()
    for _ in range(3):
        with create(synthetic, tmp_path) as folder:
            paths.add(folder.path)
    assert len(paths) == 3


def test_no_secret_is_in_any_file(synthetic: ModuleType, tmp_path: Path) -> None:
    def with_secrets(trial):
        return with_facts(trial, failure=f"redis://me:{SECRET}@h refused, {SECRET}")

    experiment = synthetic.make_experiment().model_dump(mode="json")
    learn(SECRET)
    with create(synthetic, tmp_path, resolved_experiment=experiment) as folder:
        synthetic.write_trial(folder, synthetic.make_run_plan().trials[0], finish=with_secrets)
        folder.write_analysis({"format": 1})
        path = folder.path
    files = [file for file in path.rglob("*") if file.is_file()]
    assert len(files) == 11
    assert [file.name for file in files if SECRET.encode() in file.read_bytes()] == []


def test_the_line_of_a_trial_is_written_last(synthetic: ModuleType, tmp_path: Path) -> None:
    with create(synthetic, tmp_path) as folder:
        planned = synthetic.make_run_plan().trials[0]
        drive = synthetic.make_drive(planned.plan)
        writer = folder.begin_trial(planned.name)
        for interval in drive.intervals:
            writer.add_interval(interval)
        assert len((folder.path / "intervals.jsonl").read_text().splitlines()) == len(drive.intervals)
        assert read_run(folder.path).trials == ()
        written = writer.finish(synthetic.make_trial(drive, planned))
        assert read_run(folder.path).trials == (written,)
        assert (folder.path / "latency" / "b01-001.hlog").is_file()


def test_an_interval_has_a_line_an_operation(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=1)
    line = json.loads((path / "intervals.jsonl").read_text().splitlines()[1])
    assert (line["trial"], line["attempt"], line["operation"], line["phase"]) == ("b01-001", 1, "set", "measure")
    assert line["offered"] == line["sent"] == line["ok"] == 200
    assert line["response_ns"]["count"] == 200
    assert {"errors", "timeouts", "dropped", "bytes_sent", "bytes_received", "connections", "cpu_s"} <= set(line)
    assert "response_histogram" not in line


def test_samples_of_a_moment_and_part_share_a_line(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=1)
    lines = [json.loads(line) for line in (path / "samples.jsonl").read_text().splitlines()]
    assert lines[0]["part"] == "host"
    assert lines[0]["values"] == {"st": 0.0, "id": 65.0, "si": 0.0, "so": 0.0, "listen_drops": 0.0, "us": 30.0}
    assert [s for s in read_run(path).samples["b01-001"] if s.part == "redis" and s.metric == "cpu_s"]


@pytest.mark.fault("two writers of one run's folder", "the second is refused", area="disk")
def test_a_second_writer_is_refused(synthetic: ModuleType, tmp_path: Path) -> None:
    with create(synthetic, tmp_path) as folder, pytest.raises(UserError, match="another loadstone is writing"):
        RunFolder.resume(folder.path)
    RunFolder.resume(folder.path).close()


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not a run's folder \(plan\.json is missing\)"):
        RunFolder.resume(tmp_path)
    with pytest.raises(UserError, match="not a run's folder"):
        RunFolder.resume(tmp_path / "missing")


def test_a_place_that_cannot_be_written_is_one_clear_line(synthetic: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--out .*file: cannot be written: Not a directory"):
        create(synthetic, tmp_path / "file")


KILLED = """
import sys, time
from pathlib import Path
from loadstone.run_folder.folder import RunFolder

folder = RunFolder.resume(Path(sys.argv[1]))
import os
os.write(folder.trials._fd, b'{"format":1,"trial":"b01-100","half')
print("ready", flush=True)
time.sleep(60)
"""


def test_kill_9_leaves_a_folder_that_goes_on(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=2)
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(UserError, match="another loadstone"):
            RunFolder.resume(path)
        process.send_signal(signal.SIGKILL)
    run = read_run(path)
    assert [trial.trial for trial in run.trials] == ["b01-001", "b01-002"]
    assert any("cut off" in note for note in map(str, run.notes))
    with RunFolder.resume(path) as folder:
        assert finished(folder) == {"b01-001", "b01-002"}
        synthetic.write_trial(folder, synthetic.make_run_plan().trials[2], number=2)
    assert [trial.trial for trial in read_run(path).trials] == ["b01-001", "b01-002", "b01-003"]


def test_only_the_last_attempt_at_a_trial_counts(synthetic: ModuleType, tmp_path: Path) -> None:
    """A first attempt was cut short after three intervals; the second was finished."""
    path = synthetic.write_run(tmp_path, until=1)
    planned = synthetic.make_run_plan().trials[1]
    drive = synthetic.make_drive(planned.plan)
    with RunFolder.resume(path) as folder:
        writer = folder.begin_trial(planned.name)
        for interval in drive.intervals[:3]:
            writer.add_interval(interval)
        writer.add_samples(drive.samples[:10])
    before = read_run(path)
    assert planned.name not in before.intervals
    assert planned.name not in before.samples
    with RunFolder.resume(path) as folder:
        assert planned.name not in finished(folder)
        written = synthetic.write_trial(folder, planned)
    assert written.facts.attempt == 2
    after = read_run(path)
    assert [line.index for line in after.intervals[planned.name]] == [i.index for i in drive.intervals]
    assert {line.attempt for line in after.intervals[planned.name]} == {2}
    assert len(after.samples[planned.name]) == len(drive.samples)


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 320 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a file system needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_keeps_what_was_finished(synthetic: ModuleType, small_disk: Path) -> None:
    run_plan = synthetic.make_run_plan(blocks=8)
    written = []
    with create(synthetic, small_disk, plan_summary=summarise_plan(run_plan)) as folder:
        path = folder.path

        def write_until_full() -> None:
            for number, planned in enumerate(run_plan.trials):
                written.append(synthetic.write_trial(folder, planned, number))

        with pytest.raises(UserError, match="no space left to write; finished trials are kept"):
            write_until_full()
    assert 0 < len(written) < len(run_plan.trials)
    run = read_run(path)
    assert [trial.trial for trial in run.trials] == [trial.trial for trial in written]
    assert run.notes == ()
    assert run.response_ns(list(run.trials)).p50 is not None
    for name in ("trials.jsonl", "intervals.jsonl", "samples.jsonl"):
        assert (path / name).read_bytes().endswith(b"\n")
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    with RunFolder.resume(path) as folder:
        left = [planned for planned in run_plan.trials if planned.name not in finished(folder)]
        for number, planned in enumerate(left[:2]):
            synthetic.write_trial(folder, planned, number)
    assert len(read_run(path).trials) == len(written) + 2


def test_no_room_for_a_folder_leaves_none_behind(synthetic: ModuleType, small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (320 * 1024 - os.statvfs(small_disk).f_bsize))
    with pytest.raises(UserError, match="no space left"):
        create(synthetic, small_disk)
    assert [p.name for p in small_disk.iterdir()] == ["filler"]


def test_the_analysis_is_written_whole_and_again(synthetic: ModuleType, tmp_path: Path) -> None:
    with create(synthetic, tmp_path) as folder:
        folder.write_analysis({"format": 1, "n": 1})
        folder.write_analysis({"format": 1, "n": 2})
        path = folder.path / "analysis.json"
    assert json.loads(path.read_text()) == {"format": 1, "n": 2}
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_damage_to_the_folder_while_open_is_a_typed_error(synthetic: ModuleType, tmp_path: Path) -> None:
    with create(synthetic, tmp_path) as folder:
        planned = synthetic.make_run_plan().trials[0]
        writer = folder.begin_trial(planned.name)
        (folder.path / "latency").rmdir()
        with pytest.raises(LoadstoneError, match="cannot be written"):
            writer.finish(synthetic.make_trial(synthetic.make_drive(planned.plan), planned))
        assert read_run(folder.path).trials == ()


def test_the_lock_goes_with_the_process(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=1)
    held = "import sys, time; from pathlib import Path; from loadstone.run_folder.folder import RunFolder\n"
    held += "f = RunFolder.resume(Path(sys.argv[1])); print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", held, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    deadline = time.monotonic() + 60
    while True:
        try:
            RunFolder.resume(path).close()
            break
        except UserError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def crash(number: int = 1, **changes: Any) -> CrashRecord:
    given: dict[str, Any] = {
        "name": "durability", "trial": f"crash-durability-1-{number}", "condition": {"aof": "no"}, "number": number,
        "acknowledged": 1000, "unknown": 3, "found": 900, "restart_s": 0.2, "killed_after_s": 1.0, "started_unix_ns": 5,
    }  # fmt: skip
    return CrashRecord.model_validate(given | changes)


def test_crashes_are_on_the_disk_at_once_and_found_again(synthetic: ModuleType, tmp_path: Path) -> None:
    learn("hunter2")
    with create(synthetic, tmp_path) as folder:
        assert folder.earlier_crashes == ()
        folder.add_crash(crash())
        folder.add_crash(crash(2, failure="redis with hunter2 did not start"))
        assert len((folder.path / "crashes.jsonl").read_text().splitlines()) == 2
        path = folder.path
    assert "hunter2" not in (path / "crashes.jsonl").read_text()
    with RunFolder.resume(path) as folder:
        assert [one.number for one in folder.earlier_crashes] == [1, 2]
        assert folder.earlier_crashes[0] == crash()
        folder.add_crash(crash(2, found=950))
    run = read_run(path)
    assert [(one.number, one.found) for one in run.crashes] == [(1, 900), (2, 950)], "the last line of a try counts"
    assert run.notes == ()


def test_damaged_crashes_are_left_out_and_named(synthetic: ModuleType, tmp_path: Path) -> None:
    with create(synthetic, tmp_path) as folder:
        folder.add_crash(crash())
        path = folder.path
    with (path / "crashes.jsonl").open("a") as file:
        file.write('{"format": 1, "name": "durability"}\n{"format": 1, "na')
    run = read_run(path)
    assert run.crashes == (crash(),)
    assert run.notes == (
        "crashes.jsonl: line 2 is not readable and left out.",
        "crashes.jsonl: the last line (3) is cut off and left out.",
    )
    (path / "crashes.jsonl").unlink()
    assert read_run(path).crashes == (), "as in folders of earlier versions"
