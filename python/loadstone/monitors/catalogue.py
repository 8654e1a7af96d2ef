"""Every metric, kind of part, pool, lock and column that a file of `monitors/metrics/` declares, by its name."""

from collections.abc import Mapping

from loadstone.monitors.metric import Metric, StudyColumn, by_name
from loadstone.monitors.metrics import host, jvm, mariadb, memcached, node, postgresql, redis
from loadstone.monitors.part_kind import WATCHED_PROGRAM, LockMetrics, PartKind, PoolMetrics, watched

_OBSERVED = (
    *(host.OBSERVED, mariadb.OBSERVED, postgresql.OBSERVED, redis.OBSERVED, memcached.OBSERVED),
    *(jvm.OBSERVED, node.OBSERVED),
)
METRICS: Mapping[str, Metric] = by_name(metric for room in _OBSERVED for metric in room.metrics)
"""Every metric by its name. The tables of the report stand in this order."""
_KINDS = tuple(kind for room in _OBSERVED for kind in room.kinds)
_WATCHED = (WATCHED_PROGRAM, *(watched(kind) for kind in _KINDS if kind.store))
PART_KINDS: Mapping[str, PartKind] = {kind.name: kind for kind in (*_KINDS, *_WATCHED)}
"""What is declared of each kind of part, by the kind that records carry."""
POOLS: Mapping[str, PoolMetrics] = {pool.name: pool for room in _OBSERVED for pool in room.pools}
LOCKS: tuple[LockMetrics, ...] = tuple(lock for room in _OBSERVED for lock in room.locks)
STUDY_COLUMNS: tuple[StudyColumn, ...] = tuple(column for room in _OBSERVED for column in room.study_columns)
