"""The different keys of one operation: `{key}`, `{key2}`, `{key3}`..., and `{keys:10}`, which is ten of them."""

import re
from collections.abc import Iterable

KEYS_OF_ONE_MAX = 10_000
"""Keys that one operation may name."""
_NAMED = re.compile(r"\{\{|\}\}|\{(?:key|number)([1-9][0-9]{0,4})?\}")
_ALL = re.compile(r"\{\{|\}\}|\{(key|number)s:([0-9]{1,5})\}")
_ONE_KEY = re.compile(r"\{key([1-9][0-9]{0,4})?\}")


def is_one_key(text: str) -> bool:
    """Whether an argument is a key of the plan's key space and nothing else: `{key}`, or `{key2}`."""
    return _ONE_KEY.fullmatch(text) is not None


def begins_with_key(text: str) -> bool:
    """Whether an argument begins with a key of the plan's key space."""
    return _ONE_KEY.match(text) is not None


def keys_named(texts: Iterable[str]) -> int:
    """How many different keys an operation of these texts has, by the highest that is named; 0: it names none."""
    found = (one for text in texts for one in _NAMED.finditer(text) if one[0] not in ("{{", "}}"))
    return max((int(one[1] or 1) for one in found), default=0)


def as_arguments(text: str) -> list[str]:
    """The arguments that one with `{keys:10}` in it stands for, one a key; any other is itself.

    Raises ValueError: what is wrong with it.
    """
    found = [one for one in _ALL.finditer(text) if one[1] is not None]
    if not found:
        return [text]
    if len(found) > 1:
        raise ValueError(f"'{text}': {{keys:N}} stands for several arguments; write it once in an argument")
    (one,) = found
    return [f"{text[: one.start()]}{place}{text[one.end() :]}" for place in _places(one)]


def as_text(text: str) -> str:
    """The text with its keys, separated by commas, where it has `{keys:10}` or `{numbers:10}`.

    Raises ValueError: what is wrong with it.
    """
    return _ALL.sub(lambda one: one[0] if one[1] is None else ",".join(_places(one)), text)


def _places(found: re.Match[str]) -> list[str]:
    count = int(found[2])
    if not 1 <= count <= KEYS_OF_ONE_MAX:
        raise ValueError(f"'{found[0]}': an operation has 1 to {KEYS_OF_ONE_MAX} keys; write {{{found[1]}s:10}}")
    return [f"{{{found[1]}{number if number > 1 else ''}}}" for number in range(1, count + 1)]
