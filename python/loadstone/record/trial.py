"""A finished trial, as one line of `trials.jsonl` holds it (contract: design, 'Contracts')."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from loadstone.message import Recorded
from loadstone.plan.saturation.saturation_step import SaturationStep

CheckVerdict = Literal["valid", "suspect", "invalid", "unknown"]
TrialVerdict = Literal["valid", "suspect", "invalid"]
Level = str | int | float | bool


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CheckResult(Line):
    """One validity rule applied to one trial. `measured` and `limit` are in `unit`."""

    name: str
    verdict: CheckVerdict
    measured: float | None
    limit: float | None
    unit: str
    reason: Recorded | None = None
    """What there is to say to a person; None when valid."""

    @field_validator("reason", mode="before")
    @classmethod
    def _none_if_empty(cls, reason: object) -> object:
        """Lines of before have an empty text there."""
        return None if reason == "" else reason


class TrialCounts(Line):
    """Operations intended in the measure phase: `sent = ok + sum(errors) + timeouts + in_flight`."""

    offered: int
    sent: int
    ok: int
    errors: dict[str, int]
    timeouts: int
    dropped: int
    in_flight: int
    unsent: int = 0


class Quantiles(Line):
    """Latency in ns. None: not measurable (too few samples, or the rank falls among the failures)."""

    min: int | None
    mean: float | None
    p50: int | None
    p90: int | None
    p95: int | None
    p99: int | None
    p999: int | None
    max: int | None


class Units(Line):
    """What operations are made of: ten keys of one MGET."""

    unit: str
    """One of them, as people call it: `key`."""
    per_operation: float
    """On average over the correct replies of the trial."""
    each: dict[str, int]
    """Operation -> how many it is."""


class TrialRecord(Line):
    """One condition's figures of one block."""

    format: Literal[1] = 1
    trial: str
    """Name within the run, e.g. `b01-007`; also the stem of its `.hlog`."""
    condition: dict[str, Level]
    group: str = "table"
    """The conditions it is measured and judged together with (`plan.run_plan.Group`)."""
    stage: int = 0
    """Of the group: how often its slices had been made longer."""
    saturation: SaturationStep | None = None
    """What it is for, of one that was measured to find where its condition saturates; None of all others."""
    block: int
    order: int
    drive: str = ""
    """The name of the drive that it came from; empty: there was none."""
    slices: tuple[tuple[float, float], ...] = ()
    """Begin and end of each stretch of the measure phase within the drive, in seconds since `started_unix_ns`."""
    verdict: TrialVerdict
    counts: TrialCounts
    duration_s: float
    """Length of the measure phase."""
    throughput_per_s: float
    goodput_per_s: float
    peak_per_s: float
    units_per_s: float | None = None
    """As goodput, by what operations are made of: keys, or what the experiment names. None: of an older version."""
    units: Units | None = None
    response_ns: Quantiles
    service_ns: Quantiles
    pool_wait_ns: Quantiles
    schedule_lag_ns: Quantiles
    least_ns: Quantiles | None = None
    """Response times without all that the driver itself may have added to each: the true quantile lies between this one
    and that of `response_ns`. None of the closed model, of a client library's program, and as written before it was
    measured."""
    notice_lag_ns: Quantiles | None = None
    """How long replies lay before the driver noticed them, at most; None as `least_ns`."""
    cpu_s: dict[str, float]
    """CPU seconds of each part within the measure phase."""
    checks: list[CheckResult]
    phases: dict[str, tuple[float, float]]
    """Start and end of each phase in seconds since `started_unix_ns`."""
    started_unix_ns: int
    facts: dict[str, Any] = Field(default_factory=dict)
    """Figures the checks were made from, so that they can be made again: the record of the
    drive without histograms, the server's counters before and after, the ceiling trial."""

    @model_validator(mode="before")
    @classmethod
    def _with_a_drive_of_its_own(cls, line: Any) -> Any:
        """Lines from before drives had names: each trial was a drive, measured in one stretch."""
        if not isinstance(line, dict) or "drive" in line or not isinstance(line.get("phases"), dict):
            return line
        measure = line["phases"].get("measure")
        driven = {"drive": line.get("trial"), "slices": () if measure is None else (measure,)}
        return {**line, **(driven if line["phases"] else {})}
