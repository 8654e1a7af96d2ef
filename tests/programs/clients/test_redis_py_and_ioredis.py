"""redis-py and ioredis on real servers: what is their own, beside the contract that every driver is held against."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.programs.clients.loads import PREFIX, Drive, calls, connections_of, plan, proofs, require_all_correct, words
from tests.real_servers import Certificates, UserRedis

from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Pool
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.programs.build import built
from loadstone.programs.clients.chosen import chosen_driver
from loadstone.safety.errors import DriveFailed
from loadstone.servers.server import DeployContext

ROOT = Path(__file__).parents[3]
NODE = pytest.mark.skipif(shutil.which("npm") is None, reason="no Node: scripts/node installs it")
pytestmark = pytest.mark.timeout(600)  # the first build downloads its libraries
ALL = words("redis-py", "redis-py:mode=asyncio", "ioredis", "ioredis:pool=exclusive")
"""Every way in which operations get their connections."""
ALONE = words("redis-py", "redis-py:mode=asyncio", "ioredis:pool=exclusive")
"""Those in which an operation has a connection to itself."""
CONNECTING = [*words("redis-py", "redis-py:mode=asyncio", "ioredis"), *proofs("ioredis:pool=exclusive")]
"""What is done with a connection by the same lines in both ways of ioredis: of the second it is a `mark.prove`."""
IDLE = [
    *((word, order) for word in ("redis-py", "redis-py:mode=asyncio") for order in ("lifo", "fifo")),
    ("ioredis", "fifo"),
    ("ioredis:pool=exclusive", "lifo"),
]
"""ioredis takes an idle connection by the same lines in both ways."""
GET = Operation(name="get", commands=(ServerCommand(args=("GET", "{key}"), expect="document"),))
SET = Operation(
    name="set", commands=(ServerCommand(args=("SET", "{key}", "{document}"), expect="ok"),), writes="document"
)
TRANSACTION = Operation(
    name="update",
    commands=(
        ServerCommand(args=("WATCH", "{key}"), expect="ok"),
        ServerCommand(args=("GET", "{key}"), expect="document"),
        ServerCommand(args=("MULTI",), expect="ok"),
        ServerCommand(args=("SET", "{key}", "{document}")),
        ServerCommand(args=("EXEC",)),
    ),
    writes="document",
    read_back=ServerCommand(args=("GET", "{key}"), expect="document"),
)


@NODE
@pytest.mark.parametrize("command", ["npm test", pytest.param("npm run lint", marks=pytest.mark.prove)])
def test_the_own_tests_of_ioredis_driver(context: DeployContext, tmp_path: Path, command: str) -> None:
    """Those of redis-py's driver are collected with these."""
    work = tmp_path / "clients" / "ioredis"
    ignored = shutil.ignore_patterns("node_modules", "dist", "build-test")
    shutil.copytree(ROOT / "clients" / "ioredis", work, ignore=ignored)
    (tmp_path / "tests" / "examples").mkdir(parents=True)
    shutil.copytree(ROOT / "tests" / "examples" / "driver", tmp_path / "tests" / "examples" / "driver")
    chosen = chosen_driver("ioredis")
    libraries = built(chosen.manifest, chosen.folder, context, "driver") / "node_modules"
    (work / "node_modules").symlink_to(libraries)  # of the build: npm installed them with the same command
    ran = subprocess.run(command.split(), cwd=work, env=os.environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]
    assert command != "npm test" or "# fail 0" in ran.stdout


@pytest.mark.parametrize("word", ALL)
def test_what_is_written_is_read_and_counted(drive: Drive, store: UserRedis, word: str) -> None:
    """And there are never more connections than the pool has. In RESP2 the contract shows it."""
    opened: list[int] = []
    record = drive(word, plan(store.port, protocol="resp3"), connections_of(store, opened))
    require_all_correct(record)
    assert max(opened) == record.connections.open_at_end == 3
    assert record.read_back.checked > 0
    assert record.commands["HSET"].sent == record.commands["HSET"].replied == calls(store, "hset")
    assert record.commands["HGETALL"].replied == calls(store, "hgetall")
    assert record.program is not None
    assert record.program.reports_pool_wait == (word != "ioredis")


@NODE
def test_nor_where_commands_are_gathered(drive: Drive, store: UserRedis) -> None:
    opened: list[int] = []
    record = drive("ioredis:auto_pipelining=on", plan(store.port), connections_of(store, opened))
    require_all_correct(record)
    assert max(opened) == record.connections.open_at_end == 3


@pytest.mark.parametrize(
    ("word", "order"),
    [pytest.param(*one.values, order, marks=one.marks) for name, order in IDLE for one in words(name)],
)
def test_idle_connections_have_their_limits(drive: Drive, store: UserRedis, word: str, order: Any) -> None:
    pool = Pool(connections=8, min_idle=1, max_idle=1, order=order)
    record = drive(word, plan(store.port, pool=pool, model=Closed(users=8, think_time_ms=5)))
    require_all_correct(record)
    assert record.connections.closed_idle > 0
    assert record.connections.opened == record.connections.closed_idle + record.connections.open_at_end


@pytest.mark.parametrize("word", CONNECTING)
def test_a_batch_goes_through_a_pipeline(drive: Drive, store: UserRedis, word: str) -> None:
    model = Closed(users=2, operations_per_user=100)
    phases = Phases(warm_up_s=0.0, measure_s=0.01, measure_max_s=20.0)
    record = drive(word, plan(store.port, operations=(SET,), model=model, phases=phases, pipeline_depth=16))
    require_all_correct(record)
    assert (record.total.ok, calls(store, "set")) == (200, 200)


@pytest.mark.parametrize("word", ALONE)
def test_a_transaction_keeps_its_connection(drive: Drive, store: UserRedis, word: str) -> None:
    never_twice = Keys(prefix=PREFIX, count=100_000, distribution="sequential")
    record = drive(word, plan(store.port, operations=(TRANSACTION,), keys=never_twice))
    require_all_correct(record)
    assert record.read_back.checked > 0
    assert calls(store, "exec") == calls(store, "set") == record.total.ok


@NODE
def test_a_transaction_is_refused_where_connections_are_shared(drive: Drive, store: UserRedis) -> None:
    with pytest.raises(DriveFailed, match=r"operations\[0\]\.commands\[0\]: WATCH .*use the option pool=exclusive"):
        drive("ioredis", plan(store.port, operations=(TRANSACTION,)))


@pytest.mark.prove
@pytest.mark.parametrize("word", ALL)
def test_other_documents_and_none_are_found(drive: Drive, store: UserRedis, word: str) -> None:
    loaded = Keys(prefix=PREFIX, count=50, loaded=True)
    share = plan(store.port, operations=(GET,), keys=loaded)
    total = drive(word, share).total
    assert total.errors == {"missing": total.sent}
    with store.client() as client:
        client.mset({f"{PREFIX}{key:012d}": "none of ours" for key in range(50)})
    total = drive(word, share).total
    assert total.errors == {"wrong_reply": total.sent}


@pytest.mark.parametrize("word", CONNECTING)
def test_a_unix_socket_a_user_and_a_database(
    drive: Drive, user_redis: Callable[..., UserRedis], tmp_path: Path, word: str
) -> None:
    socket = tmp_path / "redis.sock"
    store = user_redis("--unixsocket", str(socket))
    with store.client() as client:
        client.acl_setuser("load", enabled=True, passwords=["+hunter2"], categories=["+@all"], keys=["loadstone:*"])
    endpoint = Endpoint(unix_path=str(socket), username="load", password="hunter2", database=3)
    require_all_correct(drive(word, plan(store.port, endpoints=(endpoint,))))
    with store.client(db=3) as client:
        assert client.exists(f"{PREFIX}000000000001")
    wrong = endpoint.model_copy(update={"password": "other"})
    with pytest.raises(DriveFailed, match="WRONGPASS"):
        drive(word, plan(store.port, endpoints=(wrong,)))


@pytest.mark.parametrize("word", words("redis-py", "redis-py:mode=asyncio", "ioredis"))
def test_tls(
    drive: Drive,
    user_redis: Callable[..., UserRedis],
    debian_redis: Path,
    certificates: Certificates,
    word: str,
) -> None:
    files = ("--tls-cert-file", str(certificates.cert), "--tls-key-file", str(certificates.key))
    ca = ("--tls-ca-cert-file", str(certificates.ca), "--tls-auth-clients", "no")
    port = user_redis(*files, *ca, binary=debian_redis, tls=True).port

    def driven(host: str, tls: Tls) -> DriveRecord:
        return drive(word, plan(port, endpoints=(Endpoint(host=host, port=port, tls=tls),)))

    require_all_correct(driven("localhost", Tls(ca_file=str(certificates.ca))))
    require_all_correct(driven("127.0.0.1", Tls(ca_file=str(certificates.ca), server_name="localhost")))
    require_all_correct(driven("127.0.0.1", Tls(verify=False)))
    with pytest.raises(DriveFailed, match=f"127.0.0.1:{port}"):  # one of an unknown authority: `test_tls`
        driven("127.0.0.1", Tls(ca_file=str(certificates.ca), server_name="other"))
