"""Compares two servers' replies to one command.

Which replies have no order, and which differ on two servers by their nature, is what the servers themselves say in the
tips of COMMAND (Redis 7 and newer), and a list of ours for those that do not say it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis

from loadstone.servers.compared_replies import ReplyOutcome


def _names(text: str) -> list[str]:
    return text.split()


FREE_TIP, UNORDERED_TIP = "nondeterministic_output", "nondeterministic_output_order"
FREE = frozenset(
    _names(
        "DUMP EXPIRETIME HEXPIRETIME HPEXPIRETIME HPTTL HRANDFIELD HSCAN HTTL INFO MEMORY|USAGE OBJECT|ENCODING "
        "OBJECT|FREQ OBJECT|IDLETIME OBJECT|REFCOUNT PEXPIRETIME PTTL RANDOMKEY SCAN SPOP SRANDMEMBER SSCAN TIME TTL "
        "XADD XAUTOCLAIM XCLAIM XINFO|CONSUMERS XINFO|GROUPS XINFO|STREAM XPENDING XREADGROUP ZRANDMEMBER ZSCAN"
    )
)
"""Chance, clocks and what a version keeps of a value decide on these replies."""
UNORDERED = frozenset(_names("HGETALL HKEYS HVALS KEYS SDIFF SINTER SMEMBERS SUNION"))
_IN_PAIRS = frozenset({"HGETALL"})
_CODE_MAX = 40
_NUMBER = re.compile(rb"-?\d{1,25}(\.\d{1,25})?(e[+-]?\d{1,3})?")


@dataclass(frozen=True)
class CommandTips:
    """What a server knows of its commands."""

    names: frozenset[str]
    """`GET`, `OBJECT|ENCODING`."""
    free: frozenset[str]
    unordered: frozenset[str]


def tips_of(told: Sequence[Any]) -> CommandTips:
    """Read the reply to COMMAND. What is not as documented there is left out."""
    tips: dict[str, frozenset[str]] = {}
    _read_tips(told, tips)
    marked = {tip: frozenset(name for name, has in tips.items() if tip in has) for tip in (FREE_TIP, UNORDERED_TIP)}
    return CommandTips(frozenset(tips), marked[FREE_TIP], marked[UNORDERED_TIP])


def _read_tips(told: Sequence[Any], tips: dict[str, frozenset[str]]) -> None:
    for entry in told:
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], bytes):
            continue
        has = entry[7] if len(entry) > 7 and isinstance(entry[7], list) else []
        tips[_text(entry[0]).upper()] = frozenset(_text(tip) for tip in has if isinstance(tip, bytes))
        if len(entry) > 9 and isinstance(entry[9], list):
            _read_tips(entry[9], tips)


def _text(told: bytes) -> str:
    return told.decode(errors="replace")


class ReplyRules:
    """Compares replies of two servers whose tips are known."""

    def __init__(self, a: CommandTips, b: CommandTips) -> None:
        self._free = FREE | a.free | b.free
        self._unordered = UNORDERED | a.unordered | b.unordered

    def is_free(self, name: str) -> bool:
        """Whether the content of its replies differs by nature."""
        return name in self._free

    def outcome(self, name: str, a: Any, b: Any) -> ReplyOutcome:
        """Compare two replies to the command; errors stand for themselves."""
        failed = isinstance(a, redis.RedisError), isinstance(b, redis.RedisError)
        if any(failed):
            if all(failed):  # what they say of it may be worded anew
                return "equal" if code_of(a) == code_of(b) else "differ"
            return "only_a_fails" if failed[0] else "only_b_fails"
        if name in self._free:
            return "free" if type(a) is type(b) else "differ"
        if a == b:
            return "equal"
        if name in self._unordered and _sorted(name, a) == _sorted(name, b):
            return "unordered"
        return "numbers" if _same_numbers(a, b) else "differ"


def code_of(error: redis.RedisError) -> str:
    """The code of an error, as redis-py keeps it where it takes it off the text; else its first word in capitals."""
    word = getattr(error, "status_code", None) or str(error)[:_CODE_MAX].split(" ", 1)[0]
    return word if word.isupper() else type(error).__name__


def _sorted(name: str, reply: Any) -> Any:
    if not isinstance(reply, list):
        return reply
    parts = list(zip(reply[::2], reply[1::2], strict=False)) if name in _IN_PAIRS else reply
    return sorted(map(repr, parts))


def _same_numbers(a: Any, b: Any) -> bool:
    """Whether all that differs are numbers of one value: `0.84743373693723267` and `0.8474337369372327`."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same_numbers, a, b))
    if isinstance(a, bytes) and isinstance(b, bytes) and a != b:
        return all(map(_NUMBER.fullmatch, (a, b))) and _same_double(a, b)
    return bool(a == b)


def _same_double(a: bytes, b: bytes) -> bool:
    """Whether two texts are one floating-point number. Whole numbers are none: of those every digit counts."""
    are_whole = all(text.lstrip(b"-").isdigit() for text in (a, b))
    return not are_whole and math.isfinite(float(a)) and float(a) == float(b)


def first_difference(a: Any, b: Any) -> tuple[str, str]:
    """The forms of two replies, or of the first elements of them that differ, without anything of what they hold."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for at, (one, other) in enumerate(zip(a, b, strict=True), 1):
            if one != other:
                inner = first_difference(one, other)
                return f"{masked(a)}, at {at} {inner[0]}", inner[1]
    return masked(a), masked(b)


def masked(reply: Any) -> str:
    """The form of a reply, without anything of what it holds."""
    match reply:
        case redis.RedisError():
            return f"error {code_of(reply)}"
        case None:
            return "nil"
        case bool() | int():
            return "integer"
        case bytes():
            return f"text of {len(reply):,} B"
        case list():
            return f"list of {len(reply):,}"
        case dict():
            return f"map of {len(reply):,}"
        case _:
            return type(reply).__name__
