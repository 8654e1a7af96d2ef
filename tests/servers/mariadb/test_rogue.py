"""What a MariaDB that means harm, or one that stands in its place, gets from loadstone: nothing of this machine."""

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.servers.control import RowFiles
from loadstone.servers.mariadb import client as mariadb_client
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.url import MariaDbUrlSettings
from loadstone.servers.server import DeployContext
from tests import rogues

from .rogue_mariadb import OK, Rogue, one_value, rogue, switch_to, wants_file

LOCAL_FILES = 1 << 7
"""The capability that lets a server ask for files."""
PASSWORD = "a secret of the user's"


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "shadow"
    path.write_text("root:a secret of this machine:\n")
    return path


@pytest.fixture
def rows(tmp_path: Path) -> RowFiles:
    parts = (tmp_path / "000000.tsv", tmp_path / "000001.tsv")
    parts[0].write_bytes(b"1\tone\n2\ttwo\n")
    parts[1].write_bytes(b"3\tthree\n")
    return RowFiles(("id", "title"), frozenset({"id"}), 3, 0, parts)


def control_of(server: Rogue) -> MariaDbControl:
    return MariaDbControl(Endpoint(port=server.port, username="me", password=PASSWORD), "loadstone")


def load(server: Rogue, rows: RowFiles) -> None:
    with control_of(server) as control:
        control.write_table("post", rows, lambda _: None, lambda _: None)


def answers_loads(reply: Callable[[str], list[bytes]]) -> Callable[[str], list[bytes]]:
    """An empty table, warnings that are none, and `reply` for each LOAD DATA."""

    def answer(statement: str) -> list[bytes]:
        if statement.startswith("LOAD DATA"):
            return reply(statement)
        return one_value("0") if statement.startswith("SELECT") else [OK]

    return answer


def refused(server: Rogue, secret_file: Path, action: Callable[[], object]) -> str:
    """The one line that says so; nothing was sent."""
    with pytest.raises(UserError) as error:
        action()
    assert server.uploads == []
    assert "\n" not in str(error.value)
    assert f"127.0.0.1:{server.port}" in str(error.value)
    assert str(secret_file) in str(error.value)
    return str(error.value)


@pytest.mark.fault("a database requests a file, or rows that no statement offers", "nothing is sent", area="transport")
def test_another_file_in_reply_to_our_load_is_not_sent(secret_file: Path, rows: RowFiles) -> None:
    with rogue(answers_loads(lambda _: wants_file(str(secret_file)))) as server:
        said = refused(server, secret_file, lambda: load(server, rows))
        assert "nothing was sent" in said


@pytest.mark.fault("a database requests a file, or rows that no statement offers")
def test_a_file_in_reply_to_another_statement_is_not_sent(secret_file: Path, rows: RowFiles) -> None:
    with rogue(lambda s: wants_file(str(secret_file)) if s.startswith("SELECT COUNT") else [OK]) as server:
        refused(server, secret_file, lambda: load(server, rows))


@pytest.mark.fault("a database requests a file, or rows that no statement offers")
def test_the_part_is_sent_once_to_the_statement_that_names_it(rows: RowFiles) -> None:
    """The name is requested again in reply to the statement that follows."""
    names: list[str] = []

    def reply(statement: str) -> list[bytes]:
        if statement.startswith("LOAD DATA"):
            names.append(statement.split("'")[1])
            return wants_file(names[-1])
        return wants_file(names[-1]) if names else one_value("0")

    with rogue(lambda s: reply(s) if s.startswith(("LOAD", "S")) and "NAMES" not in s else [OK]) as server:
        with pytest.raises(UserError, match="nothing was sent"):
            load(server, rows)
        assert b"".join(server.uploads) == rows.parts[0].read_bytes()
        assert str(rows.parts[0].parent) not in " ".join(server.statements)  # no path of this machine goes there


@pytest.mark.fault("a database requests a file, or rows that no statement offers")
def test_a_control_connection_offers_no_files(secret_file: Path) -> None:
    with rogue(lambda s: wants_file(str(secret_file)) if "NAMES" not in s else [OK]) as server:
        with control_of(server) as control:
            refused(server, secret_file, lambda: control.query("SELECT 1"))
        theirs = MariaDbUrlSettings(url=f"mariadb://me:x@127.0.0.1:{server.port}").server("theirs")
        refused(server, secret_file, lambda: theirs.start(DeployContext()))
        assert server.capabilities
        assert not any(said & LOCAL_FILES for said in server.capabilities)


def test_a_name_that_is_no_text_is_refused_in_plain_letters(secret_file: Path, rows: RowFiles) -> None:
    name = str(secret_file).encode() + b"\x1b[2J\xff\n"
    with rogue(answers_loads(lambda _: wants_file(name))) as server:
        said = refused(server, secret_file, lambda: load(server, rows))
        assert said.isprintable()


@pytest.mark.fault(
    "a database requests a readable password", "refused unless its certificate was verified", area="transport"
)
@pytest.mark.parametrize("plugin", ["mysql_clear_password", "dialog", "sha256_password", "mysql_old_password"])
def test_the_password_is_not_given_in_a_form_that_can_be_read(plugin: str) -> None:
    data = b"\x05Password: " if plugin == "dialog" else b"12345678901234567890\0"
    with rogue(login=switch_to(plugin, data)) as server, control_of(server) as control:
        with pytest.raises(UserError, match=rf"{plugin}.*ssl=yes") as error:
            control.ping()
        assert server.given == []
        assert PASSWORD not in str(error.value)


@pytest.mark.fault("a database requests a readable password")
@pytest.mark.parametrize("plugin", ["auth_gssapi_client", "new_plugin", "x\x1b[2J"])
def test_a_plugin_that_is_not_known_gets_no_answer(plugin: str) -> None:
    with rogue(login=switch_to(plugin)) as server, control_of(server) as control:
        with pytest.raises(UserError, match="which loadstone does not know; use an account with mysql_native") as error:
            control.ping()
        assert server.given == []
        assert str(error.value).isprintable()
    with rogue(plugin=plugin) as server, control_of(server) as control:
        with pytest.raises(UserError, match="which loadstone does not know"):
            control.ping()
        assert server.capabilities == []


@pytest.mark.fault("a database requests a readable password")
def test_a_password_for_a_key_of_the_servers_is_not_given() -> None:
    """Full authentication of caching_sha2_password: a key that anybody may have made would encrypt the password."""
    login = [*switch_to("caching_sha2_password"), b"\x01\x04"]
    with rogue(login=login) as server, control_of(server) as control:
        with pytest.raises(UserError, match=r"caching_sha2_password.*ssl=yes"):
            control.ping()
        assert len(server.given) == 1
        assert PASSWORD.encode() not in server.given[0]


def test_a_first_plugin_that_reads_the_password_gets_nothing() -> None:
    with rogue(plugin="sha256_password") as server, control_of(server) as control:
        with pytest.raises(UserError, match=r"sha256_password.*ssl=yes"):
            control.ping()
        assert server.capabilities == []  # not even the log-in


@pytest.mark.fault(
    "a database breaks its protocol, drips or never ends a reply", "one line, bounded time and memory", area="replies"
)
@pytest.mark.parametrize(
    "packets",
    [[b"\x05"], [b"\xfe\x01"], [b"\xff"], [b""], [b"\x01", b"\xff\xff"], [b"\xfc"], [b"\x01", *[b"\0"] * 3]],
    ids=repr,
)
def test_replies_that_are_not_the_protocol_are_one_line(packets: list[bytes]) -> None:
    with rogue(lambda s: packets if "NAMES" not in s else [OK]) as server, control_of(server) as control:
        control._timeout_s = 1.0
        with pytest.raises(LoadstoneError) as error:
            control.settings(["version"])
        assert "\n" not in str(error.value)


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
@pytest.mark.parametrize("packets", [[OK], one_value("three"), one_value("9" * 200)], ids=["none", "text", "digits"])
@pytest.mark.parametrize(
    "question",
    [
        lambda control: control.count_rows("loadstone_post"),
        lambda control: control.count("loadstone_post"),
        lambda control: control.settings(["version"]),
        lambda control: control.table(2, "SHOW GLOBAL STATUS"),
        lambda control: control.tables(),
        MariaDbControl.facts,
    ],
    ids=["rows", "count", "settings", "status", "tables", "facts"],
)
def test_answers_of_another_shape_raise_errors_of_ours_alone(
    packets: list[bytes], question: Callable[[MariaDbControl], object]
) -> None:
    """An error of ours, or taken for what they say where that can be meant; nothing else is raised."""
    with (
        rogue(lambda s: packets if "NAMES" not in s else [OK]) as server,
        control_of(server) as control,
        contextlib.suppress(LoadstoneError),
    ):
        question(control)


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
def test_replies_without_end_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mariadb_client, "REPLY_BYTES_MAX", 4096)
    many = [*one_value("x" * 200)[:3], *[one_value("x" * 200)[3]] * 100, one_value("")[4]]
    with (
        rogue(lambda s: many if "NAMES" not in s else [OK]) as server,
        control_of(server) as control,
        pytest.raises(LoadstoneError, match="more than"),
    ):
        control.query("SHOW TABLES")


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
def test_packets_out_of_order_are_named() -> None:
    def speak(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(b"\x05\0\0\x07hello" * 10)

    with (
        rogues.rogue(speak) as port,
        MariaDbControl(Endpoint(port=port)) as control,
        pytest.raises(UserError, match="its packets are out of order"),
    ):
        control.ping()


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
def test_the_smallest_rows_count_what_they_take_once_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six bytes on their way."""
    monkeypatch.setattr(mariadb_client, "REPLY_BYTES_MAX", 1024**2)
    many = [*one_value("x")[:3], *[one_value("x")[3]] * 20_000, one_value("")[4]]
    with (
        rogue(lambda s: many if "NAMES" not in s else [OK]) as server,
        control_of(server) as control,
        pytest.raises(LoadstoneError, match="more than"),
    ):
        control.query("SHOW TABLES")


def test_replies_that_come_in_drops_end_in_their_time() -> None:
    """Each drop comes within the time of one receive; all of them would take longer than the test may."""
    with rogue(lambda s: one_value("x" * 200) if "NAMES" not in s else [OK]) as server, control_of(server) as control:
        control.ping()
        server.pause_s = 1.0
        control._timeout_s = 2.0
        control.close()
        with pytest.raises(LoadstoneError, match=r"in drops|timed out"):
            control.ping()


def test_a_password_may_hold_any_letter() -> None:
    with rogue() as server:
        with MariaDbControl(Endpoint(port=server.port, username="me", password="пароль")) as control:
            control.query("DO 1")
        assert server.statements[-1] == "DO 1"
