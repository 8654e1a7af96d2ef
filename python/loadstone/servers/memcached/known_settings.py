"""Which of memcached's settings an experiment may set: options of its command line, each with the form of its value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.servers.known_settings import KnownSettings
from loadstone.text.message import AnyText, said

MEBIBYTE = 2**20
_WHOLE = re.compile(r"[0-9]{1,12}")
_SIZE = re.compile(r"[0-9]{1,12}[kKmM]?")
_FACTOR = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")
SWITCH = re.compile(r"yes|no")


@dataclass(frozen=True)
class MemcachedOption:
    """One option that an experiment may set."""

    form: re.Pattern[str]
    """What its value may be, as it is written on the command line."""
    what: AnyText
    """Allowed values in words for people."""
    reported: str
    """Its name in `stats settings`."""
    letter: str = ""
    """As people know it."""
    divisor: int = 1
    """Divisor of the reported value."""
    inverse: bool = False
    """Whether the server reports what the option turns off."""


OPTIONS: Mapping[str, MemcachedOption] = {
    "memory-limit": MemcachedOption(_WHOLE, said("a whole number of MiB"), "maxbytes", "-m", divisor=MEBIBYTE),
    "threads": MemcachedOption(_WHOLE, said("a whole number"), "num_threads", "-t"),
    "conn-limit": MemcachedOption(_WHOLE, said("a whole number"), "maxconns", "-c"),
    "max-item-size": MemcachedOption(_SIZE, said("a size as 2m or 512k"), "item_size_max", "-I"),
    "disable-evictions": MemcachedOption(SWITCH, said("yes or no"), "evictions", "-M", inverse=True),
    "disable-cas": MemcachedOption(SWITCH, said("yes or no"), "cas_enabled", "-C", inverse=True),
    "max-reqs-per-event": MemcachedOption(_WHOLE, said("a whole number"), "reqs_per_event", "-R"),
    "listen-backlog": MemcachedOption(_WHOLE, said("a whole number"), "tcp_backlog", "-b"),
    "slab-growth-factor": MemcachedOption(_FACTOR, said("a number as 1.25"), "growth_factor", "-f"),
    "slab-min-size": MemcachedOption(_WHOLE, said("a whole number of bytes"), "chunk_size", "-n"),
}
"""Options by the long names of memcached's command line: what is not here is refused."""
KNOWN = KnownSettings(
    software="memcached",
    made_from=("1.6.",),
    canonical=str,
    name_form=re.compile(r"[a-z-]+"),
    unwritable=re.compile(r"[\s\0]"),
    harmless=frozenset(OPTIONS),
    switches=frozenset(),
    asks=frozenset(),
    refused=frozenset(),
)
