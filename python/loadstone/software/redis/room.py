"""All that the registry offers of Redis beside its declaration."""

from collections.abc import Callable

from loadstone.deploy.containers.contained import InContainer
from loadstone.deploy.ledger import Place, place_of
from loadstone.observe.sample import Monitor
from loadstone.observe.watch import Watch
from loadstone.software.redis import installed
from loadstone.software.redis.cluster.cluster import ClusterSettings
from loadstone.software.redis.contained import ContainedRedis, check
from loadstone.software.redis.embedded import EmbeddedSettings
from loadstone.software.redis.monitor import RedisMonitor
from loadstone.software.redis.process import ProcessSettings
from loadstone.software.redis.replicated import ReplicatedSettings
from loadstone.software.redis.url import UrlSettings, parse_url
from loadstone.software.room import Room


def place(server: str, url: str) -> Place:
    """Where a URL leads. Raises UserError if it is none of a Redis."""
    return place_of(server, parse_url(url))


MONITORS: tuple[Callable[[Watch], list[Monitor]], ...] = (RedisMonitor.watching,)
ROOM = Room(
    kinds={
        "embedded": EmbeddedSettings,
        "process": ProcessSettings,
        "cluster": ClusterSettings,
        "url": UrlSettings,
        "replicated": ReplicatedSettings,
    },
    place=place,
    facts=(installed.embedded_server, installed.json_module, installed.local_server),
    in_container=InContainer(check, ContainedRedis),
)
