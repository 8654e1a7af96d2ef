"""What a server of MySQL's protocol says that it is: a MySQL is taken as what it is, from version 8 on."""

from collections.abc import Iterable

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import UserError
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.url import parse_mariadb_url


class Reported(MariaDbControl):
    """A server that answers for its settings alone."""

    def __init__(self, version: str, comment: str, read_only: str = "OFF") -> None:
        super().__init__(Endpoint(port=3306), "loadstone")
        self._reported = {"version": version, "version_comment": comment, "read_only": read_only}

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self._reported[name] for name in names if self._reported.get(name)}


@pytest.mark.parametrize(
    ("version", "comment", "software", "number"),
    [
        ("10.11.6-MariaDB-0+deb12u1", "Debian 12", "mariadb", "10.11.6"),
        ("11.4.5", "MariaDB Server", "mariadb", "11.4.5"),
        ("8.0.36", "MySQL Community Server - GPL", "mysql", "8.0.36"),
        ("8.4.3-commercial", "MySQL Enterprise Server - Commercial", "mysql", "8.4.3"),
        ("9.1.0", "Source distribution", "mysql", "9.1.0"),
    ],
)
def test_it_is_recorded_as_what_it_is(version: str, comment: str, software: str, number: str) -> None:
    found = Reported(version, comment).facts()
    assert (found.software, found.version, found.role) == (software, number, "primary")
    assert Reported(version, comment, "ON").facts().role == "replica"


@pytest.mark.parametrize(
    ("version", "comment", "part"),
    [
        ("5.7.44", "MySQL Community Server (GPL)", "it is a MySQL 5.7.44; give one of version 8"),
        ("8.0.11-TiDB-v7.5.0", "TiDB Server (Apache License 2.0)", "it is not a MariaDB but 'TiDB Server"),
        ("", "", "it is not a MariaDB but ''"),
        ("x" * 500, "MySQL", "it is a MySQL xxx"),
    ],
)
def test_anything_else_is_refused_in_one_line(version: str, comment: str, part: str) -> None:
    with pytest.raises(UserError) as refused:
        Reported(version, comment).facts()
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_url_may_name_mysql() -> None:
    endpoint, database = parse_mariadb_url("mysql://ann:secret-secret@127.0.0.1:3307/loadstone_x")
    assert (endpoint.port, endpoint.username, database) == (3307, "ann", "loadstone_x")
