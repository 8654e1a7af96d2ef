"""A finished trial, as one line of `trials.jsonl` holds it (contract: design, 'Contracts')."""

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from loadstone.drivers.outcome import Counts, Quantiles
from loadstone.experiment.spec.experiment import search_of
from loadstone.experiment.spec.levels import Condition
from loadstone.run_folder.facts import TrialFacts
from loadstone.text.message import Message

CheckVerdict = Literal["valid", "suspect", "invalid", "unknown"]
Noted = Mapping[str, str | int | float | None]
"""What an add-on notes of a trial."""
TrialVerdict = Literal["valid", "suspect", "invalid"]


class RecordModel(BaseModel):
    """Base of what the files of a run's folder hold: immutable, and an unknown key is an error.

    An alias is the key in the file, where a field has another name.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_alias=True, validate_by_name=True, serialize_by_alias=True
    )


class CheckResult(RecordModel):
    """One validity rule applied to one trial. `measured` and `limit` are in `unit`."""

    name: str
    verdict: CheckVerdict
    measured: float | None
    limit: float | None
    unit: str
    reason: Message | None = None
    """What there is to say to a person; None when valid."""


class UnitCounts(RecordModel):
    """What operations are made of: ten keys of one MGET."""

    unit: str
    """One of them, as people call it: `key`."""
    per_operation: float
    """On average over the correct replies of the trial."""
    each: dict[str, int]
    """Operation -> how many it is."""


class TrialRecord(RecordModel):
    """One condition's figures of one block."""

    format: Literal[1] = 1
    trial: str
    """Name within the run, e.g. `b01-007`; also the stem of its `.hlog`."""
    condition: Condition
    group: str = "table"
    """Conditions that are judged together: `table`, or a comparison's name."""
    stage: int = 0
    """How many times the slices of its group had been lengthened before."""
    search: Noted | None = Field(default=None, alias="saturation")
    """The step of a search for the saturation point; None for all other trials."""
    block: int
    """From 1; block 0 warms the machine up and is never used."""
    order: int
    """Its place in its block."""
    drive: str = ""
    """Name of the engine's execution that it came from; empty: there was none."""
    slices: tuple[tuple[float, float], ...] = ()
    """Begin and end of each stretch of the measure phase, in seconds since `started_unix_ns`."""
    verdict: TrialVerdict
    """valid, suspect or invalid: the worst of its checks."""
    counts: Counts
    """Operations intended in the measure phase, followed to their end: `sent` = `ok` + errors + `timeouts` +
    `in_flight` (no reply when the drain ended); `offered` = `sent` + `dropped` (too many waited) + `unsent`."""
    duration_s: float
    """Length of the measure phase."""
    throughput_per_s: float
    """All replies that came within the measure phase."""
    goodput_per_s: float
    """Correct replies that came within it."""
    peak_per_s: float
    """Replies in its best whole second."""
    units_per_s: float | None = None
    """Goodput in keys or items: a MGET of ten keys is ten. None: recorded by an older version."""
    units: UnitCounts | None = None
    response_ns: Quantiles
    """Completed less intended; see 'Quantiles'."""
    service_ns: Quantiles
    """Completed less sent."""
    pool_wait_ns: Quantiles
    """Time queued for a connection."""
    schedule_lag_ns: Quantiles
    """How late the driver itself was."""
    least_ns: Quantiles | None = None
    """Response times without what the engine may have added: the true quantile lies between this one and that of
    `response_ns`. None for the closed model and client libraries."""
    notice_lag_ns: Quantiles | None = None
    """Longest time for which replies may have waited until the engine noticed them; None as `least_ns`."""
    cpu_s: dict[str, float]
    """CPU seconds in the measure phase: servers and subjects by name (`app-1`), `generator`, `loadstone`."""
    checks: list[CheckResult]
    """A `reason` is data: `kind` is the sentence, `figures` what it contains."""
    phases: dict[str, tuple[float, float]]
    """Start and end of each phase in seconds since `started_unix_ns`."""
    started_unix_ns: int
    """When the load started."""
    facts: TrialFacts = TrialFacts()
    """All that the checks are made from, see below."""

    @property
    def replies(self) -> float:
        """Correct replies that came within the measure phase."""
        return self.goodput_per_s * self.duration_s

    @property
    def ended_unix_s(self) -> float:
        """When its last phase ended, in seconds since 1970."""
        return self.started_unix_ns / 1e9 + max((end for _, end in self.phases.values()), default=0.0)

    @field_validator("search")
    @classmethod
    def _as_the_search_has_it(cls, noted: Noted | None, info: ValidationInfo) -> Noted | None:
        """What an add-on noted is checked by it, where it is installed."""
        search = search_of(info.data.get("group", ""))
        return noted if noted is None or search is None else search.step.model_validate(noted).model_dump(mode="json")

    @field_validator("facts", mode="before")
    @classmethod
    def _read_once(cls, facts: object) -> TrialFacts:
        """Here, and nowhere else, a trial's facts are validated."""
        return facts if isinstance(facts, TrialFacts) else TrialFacts.read(facts)


SESSION_GAP_S = 180.0
"""A longer pause between two trials is no time of the run: it ended there and was gone on with later. A shorter
one may be the start and the warm-up of an application."""
SET_BACK_S = 60.0
"""A trial that ended by more before one that was recorded earlier shows that the clock was set back between them."""


def lasted_s(trials: Iterable[TrialRecord]) -> float:
    """Seconds that these trials took with the pauses between them, by their own clocks, in the order of their lines.

    Those that took turns lasted together, and count once. What was measured before the clock was set back, and what
    after it, counts each for itself.
    """
    stretches: list[list[tuple[float, float]]] = [[]]
    ended_s = -math.inf
    for trial in trials:
        if trial.ended_unix_s < ended_s - SET_BACK_S:
            stretches.append([])
            ended_s = -math.inf
        stretches[-1].append((trial.started_unix_ns / 1e9, trial.ended_unix_s))
        ended_s = max(ended_s, trial.ended_unix_s)
    return sum(map(_lasted_s, stretches))


def _lasted_s(spans: Iterable[tuple[float, float]]) -> float:
    lasted, until_s = 0.0, -math.inf
    for start_s, end_s in sorted(spans):
        paused = start_s - until_s <= SESSION_GAP_S
        lasted += max(0.0, end_s - until_s) if paused else end_s - start_s
        until_s = max(until_s, end_s)
    return lasted
