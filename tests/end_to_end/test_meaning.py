"""What figures mean comes before how exact they are: misses, wrong replies, the same key twice, keys and operations."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.cli.init_command import write_experiment
from tests.end_to_end.conftest import Lab, check_of
from tests.end_to_end.conftest import plain as uncoloured
from tests.end_to_end.test_load_commands import DONE, here, loadstone  # noqa: F401 (a fixture)
from tests.real_servers import UserRedis

EXPERIMENT = """
format: 1
name: keys
question: Is one MGET of ten keys better than ten GETs?
factors:
  way: {title: Way, levels: [mget, get]}
tables:
  - {name: by-way, title: By way, vary: {way: [mget, get]}}
comparisons:
  - {name: way, question: MGET or GET?, between: way, levels: [mget, get], baseline: get}
servers:
  redis: {kind: process}
design: {at_rate: never, slice: 50 ms}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {warm_up_s: 100 ms, measure_s: 300 ms}
  keys: {count: 500}
  documents: {payload_bytes: 100 B}
  operations:
    - {name: mget, when: {way: mget}, commands: [{args: "MGET {keys:10}", expect: any}]}
    - {name: get, when: {way: get}, commands: [{args: "GET {key}", expect: any}]}
    - {name: set, weight: 0, commands: [{args: "SET {key} {value}", expect: ok}]}
  load: [{operation: set}]
"""
NOT_LOADED = EXPERIMENT.replace("  load: [{operation: set}]\n", "")
TWICE = NOT_LOADED.replace("{keys:10}", " ".join(["{key}"] * 10))


def plain(text: str) -> str:
    """In one line, however wide the terminal is."""
    return " ".join(uncoloured(text).split())


def written(lab: Lab, experiment: str) -> Path:
    path = lab.folder / "keys.yaml"
    path.write_text(experiment)
    return path


@pytest.mark.fault("all reads of a comparison miss because nothing was stored")
def test_keys_that_nothing_writes_are_said_before_anything_is_measured(lab: Lab) -> None:
    shown = plain(lab.loadstone("show", written(lab, TWICE)).out)
    assert "mget: MGET names {key} 10 times, which is the same key each time; use {key2} for another" in shown
    assert "Nothing writes the keys that get and mget read: every read will miss" in shown
    loaded = plain(lab.loadstone("show", written(lab, EXPERIMENT)).out)
    assert "Nothing writes" not in loaded
    assert "same key" not in loaded
    assert "way is compared by keys, not by operations (keys an operation: mget 10, get 1)." in loaded


@pytest.mark.fault(
    "all reads of a comparison miss because nothing was stored",
    "the comparison is invalid, status 3; `show` and `run` warn before",
    area="load",
)
def test_a_comparison_whose_reads_all_find_nothing_is_invalid(lab: Lab) -> None:
    done = lab.loadstone("run", written(lab, NOT_LOADED), "--quick")
    assert done.status == 3, done.err
    first = plain(done.out)
    assert "100 % of the reads of mget and get missed (nothing was loaded: add workload.load)." in first
    assert "INVALID: hit_rate" in first
    assert "FASTER" not in first
    assert "Nothing writes the keys that get and mget read" in plain(done.err)
    for trial in lab.trials():
        check = check_of(trial, "hit_rate")
        assert (check["verdict"], check["measured"]) == ("invalid", 100)


def test_ten_keys_of_one_command_are_compared_with_ten_commands_by_keys(
    lab: Lab,
    user_redis: Callable[..., UserRedis],
) -> None:
    server = user_redis()
    before = server.client().info("stats")
    done = lab.loadstone("run", written(lab, EXPERIMENT), "--quick", "--json", "--server", f"redis={server.url}")
    assert done.status in DONE, done.err
    analysis = json.loads(done.out)
    assert analysis["families"][0]["metric"] == "units_per_s"
    (pair,) = analysis["families"][0]["comparisons"]
    assert pair["primary"]["kind"] == "faster"
    winner = pair["primary"][pair["primary"]["winner"]]
    assert winner["condition"]["way"] == "mget", "a command of ten keys does more keys a second than ten commands"
    each = {(one["condition"]["way"], one["units"]["per_operation"], one["units"]["unit"]) for one in lab.trials()}
    assert each == {("mget", 10.0, "key"), ("get", 1.0, "key")}
    for trial in lab.trials():
        assert trial["units_per_s"] == pytest.approx(trial["goodput_per_s"] * trial["units"]["per_operation"])
    calls, stats = server.client().info("commandstats"), server.client().info("stats")
    looked_up = 10 * calls["cmdstat_mget"]["calls"] + calls["cmdstat_get"]["calls"]
    assert stats["keyspace_hits"] - before["keyspace_hits"] == looked_up, "the server's own count: ten keys a MGET"
    assert stats["keyspace_misses"] == before["keyspace_misses"]


def test_the_keys_of_one_command_are_different(user_redis: Callable[..., UserRedis], here: Path) -> None:  # noqa: F811
    server = user_redis()
    with server.client().monitor() as monitor:
        done = loadstone(
            "redis", server.url, "-n", "50", "-c", "2", "--command", "MGET {keys:10}", "--load", "SET {key} {value}",
            "-r", "20", "-q", folder=here,
        )  # fmt: skip
        assert done.returncode in DONE, done.stderr
        server.client().echo("end")
        sent: list[list[str]] = []
        for one in iter(monitor.next_command, None):
            words = one["command"].split()
            if words[:1] == ["ECHO"]:
                break
            sent.append(words)
    reads = [words[1:] for words in sent if words[0] == "MGET"]
    assert len(reads) >= 50
    assert all(len(set(keys)) == len(keys) == 10 for keys in reads)
    assert len({tuple(keys) for keys in reads}) > 1


def test_a_row_whose_reads_all_find_nothing_is_invalid_unless_that_is_meant(here: Path) -> None:  # noqa: F811
    done = loadstone("redis", "-q", "-n", "2000", "-c", "4", "--command", "GET {key}", folder=here)
    assert done.returncode == 3
    assert "INVALID: 100 % of the reads missed" in done.stdout
    assert "add workload.load, or --load 'SET {key} {value}'" in done.stdout
    meant = loadstone("redis", "-q", "-n", "2000", "-c", "4", "--command", "GET {key}", "--no-load", folder=here)
    assert "of the reads missed" not in meant.stdout


def test_wrong_types_stand_on_the_first_screen(lab: Lab) -> None:
    wrong = EXPERIMENT.replace("MGET {keys:10}", "HGET {key} field")
    done = lab.loadstone("run", written(lab, wrong), "--quick")
    assert done.status == 3
    assert "errors of mget: server_wrongtype" in plain(done.out)


def test_the_reading_example_of_the_first_experiment_hits(lab: Lab) -> None:
    path = lab.folder / "first.yaml"
    write_experiment(path)
    text = path.read_text().replace("    # - name: get\n", "    - name: get\n")
    for line in ("  weight: 4", "  commands:", "    - args: GET {key}", "      expect: value"):
        text = text.replace(f"    # {line}", f"    {line}", 1)
    path.write_text(text.replace("kind: embedded}", "kind: process}").replace("measure_s: 5 s", "measure_s: 300 ms"))
    done = lab.loadstone("run", path, "--quick", "--blocks", "1", "--only", "pipeline=16")
    assert done.status in DONE, done.err
    assert "of the reads" not in done.out
    reads = [check_of(trial, "hit_rate") for trial in lab.trials()]
    assert [one["measured"] for one in reads] == [0.0] * len(reads)
    assert reads
