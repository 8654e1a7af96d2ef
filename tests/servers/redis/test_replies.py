"""Two replies to one command: which are the same, and what is shown of those that are not."""

from typing import Any

import pytest
import redis

from loadstone.servers.compared_replies import ReplyOutcome
from loadstone.servers.redis.recorded_replies import _Sent, _SentAgain
from loadstone.servers.redis.replies import ReplyRules, first_difference, tips_of

GET = [b"get", 2, [b"readonly"], 1, 1, 1, [], [], [], []]
SMEMBERS = [b"smembers", 2, [b"readonly"], 1, 1, 1, [], [b"nondeterministic_output_order"], [], []]
ENCODING = [b"object|encoding", 3, [], 2, 2, 1, [], [b"nondeterministic_output"], [], []]
OBJECT = [b"object", -2, [], 0, 0, 0, [], [], [], [ENCODING]]
LATER = [b"later", 2, [], 1, 1, 1, [], [b"nondeterministic_output"], [], []]
KNOWN = tips_of([GET, SMEMBERS, OBJECT])
WRONG_TYPE = redis.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")


def test_a_server_says_what_its_commands_answer() -> None:
    assert KNOWN.names == {"GET", "SMEMBERS", "OBJECT", "OBJECT|ENCODING"}
    assert KNOWN.unordered == {"SMEMBERS"}
    assert KNOWN.free == {"OBJECT|ENCODING"}


def test_tips_that_are_not_as_documented_are_left_out() -> None:
    assert tips_of([None, [], [b"get"], [7, 2], [b"set", 1, [], 1, 1, 1, [], b"odd"]]).names == {"GET", "SET"}


OUT_OF_RANGE = redis.ResponseError("DB index is out of range", status_code="ERR")


@pytest.mark.parametrize(
    ("name", "a", "b", "outcome"),
    [
        ("GET", b"1", b"1", "equal"),
        ("GET", b"a", b"b", "differ"),
        ("GET", None, b"", "differ"),
        ("GET", WRONG_TYPE, redis.ResponseError("WRONGTYPE in other words"), "equal"),
        ("GET", WRONG_TYPE, redis.ResponseError("unknown command 'GET'"), "differ"),
        ("GET", b"a", WRONG_TYPE, "only_b_fails"),
        ("GET", WRONG_TYPE, None, "only_a_fails"),
        ("GET", b"0.84743373693723267", b"0.8474337369372327", "numbers"),
        ("GET", b"0.84743373693723267", b"0.8474337369", "differ"),
        ("GET", b"nan", b"NaN", "differ"),
        ("GET", b"9007199254740993", b"9007199254740992", "differ"),
        ("GET", b"1e999", b"1e998", "differ"),
        ("GET", OUT_OF_RANGE, redis.ResponseError("The DB index is none", status_code="ERR"), "equal"),
        ("GET", OUT_OF_RANGE, redis.ResponseError("Out of memory", status_code="OOM"), "differ"),
        ("ZRANGE", [b"a", b"1.50"], [b"a", b"1.5"], "numbers"),
        ("ZRANGE", [b"a", b"b"], [b"b", b"a"], "differ"),
        ("SMEMBERS", [b"a", b"b"], [b"b", b"a"], "unordered"),
        ("SMEMBERS", [b"a", b"b"], [b"b", b"b"], "differ"),
        ("HGETALL", [b"a", b"1", b"b", b"2"], [b"b", b"2", b"a", b"1"], "unordered"),
        ("HGETALL", [b"a", b"1", b"b", b"2"], [b"a", b"2", b"b", b"1"], "differ"),
        ("RANDOMKEY", b"a", b"b", "free"),
        ("RANDOMKEY", b"a", None, "differ"),
        ("OBJECT|ENCODING", b"ziplist", b"listpack", "free"),
        ("LATER", 1, 2, "free"),
    ],
)
def test_replies_compare(name: str, a: Any, b: Any, outcome: ReplyOutcome) -> None:
    newer = tips_of([GET, LATER])
    assert ReplyRules(KNOWN, newer).outcome(name, a, b) == outcome


REFUSED = redis.ResponseError("no memory", status_code="OOM")


@pytest.mark.parametrize(
    ("name", "by_chance", "replies", "differ", "unclear"),
    [
        ("SMEMBERS", False, ([b"a", b"b"], [b"a"], [b"b", b"a"], [b"a"]), 1, 0),
        ("SMEMBERS", False, ([b"a", b"b"], [b"a"], [b"b", b"c"], [b"a"]), 0, 1),
        ("XRANGE", True, ([b"1"], REFUSED, [b"2"], REFUSED), 1, 0),
        ("XRANGE", True, ([b"1"], REFUSED, REFUSED, REFUSED), 0, 1),
        ("XRANGE", True, ([b"1"], [b"2"], [b"3"], [b"4"]), 0, 0),
    ],
)
def test_what_has_no_order_or_chance_decided_differs_where_twins_do_not(
    name: str, by_chance: bool, replies: tuple[Any, Any, Any, Any], differ: int, unclear: int
) -> None:
    sending = _SentAgain(ReplyRules(KNOWN, KNOWN), [])
    sending._compare(_Sent(1, name, (name.encode(), b"k"), by_chance), *replies)
    assert (sending.commands[name].differ, sending.commands[name].unclear) == (differ, unclear)


def test_a_difference_is_shown_without_what_replies_hold() -> None:
    assert first_difference([b"secret", [b"token", 1]], [b"secret", [b"tokens", 1]]) == (
        "list of 2, at 2 list of 2, at 1 text of 5 B",
        "text of 6 B",
    )
    assert first_difference(WRONG_TYPE, b"secret") == ("error WRONGTYPE", "text of 6 B")
    assert first_difference([b"secret"], [b"secret", None]) == ("list of 1", "list of 2")
