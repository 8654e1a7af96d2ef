"""After a crash: every acknowledged key is looked up on the server that was started again."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loadstone.deploy.control import KeyStore
from loadstone.deploy.provider import Step
from loadstone.drive.outcome import Acknowledged
from loadstone.plan.crashes import EXISTS
from loadstone.plan.drive_plan import Plan, numbered_key
from loadstone.record.crash import LookedUp

Versions = NDArray[np.int64]

BATCH = 1000
BATCH_BYTES = 8 * 1024 * 1024
QUIET_S = 2.0
"""A look-up that takes longer reports how far it is, about once a second."""
NAMED = 5
"""So many lost keys are named."""


@dataclass(frozen=True)
class LookUp:
    """Looks up the keys of one drive by `command` (`PlannedCrash.look_up`)."""

    control: KeyStore
    plan: Plan
    command: tuple[str, ...]
    progress: Callable[[str], None]
    stop_if_requested: Callable[[], None]
    """Raises where the user requested it."""

    def run(self, acknowledged: Acknowledged) -> LookedUp:
        """Compare what is stored with what was acknowledged. Raises ServerGone."""
        begun, newest, certain = map(_versions, (acknowledged.begun, acknowledged.newest, acknowledged.certain))
        stored = self._stored(begun)
        known = newest > 0
        lost = known & (stored < np.maximum(certain, 1))
        unordered = known & ~lost & (stored < newest)
        return LookedUp(
            keys=int(known.sum()),
            present=int((known & (stored >= newest)).sum()),
            lost=int(lost.sum()),
            unordered=int(unordered.sum()),
            unacknowledged_present=int((stored > newest).sum()),
            lost_keys=tuple(self._key(number) for number in np.flatnonzero(lost)[:NAMED]),
        )

    def _stored(self, begun: Versions) -> Versions:
        """The version that each key holds, of those that were begun; 0 for none of this drive's."""
        stored, numbers = np.zeros_like(begun), np.flatnonzero(begun)
        size = max(1, min(BATCH, BATCH_BYTES // self.plan.documents.payload_bytes))
        next_s = time.monotonic() + QUIET_S
        for start in range(0, len(numbers), size):
            self.stop_if_requested()
            batch = numbers[start : start + size]
            stored[batch] = self._versions_of([self._key(number) for number in batch])
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + 1.0
                said = f"looking up what was acknowledged: {start + len(batch):,} of {len(numbers):,} keys"
                self.progress(Step(said, about="looking up what was acknowledged"))
        stored[stored > begun] = 0
        return stored

    def _versions_of(self, keys: Sequence[str]) -> list[int]:
        if self.command == EXISTS:
            return [int(there) for there in self.control.present(keys)]
        name, *rest = self.command
        return [_version(reply) for reply in self.control.pipelined([(name, key, *rest) for key in keys])]

    def _key(self, number: int) -> str:
        return numbered_key(self.plan.keys.prefix, number)


def _versions(runs: Sequence[int]) -> Versions:
    """The version of each key (see `drive.outcome.Acknowledged`)."""
    return np.repeat(np.array(runs[1::2], dtype=np.int64), np.array(runs[::2], dtype=np.int64))


def _version(reply: Any) -> int:
    """The version that a document names, or the number that was stored; 0 for what is none."""
    try:
        found = int(reply if reply is None or reply.isdigit() else json.loads(reply)["version"])
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        return 0
    return found if 0 <= found < 2**63 else 0
