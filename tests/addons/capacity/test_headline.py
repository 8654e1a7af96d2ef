"""What full servers do opens a report, where it is known of as many levels as a table has."""

from types import ModuleType
from typing import Any

import pytest
from tests.judge.analysis.test_headline import row, table

from loadstone.addons.capacity.full_server import FullServer
from loadstone.addons.capacity.full_server_rates import FullServerRates, FullServers
from loadstone.judge.analysis.headline import headline
from loadstone.text.sentences import render_message


def full(operation: str, payload: str, per_s: float | None, **changes: Any) -> FullServerRates:
    """A Redis at one place; None: what it does when it is full is not known."""
    how: Any = "refused" if per_s is None else "measured"
    known = {} if per_s is None else {"per_s": per_s, "low_per_s": 0.98 * per_s, "high_per_s": 1.02 * per_s}
    capacity = FullServer(how=how, users=32, busy=0.99, **known)
    condition: Any = {"operation": operation, "payload": payload, "idle": "few"}
    fields = {"server": "redis", "users_are": "workers", "users_vary": True} | changes
    return FullServerRates(condition=condition, label="", capacity=capacity, **fields)


def test_what_a_full_server_does_comes_before_what_it_did_under_some_users(synthetic: ModuleType) -> None:
    tables = [table(row(200.0), row(400.0, operation="get"))]
    known = [full("set", "1 kB", 1_000.0), full("get", "1 kB", 2_000.0)]
    found = render_message(headline(synthetic.make_experiment(), tables, answers=[FullServers(known)], quick=False))
    assert found == (
        "Peak of one redis at 1 kB: set 1,000 [980, 1,020] (measured at 32 workers) and get 2,000 [1,960, 2,040] "
        "(measured at 32 workers) a second."
    )


@pytest.mark.parametrize(
    "known",
    [
        [full("set", "1 kB", 1_000.0), full("get", "1 kB", None)],
        [full("set", "1 kB", 1_000.0)],
        [full(operation, "1 kB", 1_000.0, users_vary=False) for operation in ("set", "get")],
    ],
)
def test_rows_open_a_report_of_more_levels_than_full_servers_are_known_of(
    synthetic: ModuleType, known: list[FullServerRates]
) -> None:
    tables = [table(row(200.0), row(400.0, operation="get"))]
    found = render_message(headline(synthetic.make_experiment(), tables, answers=[FullServers(known)], quick=False))
    assert found.startswith("At 1 kB, 32 workers: set 200 ")
