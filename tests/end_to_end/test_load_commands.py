"""`loadstone redis` and `loadstone http` on real servers: from options to what is printed, and what is left."""

import contextlib
import csv
import io
import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis

from loadstone.drivers.null_server import NullServerProcess
from loadstone.servers.server import DeployContext
from tests.calling import called
from tests.real_servers import UserRedis, wait_until
from tests.users_cluster import PASSWORD, TheirCluster, resharded

FIGURES = (
    r"\d+\.\d\d requests per second(?: \[\d+, \d+\])?(?: \((?:up to \+\d+ %|no upper bound)\))?, p50=\d+\.\d{3} msec"
)
"""Of a row that other programs on the machine did not spoil."""
VERDICT = "FASTER|SLOWER|EQUIVALENT|UNDECIDED|MIXED|NOT DECIDABLE|INVALID|uses [^;]* CPU|use the same"
ALONE = ("--part", "none")
"""Nothing behind a service is looked for, which takes 6 s: `test_parts_behind` and the options of wrk do."""
DONE = (0, 3)
"""Measured; on a machine that others keep busy the checks may refuse the figures."""


def loadstone(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a folder of its own."""
    folder.mkdir(exist_ok=True)
    return called(*words, "--share-machine", folder=folder, environment={"COLUMNS": "160"}, draws=False)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where commands are given: nothing else is there."""
    return tmp_path / "here"


def trials_of(folder: Path) -> list[dict[str, Any]]:
    """What was measured, whatever the checks say of it."""
    (run,) = (folder / "kept").glob("*/")
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines() if '"trial"' in line]


def test_requests_are_counted_and_written_as_the_peers_do(here: Path) -> None:
    here.mkdir()
    elsewhere = here.parent / "elsewhere"
    elsewhere.write_text("theirs")
    (here / "hdr_b01-001.hlog").symlink_to(elsewhere)
    done = loadstone(
        "redis", "-q", "-n", "3000", "-c", "8", "-P", "4", "-t", "get,lrange_100", "--json-out-file", "out.json",
        "--hdr-file-prefix", "hdr", folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    get, lrange = done.stdout.splitlines()
    assert re.fullmatch(rf"get: (?:{FIGURES}|INVALID: |MISSING: ).*", get)
    assert re.fullmatch(rf"lrange_100: (?:{FIGURES}|INVALID: |MISSING: ).*", lrange)
    assert len(json.loads((here / "out.json").read_text())["tables"][0]["rows"]) == 2
    assert {path.name for path in here.iterdir()} == {"out.json", "hdr_b01-001.hlog", "hdr_b01-002.hlog", "runs"}
    assert elsewhere.read_text() == "theirs", "no link is followed"


def test_rows_take_turns_and_are_a_line_of_csv_each(here: Path) -> None:
    done = loadstone("redis", "--csv", "--test-time", "1", "-c", "8", "--quiet", folder=here)
    assert done.returncode in DONE, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["test"] for row in rows] == ["get", "set"]
    for row in (row for row in rows if row["verdict"] != "invalid"):
        assert float(row["rps"]) > 0
        assert row["errors"] == "0"
    assert [path.name for path in here.iterdir()] == ["runs"]


def test_a_redis_of_the_users_keeps_its_keys_and_gets_none(user_redis: Callable[..., UserRedis], here: Path) -> None:
    server = user_redis()
    client = server.client()
    client.set("theirs", "1")
    done = loadstone(
        "redis", server.url, "-n", "3000", "--ratio", "1:4", "--verify", "--zipf", "1.1", "-r", "100", "--out", "kept",
        folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    assert client.keys("*") == ["theirs"]
    stats = client.info("commandstats")
    assert stats["cmdstat_get"]["calls"] > stats["cmdstat_set"]["calls"] > 100
    assert "set:get 1:4" in done.stdout
    (trial,) = trials_of(here)
    assert trial["counts"]["ok"] >= 3000
    assert not trial["counts"]["errors"], "every reply was what had been written"
    (run,) = (here / "kept").glob("*/")
    assert {"report.html", "report.md", "tables.csv"} <= {path.name for path in run.iterdir()}


def test_reads_of_keys_that_are_not_there_are_misses_and_no_errors(here: Path) -> None:
    done = loadstone("redis", "--csv", "-n", "2000", "-t", "get", "--no-load", "-c", "4", folder=here)
    assert done.returncode in DONE, done.stderr
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["errors"], row["misses_percent"]) == ("0", "100.000")


def test_what_is_not_ours_to_send_is_refused(user_redis: Callable[..., UserRedis], here: Path) -> None:
    server = user_redis()
    server.client().set("theirs", "1")
    done = loadstone("redis", server.url, "--command", "SET theirs {value}", folder=here)
    assert done.returncode == 2
    assert "'SET theirs {value}' is not sent to redis" in done.stderr
    assert server.client().get("theirs") == "1"
    assert not list(here.iterdir())


def test_latency_at_a_rate_is_on_the_line_of_its_row(here: Path) -> None:
    load = ("redis", "-t", "get", "-c", "4", "--test-time", "1", "--repeat", "2", "--at-rate", "1000/s")
    done = loadstone(*load, "-q", folder=here)
    assert done.returncode in DONE, done.stderr
    at_rate = r"^get: .* requests per second.*, at 1000 per second: (p50=\d+\.\d{3} |INVALID: )"
    assert re.search(at_rate, done.stdout), done.stdout


class Shop(BaseHTTPRequestHandler):
    """Answers what its file of requests sends, and anything else with 400."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a reply in one piece

    def do_GET(self) -> None:
        number = self.path.removeprefix("/shop/items/")
        self._answer(200 if number.isdecimal() and self.headers["Accept"] == "application/json" else 400)

    def do_POST(self) -> None:
        item = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        right = self.headers["X-Token"] == "t0ken" and re.fullmatch("[a-z]{8}", item["name"]) and item["of"] == {"a": 1}
        self._answer(201 if right else 400)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def shop() -> Iterator[str]:
    """Its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/shop"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_of_requests_is_sent_by_its_weights(shop: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "t0ken")
    here.mkdir()
    (here / "item.json").write_text('{"name": "{random 8 lowercase}", "of": {"a": 1}}')
    (here / "shop.http").write_text(
        "# @weight 4\nGET http://localhost:1/items/{{$randomInt 1 100}}\nAccept: application/json\n\n"
        "### add\n# @expect 201\nPOST /items\nX-Token: ${env:SHOP_TOKEN}\n\n< item.json\n"
    )
    done = loadstone(
        "http", shop, *ALONE, "--request-file", "shop.http", "-n", "1000", "-c", "4", "--out", "kept", folder=here
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    (trial,) = trials_of(here)
    assert not trial["counts"]["errors"], "each was what the service expects"
    sent = {name: one["sent"] for name, one in trial["facts"]["drive"]["commands"].items()}
    assert 3 < sent["GET /items/{uniform 1..99}"] / sent["POST /items"] < 5
    assert set(trial["facts"]["drive"]["operations"]) == {"get", "add"}
    (run,) = (here / "kept").glob("*/")
    assert not [path for path in run.rglob("*") if path.is_file() and b"t0ken" in path.read_bytes()]


def test_two_servers_get_a_verdict(user_redis: Callable[..., UserRedis], here: Path) -> None:
    servers = [user_redis(), user_redis()]
    done = loadstone(
        "redis", servers[0].url, "--against", servers[1].url, "-t", "get", "-c", "8", "--budget", "8s", "-q",
        folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    *_, verdict = done.stdout.splitlines()
    assert re.search(VERDICT, verdict), done.stdout
    for server in servers:
        assert server.client().keys("*") == []
        assert server.client().info("commandstats")["cmdstat_get"]["calls"] > 1000


def test_one_server_by_two_addresses_is_held_against_the_commands_of_both_sides(
    user_redis: Callable[..., UserRedis], here: Path
) -> None:
    server = user_redis()
    same = server.url.replace("127.0.0.1", "localhost")
    assert same != server.url
    done = loadstone(
        "redis", server.url, "--against", same, "-t", "get", "-c", "4", "--budget", "12s", "--twin", "--out", "kept",
        folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    said = " ".join(done.stdout.split())
    (run,) = (here / "kept").glob("*/")
    (family,) = json.loads((run / "analysis.json").read_text())["families"]
    if family["twin"]["primary"]["low"] is not None:  # other programs may have spoiled the rounds
        assert "against itself in the same rounds: correct replies a second" in said
    assert "both sides are one process that gets the same requests" in said
    assert "CPU per request" not in said, "it is no side's"
    for trial in trials_of(here):
        assert {one["name"]: one["verdict"] for one in trial["checks"]}["server_counter"] == "valid"


def test_latency_by_rate_is_of_the_full_speed_just_measured(here: Path) -> None:
    done = loadstone(
        "redis", "--rates", "1%,3%", "-t", "get", "--test-time", "600ms", "-c", "8", "--out", "kept", folder=here
    )
    assert done.returncode in DONE, done.stderr
    full = re.search(r"full speed of get: ([\d,]+) a second", done.stderr)
    assert full is not None
    planned = {trial["condition"]["rate"]: trial["facts"]["plan"]["model"]["rate_per_s"] for trial in trials_of(here)}
    per_s = float(full[1].replace(",", ""))
    assert planned == {"1 %": pytest.approx(0.01 * per_s, rel=1e-3), "3 %": pytest.approx(0.03 * per_s, rel=1e-3)}


def test_a_password_on_the_command_line_is_kept_nowhere(user_redis: Callable[..., UserRedis], here: Path) -> None:
    server = user_redis()
    server.client().config_set("requirepass", "s3cr3t-pw-here")
    done = loadstone(
        "redis", server.url, "-a", "s3cr3t-pw-here", "-n", "500", "-t", "set", "--out", "kept", folder=here
    )
    assert done.returncode in DONE, done.stderr
    assert "-a: the password stands in the command line" in done.stderr
    assert "s3cr3t-pw-here" not in done.stdout + done.stderr
    for path in here.rglob("*"):
        assert not path.is_file() or b"s3cr3t-pw-here" not in path.read_bytes(), path


@pytest.fixture
def services() -> Iterator[list[str]]:
    """Two HTTP servers that answer at once."""
    servers = [NullServerProcess({"protocol": "http1", "status": 200, "body_bytes": 100}) for _ in range(2)]
    try:
        ports = [server.start(DeployContext()).port for server in servers]
        yield [f"http://127.0.0.1:{port}" for port in ports]
    finally:
        for server in servers:
            server.stop()


def test_a_service_is_loaded_by_wrks_options(services: list[str], here: Path) -> None:
    options = ("-c", "4", "-t", "1", "-d", "1s", "--latency", "--csv", "--repeat", "2", "--out", "kept")
    done = loadstone("http", f"{services[0]}/x", *options, folder=here)
    assert done.returncode in DONE, done.stderr
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert row["test"] == "GET /x"
    assert len(trials_of(here)) == 2
    assert all(trial["counts"]["ok"] > 100 and not trial["counts"]["errors"] for trial in trials_of(here))


def test_a_rate_of_each_connection_is_that_of_all(services: list[str], here: Path) -> None:
    done = loadstone("http", services[0], *ALONE, "-c", "4", "-q", "50", "-n", "200", "--out", "kept", folder=here)
    assert done.returncode in DONE, done.stderr
    (trial,) = trials_of(here)
    assert trial["counts"]["ok"] >= 200
    assert trial["facts"]["plan"]["model"]["rate_per_s"] == 200


def test_what_is_not_expected_is_an_error_by_its_kind(services: list[str], here: Path) -> None:
    options = (*ALONE, "-n", "300", "-c", "2", "--expect", "404", "--out", "kept")
    done = loadstone("http", services[0], *options, folder=here)
    assert done.returncode == 3
    assert "status_2xx" in done.stderr
    (trial,) = trials_of(here)
    assert (trial["counts"]["ok"], list(trial["counts"]["errors"])) == (0, ["status_2xx"])


def test_two_services_get_a_verdict(services: list[str], here: Path) -> None:
    options = (*ALONE, "-c", "4", "--slice", "50 ms", "--budget", "8s", "--quiet")
    done = loadstone("http", services[0], "--against", services[1], *options, folder=here)
    assert done.returncode in DONE, done.stderr
    assert re.search(VERDICT, done.stdout), done.stdout
    assert "one process" not in done.stdout


def test_one_service_by_two_addresses_is_said_to_be_one(services: list[str], here: Path) -> None:
    options = (*ALONE, "-c", "2", "--repeat", "2", "--slice", "50 ms", "--budget", "30s", "--quiet", "--out", "kept")
    same = services[0].replace("127.0.0.1", "localhost")
    assert same != services[0]
    done = loadstone("http", services[0], "--against", same, *options, folder=here)
    assert done.returncode in DONE, done.stderr
    assert "both sides are one process that gets the same requests" in done.stdout


def test_a_cluster_of_the_users_is_resharded_under_load_without_an_error(
    their_cluster: Callable[..., TheirCluster], here: Path
) -> None:
    cluster = their_cluster(3)
    theirs = ("loadstone-of-theirs", "their")
    for key in theirs:
        for number in range(3):
            with contextlib.suppress(redis.ResponseError):
                cluster.client(number).set(key, "1")
    with resharded(cluster, range(40), 0, 1):
        done = loadstone(
            "redis", cluster.url, "--cluster", "--ratio", "1:1", "--verify", "-c", "5", "-n", "30000", "--out", "kept",
            folder=here,
        )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    (trial,) = trials_of(here)
    drive = trial["facts"]["drive"]
    assert (drive["total"]["errors"], drive["total"]["timeouts"]) == ({}, 0)
    assert drive["redirections"]["moved"] > 0
    if "✕ set:get" not in done.stdout:  # other programs may have spoiled the row
        assert re.search(r"redirections of .*: moved [\d,]+", done.stdout)
    checks = {check["name"]: check["verdict"] for check in trial["checks"]}
    assert (checks["server_counter"], checks["replies"]) == ("valid", "valid")
    assert sorted(set(cluster.keys())) == sorted(theirs)
    assert PASSWORD not in "".join(path.read_text(errors="replace") for path in here.rglob("*") if path.is_file())


def test_replicas_are_read_and_each_server_is_counted(user_redis: Callable[..., UserRedis], here: Path) -> None:
    primary = user_redis("--repl-diskless-sync-delay", "0")
    replica = user_redis("--replicaof", f"127.0.0.1 {primary.port}")
    wait_until(lambda: "online" in str(primary.client().info("replication")))
    done = loadstone(
        "redis", f"redis://127.0.0.1:{primary.port}", "--read-from", "replica", "--ratio", "1:4", "--verify",
        "-c", "4", "-n", "8000", "--out", "kept", folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    (trial,) = trials_of(here)
    drive, commands = trial["facts"]["drive"], trial["facts"]["drive"]["commands"]
    assert (drive["total"]["errors"], trial["facts"]["replica_of"]) == ({}, [None, 0])
    read_back = commands["GET"]["sent"] - drive["endpoints"][1]["sent"]
    assert 0 <= drive["read_back"]["checked"] <= read_back <= 64, "these go to the primary"
    assert drive["endpoints"][0]["sent"] == commands["SET"]["sent"]
    checks = {check["name"]: check["verdict"] for check in trial["checks"]}
    assert (checks["server_counter"], checks["replies"]) == ("valid", "valid")
    if "✕ set:get" not in done.stdout:  # other programs may have spoiled the row
        assert re.search(r"requests of set:get 1:4: primary [\d,]+, replica 1 [\d,]+", done.stdout)
    assert (primary.client().keys("*"), set(trial["cpu_s"]) >= {"redis", "redis-replica-1"}) == ([], True)
    wait_until(lambda: replica.client().keys("*") == [])


@pytest.mark.parametrize(
    "options",
    [
        ("20",),
        ("20", "-c", "7"),
        ("1000", "-c", "50", "-P", "16"),
        ("1003", "-c", "50", "-P", "16"),
        ("100", "--rate", "1000"),
    ],
)
def test_so_many_requests_are_sent_as_are_written(
    user_redis: Callable[..., UserRedis], here: Path, options: tuple[str, ...]
) -> None:
    """The server's own count: no request goes before the first that is measured, and none after the last."""
    theirs = user_redis()
    done = loadstone("redis", theirs.url, "-t", "incr", "-n", *options, folder=here)
    assert done.returncode in DONE, done.stderr
    with theirs.client() as client:
        counted = client.info("commandstats")["cmdstat_incr"]["calls"]
    assert counted == int(options[0])


def test_errors_stand_by_kind_below_the_table_and_the_reason_on_the_quiet_line(
    user_redis: Callable[..., UserRedis], here: Path
) -> None:
    words = ("redis", user_redis().url, "--command", "LPUSH {key} a", "--load", "SET {key} x", "-n", "50")
    table = loadstone(*words, folder=here).stdout
    assert re.search(r"errors of lpush: server_wrongtype 50\b", table), table
    assert "1e+02" not in table
    quiet = loadstone(*words, "-q", folder=here).stdout
    assert re.search(r"lpush: INVALID: .*100 % of the operations failed: 50 server_wrongtype", quiet), quiet
