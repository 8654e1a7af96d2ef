"""What a run left on a primary of the user's that another server took over from, or that is busy: `loadstone clean`."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis
from tests.real_servers import PLAN, UserRedis, wait_until

from loadstone.cli.clean_command import clean
from loadstone.experiment.plan.drive_plan import Keys
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.start_context import Stays
from loadstone.measure.snapshots import numbered_keys, remove_keys
from loadstone.programs.deployments import Deployments
from loadstone.programs.ready import RunningParts
from loadstone.report.live.progress import RunProgress
from loadstone.run_folder.ledger import CreatedObject
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

KEYS = CreatedObject("numbered_keys", "loadstone:00000001:002:", 3000)
FAST = ("--repl-diskless-sync-delay", "0")
Start = Callable[..., UserRedis]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "20261122T101112Z-shop"
    folder.mkdir(parents=True)
    return folder


@dataclass
class Pair:
    """A primary and its replica, in sync."""

    primary: UserRedis
    replica: UserRedis
    login: dict[str, str]

    def of(self, server: UserRedis) -> redis.Redis:
        return server.client(**self.login)

    def fail_over(self, *, demotes: bool) -> None:
        """The replica is promoted; the primary ends, or follows it."""
        with self.of(self.replica) as promoted, self.of(self.primary) as demoted:
            if not demotes:
                demoted.shutdown(nosave=True)
            promoted.replicaof("NO", "ONE")
            if demotes:
                demoted.replicaof("127.0.0.1", self.replica.port)
                wait_until(lambda: demoted.info("replication")["master_link_status"] == "up")


@pytest.fixture
def pair_of(user_redis: Start) -> Callable[..., Pair]:
    def start(*options: str, **login: str) -> Pair:
        primary = user_redis(*FAST, *options)
        pair = Pair(primary, user_redis(*FAST, *options, "--replicaof", f"127.0.0.1 {primary.port}"), login)
        with pair.of(pair.replica) as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up")
        return pair

    return start


def fill(client: redis.Redis) -> None:
    """The keys of a run, and one of the user's."""
    client.mset({"theirs": 1, **{f"{KEYS.name}{number:012d}": 1 for number in range(KEYS.count)}})


def killed(context: DeployContext, folder: Path, url: str, client: redis.Redis, copies: int = 1) -> None:
    """What a run makes before its process is gone."""
    with closing(RunLedger(folder)) as ledger:
        run = Deployments(registry.make_server, replace(context, ledger=ledger))
        (deployed,) = run._servers.need({"redis": {"kind": "url", "url": url}}).values()
        deployed.traces.note(KEYS)
        deployed.close()
    fill(client)
    assert client.wait(copies, 60_000) == copies


def cleaned(folder: Path, *servers: str, status: int = 0) -> str:
    lines: list[str] = []
    assert clean(str(folder), servers, lines.append) == status, lines
    return "\n".join(lines)


@pytest.mark.fault(
    "your primary ends or becomes a replica, and a replica is promoted",
    "`clean` removes the run's keys from the new primary, which its replication proves",
    area="leftovers",
)
@pytest.mark.parametrize("demotes", [False, True], ids=["ended", "demoted"])
def test_keys_are_removed_from_the_promoted_replica(
    demotes: bool, pair_of: Callable[..., Pair], context: DeployContext, run_folder: Path
) -> None:
    pair = pair_of()
    with pair.of(pair.primary) as client:
        killed(context, run_folder, pair.primary.url, client)
    pair.fail_over(demotes=demotes)
    with pair.of(pair.replica) as promoted:
        assert promoted.dbsize() == KEYS.count + 1
        assert f"redis (redis://127.0.0.1:{pair.replica.port}/0): 3,000 keys" in cleaned(run_folder)
        assert promoted.keys("*") == ["theirs"]
    assert cleaned(run_folder) == "nothing is left on any server"


def test_both_are_cleaned_where_both_are_primaries_now(
    pair_of: Callable[..., Pair], context: DeployContext, run_folder: Path
) -> None:
    pair = pair_of()
    with pair.of(pair.primary) as client, pair.of(pair.replica) as promoted:
        killed(context, run_folder, pair.primary.url, client)
        promoted.replicaof("NO", "ONE")
        assert cleaned(run_folder).count("3,000 removed") == 2
        assert client.keys("*") == promoted.keys("*") == ["theirs"]


def test_a_password_goes_only_where_the_user_sends_it(
    pair_of: Callable[..., Pair], context: DeployContext, run_folder: Path
) -> None:
    pair = pair_of("--requirepass", "hunter2-hunter2", "--masterauth", "hunter2-hunter2", password="hunter2-hunter2")
    at = [f"redis=redis://:hunter2-hunter2@127.0.0.1:{one.port}" for one in (pair.primary, pair.replica)]
    with pair.of(pair.primary) as client:
        killed(context, run_folder, at[0].partition("=")[2], client)
    pair.fail_over(demotes=True)
    with pair.of(pair.replica) as promoted:
        for given in ((), at[:1]):
            text = cleaned(run_folder, *given, status=3)
            assert f"copied to redis://127.0.0.1:{pair.replica.port}/0, where no primary answers" in text
            assert "add --server redis=URL" in text
            assert promoted.dbsize() == KEYS.count + 1
        assert "3,000 removed" in cleaned(run_folder, at[1])
        assert promoted.keys("*") == ["theirs"]


@pytest.mark.fault("a planted ledger names keys, tables or addresses of others")
def test_a_server_that_does_not_prove_to_have_the_data_is_left_alone(
    pair_of: Callable[..., Pair], user_redis: Start, context: DeployContext, run_folder: Path
) -> None:
    pair, other = pair_of(), user_redis()
    with pair.of(pair.primary) as client, other.client() as others:
        killed(context, run_folder, pair.primary.url, client)
        fill(others)
        ledger = run_folder / "ledger.jsonl"
        planted = ledger.read_text().replace(f":{pair.replica.port}/0", f":{other.port}/0")
        assert planted != ledger.read_text()
        ledger.write_text(planted)
        client.shutdown(nosave=True)
        for given in ((), (f"redis={other.url}",), (f"redis={other.url}/1",)):
            assert "where no primary answers that has them" in cleaned(run_folder, *given, status=3)
        assert others.dbsize() == KEYS.count + 1


def trial(url: str) -> PlannedTrial:
    return PlannedTrial(
        name="t",
        condition={},
        block=1,
        order=1,
        servers={"redis": {"kind": "url", "url": url}},
        plan=PLAN.model_copy(update={"keys": Keys(prefix=KEYS.name, count=KEYS.count)}),
        load=None,
    )


@pytest.fixture
def busy(user_redis: Start) -> Iterator[Callable[[], UserRedis]]:
    """A Redis that runs a script for two seconds, and says BUSY after 50 ms."""
    running: list[threading.Thread] = []
    theirs = user_redis("--lua-time-limit", "50")
    script = """local t = redis.call('TIME') repeat local n = redis.call('TIME')
    until (n[1] - t[1]) * 1000000 + n[2] - t[2] > 2000000"""

    def begin() -> UserRedis:
        def run() -> None:
            with theirs.client() as client:
                client.config_set("lua-time-limit", 50)
                client.eval(script, 0)

        running.append(threading.Thread(target=run))
        running[-1].start()
        wait_until(lambda: is_busy_now(theirs))
        return theirs

    yield begin
    for thread in running:
        thread.join()


def is_busy_now(server: UserRedis) -> bool:
    with server.client() as client:
        try:
            client.get("theirs")
        except redis.ResponseError as refused:
            return "BUSY" in str(refused)
        return False


@pytest.mark.fault(
    "your Redis runs a long script or loads its data when keys are removed",
    "it is tried again for 20 s; what stays then is said under --quiet, too",
    area="leftovers",
)
def test_a_busy_redis_is_tried_again_after_a_trial_at_the_end_and_by_clean(
    busy: Callable[[], UserRedis], context: DeployContext, run_folder: Path
) -> None:
    with closing(RunLedger(run_folder)) as ledger:
        theirs = busy()
        with theirs.client() as client:
            wait_until(lambda: not is_busy_now(theirs))
            run = Deployments(registry.make_server, replace(context, ledger=ledger))
            planned = trial(theirs.url)
            ready: RunningParts = run.need(planned)
            note = ready.servers["redis"].traces.note
            for remove in (lambda: remove_keys(planned, ready, None), run.stop):
                note(numbered_keys(planned.plan))
                fill(client)
                busy()
                assert remove() is None
                assert client.keys("*") == ["theirs"]
            assert ledger.left() == {}
    with theirs.client() as client:
        killed(context, run_folder, theirs.url, client, copies=0)
        busy()
        assert "3,000 removed" in cleaned(run_folder)
        assert client.keys("*") == ["theirs"]


def test_a_redis_that_loads_its_data_is_tried_again(
    user_redis: Start, context: DeployContext, run_folder: Path
) -> None:
    theirs = user_redis("--enable-debug-command", "yes")
    with theirs.client() as client:
        killed(context, run_folder, theirs.url, client, copies=0)
        with socket.create_connection(("127.0.0.1", theirs.port)) as unanswered:
            client.config_set("key-load-delay", 500)
            client.config_set("loading-process-events-interval-bytes", 1024)
            unanswered.sendall(b"DEBUG RELOAD\r\n")
            wait_until(lambda: client.info("persistence")["loading"] == 1)
            assert "3,000 removed" in cleaned(run_folder)
            assert client.keys("*") == ["theirs"]


def test_what_stays_is_said_under_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(quiet=True)
    progress.step("redis: removing")
    progress.step(Stays("redis: not everything could be removed"))
    progress.note(Stays("redis: not everything could be removed"))
    assert capsys.readouterr().err == "redis: not everything could be removed\n"
