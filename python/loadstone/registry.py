"""The kinds of each seam, a line each. A new part is one file and one line here."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationError

from loadstone.deploy.containers.container import ContainerSettings
from loadstone.deploy.provider import Server, ServerSettings
from loadstone.errors import UserError
from loadstone.observe.sample import Monitor
from loadstone.observe.watch import Watch
from loadstone.software.host import metrics as host
from loadstone.software.host.generator import GeneratorMonitor
from loadstone.software.host.monitor import HostMonitor
from loadstone.software.host.others import OthersMonitor
from loadstone.software.host.processes import ProcessMonitor
from loadstone.software.jvm import metrics as jvm
from loadstone.software.jvm.monitor import JvmMonitor
from loadstone.software.mariadb import metrics as mariadb
from loadstone.software.mariadb.local import MariaDbSettings
from loadstone.software.mariadb.monitor import MariaDbMonitor
from loadstone.software.mariadb.url import MariaDbUrlSettings
from loadstone.software.metric import Metric, StudyColumn, by_name
from loadstone.software.part_kind import PartKind
from loadstone.software.redis import metrics as redis
from loadstone.software.redis.cluster import ClusterSettings
from loadstone.software.redis.embedded import EmbeddedSettings
from loadstone.software.redis.monitor import RedisMonitor
from loadstone.software.redis.process import ProcessSettings
from loadstone.software.redis.replicated import ReplicatedSettings
from loadstone.software.redis.url import UrlSettings
from loadstone.spec.problems import first_problem, listed, nearest, shown

SERVERS: dict[str, type[ServerSettings]] = {
    "embedded": EmbeddedSettings,
    "process": ProcessSettings,
    "cluster": ClusterSettings,
    "url": UrlSettings,
    "container": ContainerSettings,
    "replicated": ReplicatedSettings,
    "mariadb": MariaDbSettings,
    "mariadb-url": MariaDbUrlSettings,
}
MONITORS: dict[str, Callable[[Watch], list[Monitor]]] = {
    "host": HostMonitor.watching,
    "others": OthersMonitor.watching,
    "process": ProcessMonitor.watching,
    "generator": GeneratorMonitor.watching,
    "redis": RedisMonitor.watching,  # from here on those that may have to wait for an answer
    "mariadb": MariaDbMonitor.watching,
    "jvm": JvmMonitor.watching,
}

METRICS: Mapping[str, Metric] = by_name((*host.METRICS, *mariadb.METRICS, *redis.METRICS, *jvm.METRICS))
"""Every metric by its name. The tables of the report stand in this order."""
PART_KINDS: dict[str, PartKind] = {kind.name: kind for kind in (*host.KINDS, mariadb.KIND, redis.KIND)}
POOLS = {pool.name: pool for pool in jvm.POOLS}
STUDY_COLUMNS: tuple[StudyColumn, ...] = (*redis.STUDY_COLUMNS, *mariadb.STUDY_COLUMNS)

_UNION: Any = Annotated[Union[tuple(SERVERS.values())], Field(discriminator="kind")]  # noqa: UP007 (from the table)
ServerUnion: TypeAdapter[ServerSettings] = TypeAdapter(_UNION)
"""The tagged union of `experiment.servers`; its JSON Schema is for editors."""


def server(name: str, settings: Mapping[str, Any]) -> Server:
    """The server `name` of an experiment, not started.

    Raises:
        UserError: the settings are not those of a known kind; names server, field and value.
    """
    kind = settings.get("kind")
    if kind not in SERVERS:
        said = f"{shown(kind)} is not known" if "kind" in settings else "is missing"
        raise UserError(f"servers.{name}.kind: {said}; {nearest(str(kind), SERVERS)}known kinds: {listed(SERVERS)}")
    try:
        return SERVERS[kind].model_validate(settings).server(name)
    except ValidationError as error:
        path, sentence = first_problem(error, SERVERS[kind], settings)
        raise UserError(f"servers.{'.'.join(str(part) for part in (name, *path))}: {sentence}") from None


def monitors(watch: Watch) -> list[Monitor]:
    """All monitors for what a run lets them see."""
    return [monitor for watching in MONITORS.values() for monitor in watching(watch)]
