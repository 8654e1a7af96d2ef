"""The parts of the contract of drivers, in the order in which they are checked."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from loadstone.addons.driver_contract import faults, replies, sent, times
from loadstone.addons.driver_contract.lab import Lab, NotClaimed, Wrong
from loadstone.safety.errors import LoadstoneError

Try = Callable[[Lab], str]
"""Tries one part, and returns a figure. Raises Wrong, LoadstoneError."""
PARTS: tuple[tuple[str, Try], ...] = (
    *((f"counts, pool of {pool}", partial(sent.counts_at, connections=pool)) for pool in sent.POOLS),
    ("connections", sent.connections),
    ("keys by their distribution", sent.distributions),
    ("several keys", sent.several_keys),
    ("arguments", sent.arguments),
    ("texts, each key once", sent.each_key_once),
    ("replies of every kind", sent.expectations),
    ("verdicts", replies.verdicts),
    ("wrong replies are found", sent.wrong_replies),
    ("commands that are refused", faults.refused_commands),
    ("phases and intervals", times.phases),
    ("think time", times.think_time),
    ("arrivals of the open model", times.arrivals),
    ("a rate that changes", times.changing_rate),
    ("users who start", times.starting_users),
    ("operations count by their intended time", times.intended_time),
    ("arrivals that are dropped", times.dropped_arrivals),
    ("a server that freezes", times.frozen_server),
    ("a slower server", times.slower_server),
    ("timeouts", times.timeouts),
    ("work that ends by itself", times.ends_by_itself),
    ("stop", times.stop),
    ("the end of its input", faults.parent_gone),
    ("plans that are wrong", faults.bad_plans),
    ("no server, wrong password", faults.no_server),
    ("secrets", faults.secrets_are_kept),
    ("stays at its host", faults.stays_at_its_host),
    ("a greeting that is not answered", faults.greeting_unanswered),
    ("a greeting that is refused at length", faults.refused_at_length),
    ("replies that cannot be read", faults.unreadable_replies),
    ("a server that dies", faults.server_gone),
    ("kill -9", faults.killed),
)
TIMED = frozenset(
    {
        "phases and intervals",
        "think time",
        "arrivals of the open model",
        "a rate that changes",
        "users who start",
        "operations count by their intended time",
        "a server that freezes",
        "a slower server",
    }
)
"""Those that hold times against each other: what runs beside them would spoil them."""


@dataclass(frozen=True)
class Tried:
    """What became of one part."""

    name: str
    outcome: Literal["passed", "FAILED", "skipped"]
    said: str
    """A figure where it passed; what is wrong; or what the manifest does not claim."""


def named(texts: Collection[str]) -> list[tuple[str, Try]]:
    """The parts whose name has one of these texts in it; without any all of them."""
    return [(name, part) for name, part in PARTS if not texts or any(text in name for text in texts)]


def tried(lab: Lab, parts: Iterable[tuple[str, Try]] = PARTS) -> Iterator[Tried]:
    """Every one of these, one after the other."""
    for name, part in parts:
        try:
            yield Tried(name, "passed", part(lab))
        except NotClaimed as lacking:
            yield Tried(name, "skipped", str(lacking))
        except (Wrong, LoadstoneError, OSError) as wrong:
            yield Tried(name, "FAILED", str(wrong))
