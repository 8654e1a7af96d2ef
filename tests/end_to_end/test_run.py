"""A run from the command to the report, on real Redis with real RedisJSON."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import CALM, Done, Lab, check_of, lab_in

Recorded = tuple[Lab, Done]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """A run that ended, which the tests only read, and what it said."""
    with lab_in(tmp_path_factory.mktemp("recorded")) as lab:
        lab.draws = True
        yield lab, lab.loadstone("run", lab.experiment(), "--json")


def test_a_run_ends_with_a_folder_that_holds_everything(recorded: Recorded) -> None:
    lab, done = recorded
    assert done.status in (0, 3), done.err  # 3: this machine spoiled a trial
    folder = lab.run()
    for name in ("experiment.yaml", "environment.json", "intervals.jsonl", "samples.jsonl", "analysis.json",
                 "report.html", "report.md", "tables.csv"):  # fmt: skip
        assert (folder / name).stat().st_size > 0, name
    analysis = json.loads(done.out)
    assert analysis == json.loads((folder / "analysis.json").read_text())
    assert analysis["trials_done"] == 6
    assert analysis["comparison"]["text"] == "no comparison: one block"
    assert [len(table["rows"]) for table in analysis["tables"]] == [6]


def test_every_operation_is_accounted_for_and_the_server_counted_the_same(recorded: Recorded) -> None:
    trials = recorded[0].trials()
    assert len(trials) == 6
    for trial in trials:
        counts = trial["counts"]
        known = counts["ok"] + sum(counts["errors"].values()) + counts["timeouts"] + counts["in_flight"]
        assert counts["sent"] == known > 0
        for name in ("conservation", "server_counter", "replies", "errors", "clock"):
            assert check_of(trial, name)["verdict"] == "valid", (name, trial)


def test_latency_logs_open_with_the_hdrhistogram_projects_reader(recorded: Recorded) -> None:
    lab, _ = recorded
    trials = [trial for trial in lab.trials() if trial["condition"]["operation"] == "get"]
    assert len(trials) == 2
    for trial in trials:
        merged = HdrHistogram(1, 3_600_000_000_000, 3)
        reader = HistogramLogReader(str(lab.run() / "latency" / f"{trial['trial']}.hlog"), merged)
        while (interval := reader.get_next_interval_histogram()) is not None:
            if interval.get_tag() == "get.response":
                merged.add(interval)
        reader.close()
        assert merged.get_total_count() == trial["counts"]["ok"]
        for name, percentile in (("p50", 50), ("p95", 95), ("p99", 99)):
            reported = trial["response_ns"][name]
            if reported is not None:  # their reader rounds the rank, ours takes the next higher one
                rank = 100 / merged.get_total_count()
                assert merged.get_value_at_percentile(percentile) <= reported
                assert reported <= merged.get_value_at_percentile(percentile + rank)


@pytest.mark.fault("your server holds keys, databases or tables of others", "they are unchanged", area="data")
def test_a_users_redis_is_left_as_it_was(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    server, url = users_redis
    client = redis.Redis.from_url(url)
    client.set("mine", "untouched")
    done = lab.loadstone("run", lab.experiment(calm=CALM), "--server", f"redis={url}")
    assert done.status in (0, 3), done.err
    assert client.keys("*") == [b"mine"]
    assert client.get("mine") == b"untouched"
    flushed = [name for name in client.info("commandstats") if "flush" in name]
    assert flushed == []
    client.close()
    password = url.split(":")[2].split("@")[0]
    for path in lab.run().rglob("*"):
        if path.is_file():
            assert password not in path.read_text(errors="replace"), path
    assert password not in done.err
    assert server.alive()


@pytest.fixture
def moved(recorded: Recorded, tmp_path: Path) -> Iterator[Path]:
    """The run's folder at another place, while there is none at its own."""
    run = recorded[0].run()
    moved, away = tmp_path / "elsewhere", tmp_path / "away"
    shutil.copytree(run, moved)
    run.rename(away)
    yield moved
    away.rename(run)


def test_report_needs_the_folder_only(lab: Lab, moved: Path) -> None:
    for name in ("analysis.json", "report.html"):
        (moved / name).unlink()
    lab.draws = True
    done = lab.loadstone("report", moved, "--format", "html,md,csv,json,svg")
    assert done.status == 0, done.err
    for name in ("analysis.json", "report.html", "report.md", "tables.csv"):
        assert (moved / name).is_file()
    assert list((moved / "charts").glob("*.svg"))


def test_two_blocks_repeat_each_condition_in_another_order(lab: Lab) -> None:
    lab.loadstone("run", lab.experiment(measure="50 ms", calm=CALM), "--blocks", "2", "--seed", "7")
    trials = lab.trials()
    orders = [[t["condition"] for t in trials if t["block"] == block] for block in (1, 2)]
    assert len(orders[0]) == len(orders[1]) == 6
    assert orders[0] != orders[1]
    assert sorted(map(str, orders[0])) == sorted(map(str, orders[1]))
