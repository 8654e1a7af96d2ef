"""All that the registry offers of Redis beside its declaration."""

from loadstone.deploy.containers.contained import InContainer
from loadstone.software.redis import packages
from loadstone.software.redis.cluster import ClusterSettings
from loadstone.software.redis.commands.confinement import ConfinedCommands, reaches_out
from loadstone.software.redis.commands.doubts import doubt_about
from loadstone.software.redis.contained import ContainedRedis, check
from loadstone.software.redis.known_settings import KNOWN
from loadstone.software.redis.local import EmbeddedSettings, ProcessSettings, ValkeySettings
from loadstone.software.redis.recording import recorded_load
from loadstone.software.redis.replicated import ReplicatedSettings
from loadstone.software.redis.url import place
from loadstone.software.redis.users_server import UrlSettings
from loadstone.software.room import Room

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
    known_settings=KNOWN,
    doubt_about=doubt_about,
    confinement=ConfinedCommands(None),
    facts=packages.FACTS,
    in_container=InContainer(check, ContainedRedis),
    recording=recorded_load,
)
