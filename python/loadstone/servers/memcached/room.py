"""What the room of memcached offers; see `servers.software_room`."""

from loadstone.experiment.software import MEMCACHED
from loadstone.run_folder.ledger import ServerIdentity, place_of
from loadstone.servers.memcached.confinement import ConfinedMeta, reaches_out
from loadstone.servers.memcached.known_settings import KNOWN
from loadstone.servers.memcached.local import MemcachedSettings, installed
from loadstone.servers.memcached.url import MemcachedUrlSettings, parse_memcached_url
from loadstone.servers.software_room import Room


def place(server: str, url: str) -> ServerIdentity:
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
