"""All controls answer the same questions (`servers/control.py`), and change nothing by being queried."""

from collections.abc import Iterator

import pytest

from loadstone.experiment.software import SOFTWARE
from loadstone.safety.errors import ServerGone, ServerRefused, UserError
from loadstone.servers import registry
from loadstone.servers.control import CommandRefusal, Control, KeyStore, TableStore
from loadstone.servers.mariadb.local import find as find_mariadb
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.local import find as find_memcached
from loadstone.servers.postgresql.programs import find as find_postgresql
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext, Server
from loadstone.servers.sql.session import SqlSession

ASKED = {
    "redis": "appendonly",
    "mariadb": "innodb-flush-log-at-trx-commit",
    "postgresql": "Synchronous_Commit",
    "memcached": "Disable-Evictions",
}
"""A setting of each software, as a user may write it."""


ANY_COUNT = {"redis": "DBSIZE", "mariadb": "post", "postgresql": "post", "memcached": "stats curr_items"}


def fill_redis(control: Control) -> dict[str, int]:
    """Four keys, and what counts them."""
    assert isinstance(control, RedisControl)
    for command in (("SADD", "loadstone:a", 1, 2), ("SET", "loadstone:n", 7), ("RPUSH", "loadstone:'l", "x")):
        control.call(*command)
    control.call("SET", "loadstone:text", "x")
    counts = {"scard loadstone:a": 2, "GET loadstone:n": 7, "GET loadstone:none": 0, "DBSIZE": 4}
    return counts | {'LLEN "loadstone:\'l"': 1, "EXISTS loadstone:a loadstone:n": 2}


def fill_memcached(control: Control) -> dict[str, int]:
    """Four keys, and what counts them."""
    assert isinstance(control, MemcachedControl)
    control.pipelined([("ms", f"loadstone:{name}", value) for name, value in (("a", "2"), ("n", "7"), ("b", "1"))])
    control.call("ms", "loadstone:text", "x")
    return {"MG loadstone:n v": 7, "mg loadstone:none v": 0, "STATS curr_items": 4}


FILL = {"redis": fill_redis, "memcached": fill_memcached}
"""How a software without tables is given keys."""


@pytest.fixture(scope="module", params=list(SOFTWARE))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if request.param == "mariadb" and find_mariadb("mariadbd") is None:
        pytest.skip("no MariaDB: scripts/apt installs it where it can")
    if request.param == "postgresql" and find_postgresql("initdb") is None:
        pytest.skip("no PostgreSQL: scripts/apt installs it where it can")
    if request.param == "memcached" and find_memcached() is None:
        pytest.skip("no memcached: scripts/apt installs it where it can")
    server = registry.make_server("store", {"kind": SOFTWARE[request.param].kinds[0]})
    server.start(DeployContext(work_root=tmp_path_factory.mktemp("store")))
    yield server
    server.stop()


@pytest.fixture
def control(server: Server) -> Iterator[Control]:
    with server.control() as control:
        yield control


@pytest.fixture(scope="module")
def counts(server: Server) -> dict[str, int]:
    """What counts what is stored in the server from now on."""
    with server.control() as control:
        if not isinstance(control, TableStore):
            return FILL[control.software](control)
        control.run_script("CREATE TABLE post (id INT, note TEXT);\nINSERT INTO post VALUES (1, 'x'), (2, 'y');")
        control.run_script("CREATE TABLE empty_one (id INT);")
    return {"post": 2, "empty_one": 0}


def setting(control: Control) -> str:
    return ASKED[control.software]


def test_settings_are_reported_under_the_names_that_they_are_requested_by(control: Control) -> None:
    name = setting(control)
    reported = control.settings([name, "no-such-setting"])
    assert list(reported) == [name]
    assert reported[name] in ("no", "1", "on")


def test_what_is_stored_is_counted(control: Control, counts: dict[str, int]) -> None:
    if isinstance(control, KeyStore):
        assert control.keys() == 4
    for text, number in counts.items():
        assert control.count(text) == number


@pytest.mark.parametrize(
    ("redis_text", "sql"),
    [
        ("FLUSHALL", "DELETE FROM post"),
        ("DEL loadstone:a", "SELECT 1 INTO OUTFILE '/tmp/x'"),
        ("", ""),
        ("GET 'loadstone", "SELECT COUNT(*) FROM post"),
        ("GET loadstone:text", "no_such_table"),
        ("SCARD loadstone:text", "post; DROP TABLE post"),
        ("SCARD", "post, post"),
        ("LLEN loadstone:text", "mysql.user"),
    ],
)
def test_what_is_no_count_is_refused(control: Control, counts: dict[str, int], redis_text: str, sql: str) -> None:
    text = {"table": sql, "commands": redis_text}[SOFTWARE[control.software].rows]
    with pytest.raises(UserError, match=r"^count '") as refused:
        control.count(text)
    assert "\n" not in str(refused.value)
    assert {counted: control.count(counted) for counted in counts} == counts, "it changed nothing"


def test_a_server_that_is_gone_is_no_wrong_count(control: Control) -> None:
    endpoint = control.endpoint.model_copy(update={"port": 1})
    with type(control)(endpoint) as lost, pytest.raises(ServerGone) as gone:
        lost.count(ANY_COUNT[control.software])
    assert not isinstance(gone.value, ServerRefused)


REFUSED = {"redis": ("NO-SUCH", "ERR"), "mariadb": ("NO SUCH STATEMENT", "1064"), "memcached": ("xx", "ERROR")}
REFUSED |= {"postgresql": ("SELECT 1 FROM no_such_table", "42P01")}
"""What a server of each software answers with an error, and what it calls that."""


@pytest.mark.usefixtures("counts")
def test_a_server_that_answers_with_an_error_is_not_gone(control: Control) -> None:
    asked, code = REFUSED[control.software]
    assert isinstance(control, RedisControl | MemcachedControl | SqlSession)
    ask = control.query if isinstance(control, SqlSession) else control.call
    with pytest.raises(ServerRefused) as refused:
        ask(asked)
    assert refused.value.code == code
    assert refused.value.said in str(refused.value)
    assert control.count(ANY_COUNT[control.software]) >= 0, "it is there, and so is the connection"


def test_a_control_is_what_its_software_declares(control: Control) -> None:
    software = SOFTWARE[control.software]
    assert isinstance(control, KeyStore) == software.takes_load
    assert isinstance(control, TableStore) == (software.rows == "table")
    assert (control.keys() is not None) == software.takes_load
    assert (control.snapshot() is not None) == software.has_counters
    assert (control.start() is None) == software.has_counters, "one of both says which start it is"


def test_a_place_names_the_server_and_its_scheme(control: Control) -> None:
    software, place = SOFTWARE[control.software], control.place("store")
    assert place.server == "store"
    assert place.address.partition("://")[0] in software.schemes
    assert place.login
    assert control.endpoint.password not in place.address
    assert registry.room(software.name).place("store", place.address).is_at(place)


def test_what_is_not_confined_is_refused(control: Control) -> None:
    confinement = control.confinement()
    with pytest.raises(CommandRefusal):
        confinement.row_command("SHUTDOWN")
    with pytest.raises(CommandRefusal):
        confinement.command(["SHUTDOWN"], "loadstone:")
    with pytest.raises(CommandRefusal):
        confinement.count("SHUTDOWN;", of_application=True)
