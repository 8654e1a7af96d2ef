"""What memcached declares of itself."""

from loadstone.software.software import Software

COUNTING = ("STATS", "MG")
"""What may count what is stored: a figure of `stats`, or a key that holds a number."""

MEMCACHED = Software(
    name="memcached",
    title="memcached",
    kinds=("memcached", "memcached-url"),
    url_kind="memcached-url",
    schemes=("memcached",),
    url_form="memcached://HOST:PORT",
    rows="commands",
    counts_by=COUNTING,
    how_to_count="write 'stats curr_items', or 'mg KEY v' of a key that holds a number",
    protocols=("memcached",),
    has_counters=True,
    starts_at_once=("memcached",),
    quick=frozenset({"MG", "MS", "MD", "MA"}),
    in_memory=True,
)
