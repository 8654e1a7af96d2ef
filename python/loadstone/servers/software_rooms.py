"""Which software there is, and what its room offers.

What a software declares of itself (`SOFTWARE`) is data. What it does is loaded when it is first needed, by the name of
its room: `servers/NAME/room.py`. Others than the rooms' own neighbours come by way of `servers/registry.py`.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from loadstone.experiment.software import MARIADB, MEMCACHED, POSTGRESQL, REDIS, Software

if TYPE_CHECKING:  # types alone: whoever needs a declaration loads no server, no monitor and no client library
    from loadstone.servers.software_room import Room

SOFTWARE: Mapping[str, Software] = {software.name: software for software in (REDIS, MARIADB, POSTGRESQL, MEMCACHED)}
"""Every server software by its name; what settings do not say otherwise is the first."""


@cache
def room(name: str) -> "Room":
    """What the room of a software offers, by its name in `SOFTWARE`; loads it."""
    offered: Room = import_module(f"loadstone.servers.{SOFTWARE[name].name}.room").ROOM
    return offered


def in_containers() -> tuple[str, ...]:
    """The software, by its names, that kind `container` runs."""
    return tuple(software.name for software in SOFTWARE.values() if software.in_container)
