"""A server that answers another's reply: never a valid trial where replies are verified."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.make_trial import make_trial_record
from loadstone.run_folder.observation import Observation, ObservedDrive, measure_phase
from loadstone.run_folder.trial import CheckResult
from loadstone.text.sentences import render_message

OK = b"+OK\r\n"
Behaviour = Callable[[int], bytes]
"""What is sent after a command, by its number over all connections; the greeting is 0."""


def _serve(connection: socket.socket, behaviour: Behaviour, numbers: Iterator[int]) -> None:
    """Every command ends with the name or the argument `END`."""
    held = b""
    with contextlib.suppress(OSError), connection:
        connection.sendall(behaviour(0) if b"CLIENT" in connection.recv(4096) else b"-ERR no greeting\r\n")
        while received := connection.recv(4096):
            held += received
            *commands, held = held.split(b"$3\r\nEND\r\n")
            for _ in commands:
                connection.sendall(behaviour(next(numbers)))


@pytest.fixture
def judged() -> Iterator[Callable[..., dict[str, CheckResult]]]:
    """Drives one user's commands against a server that behaves so, and judges the trial: its checks by name."""
    with contextlib.ExitStack() as stack:

        def judge(behaviour: Behaviour, expect: str, **verify: Any) -> dict[str, CheckResult]:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            numbers = iter(range(1, 1_000_000))

            def accept() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listener.accept()
                        threading.Thread(target=_serve, args=(connection, behaviour, numbers), daemon=True).start()

            threading.Thread(target=accept, daemon=True).start()
            plan = Plan.model_validate(
                {
                    "endpoints": [{"port": listener.getsockname()[1]}],
                    "model": {"kind": "closed", "users": 1, "operations_per_user": 1000},
                    "pool": {"connections": 1},
                    "phases": {"warm_up_s": 0, "measure_s": 60},
                    "operations": [{"name": "read", "commands": [{"args": ["GET", "{key}", "END"], "expect": expect}]}],
                    "verify": verify,
                }
            )
            intervals: list[Interval] = []
            drive = drive_alone(NativeDriver(), plan, intervals.append)
            planned = PlannedTrial("b01-001", {}, 1, 1, {}, plan, None)
            driven = ObservedDrive(planned.name, plan, drive, intervals)
            record = judge_trial(make_trial_record(planned, Observation(driven, measure_phase(drive))))
            return {check.name: check for check in record.checks} | {
                "trial": CheckResult(name="trial", verdict=record.verdict, measured=None, limit=None, unit="")
            }

        yield judge


@pytest.mark.fault("a server answers another request, or once too often")
def test_a_reply_too_many_makes_the_trial_invalid_though_one_of_a_thousand_is_below_the_limit_of_errors(
    judged: Callable[..., dict[str, CheckResult]],
) -> None:
    found = judged(lambda number: OK * (2 if number == 500 else 1), "ok")
    assert found["replies"].verdict == "invalid"
    assert "came without a request" in render_message(found["replies"].reason)
    assert found["errors"].verdict == "valid"
    assert found["trial"].verdict == "invalid"


@pytest.mark.fault("a server answers another request, or once too often")
def test_a_reply_too_many_is_found_without_verifying(judged: Callable[..., dict[str, CheckResult]]) -> None:
    found = judged(lambda number: OK * (2 if number == 500 else 1), "any", replies=False)
    assert found["replies"].verdict == "invalid"
    assert found["trial"].verdict == "invalid"


def test_what_each_request_gets_of_another_is_a_wrong_reply(judged: Callable[..., dict[str, CheckResult]]) -> None:
    other = b"$3\r\nabc\r\n"
    found = judged(lambda number: other if number == 500 else OK, "ok")
    assert found["replies"].verdict == "invalid"
    assert found["trial"].verdict == "invalid"


def test_an_honest_server_of_the_same_kind_has_correct_replies(judged: Callable[..., dict[str, CheckResult]]) -> None:
    found = judged(lambda _: OK, "ok")
    assert found["replies"].verdict == "valid"
