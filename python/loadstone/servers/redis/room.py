"""All that the registry offers of Redis beside its declaration."""

from loadstone.servers.containers.contained import InContainer
from loadstone.servers.redis import packages
from loadstone.servers.redis.append_only_file import require_commands
from loadstone.servers.redis.cluster import ClusterSettings
from loadstone.servers.redis.commands.confinement import ConfinedCommands, doubt_about, reaches_out
from loadstone.servers.redis.contained import ContainedRedis, check
from loadstone.servers.redis.known_settings import KNOWN
from loadstone.servers.redis.local import EmbeddedSettings, ProcessSettings, ValkeySettings
from loadstone.servers.redis.recorded_replies import compare_replies
from loadstone.servers.redis.recording import recorded_load
from loadstone.servers.redis.replicated import ReplicatedSettings
from loadstone.servers.redis.url import place
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.redis.watched import watch_only
from loadstone.servers.redis.way_back import begin_with, way_back
from loadstone.servers.software_room import ComparedVersions, Room

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
    compared_versions=ComparedVersions(require_commands, begin_with, compare_replies, way_back),
    watch_only=watch_only,
)
