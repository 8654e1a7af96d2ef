"""`loadstone redis --subscribers` and `--consumers`: what the options make of the plan, and what they refuse."""

from collections.abc import Callable

import pytest
from tests.said import Said

from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.experiment.plan.operations import Receivers
from loadstone.safety.errors import UserError

Redis = Callable[..., Said]


@pytest.fixture
def redis(said: Callable[..., Said]) -> Redis:
    return lambda *arguments: said("redis", *arguments)


def test_subscribers_receive_what_connections_publish(redis: Redis) -> None:
    found = redis("--subscribers", "10")
    plan = found.plan()
    assert plan.receivers == Receivers(kind="subscribe", connections=10)
    assert (plan.keys.count, plan.documents.payload_bytes, plan.model) == (1, 32, Closed(users=50))
    assert found.sent() == {"publish": (1, "PUBLISH {key} {message}")}
    assert len(found.run_plan.trials) == 6
    assert not any(trial.in_rounds for trial in found.run_plan.trials)
    assert "missing" in found.ad_hoc.columns


def test_consumers_receive_what_is_added_to_streams(redis: Redis) -> None:
    found = redis("--consumers", "12", "--streams", "4", "-d", "1 kB", "--rate", "5000", "--zipf", "0.9", "-3")
    plan = found.plan()
    assert plan.receivers == Receivers(kind="stream_group", connections=12)
    assert (plan.keys.count, plan.keys.distribution, plan.protocol) == (4, "zipf", "resp3")
    assert (plan.documents.payload_bytes, plan.model) == (1000, Open(rate_per_s=5000))
    assert found.sent() == {"xadd": (1, "XADD {key} MAXLEN ~ 100000 * message {message}")}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--subscribers 5 --channels 2", "--subscribers 5: --channels 2 could not have as many each"),
        ("--consumers 1 --streams 2", "--consumers 1: --streams 2 could not have as many each"),
        ("--channels 2", "--channels: needs who receives; add --subscribers NUMBER"),
        ("--streams 2 --subscribers 4", "--streams: needs who receives; add --consumers NUMBER"),
        ("--subscribers 1 --consumers 1", "--subscribers, --consumers: leave one of them out"),
        (
            "--subscribers 1 -d 31",
            "-d 31: with --subscribers a message holds its time and its number; write at least 32",
        ),
        ("--subscribers 0", "--subscribers 0: not a number of subscribers"),
        ("--subscribers 1 -t get", "--subscribers, -t: cannot be measured together"),
        ("--consumers 1 -r 5", "--consumers, -r: cannot be measured together"),
        ("--subscribers 1 --against redis://127.0.0.1:1", "--subscribers, --against: cannot be measured together"),
        ("--subscribers 1 --rates 1k,2k", "--subscribers, --rates: cannot be measured together"),
        ("--subscribers 1 --cluster", "--subscribers, --cluster: cannot be measured together"),
        ("redis://h:1?cluster=yes --subscribers 1", "--subscribers, ?cluster=yes: cannot be measured together"),
        ("redis+sentinel://h:1/m --consumers 1", "--consumers, redis+sentinel://: cannot be measured together"),
    ],
)
def test_what_cannot_be_done_is_refused_by_its_option(redis: Redis, arguments: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        redis(*arguments.split())
    assert str(caught.value).startswith(expected)
