"""Wording of messages on what somebody wrote: the value, the words that are known, and the nearest of them."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from loadstone.text.message import AnyText, said


def nearest(word: str, known: Iterable[str]) -> AnyText:
    """`did you mean 'x'? `, or nothing where no known word is near, or where the word is a number."""
    known = list(known)
    close = get_close_matches(word, known, n=1) if not word.replace(".", "").isdecimal() else []
    begun = [one for one in known if word and one.startswith(word)] if not word.replace(".", "").isdecimal() else []
    if len(begun) == 1:
        close = begun
    return said("did you mean '{close}'? ", close=close[0]) if close else ""


def listed(words: Iterable[object]) -> AnyText:
    """`a, b, c`, or `none` where there are none."""
    return ", ".join(str(word) for word in words) or said("none")


def shown(value: object) -> AnyText:
    """A value as it stands in a message: short, texts in quotes."""
    if value is None:
        return said("nothing")
    if isinstance(value, Mapping):
        return said("a mapping")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return said("a list")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"'{text}'"
