"""What the room of memcached offers; see `software.room`."""

from loadstone.deploy.ledger import Place, place_of
from loadstone.software.memcached.confinement import ConfinedMeta, reaches_out
from loadstone.software.memcached.declared import MEMCACHED
from loadstone.software.memcached.known_settings import KNOWN
from loadstone.software.memcached.local import MemcachedSettings, installed
from loadstone.software.memcached.url import MemcachedUrlSettings, parse_memcached_url
from loadstone.software.room import Room


def place(server: str, url: str) -> Place:
    """Where a URL leads. Raises UserError if it is not the URL of a memcached."""
    return place_of(server, parse_memcached_url(url), (MEMCACHED.schemes[0], ""))


ROOM = Room(
    kinds={"memcached": MemcachedSettings, "memcached-url": MemcachedUrlSettings},
    place=place,
    reaches_out=reaches_out,
    known_settings=KNOWN,
    confinement=ConfinedMeta(),
    facts=(installed,),
)
