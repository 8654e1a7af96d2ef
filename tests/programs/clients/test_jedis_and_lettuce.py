"""Jedis and Lettuce on real servers: what is their own, beside the contract that every driver is held against."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programs.clients.loads import PREFIX, Drive, calls, connections_of, plan, require_all_correct
from tests.real_servers import Certificates, UserRedis

from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Open, Pool
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.programs.clients.chosen import chosen_driver
from loadstone.safety.errors import DriveFailed

pytestmark = [
    pytest.mark.skipif(shutil.which("mvn") is None, reason="no Maven: scripts/apt installs it where it can"),
    pytest.mark.timeout(600),  # the first build downloads its libraries
]
POM = Path(__file__).parents[3] / "clients" / "pom.xml"
BOTH = ("jedis", "lettuce")


@pytest.mark.parametrize("name", ["jedis", "lettuce"])
def test_a_manifest_names_the_version_that_the_build_pins(name: str) -> None:
    pinned = re.search(rf"<{name}\.version>(.+)</{name}\.version>", POM.read_text())
    assert pinned is not None
    assert pinned[1] == chosen_driver(name).manifest.version


@pytest.mark.parametrize(
    ("word", "protocol"), [("jedis", "resp3"), ("lettuce", "resp3"), ("lettuce:shared=on", "resp2")]
)
def test_what_is_written_is_read_and_counted(drive: Drive, store: UserRedis, word: str, protocol: str) -> None:
    """Over as many connections as the pool has; where they are shared, over one. In RESP2 the contract shows it."""
    seen: list[int] = []
    record = drive(word, plan(store.port, protocol=protocol), connections_of(store, seen))
    require_all_correct(record)
    expected = 1 if word == "lettuce:shared=on" else 3
    assert max(seen) == expected
    assert (record.connections.planned, record.connections.open_at_end) == (3, expected)
    assert record.read_back.checked > 0
    assert record.commands["HSET"].sent == record.commands["HSET"].replied == calls(store, "hset")
    assert record.commands["HGETALL"].replied == calls(store, "hgetall")


@pytest.mark.parametrize("word", ["lettuce", "lettuce:shared=off"])
def test_there_is_one_connection_where_the_pool_has_one(drive: Drive, store: UserRedis, word: str) -> None:
    seen: list[int] = []
    record = drive(word, plan(store.port, pool=Pool(connections=1)), connections_of(store, seen))
    require_all_correct(record)
    assert max(seen) == 1
    assert (record.connections.planned, record.connections.open_at_end) == (1, 1)


@pytest.mark.parametrize("word", BOTH)
def test_connections_that_nobody_needs_are_closed(drive: Drive, store: UserRedis, word: str) -> None:
    idle = Pool(connections=8, min_idle=1, max_idle=1)
    record = drive(word, plan(store.port, pool=idle, model=Closed(users=8, think_time_ms=5)))
    require_all_correct(record)
    assert record.connections.closed_idle > 0


def test_a_test_on_borrow_is_a_ping(drive: Drive, store: UserRedis) -> None:
    record = drive("jedis:test_on_borrow=on", plan(store.port))
    require_all_correct(record)
    assert calls(store, "ping") >= record.total.ok


@pytest.mark.parametrize("word", ["lettuce", "lettuce:shared=on"])
def test_arrivals(drive: Drive, store: UserRedis, word: str) -> None:
    record = drive(word, plan(store.port, model=Open(rate_per_s=400)))
    require_all_correct(record)
    assert record.total.offered == pytest.approx(160, abs=2)


@pytest.mark.parametrize("word", ["jedis", pytest.param("lettuce", marks=pytest.mark.prove)])
def test_more_users_than_a_jvm_has_threads_for_are_refused(drive: Drive, store: UserRedis, word: str) -> None:
    with pytest.raises(DriveFailed, match=r"model\.users: 20000: "):
        drive(word, plan(store.port, model=Closed(users=20_000)))


@pytest.mark.parametrize("word", BOTH)
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


@pytest.mark.parametrize("word", BOTH)
def test_user_and_database(drive: Drive, store: UserRedis, word: str) -> None:
    with store.client() as client:
        client.acl_setuser("load", enabled=True, passwords=["+hunter2"], categories=["+@all"], keys=["loadstone:*"])
    share = plan(store.port, endpoints=(Endpoint(port=store.port, username="load", password="hunter2", database=3),))
    require_all_correct(drive(word, share))
    with store.client(db=3) as client:
        assert client.exists(f"{PREFIX}000000000001")
    wrong = (Endpoint(port=store.port, username="load", password="other"),)
    with pytest.raises(DriveFailed, match="WRONGPASS"):
        drive(word, share.model_copy(update={"endpoints": wrong}))
