"""What `analysis.json` holds, and what every reporter reads."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from loadstone.record.trial import CheckResult, Quantiles, TrialVerdict

Level = str | int | float | bool


class Piece(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(Piece):
    """One condition of a table: the study's columns, over its valid (or else suspect) trials."""

    condition: dict[str, Level]
    label: str
    """The varied factors only, e.g. `set, 1 kB, 8 workers`."""
    trials: list[str]
    verdict: Literal["valid", "suspect", "invalid", "missing"]
    reasons: list[str]
    """Why not valid: one sentence a failed check."""
    operations: int | None
    elapsed_s: float | None
    throughput_per_s: float | None
    goodput_per_s: float | None
    peak_per_s: float | None
    response_ns: Quantiles | None
    service_ns: Quantiles | None
    pool_wait_ns: Quantiles | None
    errors: dict[str, int]
    cpu_share: dict[str, float]
    """CPU of each part as a share of one core in the measure phase."""
    published: float | None
    """The original's figure for this condition, in the published set's metric."""
    unmeasurable: list[str]
    """Quantiles that the data cannot tell, e.g. `p999`, each with the reason."""


class ResultTable(Piece):
    name: str
    title: str
    note: str
    vary: dict[str, list[Level]]
    rows: list[Row]


class Answer(Piece):
    """One conclusion of the original's author, answered with our data."""

    claim: str
    answer: str
    evidence: list[str]
    """`label: figure` lines, and the trials behind them."""
    verdict: Literal["holds", "does not hold", "not answered here", "no comparison: one block", "no valid data"]


class CheckSummary(Piece):
    """One check over all trials of the run."""

    name: str
    explanation: str
    """One line for a person who has read no statistics."""
    valid: int
    suspect: int
    invalid: int
    unknown: int
    worst: CheckResult | None
    worst_trial: str | None


class TrialView(Piece):
    """One trial as the report shows it: what the figures of its row rest on."""

    trial: str
    label: str
    """The condition in words, as in the rows."""
    condition: dict[str, Level]
    block: int
    order: int
    verdict: TrialVerdict
    goodput_per_s: float | None
    p99_ns: int | None
    checks: list[CheckResult]


class FactorView(Piece):
    """How a factor is called in titles and on axes."""

    title: str = ""
    unit: str = ""


class TimelinePoint(Piece):
    """One second of the run, for the picture: rates, latency, and CPU of each part."""

    unix_s: float
    trial: str
    phase: str
    throughput_per_s: float
    goodput_per_s: float
    p99_ns: int | None
    cpu_share: dict[str, float]


class Analysis(Piece):
    """The whole outcome of a run. Everything is computed from the run's folder alone."""

    format: Literal[1] = 1
    experiment: str
    run: str
    """Name of the run's folder."""
    question: str
    answer: str
    """One sentence that opens the report."""
    comparison: str
    """`no comparison: one block` until verdicts exist."""
    quick: bool
    as_published: bool
    complete: bool
    trials_planned: int
    trials_done: int
    trials_valid: int
    trials_suspect: int
    trials_invalid: int
    published_source: str
    notes: list[str]
    tables: list[ResultTable]
    answers: list[Answer]
    checks: list[CheckSummary]
    timeline: list[TimelinePoint]
    environment: dict[str, object]
    trials: list[TrialView] = []
    """Every finished trial, in the order they ran."""
    factors: dict[str, FactorView] = {}
    """Words for the factors in the tables' `vary`; a factor without an entry is called by its name."""
