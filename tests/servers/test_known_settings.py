"""What an experiment may set on a server: exactly the names that a list allows, held against the servers' own lists."""

import re
import subprocess
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiment.software import SOFTWARE
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.known_settings import KnownSettings
from loadstone.servers.mariadb.local import check_settings as check_mariadb
from loadstone.servers.mariadb.local import find as find_mariadb
from loadstone.servers.mariadb.local import options_text as mariadb_text
from loadstone.servers.postgresql.local import options_text as postgresql_text
from loadstone.servers.redis.settings import config_text
from loadstone.servers.server import DeployContext

LISTS = {name: registry.room(name).known_settings for name in SOFTWARE}
REDIS, MARIADB, POSTGRESQL = LISTS["redis"], LISTS["mariadb"], LISTS["postgresql"]
ONLY_IN_FILES = frozenset({"include", "include_dir", "include_if_exists", "loadmodule", "rename-command", "user"})
"""Directives that no server lists: all of them are refused."""
HOSTILE = ("x\nport = 1", "x\r\ninclude /etc/passwd", "x\0y", 'x"\ninclude "/etc/passwd')
QUOTED = ("a' b", 'a" include "/etc/passwd', "'", "$(touch x)", "a; b", "../../x")
FILES = "/etc/cron.d/x"
OF_EACH = pytest.mark.parametrize("known", LISTS.values(), ids=LISTS)


def passes(known: KnownSettings, name: str, value: object) -> bool:
    try:
        known.require(name, value)
    except ValueError:
        return False
    return known.standing(name, value) == "passes"


@OF_EACH
def test_a_name_stands_in_one_list_as_the_server_prints_it(known: KnownSettings) -> None:
    lists = (known.harmless, known.switches, known.asks, known.refused)
    assert sum(len(names) for names in lists) == len(known.names)
    assert {known.canonical(name) for name in known.names} == known.names
    assert all(known.name_form.fullmatch(name) for name in known.harmless | known.switches | known.asks)


@pytest.mark.fault(
    "an experiment sets what reaches files, programs or others", "only listed settings pass unasked", area="foreign"
)
@OF_EACH
def test_no_value_of_a_harmless_setting_injects_another(known: KnownSettings) -> None:
    for name in known.harmless | known.switches:
        for value in HOSTILE:
            with pytest.raises(ValueError, match="configuration"):
                known.require(name, value)
        for value in (FILES, *QUOTED):
            assert not passes(known, name, value), (name, value)


@OF_EACH
def test_what_reaches_further_asks_whatever_its_value_is(known: KnownSettings) -> None:
    for name in known.asks:
        for value in ("yes", "no", True, False, 1, "", "word", FILES):
            assert known.standing(name, value) == "asks", name


@OF_EACH
def test_what_loadstone_decides_is_refused_in_every_spelling(known: KnownSettings) -> None:
    for name in known.refused:
        for spelling in (name, name.upper()):
            with pytest.raises(ValueError, match="decided by loadstone"):
                known.require(spelling, "1")


@pytest.mark.parametrize(
    ("known", "name", "part"),
    [
        (REDIS, "apendonly", "did you mean 'appendonly'?"),
        (REDIS, "nothing-like-it", "is not a Redis setting that loadstone knows; correct it"),
        (LISTS["memcached"], "extended", "is not a memcached setting"),
    ],
)
def test_a_setting_of_a_known_version_that_no_list_has_is_refused(known: KnownSettings, name: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(part)):
        known.require(name, 1, only_known=True)
    assert known.standing(name, 1) == "unknown"


def beginnings(names: Collection[str]) -> set[str]:
    """Every beginning of a name that is not itself a name."""
    return {name[:length] for name in names for length in range(1, len(name))} - MARIADB.names


@pytest.mark.fault(
    "an experiment abbreviates a setting of MariaDB (`skip_grant`), or writes a prefix before it",
    "it is refused, and mariadbd takes whole names alone",
    area="foreign",
)
def test_no_beginning_of_a_mariadb_setting_and_no_prefix_passes() -> None:
    dangerous = MARIADB.refused | MARIADB.asks
    short = beginnings(dangerous)
    prefixed = {f"{prefix}{name}" for prefix in MARIADB.prefixes for name in dangerous} - MARIADB.names
    twice = {f"loose_{name}" for name in prefixed}
    for name in short | prefixed | twice:
        for spelling in (name, name.replace("_", "-").upper()):
            with pytest.raises(ValueError, match=r"whole name|decided by loadstone|not a line of"):
                MARIADB.require(spelling, "ON")
    with pytest.raises(ValueError, match="'skip_grant' is decided by loadstone"):
        MARIADB.require("skip_grant", "ON")
    with pytest.raises(ValueError, match="write 'innodb_buffer_pool_size' if you mean that"):
        MARIADB.require("loose-innodb-buffer-pool", "1G")


def mariadbd(options: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    program = find_mariadb("mariadbd")
    if program is None:
        pytest.skip("no MariaDB is installed")
    command = [str(program), f"--defaults-file={options}", *more, "--help", "--verbose"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.fault("an experiment abbreviates a setting of MariaDB (`skip_grant`), or writes a prefix before it")
def test_mariadbd_itself_takes_no_beginning_of_a_name(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mariadbd]\nskip_grant = ON\n")
    assert re.search(r"^skip-grant-tables +TRUE$", mariadbd(file).stdout, re.MULTILINE)  # this is what it would do
    file.write_text(mariadb_text({"skip_grant": "ON"}, {}))
    refused = mariadbd(file)
    assert "unknown variable 'skip_grant=ON'" in refused.stderr
    assert re.search(r"^skip-grant-tables +FALSE$", refused.stdout, re.MULTILINE)


@pytest.mark.fault("an experiment sets what reaches files, programs or others")
def test_the_option_file_of_mariadb_holds_the_requested_options_alone(tmp_path: Path) -> None:
    """As the program reads it that both mariadbd and mariadb-install-db get their options by."""
    program = find_mariadb("my_print_defaults")
    if program is None:
        pytest.skip("no MariaDB is installed")
    allowed = MARIADB.harmless | MARIADB.switches | MARIADB.asks
    requested: dict[str, Any] = {
        name: f"a {hostile}" for name, hostile in zip(sorted(allowed), QUOTED * 200, strict=False)
    }
    check_mariadb(requested)
    file = tmp_path / "my.cnf"
    file.write_text(mariadb_text(requested, {}))
    command = [str(program), f"--defaults-file={file}", "--mariadbd"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    words = [word for line in printed.splitlines() for word in line.split() if word.startswith("-")]
    got = {word.partition("=")[0].removeprefix("--") for word in words}
    assert got <= allowed | {"loose_skip_getopt_prefix_matching", "performance_schema", "character_set_server"}
    for value in ("a --srcdir=/x", "a\\s--srcdir=/x", "a\t-x", "a # b"):
        with pytest.raises(ValueError, match="is not a line of a MariaDB configuration"):
            check_mariadb({"init_connect": value})


def test_the_configuration_of_redis_has_one_line_for_each_setting() -> None:
    requested: dict[str, Any] = dict.fromkeys(sorted(REDIS.harmless), QUOTED[1])
    lines = config_text(requested, {}).splitlines()
    assert [line.partition(" ")[0] for line in lines if line.split()[0] in requested] == [
        *(name for name in ("save", "appendonly") if name in requested),
        *(name for name in requested if name not in ("save", "appendonly")),
    ]


class TestTheServersOwnLists:
    """Held against what is installed here; where that is of another version, nothing can be said."""

    @pytest.fixture
    def asked(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, set[str]]]:
        """The version of a real server of this kind, and the settings that it lists itself."""
        server = registry.make_server("own", {"kind": request.param})
        try:
            server.start(DeployContext(work_root=tmp_path))
        except UserError as error:
            pytest.skip(str(error))
        try:
            with server.control() as control:
                yield server.facts.version, set(names_listed(request.param, control))
        finally:
            server.stop()

    @pytest.mark.parametrize("asked", ["mariadb", "postgresql"], indirect=True)
    def test_none_is_allowed_that_the_server_does_not_have(self, asked: tuple[str, set[str]]) -> None:
        version, listed = asked
        known = MARIADB if version.startswith(MARIADB.made_from) else POSTGRESQL
        if not version.startswith(known.made_from):
            pytest.skip(f"version {version} is not the one that the list was made from")
        allowed = known.harmless | known.switches | known.asks
        assert {name for name in allowed if name not in listed and name.removeprefix("skip_") not in listed} == set()

    def test_none_is_allowed_that_no_redis_and_no_valkey_has(self, tmp_path: Path) -> None:
        listed = {name for kind in ("embedded", "process", "valkey") for name in names_of_redis(kind, tmp_path)}
        if len([kind for kind in ("embedded", "process", "valkey") if names_of_redis(kind, tmp_path)]) < 3:
            pytest.skip("one of the versions that the list was made from is not installed")
        assert REDIS.harmless | REDIS.switches | REDIS.asks <= listed
        assert listed <= REDIS.names  # what is in no list would be refused, or asked about
        assert REDIS.refused - ONLY_IN_FILES <= listed


@cache
def names_of_redis(kind: str, work_root: Path) -> frozenset[str]:
    server = registry.make_server("own", {"kind": kind})
    try:
        server.start(DeployContext(work_root=work_root))
    except UserError:
        return frozenset()
    try:
        with server.control() as control:
            listed: Mapping[str, str] = control.config_get(["*"])  # type: ignore[attr-defined]
    finally:
        server.stop()
    return frozenset(listed) if server.facts.version.startswith(REDIS.made_from) else frozenset()


def names_listed(kind: str, control: Any) -> Iterator[str]:
    if kind == "postgresql":
        yield from (str(name).lower() for (name,) in control.query("SELECT name FROM pg_settings"))
        return
    program = find_mariadb("mariadbd")
    command = [str(program), "--no-defaults", "--help", "--verbose"]
    text = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
    for line in text.partition("\n-----")[2].splitlines()[1:]:
        if not line.strip():
            return
        yield line.split()[0].lower().replace("-", "_")


@pytest.mark.fault("an experiment sets what reaches files, programs or others")
def test_the_configuration_of_postgresql_holds_the_requested_settings_alone(tmp_path: Path) -> None:
    """As the server itself reads its file, without a restart."""
    server = registry.make_server("own", {"kind": "postgresql"})
    try:
        server.start(DeployContext(work_root=tmp_path))
    except UserError as error:
        pytest.skip(str(error))
    try:
        # The server does not read on where the name of a text search configuration cannot be one.
        allowed = sorted((POSTGRESQL.harmless | POSTGRESQL.asks) - {"default_text_search_config"})
        requested = dict(zip(allowed, QUOTED * 200, strict=False))
        for name, value in requested.items():
            POSTGRESQL.require(name, value)
        (file,) = tmp_path.glob("*/server/postgresql.conf")
        file.write_text(postgresql_text(requested, {}))
        with server.control() as control:
            rows = control.query("SELECT name, sourcefile FROM pg_file_settings WHERE name IS NOT NULL")  # type: ignore[attr-defined]
        assert {str(name).lower() for name, _ in rows} == set(requested)
        assert len({source for _, source in rows}) == 1
    finally:
        server.stop()
