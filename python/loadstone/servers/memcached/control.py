"""What loadstone asks of a memcached, and has it do (`servers.control`)."""

import contextlib
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from loadstone.experiment.plan.operations import is_one_key
from loadstone.experiment.plan.required import RequiredData
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import memory_of
from loadstone.experiment.software import MEMCACHED
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.run_folder.ledger import (
    CreatedObject,
    CreatedObjects,
    ObjectKind,
    RemovalResult,
    ServerIdentity,
    describe,
    place_of,
)
from loadstone.safety.bounds.deadlines import bound_that_ended, extend_deadline
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import BadReply, ServerGone, ServerRefused, UserError
from loadstone.servers.control import RowFiles, WriteRows
from loadstone.servers.memcached import memory
from loadstone.servers.memcached.confinement import WITH_KEY, ConfinedMeta
from loadstone.servers.memcached.memory import EvictionWatch, whole
from loadstone.servers.memcached.monitor import MemcachedSnapshot, snapshot
from loadstone.servers.memcached.session import NUMBERED_MAX, TOO_OLD, MemcachedSession, is_one_word
from loadstone.servers.server import ServerFacts
from loadstone.text.message import AnyText, said

PROCESS_ID_END = 2**31
DETAILS = ("libevent", "pointer_size", "threads", "limit_maxbytes", "max_connections")
OLDEST = (1, 6, 12)
"""See `session.TOO_OLD`."""
LEAVES_NOTHING = frozenset({"mg", "md"})
_TOO_MANY = said(
    "memcached does not list its keys: at most {most:,} names are tried to remove them (workload.keys.count); what "
    "stays is evicted when others need its room, or ends with the server",
    most=NUMBERED_MAX,
)
_NAMED = re.compile(rf"{OUR_PREFIX}[^:]+:")


class MemcachedControl(MemcachedSession):
    """See `servers.control.Control` and `servers.control.KeyStore`, whose methods these are."""

    removable: ClassVar[tuple[ObjectKind, ...]] = ("numbered_keys", "key")

    def facts(self) -> ServerFacts:
        """What the server is, once it is sure that it can be loaded.

        Writes and removes one key under our prefix, unless its memory is full: then its version alone is looked at.

        Raises:
            UserError: it cannot be loaded; one line with what it answered and the remedy.
        """
        try:
            self.ping()
            stats = self.stats()
            if memory.is_full(self):
                self._require_version(stats.get("version", "unknown"))
            else:
                self._require_meta()
        except ServerGone as gone:
            silent = not isinstance(gone, ServerRefused | BadReply) and bound_that_ended(gone) is None
            if silent:
                raise UserError("{gone}; is it a memcached, and does a firewall let us through?", gone=gone) from None
            raise UserError.of(gone.message) from None
        return ServerFacts(
            software=MEMCACHED.name,
            version=stats.get("version", "unknown"),
            mode="standalone",
            role="primary",
            process_id=_process_id(stats),
            details={name: stats[name] for name in DETAILS if name in stats},
        )

    def _require_meta(self) -> None:
        """Writes in the meta protocol as it is today; earlier versions of 1.6 know another syntax."""
        key = f"{OUR_PREFIX}probe:{secrets.token_hex(8)}"
        try:
            stored = self.call("ms", key, b"x", "T10")
            answer, removed = stored.decode(errors="replace"), self.call("md", key)
        except (ServerRefused, BadReply) as odd:
            answer, removed = odd.said or str(odd).partition(": ")[2], b""
        if answer.startswith("SERVER_ERROR"):
            raise ServerGone(
                "server {endpoint_label}: it takes no writes ({answer}); free some of its memory, or raise its limit "
                "(-m)",
                endpoint_label=self.endpoint.label,
                answer=shortened(answer, 60),
            )
        if answer != "HD" or removed != b"HD":
            raise ServerGone(
                "server {endpoint_label}: {format}",
                endpoint_label=self.endpoint.label,
                format=TOO_OLD.format(said=shortened(answer, 60)),
            )

    def _require_version(self, version: str) -> None:
        """Returns if this version has the meta protocol as it is today."""
        numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
        if numbers is None or tuple(map(int, numbers.groups())) < OLDEST:
            raise ServerGone(
                "server {endpoint_label}: {format}",
                endpoint_label=self.endpoint.label,
                format=TOO_OLD.format(said=shortened(version, 60)),
            )

    def snapshot(self) -> MemcachedSnapshot:
        """All that is counted."""
        return snapshot(self)

    def start(self) -> None:
        """None: its counters say which start it is."""

    def row_writing(self, data: RequiredData, rows: RowFiles, traces: CreatedObjects, *, ours: bool) -> WriteRows:  # noqa: ARG002
        """None: keys are stored by operations."""
        raise UserError(
            "'{server}' is a memcached, which takes no rows; store its keys by workload.load", server=data.server
        )

    def is_full(self, error: BaseException) -> bool:
        """Whether it refuses writes because memory is full."""
        return "out of memory" in str(error)

    def place(self, server: str) -> ServerIdentity:
        """Where it is; it has one key space."""
        return place_of(server, self.endpoint, (MEMCACHED.schemes[0], ""))

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[CreatedObject]:  # noqa: ARG002
        """Keys that are always the same; `{key}` is removed after each trial."""
        stored = {command[1] for command in commands if len(command) > 1 and command[0] in WITH_KEY - LEAVES_NOTHING}
        return [
            CreatedObject("key", key) for key in sorted(stored) if not is_one_key(key) and key.startswith(OUR_PREFIX)
        ]

    def left_by_subjects(self, prefixes: Iterable[str] = ()) -> list[CreatedObject]:  # noqa: ARG002 (the seam's signature)
        """None: no application of ours has a memcached."""
        return []

    def remove_traces(self, traces: CreatedObjects) -> None:
        """Remove the keys that were noted, and forget each as soon as it is gone."""
        for thing in sorted(traces.things):
            self._remove(thing)
            traces.gone(thing)

    def remove_left(self, run_id: str, things: Sequence[CreatedObject]) -> Iterator[RemovalResult]:  # noqa: ARG002 (keys name no run)
        """Remove keys that only ours can be."""
        for thing in things:
            begins = f"{OUR_PREFIX}NAME:" if thing.kind == "numbered_keys" else OUR_PREFIX
            is_ours = _NAMED.match(thing.name) if thing.kind == "numbered_keys" else thing.name.startswith(OUR_PREFIX)
            if not is_ours or not is_one_word(thing.name):
                yield RemovalResult(
                    thing, f"{describe(thing)}: only keys that begin with {begins} are ever removed", left=True
                )
                continue
            if thing.count > NUMBERED_MAX:
                yield RemovalResult(thing, said("{thing}: {why}", thing=describe(thing), why=_TOO_MANY), left=True)
                continue
            removed = self._remove(thing)
            outcome = said("{thing}: there were none", thing=describe(thing))
            if removed:
                outcome = said("{thing}: {n:,} removed", thing=describe(thing), n=removed)
            yield RemovalResult(thing, outcome, left=False)

    def _remove(self, thing: CreatedObject) -> int:
        if thing.kind == "numbered_keys":
            extend_deadline(thing.count)
            return self.remove_numbered(thing.name, thing.count)
        return self.remove_keys([thing.name]) if thing.kind == "key" else 0

    def confinement(self) -> ConfinedMeta:
        """Meta commands on keys of ours."""
        return ConfinedMeta()

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> AnyText:
        """Return what is short, by the names that must be tried to remove its keys again, by its memory, and by that of
        its machine."""
        keys = max((trial.plan.keys.count for trial in trials if trial.target in (None, server)), default=0)
        if keys > NUMBERED_MAX:
            return said("the run may store {keys:,} keys there, and {why}", keys=keys, why=_TOO_MANY)
        return memory.shortage(self, memory_of(trials, server), here=pid is not None)

    def too_large(self, trials: Sequence[PlannedTrial], server: str) -> AnyText:
        """See `servers.control.LimitsValues`."""
        return memory.too_large(self, trials, server)

    def loss_watch(self, server: str) -> EvictionWatch:
        """Its evictions, from now on."""
        return EvictionWatch.begin(server, self)

    def evicting_policy(self) -> str:
        """Its LRU, unless it may not evict."""
        return "" if self.settings(["disable-evictions"]).get("disable-evictions") == "yes" else "LRU"


def _process_id(stats: Mapping[str, str]) -> int | None:
    """Its process, where it reports a number that one can have."""
    with contextlib.suppress(ValueError):
        number = whole(stats, "pid")
        return number if 0 < number < PROCESS_ID_END else None
    return None
