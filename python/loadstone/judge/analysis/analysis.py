"""What `analysis.json` holds, and what every reporter reads."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.spec.experiment import AnsweredBy, Experiment
from loadstone.experiment.spec.levels import Level
from loadstone.judge.analysis.crashes import CrashTable
from loadstone.judge.bottleneck import Bottleneck as Bottleneck
from loadstone.judge.bottleneck import PartName as PartName
from loadstone.judge.metrics import is_rate
from loadstone.judge.stations import Station as Station
from loadstone.judge.verdict import (
    COST,
    AnalysisModel,
    CpuCost,
    GeneratorBound,
    Requests,
    Verdict,
    cost_of_all,
    cost_of_part,
)
from loadstone.run_folder.facts import DRIVER, AvgMax
from loadstone.run_folder.look import Reason
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord, TrialVerdict
from loadstone.slot import Slot
from loadstone.text.message import Message

T = TypeVar("T")
A = TypeVar("A", bound="Answer")
IntervalUnit = Literal["slice", "second", "part", "trial"]
"""What latencies of one row are measured apart in."""


class Stalls(AnalysisModel):
    """Units in which so many operations waited together that it would move a quantile: what a unit holds of stalls."""

    units: int
    """How many of the units held a stall."""
    of: int
    share_low: float
    """Ends of the exact 95 % interval of the share of units that hold one."""
    share_high: float
    longest_ns: float | None = None
    """The longest reply in these units; None where no unit held a stall."""
    without_ns: float | None = None
    """The quantile of the other units, which is printed; None where no unit held a stall, or so many that stalls are
    the condition's own."""
    least_without_ns: float | None = None
    """Least value without what the driver itself may have added; None where that is not known."""
    said: Message | None = None
    """The finding as a sentence, where stalls are told apart."""


class SettledLatencies(AnalysisModel):
    """Latencies at a rate that was set: whether quantiles of the response time repeat, over what was measured apart."""

    response_interval_ns: dict[str, tuple[float, float | None]] = {}
    """Quantile -> its 95 % interval over the units; no upper end where failures or too few operations leave none.

    It is of the figure that is printed (`printed_ns`). The lower end is that of the response times without what may be
    the driver's own, and never below the fastest reply that was seen.
    """
    interval_units: int = 0
    """Slices, seconds or trials behind the intervals; 0: not known."""
    interval_unit: IntervalUnit | None = None
    """part: an interval of another length than a second, of a trial in one stretch."""
    no_interval: Message | None = None
    """Why there are no intervals, where units are known."""
    stalls: dict[str, Stalls] = {}
    """Quantile -> the units that held a stall, where there is an interval."""
    unsettled: dict[str, Message] = {}
    """Quantile -> why it does not describe the condition: one unit made it, or the units do not agree."""
    doubted: list[str] = []
    """The figures of `response_ns` that a check or their units doubt; empty with `latencies_doubted`: all of them."""


class AtRate(SettledLatencies):
    """What a row's condition did at a fixed rate, in the open model: latency that is the server's own."""

    verdict: Literal["valid", "suspect", "invalid", "missing"]
    """missing: it was not measured, and `reasons` has why; all figures are None then."""
    reasons: list[Message]
    """Why not valid: one for each failed check."""
    trials: list[str]
    rate_per_s: float | None
    """Which was to be held; None where it was a share of a capacity that is not known."""
    share: float | None
    """Share of the row's own capacity; None: the same rate for all rows."""
    achieved_per_s: float | None
    """Correct replies a second."""
    response_ns: Quantiles | None
    """From the intended time."""
    service_ns: Quantiles | None
    unmeasurable: dict[str, Message]
    """Quantiles of the response time that the data do not support, each with the reason."""
    least_ns: Quantiles | None = None
    """The response time without what the driver itself may have added; None where that was not measured."""
    latencies_doubted: bool = False
    """Something near its limit doubts the latencies that `least_ns` does not bound."""


class AtOnce(AnalysisModel):
    """Batching: how much generator and server did at once."""

    wakeups_per_s: float
    """Wakeups of the generator's threads together: waits that ended, with events or because something was due."""
    replies_a_wakeup: float | None
    requests_a_send: float | None
    server_wakeups_per_s: float | None = None
    """How often the servers began to run, after a wait or because others had had the CPU; None: not observed."""
    awake: float = Field(default=0.0, exclude_if=operator.not_)
    """CPUs that the generator spent awake in waits instead of asleep: part of its CPU, and no work."""


class EndpointCounts(AnalysisModel):
    """One server of those that reads are spread over, over whole drives."""

    name: str
    """`primary`, `replica 1`; of a cluster `primary 2`, `replica 1`."""
    replica: bool
    sent: int
    ok: int
    stale: int
    """Replies that lacked a key, or its newest version, that was acknowledged before. No errors."""


class Deliveries(AnalysisModel):
    """What receivers got of the messages that were sent."""

    per_s: float
    """Deliveries that came within the measure phase, a second."""
    expected: int
    """Messages of the measure phase that were answered rightly, times the receivers of each."""
    delivered: int
    missing: int
    disconnected: int
    """Receivers that lost their connections."""
    delivery_ns: Quantiles
    """From the time that a message was due to its delivery; what is missing counts as infinitely late."""


class Row(SettledLatencies):
    """One condition of a table: the study's columns, over its valid (or else suspect) trials."""

    condition: dict[str, Level]
    label: str
    """The varied factors only, e.g. `set, 1 kB, 8 workers`."""
    trials: list[str]
    verdict: Literal["valid", "suspect", "invalid", "missing"]
    reasons: list[Message]
    """Why not valid: one for each failed check."""
    operations: int | None
    elapsed_s: float | None
    throughput_per_s: float | None
    goodput_per_s: float | None
    peak_per_s: float | None
    response_ns: Quantiles | None
    service_ns: Quantiles | None
    pool_wait_ns: Quantiles | None
    errors: dict[str, int]
    error_examples: dict[str, str] = {}
    """Kind of error -> the beginning of a reply that was counted so; also of a row whose figures were refused."""
    cpu_share: dict[str, float]
    """CPU of each part as a share of one core in the measure phase."""
    costs: dict[str, CpuCost] = {}
    """Server, application, client library -> its CPU time for one correct reply; of those that were observed."""
    whole_cost: CpuCost | None = None
    """What all of `costs` take together, with the interval of their sum; None where there are none."""
    published: float | None
    """The original's figure for this condition, in the published set's metric."""
    unmeasurable: dict[str, Message]
    """Quantiles that the data do not support, e.g. `p999`, each with the reason."""
    blocks: int = 0
    """Independent trials behind the figures."""
    slices: int = 0
    """Slices behind the figures, of a row that took turns with others; 0: it was measured by whole trials."""
    goodput_interval: tuple[float, float] | None = None
    """95 % interval of the typical goodput of a trial; None from too few trials."""
    throughput_interval: tuple[float, float] | None = None
    bottleneck: Bottleneck | None = None
    stations: list[Station] = []
    """What a request takes of each CPU, disk, line, pool and lock, the fullest first; empty of an empty row."""
    stored: int | None = None
    """Rows or entities that its trials stored, counted on the server; None where nothing is counted."""
    answered: int | None = None
    """Correct replies of the operations that `stored` counts, between its two counts: warm-up and drain included."""
    stored_keys: int | None = None
    """Keys that Redis had more after them; not the same as `stored` where an entity is several keys."""
    seen: dict[str, dict[str, AvgMax]] = {}
    """Part -> metric -> average and maximum over its trials; `host` has vmstat's columns."""
    kinds: dict[str, str] = {}
    """Part -> what it is, of those in `seen` that are a server, a subject, the machine or the driver."""
    users: int | None = None
    """Users as driven, of a run that was made smaller; None in others, and in the open model."""
    ours: bool = False
    """Whether loadstone started every server: then no one else is connected to them."""
    published_columns: dict[str, float] = {}
    """Column's key -> the original's figure, beside `published`."""
    bound: GeneratorBound | None = None
    """How much higher the rates may be at most; None of an empty row."""
    saturated: bool = False
    """A closed model without think time: its quantiles are users / throughput, and no property of the server."""
    redirections: dict[str, int] = {}
    """What the nodes of a cluster sent on and was followed, by kind: `moved`, `ask`. No errors. Of whole drives."""
    unknown_nodes: list[str] = []
    """Addresses that a cluster's nodes sent requests on to, and that were none of its nodes when the run began."""
    failovers_s: list[float | None] = []
    """Seconds for which no primary answered, each time that Sentinel found another; None: until the end."""
    endpoints: list[EndpointCounts] = []
    """Where replicas are read from: what each server got."""
    at_once: AtOnce | None = None
    """None where the generator does not count it."""
    deliveries: Deliveries | None = None
    """None of a load that nobody receives."""
    least_ns: Quantiles | None = None
    """For the open model, the response time without what the driver itself may have added, as `AtRate` has it."""
    latencies_doubted: bool = False
    """A check doubts its latencies, and not its rate, by more than `least_ns` bounds: `verdict` is the rate's."""
    units_per_s: float | None = None
    """As goodput, by what operations are made of (`unit`); None of runs of older versions."""
    unit: str = ""
    """What operations are counted by where one is more than one of it: `key`. Empty: an operation is one."""
    at_rate: AtRate | None = None
    """Condition at a fixed rate; None where that was not requested, or its load has a rate or pauses."""

    @property
    def at_fixed_rate(self) -> "AtRate | Row | None":
        """Where its latencies at a rate that was set stand, beside its own load or under it; None: nowhere."""
        return self.at_rate or (self if self.interval_units else None)

    @property
    def cost(self) -> CpuCost | None:
        """What a request costs all parts together."""
        return self.whole_cost or cost_of_all(self.costs)

    def cost_of(self, part: str) -> CpuCost | None:
        """What a request costs a part, by its name or as reports call it; without a name all of them."""
        return cost_of_part(self.costs, part) if part else self.cost

    def interval(self, metric: str) -> tuple[float, float] | None:
        """The 95 % interval of its figure, where it has one: of goodput, throughput and a cost."""
        cost = self.cost_of(metric.removeprefix(COST)) if metric.startswith(COST) else None
        if cost is not None and cost.low_ns is not None and cost.high_ns is not None:
            return cost.low_ns, cost.high_ns
        known = {"goodput_per_s": self.goodput_interval, "throughput_per_s": self.throughput_interval}
        if metric == "units_per_s" and self.goodput_interval and self.goodput_per_s and self.units_per_s:
            each = self.units_per_s / self.goodput_per_s
            return self.goodput_interval[0] * each, self.goodput_interval[1] * each
        return known.get(metric)


class ResultTable(AnalysisModel):
    name: str
    title: str
    note: str
    vary: dict[str, list[Level]]
    rows: list[Row]
    columns: list[str] = []
    """The study's own columns by their keys; empty: those of every table."""


EndReason = Literal[Reason, "interrupted", "two separate runs"]
"""The reason of the group's last look; interrupted: it had none that ended it."""


class Comparison(AnalysisModel):
    """Two conditions compared: the primary metric, and the others for exploration."""

    name: str
    """Name of the declared comparison that it belongs to; `ad hoc` if none was declared."""
    question: str
    place: str
    """What both have in common, e.g. `1 kB, 8 workers`; empty if nothing needs saying."""
    between: str
    """The factor that differs."""
    primary: Verdict
    costs: list[Verdict] = []
    """Which side costs each part less CPU a correct reply (metric `cpu_ns.PART`), the dearest part first."""
    exploratory: list[Verdict]
    pairs: int
    """How many pairs share the level."""
    sequential: bool
    blocks_done: int
    blocks_repeated: int
    """Blocks that were measured again, since the run was interrupted in them."""
    ended: EndReason
    """Why no more blocks were measured."""
    level_note: Message | None = Field(default=None, exclude_if=lambda note: note is None)
    """How sure the interval is, and why, where the decision rule of an add-on says it."""
    requests: Requests = Field(default="all", exclude_if=lambda requests: requests == "all")
    """Requests that the figure is of."""
    lengthened: Message | None = None
    """To how long its slices were made, and why; None where they were not."""
    checks: list[CheckResult]
    """Rules that the comparison itself must keep: replication, errors, offered rate, order..."""
    warnings: list[Message]
    """What the reader must know beside the verdict."""
    notes: list[Message] = []
    """Why other metrics are not listed: the verdict does not rest on it."""
    repeats: dict[str, str] = {}
    """Metric -> the compared one whose ratios it repeats, so that it is not listed in `exploratory`."""

    @property
    def leading(self) -> Verdict:
        """What answers the question: the primary verdict, or the one by cost where a rate is open and that is decided.

        Of several parts the one that a request costs most decides. A cost does not say which side has lower latencies.
        """
        return self.primary.left_to(next(iter(self.costs), None)) or self.primary

    @property
    def contrary(self) -> Verdict | None:
        """The cost of the dearest part, the client left out, where the slower side has the lower one; None elsewhere.

        The client, the round trip or a limit of this run made the other side faster.
        """
        if self.primary.kind != "faster" or not is_rate(self.primary.metric):
            return None
        dearest = next((one for one in self.costs if one.metric != f"{COST}{DRIVER}"), None)
        against = dearest is not None and dearest.kind == "faster" and dearest.winner != self.primary.winner
        return dearest if against else None

    @property
    def by_primary(self) -> Self:
        """Return the comparison judged by its primary metric alone, as what somebody claims of it must be."""
        return self.model_copy(update={"costs": []})

    def on(self, metric: str) -> Verdict | None:
        """The verdict on a metric, or of the one that it repeats; None where neither was compared."""
        by_metric = {one.metric: one for one in (*self.exploratory, *self.costs, self.primary)}
        return by_metric.get(metric) or by_metric.get(self.repeats.get(metric, ""))


class Family(AnalysisModel):
    """A declared comparison: its question, and the answer over all its pairs."""

    name: str
    question: str
    answer: Message
    """One or two sentences."""
    note: str
    metric: str
    """Which decides."""
    comparisons: list[Comparison]
    twin: Comparison | None = None
    """One of its conditions against itself in the same rounds (`--twin`): the noise floor of this machine."""


class EffectTerm(AnalysisModel):
    """A main effect, or an interaction of two factors."""

    kind: Literal["main", "interaction"]
    factors: list[str]
    levels: dict[str, Level]
    references: dict[str, Level]
    name: str
    """`cluster-2 against one`; an interaction by both of its factors."""
    message: Message
    """What may be said of it, with the places that it is an average over, and those that are left out."""
    verdict: Verdict
    """Verdict of the term: for an interaction the ratio is one of ratios, and `faster` means that the factors depend on
    each other."""
    over: list[str]
    """The levels of the other factors that it is an average over; empty of an interaction of the only two factors."""
    left_out: list[Message]
    """Places that have no verdict, and why."""


class EffectCell(AnalysisModel):
    """One combination of levels."""

    condition: dict[str, Level]
    label: str
    levels: list[str]
    """What the levels of the factors are called, in their order."""
    figure: float | None
    low: float | None
    high: float | None
    """95 % interval beside the mean of all combinations of the same rounds or blocks."""
    refusal: CheckResult | None = None
    """Why it has no figure."""


class EffectsAnswer(AnalysisModel):
    """Declared effects: the question, the answer, and what it rests on. The comparison of its pairs has its name."""

    name: str
    question: str
    note: str
    metric: str
    factors: list[str]
    answer: Message
    terms: list[EffectTerm]
    cells: list[EffectCell]
    quick: bool = False


class CheckSummary(AnalysisModel):
    """One check over all trials of the run."""

    name: str
    explanation: Message
    """Its question, in one line for a person who has read no statistics."""
    valid: int
    suspect: int
    invalid: int
    unknown: int
    worst: CheckResult | None
    worst_trial: str | None


class TrialView(AnalysisModel):
    """One trial as the report shows it: what the figures of its row rest on."""

    trial: str
    label: str
    """The condition as text, as in the rows."""
    condition: dict[str, Level]
    group: str = "table"
    block: int
    order: int
    attempt: int = 1
    verdict: TrialVerdict
    goodput_per_s: float | None
    p99_ns: int | None
    checks: list[CheckResult]


class FactorView(AnalysisModel):
    """Name of a factor in titles and on axes."""

    title: str = ""
    unit: str = ""


class MachineSpeed(AnalysisModel):
    """Speed of one CPU during the run, by a fixed piece of work."""

    cpu: str
    typical_ns: float
    """Median time of the piece of work."""
    spread: float
    """Share by which the slow tenth of the times lies above the fast tenth."""


class TimelinePoint(AnalysisModel):
    """One second of the run, for the pictures: rates, latencies, errors, and CPU of each part."""

    unix_s: float
    trial: str
    phase: str
    throughput_per_s: float
    goodput_per_s: float
    p50_ns: int | None = None
    p95_ns: int | None = None
    p99_ns: int | None
    errors_per_s: dict[str, float] = {}
    """Kind -> its rate; only kinds that occurred are there."""
    cpu_share: dict[str, float]


class HeadlineOfLevels(NamedTuple):
    """A sentence with the figures of some levels of a factor."""

    levels: int
    """Number of the levels."""
    said: Message


class KnownFigure(NamedTuple):
    """What is known of a figure: it lies between `low` and `high`, which may be infinite."""

    value: float | None
    """None where only a bound is known."""
    low: float
    high: float

    @property
    def figures(self) -> list[float] | None:
        """For a message: the value and the ends of its interval; None of a bound."""
        return None if self.value is None else [self.value, self.low, self.high]


class ConditionFigures(NamedTuple):
    """What an answer has of one condition, beside the rows of tables."""

    condition: dict[str, Level]
    label: str
    """The varied factors only; empty where nothing is varied."""
    figures: Mapping[str, KnownFigure | Message]
    """Name, as `--fail-if` has it -> what is known of the figure, or why nothing is."""
    costs: Mapping[str, CpuCost]
    """Part -> its CPU time for one correct reply."""


class RatioOverRuns(NamedTuple):
    """The ratio of what one of two sides did, or took, to that of the other: a figure for a line over runs."""

    key: str
    """What it is of: the same in every run that may stand on its line."""
    label: str
    named: Message
    """What it is called; the kind stands for it among the figures of a run."""
    ratio: float
    interval: tuple[float, float] | None
    """Its ends, at 95 %; None: it has none."""
    trial: TrialRecord | None
    """One under its load; None: there is none."""


class RatiosOverRuns(NamedTuple):
    """Figures for lines over runs whose sides took turns, so that the machine makes no difference."""

    figures: Sequence[RatioOverRuns]
    head: str
    """The side that is measured against the other."""
    servers: tuple[str, ...]
    """Those of the other side: runs on one line have them alike."""


class Answer(BaseModel):
    """What an add-on found in a run: data alone, which stands in `analysis.json` under a key of its own."""

    model_config = ConfigDict(frozen=True)

    behind: ClassVar[str] = ""
    """The key of the core behind which its own stands; empty: it stands at the end."""

    def condition_figures(self) -> Sequence[ConditionFigures]:
        """Figures of conditions beside the rows of tables: what objectives and other add-ons ask for."""
        return ()

    def over_runs(self, run: RecordedRun) -> RatiosOverRuns | None:  # noqa: ARG002 (the seam's signature)
        """Figures for lines over runs, in the place of those of tables and comparisons; None: these have them."""
        return None

    def is_enough(self) -> bool:
        """Whether a run that has it lacks nothing though no row of its tables has a figure."""
        return False

    def is_refused(self) -> bool:
        """Whether something that it was asked could not be told: the run ends as one in which something is invalid."""
        return False

    def refusal_of_claims(self, families: Sequence[Family]) -> CheckResult | None:  # noqa: ARG002 (the seam's signature)
        """What makes every comparison of the run invalid; None: nothing does."""
        return None

    def headline(self) -> Message | None:
        """A sentence among those that open the report; where nothing else has a figure it is the headline."""
        return None

    def opens_alone(self) -> Message | None:
        """The only sentence that opens the report; None: others open it."""
        return None

    def headline_of_levels(
        self,
        experiment: Experiment,  # noqa: ARG002
        tables: Sequence[ResultTable],  # noqa: ARG002
        *,
        quick: bool,  # noqa: ARG002
    ) -> HeadlineOfLevels | None:
        """What opens the report in the place of a table's figures, where these are of no more levels."""
        return None

    def trust_without_rows(self) -> Message | None:
        """A sentence on how far it can be trusted, for a run of which no row has a figure."""
        return None

    def trusted(self, of_rows: str) -> str:
        """What is said of how far the run can be trusted, by what is said of the rows of its tables."""
        return of_rows

    def exit_status(self) -> int | None:
        """The status with which the run ends if it misses no objective; None: that is left to what was measured."""
        return None


class AnswerList(RootModel[list[T]], Answer, Generic[T]):
    """An answer that is a list."""


class UnknownAnswer(RootModel[Any], Answer):
    """The answer of an add-on that this installation does not have, as it was read."""


ANSWERS: Slot[type[Answer]] = Slot("answers", lambda: Analysis.model_fields)
"""Those of add-ons, by their keys in `analysis.json`."""


class Analysis(AnalysisModel):
    """The whole outcome of a run. Everything is computed from the run's folder alone."""

    format: Literal[1] = 1
    experiment: str
    run: str
    """Name of the run's folder."""
    question: str
    answer: Message
    """One or two sentences that open the report: the headline, and the main verdicts."""
    answered_by: AnsweredBy = Field(default="comparisons", exclude_if=lambda by: by == "comparisons")
    """What answers the question in a sentence, as the experiment says."""
    headline: Message | None = None
    """The answer without its verdicts."""
    costs: Message | None = None
    """What a request costs each side of the main comparison; it stands in the answer, too."""
    comparison: Message | None = None
    """What was compared (`8 comparisons: 6 decided, 2 undecided`), or why nothing was."""
    families: list[Family] = []
    """The declared comparisons, in the order of the experiment."""
    effects: list[EffectsAnswer] = []
    """The declared effects of several factors; the family of the same name has their pairs."""
    elapsed_s: float = 0.0
    """From the first trial's start to the last one's end, all attempts."""
    budget_s: float = 0.0
    unanswered: Message | None = Field(default=None, exclude_if=lambda unanswered: unanswered is None)
    """What became of the operations, where no trial of the run got a correct reply; else left out."""
    needed_budget_s: float = 0.0
    """A budget that is long enough, where the run's ended before anything was measured; else 0."""
    quick: bool
    as_published: bool
    complete: bool
    trials_planned: int
    trials_done: int
    trials_valid: int
    trials_suspect: int
    trials_invalid: int
    published_source: Message | None = None
    """Where the original's figures are from; None where there are none."""
    meanings: list[Message] = []
    """What figures mean, such as reads that all missed; they stand in `notes`, too."""
    notes: list[Message]
    tables: list[ResultTable]
    checks: list[CheckSummary]
    timeline: list[TimelinePoint]
    environment: dict[str, object]
    trials: list[TrialView] = []
    """Every finished trial, in the order they ran."""
    crashes: list[CrashTable] = []
    speed: list[MachineSpeed] = []
    """Each CPU's speed over the trials; empty where it was not measured."""
    scale: float = 1.0
    """Users and rows were so many times those of the experiment."""
    factors: dict[str, FactorView] = {}
    """Titles of factors; a factor without an entry is called by its name."""
    parts: dict[str, SerializeAsAny[Answer]] = {}
    """What add-ons found, by the keys of `ANSWERS`. Each is written under its key, as if it were a field."""

    def part(self, kind: type[A]) -> A | None:
        """The answer of this type; None where the run has none."""
        return next((answer for answer in self.parts.values() if isinstance(answer, kind)), None)

    def known_part(self, key: str) -> Answer | None:
        """The answer under this key; None where there is none, or none that an add-on of this installation knows."""
        found = self.parts.get(key)
        return None if isinstance(found, UnknownAnswer) else found

    @property
    def is_answered_beside_tables(self) -> bool:
        """Whether an answer is enough where no row of a table has a figure."""
        return any(answer.is_enough() for answer in self.parts.values())

    def with_part(self, key: str, answer: Answer) -> Self:
        """A copy with this answer, in the place of the one under its key."""
        return self.model_copy(update={"parts": {**self.parts, key: answer}})

    @model_serializer(mode="wrap")
    def _with_parts(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = write(self)
        parts = {key: (self.parts[key].behind, part) for key, part in data.pop("parts").items()}
        written: dict[str, Any] = {}
        for name, value in data.items():
            written[name] = value
            written |= {key: part for key, (behind, part) in parts.items() if behind == name}
        return {**written, **{key: part for key, (_, part) in parts.items() if key not in written}}

    @model_validator(mode="before")
    @classmethod
    def _read_parts(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "parts" in data:
            return data
        known = {name: value for name, value in data.items() if name in cls.model_fields}
        others = ((key, value) for key, value in data.items() if key not in known)
        return {**known, "parts": {key: (ANSWERS.get(key) or UnknownAnswer).model_validate(one) for key, one in others}}


def printed_ns(source: AtRate | Row, quantile: str) -> float | None:
    """A quantile of the response time in ns, as everything prints it: of the units without a stall where stalls are
    rare. `response_ns` has that of all units."""
    stalls = source.stalls.get(quantile)
    if stalls is not None and stalls.without_ns is not None:
        return stalls.without_ns
    return None if source.response_ns is None else getattr(source.response_ns, quantile)


def own_ns(source: AtRate | Row, quantile: str) -> float | None:
    """Return how much of `printed_ns` is the generator's own at most, in ns; None where that was not measured."""
    stalls, at_most = source.stalls.get(quantile), printed_ns(source, quantile)
    at_least = None if source.least_ns is None else getattr(source.least_ns, quantile)
    if stalls is not None and stalls.without_ns is not None:
        at_least = stalls.least_without_ns
    return None if at_most is None or at_least is None else max(0.0, at_most - at_least)
