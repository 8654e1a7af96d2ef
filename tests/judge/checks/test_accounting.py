"""Whether every operation is accounted for."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.0, "valid"), (0.004, "valid"), (0.008, "suspect"), (0.012, "invalid")]
)
def test_errors(result_of: ResultOf, injectors: ModuleType, share: float, verdict: str) -> None:
    assert result_of("errors", injectors.fails(share)).verdict == verdict


def test_timeouts_and_replies_that_never_came_are_errors(result_of: ResultOf) -> None:
    def silent(line: dict[str, Any]) -> None:
        line["counts"] |= {"timeouts": 10, "in_flight": 20, "ok": line["counts"]["sent"] - 30}

    found = result_of("errors", silent)
    assert found.verdict == "invalid"
    assert "20 never answered, 10 timeouts" in render_message(found.reason)


def test_without_anything_sent_errors_are_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    assert result_of("errors", injectors.setting("counts.sent", 0)).verdict == "unknown"


@pytest.mark.parametrize("place", ["offered", "sent", "ok", "timeouts", "dropped", "in_flight", "unsent"])
def test_one_operation_astray_anywhere_is_found(result_of: ResultOf, place: str) -> None:
    for side in ("facts.drive.total", "facts.drive.operations.set.counts"):

        def stray(line: dict[str, Any], side: str = side) -> None:
            part = line
            for key in side.split("."):
                part = part[key]
            part[place] += 1

        assert result_of("conservation", stray).verdict == "invalid", side


def test_a_correct_reply_without_a_latency_is_found(result_of: ResultOf, injectors: ModuleType) -> None:
    def unrecorded(line: dict[str, Any]) -> None:
        injectors.operation(line)["response_ns"]["count"] -= 1

    assert result_of("conservation", unrecorded).verdict == "invalid"
    overflowed = injectors.setting("facts.drive.overflowed", 1)
    assert result_of("conservation", unrecorded, overflowed).verdict == "valid"


@pytest.mark.parametrize(
    ("unanswered", "more", "verdict"),
    [(0, 0, "valid"), (0, 1, "invalid"), (0, -1, "invalid"), (3, 3, "valid"), (3, 4, "invalid"), (3, -1, "invalid")],
)
def test_the_server_counts_what_was_answered_and_at_most_what_was_sent(
    result_of: ResultOf, injectors: ModuleType, unanswered: int, more: int, verdict: str
) -> None:
    def sends_more(line: dict[str, Any]) -> None:
        line["facts"]["drive"]["commands"]["JSON.SET"]["sent"] += unanswered

    found = result_of("server_counter", sends_more, injectors.server_counts(more))
    assert found.verdict == verdict
    if verdict == "invalid":
        assert "JSON.SET" in render_message(found.reason)
        assert found.measured == 1


def test_a_command_that_the_server_does_not_know_is_said_and_not_counted(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    def unknown(line: dict[str, Any]) -> None:
        injectors.fails(1.0)(line)
        drive = line["facts"]["drive"]
        drive["commands"]["JSON.SET"] |= {"sent": 9_000, "replied": 9_000}
        reply = "ERR unknown command 'JSON.SET', with args beginning with: 'x'"
        drive["examples"] = [{"operation": "set", "kind": "server_err", "reply": reply}]

    assert result_of("server_counter", unknown).verdict == "valid"
    found = result_of("errors", unknown)
    assert (found.verdict, found.reason.figures["unknown"]) == ("invalid", ["JSON.SET"])
    assert "failed: the server does not know the command JSON.SET (" in render_message(found.reason)


def test_loadstones_own_questions_are_not_the_loads(result_of: ResultOf, injectors: ModuleType) -> None:
    requested = injectors.setting("facts.servers.redis.after.calls.info", 5000)
    assert result_of("server_counter", requested).verdict == "valid"


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_server_that_could_not_be_queried_is_unknown(result_of: ResultOf, injectors: ModuleType, side: str) -> None:
    silent = injectors.setting(f"facts.servers.redis.{side}", None)
    for name in ("server_counter", "payload", "background", "evicted_keys"):
        assert result_of(name, silent).verdict == "unknown", name


def test_a_server_that_was_restarted_lost_its_counters(result_of: ResultOf, injectors: ModuleType) -> None:
    restarted = injectors.setting("facts.servers.redis.after.run_id", "b" * 40)
    assert result_of("server_counter", restarted).verdict == "unknown"
    assert result_of("payload", restarted).verdict == "unknown"


@pytest.mark.parametrize("kind", ["wrong_reply", "wrong_type", "missing"])
def test_one_wrong_reply_is_invalid(result_of: ResultOf, injectors: ModuleType, kind: str) -> None:
    assert result_of("replies", injectors.setting("facts.drive.total.errors", {kind: 1})).verdict == "invalid"


def test_one_wrong_key_read_back_is_invalid(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("replies", injectors.setting("facts.drive.read_back.wrong", 1))
    assert found.verdict == "invalid"
    assert "1 of 64 keys read back were wrong" in render_message(found.reason)


def test_what_was_not_compared_is_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    assert result_of("replies", injectors.setting("facts.plan.verify.replies", False)).verdict == "unknown"
    assert result_of("replies", injectors.setting("facts.drive.read_back.checked", 0)).verdict == "unknown"
    reads = injectors.setting("facts.plan.operations.0.writes", "nothing")
    assert result_of("replies", reads, injectors.setting("facts.drive.read_back.checked", 0)).verdict == "valid"


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.0, "valid"), (0.009, "valid"), (-0.02, "suspect"), (0.02, "suspect"), (0.06, "invalid")]
)
def test_bytes_that_the_server_read(result_of: ResultOf, injectors: ModuleType, share: float, verdict: str) -> None:
    assert result_of("payload", injectors.reads_more(share)).verdict == verdict


def test_a_server_that_does_not_count_bytes_is_unknown(result_of: ResultOf) -> None:
    def silent(line: dict[str, Any]) -> None:
        del line["facts"]["servers"]["redis"]["after"]["counters"]["total_net_input_bytes"]

    assert result_of("payload", silent).verdict == "unknown"


def test_a_server_behind_an_application_counts_the_applications_commands(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    for name in ("server_counter", "payload", "key_count", "hit_rate"):
        assert result_of(name, injectors.becomes_http) is None, name
    for name in ("conservation", "replies", "errors", "background", "evicted_keys", "server_cpu"):
        assert result_of(name, injectors.becomes_http).verdict == "valid", name


OF_REDIS = (
    *(
        "server_counter",
        "payload",
        "key_count",
        "hit_rate",
        "background",
        "evicted_keys",
        "monitor_clients",
        "slow_log",
    ),
    *("log_level", "huge_pages", "overcommit", "server_cpu", "server_wait"),
)


def test_an_application_without_a_redis_is_not_requested_one(result_of: ResultOf, injectors: ModuleType) -> None:
    assert [
        name for name in OF_REDIS if result_of(name, injectors.becomes_http, injectors.on_mariadb) is not None
    ] == []


def test_only_the_server_that_got_the_load_must_have_counted_it(result_of: ResultOf, injectors: ModuleType) -> None:
    def beside(line: dict[str, Any]) -> None:
        line["facts"]["servers"]["other"] = {"before": None, "after": None}

    for name in ("server_counter", "payload", "key_count"):
        assert result_of(name, beside).verdict == "unknown", name
        assert result_of(name, beside, injectors.setting("facts.target", "redis")).verdict == "valid", name


def test_a_reply_of_which_only_the_status_was_looked_at_may_be_wrong(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    status_only = injectors.setting("facts.plan.operations.0.requests.0.expect", {"status": 201})
    assert result_of("replies", injectors.becomes_http, status_only).verdict == "unknown"


def test_a_wrong_body_is_a_wrong_reply(result_of: ResultOf, injectors: ModuleType) -> None:
    wrong = injectors.setting("facts.drive.total.errors", {"body_mismatch": 1})
    assert result_of("replies", injectors.becomes_http, wrong).verdict == "invalid"


def test_one_reply_to_no_request_puts_every_other_in_doubt(result_of: ResultOf, injectors: ModuleType) -> None:
    unrequested = injectors.setting("facts.drive.connections.unrequested", 1)
    for whatever in (
        injectors.setting("facts.plan.verify.replies", True),
        injectors.setting("facts.plan.verify.replies", False),
    ):
        found = result_of("replies", whatever, unrequested)
        assert found.verdict == "invalid"
        assert "came without a request" in render_message(found.reason)
