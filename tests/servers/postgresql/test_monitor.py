"""The statement that the monitor sends to each version, and what it makes of the answers: no server of ours is new."""

from collections.abc import Sequence
from typing import Any

import pytest

from loadstone.safety.errors import ServerGone
from loadstone.servers.postgresql.monitor import PostgresqlMonitor, question


class Fake:
    """A server of one version, which answers with the next of these."""

    def __init__(self, version: object, *answers: object) -> None:
        self.version = version
        self.answers = list(answers)
        self.sent: list[str] = []

    def query(self, sql: str) -> Sequence[Sequence[Any]]:
        self.sent.append(sql)
        if "server_version_num" in sql:
            return [[self.version]]
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [[answer]]


def reported(monitor: PostgresqlMonitor) -> dict[str, float]:
    return {sample.metric: sample.value for sample in monitor.sample(1.0)}


@pytest.mark.parametrize(
    ("version", "there", "absent"),
    [
        (13, ["pg_stat_bgwriter"], ["pg_stat_checkpointer", "pg_stat_wal"]),
        (16, ["pg_stat_bgwriter", "checkpoints_req", "pg_stat_wal"], ["pg_stat_checkpointer"]),
        (17, ["pg_stat_checkpointer", "num_timed", "num_requested", "pg_stat_wal"], ["pg_stat_bgwriter"]),
        (18, ["pg_stat_checkpointer"], ["pg_stat_bgwriter", "checkpoints_req "]),
    ],
)
def test_each_version_gets_views_that_it_has(version: int, there: list[str], absent: list[str]) -> None:
    assert [view for view in there if view not in question(version)] == []
    assert [view for view in absent if view in question(version)] == []


def test_a_version_17_reports_its_checkpoints() -> None:
    row = {"checkpoints_timed": 3, "checkpoints_requested": 4, "client_sessions": 2, "blks_hit": 90, "blks_read": 10}
    server = Fake("170004", row, row | {"checkpoints_timed": 5}, ServerGone("gone"), row)
    monitor = PostgresqlMonitor("db", server)
    found = reported(monitor)
    assert (found["checkpoints_timed"], found["checkpoints_requested"]) == (5.0, 4.0)
    assert set(found) <= set(PostgresqlMonitor.METRICS)
    assert reported(monitor) == {"answers": 0.0}
    assert reported(monitor)["answers"] == 1.0
    assert sum("server_version_num" in sql for sql in server.sent) == 1
    assert all("pg_stat_checkpointer" in sql for sql in server.sent[1:])


@pytest.mark.parametrize("version", ["", "fifteen", None, "15" * 9999])
def test_a_version_that_is_none_reports_that_it_does_not_answer(version: object) -> None:
    assert reported(PostgresqlMonitor("db", Fake(version))) == {"answers": 0.0}


@pytest.mark.parametrize("answer", ["text", [1], None, {"deadlocks": "many"}, {"deadlocks": [[]]}])
def test_an_answer_of_another_shape_reports_that_it_does_not_answer(answer: object) -> None:
    assert reported(PostgresqlMonitor("db", Fake("150000", answer, answer))) == {"answers": 0.0}
