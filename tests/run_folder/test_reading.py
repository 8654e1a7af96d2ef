"""Reading a folder that something happened to."""

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from loadstone.experiment.spec.experiment import BLOCKS_MAX
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.look import Look, LookVerdict
from loadstone.run_folder.reading import read_run, read_trials
from loadstone.safety.errors import DriveFailed, UserError


@pytest.fixture(scope="module")
def finished(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_run(tmp_path_factory.mktemp("runs"), until=3)


@pytest.fixture
def path(finished: Path, tmp_path: Path) -> Path:
    """A run with three finished trials, to be damaged; without digests, of which `test_damages` is."""
    run = Path(shutil.copytree(finished, tmp_path / finished.name))
    (run / "digests.jsonl").unlink()
    return run


def names(path: Path) -> list[str]:
    return [trial.trial for trial in read_run(path).trials]


@pytest.mark.fault("half a line or garbage in the run's folder")
def test_cut_at_every_byte_of_the_last_line(path: Path) -> None:
    """Whatever is left of the last line, the trials before it are read, and the damage is named."""
    file = path / "trials.jsonl"
    _, second, last = file.read_bytes().splitlines(keepends=True)
    shorter = json.dumps(json.loads(last) | {"facts": {"attempt": 1}}).encode() + b"\n"  # for the sake of time
    whole = second + shorter
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    cut = ["trials.jsonl: the last line (2) is cut off and left out."]
    for end in range(start, len(whole)):
        file.write_bytes(whole[:end])
        trials, notes = read_trials(path)
        assert [trial.trial for trial in trials] == ["b01-002"], end
        assert notes == ([] if end == start else cut), end
    run = read_run(path)
    assert run.notes == tuple(cut)
    assert set(run.intervals) == set(run.samples) == {"b01-002"}


def test_a_run_of_an_earlier_version_is_refused_by_the_one_that_reads_it(path: Path) -> None:
    """Of loadstone 0.1: the parts have no kinds, and there are sentences in place of data."""
    lines = [json.loads(line) for line in (path / "trials.jsonl").read_text().splitlines()]
    for line in lines:
        del line["facts"]["kinds"], line["drive"]
        line["checks"] = [{"name": "generator_cpu", "reason": "97 %"}]
    (path / "trials.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for read in (read_run, RunFolder.resume):
        with pytest.raises(UserError) as refused:
            read(path)
        assert str(refused.value) == (
            f"{path}: recorded by loadstone 0.1: loadstone 0.2.0 reads it, this version does not"
        )


@pytest.mark.fault("half a line or garbage in the run's folder", "left out and named", area="disk")
@pytest.mark.parametrize("garbage", [b"garbage", b"\x00\x00\x00", b'{"format": 1, "trial": "b01-009"}', b"{}"])
def test_a_line_of_garbage_among_the_trials(path: Path, garbage: bytes) -> None:
    file = path / "trials.jsonl"
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([lines[0], garbage, *lines[1:]]) + b"\n")
    run = read_run(path)
    assert [trial.trial for trial in run.trials] == ["b01-001", "b01-002", "b01-003"]
    assert run.notes == ("trials.jsonl: line 2 is not readable and left out.",)


@pytest.mark.parametrize("name", ["intervals.jsonl", "samples.jsonl"])
def test_a_line_of_garbage_among_intervals_and_samples(path: Path, name: str) -> None:
    before = read_run(path)
    file = path / name
    lines = file.read_bytes().splitlines()
    bad = json.loads(lines[3])
    bad.pop("values", None)
    bad.pop("operation", None)
    file.write_bytes(b"\n".join([*lines[:3], json.dumps(bad).encode(), b"garbage", *lines[3:]]) + b"\n")
    run = read_run(path)
    assert run.notes == (f"{name}: 2 lines (4, 5) are not readable and left out.",)
    assert run.intervals == before.intervals
    assert run.samples == before.samples


@pytest.mark.parametrize("name", ["trials.jsonl", "intervals.jsonl", "samples.jsonl"])
def test_another_format_of_a_line_is_refused(path: Path, name: str) -> None:
    file = path / name
    file.write_text(file.read_text().replace('{"format":1', '{"format":7', 1))
    with pytest.raises(UserError, match=rf"{name}, line 1: format 7 is not known to this loadstone"):
        read_run(path)


@pytest.mark.parametrize("name", ["environment.json", "plan.json", "experiment.yaml"])
def test_another_format_of_a_document_is_refused(path: Path, name: str) -> None:
    file = path / name
    file.write_text(file.read_text().replace('"format": 1', '"format": 7').replace("format: 1", "format: 7"))
    with pytest.raises(UserError, match=rf"{name}: format 7 is not known to this loadstone"):
        read_run(path)


@pytest.mark.parametrize("name", ["environment.json", "plan.json", "experiment.yaml"])
def test_a_missing_document_is_named(path: Path, name: str) -> None:
    (path / name).unlink()
    with pytest.raises(UserError, match=rf"not a run's folder \({name} is missing\)"):
        read_run(path)


@pytest.mark.fault("half a line or garbage in the run's folder")
@pytest.mark.parametrize("name", ["environment.json", "plan.json", "experiment.yaml"])
@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"{", b"- 1\n- 2\n", b"format: 1\nname: [\n"])
def test_a_damaged_document_is_one_clear_line(path: Path, name: str, content: bytes) -> None:
    (path / name).write_bytes(content)
    with pytest.raises(UserError, match=name) as raised:
        read_run(path)
    assert "\n" not in str(raised.value)


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", ".hidden", ""])
def test_a_trials_name_never_leaves_the_folder(path: Path, name: str) -> None:
    file = path / "trials.jsonl"
    lines = file.read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"trial": name})
    file.write_text("\n".join(lines) + "\n")
    assert names(path) == ["b01-001", "b01-003"]


def test_of_a_trial_that_stands_twice_the_last_counts(path: Path) -> None:
    file = path / "trials.jsonl"
    lines = file.read_text().splitlines()
    again = json.dumps(json.loads(lines[0]) | {"duration_s": 123.0})
    file.write_text("\n".join([*lines, again]) + "\n")
    run = read_run(path)
    assert [trial.trial for trial in run.trials] == ["b01-002", "b01-003", "b01-001"]
    assert run.trials[-1].duration_s == 123.0
    assert [trial.duration_s for trial in run.superseded] == [json.loads(lines[0])["duration_s"]]
    assert tuple(map(str, run.notes)) == (
        "trials.jsonl: of attempts that are recorded more than once the last counts: b01-001 (attempt 1).",
    )


def test_a_trial_that_was_measured_again_is_nothing_to_note(synthetic: ModuleType, path: Path) -> None:
    with RunFolder.resume(path) as folder:
        synthetic.write_trial(folder, run_plan_trial(synthetic, 1), number=7)
    run = read_run(path)
    assert [(t.trial, t.facts.attempt) for t in run.trials] == [("b01-001", 1), ("b01-003", 1), ("b01-002", 2)]
    assert [(t.trial, t.facts.attempt) for t in run.superseded] == [("b01-002", 1)]
    assert run.notes == ()
    assert {line.attempt for line in run.intervals["b01-002"]} == {2}


LOOK = Look(
    group="storage",
    blocks=8,
    unix_s=1.5,
    elapsed_s=60.0,
    verdicts=[LookVerdict(kind="equivalent")],
    stop=True,
    reason="decided",
)


def test_looks_are_read_in_their_order_and_garbage_is_named(path: Path) -> None:
    with RunFolder.resume(path) as folder:
        for blocks in (8, 12):
            folder.add_look(LOOK.model_copy(update={"blocks": blocks}))
    with (path / "looks.jsonl").open("a") as file:
        file.write('garbage\n{"format": 1, "group": "storage"}\n{"format": 1, "gro')
    run = read_run(path)
    assert [look.blocks for look in run.looks] == [8, 12]
    assert tuple(map(str, run.notes)) == (
        "looks.jsonl: 2 lines (3, 4) are not readable and left out.",
        "looks.jsonl: the last line (5) is cut off and left out.",
    )
    with RunFolder.resume(path) as folder:
        assert [look.blocks for look in folder.earlier_looks] == [8, 12]
        assert [trial.trial for trial in folder.earlier_trials] == ["b01-001", "b01-002", "b01-003"]


def test_a_run_without_looks_has_none(path: Path) -> None:
    (path / "looks.jsonl").unlink()
    assert read_run(path).looks == ()


def test_merged_latencies_are_those_of_all_values(synthetic: ModuleType, path: Path) -> None:
    """The percentiles of the merged logs are those of a histogram of everything, not a mean of percentiles."""
    run = read_run(path)
    values: list[int] = []
    for number in range(2):
        drive = synthetic.make_drive(run_plan_trial(synthetic, number).plan, number + 1, 200 + 10 * number)
        encoded = drive.record.operations["set"].response_histogram
        histogram = synthetic.HdrHistogram.decode(encoded)
        for item in histogram.get_recorded_iterator():
            values += [item.value_iterated_to] * item.count_at_value_iterated_to
    merged = run.response_ns(list(run.trials[:2]))
    together = synthetic.recorded(values)
    assert merged.p50 == together.get_highest_equivalent_value(sorted(values)[-(-len(values) // 2) - 1])
    assert merged.max == max(trial.response_ns.max for trial in run.trials[:2])
    assert merged.min == min(trial.response_ns.min for trial in run.trials[:2])
    weights = [trial.counts.ok for trial in run.trials[:2]]
    means = [trial.response_ns.mean for trial in run.trials[:2]]
    assert merged.mean == pytest.approx(sum(m * w for m, w in zip(means, weights, strict=True)) / sum(weights))


def run_plan_trial(synthetic: ModuleType, number: int):
    return synthetic.make_run_plan().trials[number]


def test_a_missing_log_is_named(path: Path) -> None:
    run = read_run(path)
    (path / "latency" / "b01-002.hlog").unlink()
    with pytest.raises(DriveFailed, match=r"b01-002\.hlog: cannot be read"):
        run.response_ns(list(run.trials))


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
@pytest.mark.parametrize(
    ("lines_max", "blocks_max", "says"),
    [(2, 1000, r"line 3: more than 2 trials, which no run has"), (100, 1, r"line \d: more than 1 trials of one condi")],
)
def test_more_trials_than_a_run_has_are_refused(
    path: Path, lines_max: int, blocks_max: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed of one condition's trials took minutes and gigabytes for a file of 20 MB."""
    monkeypatch.setattr("loadstone.run_folder.reading.LINES_MAX", lines_max)
    monkeypatch.setattr("loadstone.run_folder.reading.BLOCKS_MAX", blocks_max)
    file = path / "trials.jsonl"
    first = json.loads(file.read_bytes().splitlines()[0])
    with file.open("a") as out:
        out.write(json.dumps(first | {"trial": "b99-001"}) + "\n")
    with pytest.raises(UserError, match=rf"trials\.jsonl, {says}"):
        read_run(path)


def test_attempts_at_one_trial_are_not_counted_as_several(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.run_folder.reading.BLOCKS_MAX", 1)
    file = path / "trials.jsonl"
    first = file.read_bytes().splitlines(keepends=True)[0]
    file.write_bytes(first * 3)
    assert len(read_trials(path)[0]) == 3


def test_a_thousand_trials_of_one_condition_are_read(path: Path) -> None:
    file = path / "trials.jsonl"
    first = json.loads(file.read_bytes().splitlines()[0]) | {"facts": {}, "checks": []}
    lines = [json.dumps(first | {"trial": f"b{number}-001", "block": number}) for number in range(1, BLOCKS_MAX + 2)]
    file.write_text("\n".join(lines[:-1]) + "\n")
    assert len(read_trials(path)[0]) == BLOCKS_MAX
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=r"more than 1,000 trials of one condition"):
        read_trials(path)
