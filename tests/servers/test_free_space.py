"""The disk of a MariaDB of the user's: what it tells, and rows that do not fit."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.real_servers import PLAN

from loadstone.experiment.plan.required import RequiredData
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.run.preflight import ask_users_parts, require_room
from loadstone.safety.errors import OutOfSpace, UserError
from loadstone.servers import registry
from loadstone.servers.data_rows import DataWriter
from loadstone.servers.deployed import RunningServer
from loadstone.servers.free_space import free_here
from loadstone.servers.mariadb import control as mariadb_control
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import LocalMariaDb, MariaDbSettings, find
from loadstone.servers.mariadb.url import MariaDbUrlSettings
from loadstone.servers.pool import ServerPool
from loadstone.servers.server import DeployContext

pytestmark = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")
FULL = "CREATE TABLE loadstone_post (id INT, text VARCHAR(250)) ENGINE=MEMORY MAX_ROWS=10"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMariaDb]:
    """A server that plays the user's; its tables in memory hold 16 kB."""
    settings = {"log_bin": False, "innodb_buffer_pool_size": "32M", "max_heap_table_size": 16384}
    server = MariaDbSettings(settings=settings).server("mariadb")
    server.start(DeployContext(work_root=tmp_path_factory.mktemp("work")))
    yield server
    server.stop()


@pytest.fixture
def url(theirs: LocalMariaDb) -> str:
    endpoint = theirs._endpoint
    return f"mariadb://{endpoint.username}:{endpoint.password}@{endpoint.label}/loadstone"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows(count: int = 5000) -> RequiredData:
    columns = {"id": "{number}", "text": "{random 200 lowercase}"}
    return RequiredData("posts", count, columns, "db", table="loadstone_post")


def trial(count: int) -> PlannedTrial:
    return PlannedTrial("b01-001", {}, 1, 1, {"db": {}}, PLAN, None, data=(rows(count),), target="app")


@pytest.fixture
def control(theirs: LocalMariaDb) -> Iterator[MariaDbControl]:
    with theirs.control() as control:
        yield control
        control.query("DROP TABLE IF EXISTS loadstone_post")


@pytest.mark.fault("your server fills while rows are written", "the run ends and removes them", area="data")
def test_a_full_table_of_the_users_ends_the_run(url: str, control: MariaDbControl) -> None:
    control.query(FULL)
    pool = ServerPool(registry.make_server, DeployContext(), lambda: None)
    servers = pool.need({"db": {"kind": "mariadb-url", "url": url}})
    with pytest.raises(OutOfSpace, match=r"^data\.posts: .*is full; give it more room, or ask for fewer rows"):
        DataWriter(DeployContext()).write([rows()], servers)
    pool.stop()
    assert control.query("SELECT COUNT(*) FROM loadstone_post") == [(0,)], "what was written is removed"


def test_a_full_table_of_ours_spoils_the_trial_alone(theirs: LocalMariaDb, control: MariaDbControl) -> None:
    control.query(FULL)
    deployed = RunningServer(theirs, theirs._endpoint, (theirs._endpoint,), control, control, {})
    with pytest.raises(UserError, match=r"^data\.posts: .*is full"):
        DataWriter(DeployContext()).write([rows()], {"db": deployed})


def test_the_disk_of_a_server_that_is_here_is_queried(theirs: LocalMariaDb, control: MariaDbControl) -> None:
    found = control.disk_room(theirs.pids["mariadb"])
    disk = os.statvfs(found.folder)
    assert found.free_bytes is not None
    assert abs(found.free_bytes - disk.f_bavail * disk.f_frsize) < 0.2 * found.free_bytes
    assert not found.binary_log
    assert control.disk_room(None).free_bytes is None, "from elsewhere nobody tells"


def test_a_process_that_may_not_be_looked_into_tells_nothing(tmp_path: Path) -> None:
    assert free_here(2**22 + 1, str(tmp_path)) is None


def test_the_plugin_tells_of_disks_elsewhere(control: MariaDbControl) -> None:
    try:
        control.query("INSTALL SONAME 'disks'")
    except Exception as error:
        pytest.skip(f"this MariaDB has no plugin DISKS: {error}")
    try:
        found = control.disk_room(None)
    finally:
        control.query("UNINSTALL SONAME 'disks'")
    if found.free_bytes is None:
        pytest.skip("its plugin leaves this file system out")
    assert found.free_bytes > 0


@pytest.mark.parametrize(
    ("disks", "free"),
    [
        ([("/", 5), ("/var", 7), ("/var/lib/mysqlx", 9)], 7 * 1024),
        ([("/mnt", 5)], None),
        ([], None),
    ],
)
def test_the_disk_that_is_meant_is_the_one_mounted_deepest(disks: list[tuple[str, int]], free: int | None) -> None:
    """Mounts of another machine, which cannot be made here."""

    class Told(MariaDbControl):
        def query(self, statement: str, *values: object) -> list[tuple[object, ...]]:  # noqa: ARG002 (the seam's)
            return list(disks)

    assert Told(PLAN.endpoints[0]).free_by_plugin("/var/lib/mysql/") == free


@pytest.mark.fault("the plan does not fit into memory, `maxmemory` or disk")
def test_rows_that_cannot_fit_are_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = MariaDbUrlSettings(url=url).server("db")
    server.start(DeployContext())
    try:
        require_room(server, [trial(1000)])
        monkeypatch.setattr(mariadb_control, "free_here", lambda *_: 3_000_000)
        require_room(server, [trial(1000)])
        with pytest.raises(UserError) as refused:
            require_room(server, [trial(20_000)])
    finally:
        server.stop()
    said = str(refused.value)
    assert said.startswith("server db (127.0.0.1:")
    for words in ("take about 7.", "MB on its disk", "3.0 MB are free in /", "fewer rows"):
        assert words in said, words


def test_a_server_is_requested_its_room_before_our_database_is_made(url: str) -> None:
    fresh = f"{url}_room"
    run_plan = SimpleNamespace(
        every_trial=[replace(trial(1000), servers={"db": {"kind": "mariadb-url", "url": fresh}})]
    )
    ask_users_parts(run_plan)  # type: ignore[arg-type]
    with MariaDbUrlSettings(url=fresh).server("db").control() as theirs:
        assert not theirs.has_database(), "only asked"
