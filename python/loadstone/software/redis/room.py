"""All that the registry offers of Redis beside its declaration."""

from collections.abc import Callable

from loadstone.deploy.containers.contained import InContainer
from loadstone.deploy.ledger import Place, place_of
from loadstone.observe.sample import Monitor
from loadstone.observe.watch import Watch
from loadstone.software.redis import installed
from loadstone.software.redis.cluster.cluster import ClusterSettings
from loadstone.software.redis.cluster.cluster_control import place_of_cluster
from loadstone.software.redis.commands.doubts import doubt_about
from loadstone.software.redis.confined import ConfinedCommands, reaches_out
from loadstone.software.redis.contained import ContainedRedis, check
from loadstone.software.redis.embedded import EmbeddedSettings, ValkeySettings
from loadstone.software.redis.monitor import RedisMonitor
from loadstone.software.redis.process import ProcessSettings
from loadstone.software.redis.recording import recorded_load
from loadstone.software.redis.replicated import ReplicatedSettings
from loadstone.software.redis.sentinel.sentinel_url import is_sentinel_url, parse_sentinel_url
from loadstone.software.redis.url import UrlSettings, names_cluster, parse_url
from loadstone.software.room import Room


def place(server: str, url: str) -> Place:
    """Where a URL leads. Raises UserError if it is none of a Redis."""
    if is_sentinel_url(url):
        return parse_sentinel_url(url).place(server)
    endpoint = parse_url(url)
    return place_of_cluster(server, endpoint) if names_cluster(url) else place_of(server, endpoint)


MONITORS: tuple[Callable[[Watch], list[Monitor]], ...] = (RedisMonitor.watching,)
ROOM = Room(
    kinds={
        "embedded": EmbeddedSettings,
        "valkey": ValkeySettings,
        "process": ProcessSettings,
        "cluster": ClusterSettings,
        "url": UrlSettings,
        "replicated": ReplicatedSettings,
    },
    place=place,
    reaches_out=reaches_out,
    doubt_about=doubt_about,
    confinement=ConfinedCommands(None),
    facts=(installed.embedded_server, installed.valkey, installed.json_module, installed.local_server),
    in_container=InContainer(check, ContainedRedis),
    recording=recorded_load,
)
