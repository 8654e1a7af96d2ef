"""Warnings of many pairs: those that are about the same stand in one line."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from loadstone.message import Message, alike
from loadstone.report.format import sentence


class Warned(NamedTuple):
    """A warning and the pair that it is about."""

    pair: str
    text: str


def folded(warnings: Iterable[tuple[str, Message]]) -> list[list[Warned]]:
    """Pairs and their warnings, in groups that are about the same; see `message.alike`."""
    found: dict[Hashable, list[Warned]] = {}
    for pair, warning in warnings:
        found.setdefault(alike(warning), []).append(Warned(pair, sentence(warning)))
    return list(found.values())
