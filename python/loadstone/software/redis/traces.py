"""The keys of ours on a Redis of the user's: which there may be, and how they are removed, and no others."""

from collections.abc import Iterable, Iterator, Sequence

from loadstone.bounds.conversation import earn
from loadstone.deploy.ledger import KEYS, Made, Outcome, describe
from loadstone.deploy.traces import Traces
from loadstone.software.redis.commands.confinement import NAMED, keys_made
from loadstone.software.redis.session import RedisSession
from loadstone.spec.experiment import OUR_PREFIX

REMOVABLE = KEYS
SUBJECT_KEYS = f"{OUR_PREFIX}subject:"
"""What the keys of our own applications begin with."""


def left_by_load(commands: Iterable[Sequence[str]], prefix: str) -> list[Made]:
    """The keys that commands leave beside `{key}`, which a trial removes itself."""
    return keys_as_made(*keys_made(commands, prefix))


def keys_as_made(keys: Iterable[str], beginnings: Iterable[str]) -> list[Made]:
    """Keys by their names, and by what they begin with, as the ledger has them."""
    return [
        *(Made("key", key) for key in sorted(keys)),
        *(Made("keys_beginning", beginning) for beginning in sorted(beginnings)),
    ]


def remove_traces(control: RedisSession, traces: Traces) -> None:
    """Remove the keys, and forget each as soon as it is gone. Raises LoadstoneError."""
    for thing in sorted(traces.things):
        remove_keys(control, thing)
        traces.gone(thing)


def remove_keys(control: RedisSession, thing: Made) -> int:
    """Remove keys that were made; how many there were.

    Raises:
        UserError: they do not begin as ours do.
        ServerGone: the server does not answer.
    """
    if thing.kind == "key":
        return control.remove_key(thing.name)
    if thing.kind not in REMOVABLE:
        return 0
    keys = control.keys()
    earn(keys)
    if thing.kind == "keys_beginning":
        return control.remove_beginning(thing.name)
    if thing.count > max(keys, 1000):  # to look at every key of the server is shorter
        return control.remove_beginning(thing.name)
    return control.remove_numbered(thing.name, thing.count)


def remove_left(control: RedisSession, things: Iterable[Made]) -> Iterator[Outcome]:
    """Remove what a killed run left, of those keys that begin as only ours do."""
    for thing in things:
        whole = thing.kind != "key"
        if not (NAMED.match(thing.name) if whole else thing.name.startswith(OUR_PREFIX)):
            needed = f"{OUR_PREFIX}NAME:" if whole else OUR_PREFIX
            refused = f"{describe(thing)}: only keys that begin with {needed} are ever removed"
            yield Outcome(thing, refused, left=True)
            continue
        removed = remove_keys(control, thing)
        said = f"{removed:,} removed" if removed else "there were none"
        yield Outcome(thing, f"{describe(thing)}: {said}", left=False)
