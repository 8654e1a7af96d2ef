"""What the room of a software offers: loaded when it is first needed, by the name of the room.

It stands in `servers/NAME/room.py`. Others than the rooms' own neighbours come by way of `servers/registry.py`.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from loadstone.experiment.software import SOFTWARE

if TYPE_CHECKING:  # types alone: whoever needs a declaration loads no server, no monitor and no client library
    from loadstone.servers.software_room import Room


@cache
def room(name: str) -> "Room":
    """What the room of a software offers, by its name in `SOFTWARE`; loads it."""
    offered: Room = import_module(f"loadstone.servers.{SOFTWARE[name].name}.room").ROOM
    return offered
