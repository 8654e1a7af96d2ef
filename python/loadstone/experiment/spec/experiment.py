"""What the user wrote: an experiment, every default filled in.

`${factor}` anywhere in `workload`, `servers` or an operation stands for the condition's level,
`${factor.name}` for a value that stands behind the level (`Factor.values`).
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, create_model

from loadstone.experiment.action import fields
from loadstone.experiment.spec.levels import Condition, Level, is_level, level_text
from loadstone.experiment.spec.part import AtRate, Duration, Margin, SpecPart, is_none
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.experiment.spec.subject_names import manifest_path
from loadstone.experiment.spec.workload import Count, Workload
from loadstone.slot import Slot
from loadstone.text.problem import Problem
from loadstone.text.wording import listed, nearest

RATES = ("goodput_per_s", "throughput_per_s", "peak_per_s", "units_per_s")
LATENCIES = ("response_ns", "service_ns", "pool_wait_ns")
QUANTILES = ("mean", "p50", "p90", "p95", "p99", "p999", "max")
LEVELS_MAX, PARTS_MAX = 1000, 1000
"""Levels of a factor; tables, comparisons, crashes. How many conditions they make is in `counting`."""
FACTORS_MAX = 4
"""Most factors of one question about effects: more make more combinations than can take turns."""
BLOCKS_MAX = 1000
"""Most blocks of a table, and of `--blocks`."""
RATE_MARGIN, LATENCY_MARGIN, COST_MARGIN = 0.05, 0.10, 0.05
"""Shares below which a difference does not matter, unless the experiment says otherwise."""
COST = "cpu_ns."
"""Before the name of a part: the metric of its CPU time a correct reply, in nanoseconds. It is compared by itself,
beside what an experiment names."""
_OF_A_PART = r"cpu_ns\.[A-Za-z0-9_-]+"
METRICS = (*RATES, *(f"{latency}.{quantile}" for latency in LATENCIES for quantile in QUANTILES))
"""What an experiment may compare: rates, and what is read off a latency."""
COLUMNS = (
    *("tps", "tps_store", "goodput", "interval", "blocks", "peak_tps", "mtt", "executed", "errors", "error_share"),
    *("p50", "p95", "p99", "p999", "min", "max", "stored", "store_cpu", "app_cpu", "redis_cpu", "connections"),
    *("wakeups", "replies_a_wakeup", "requests_a_send", "server_wakeups", "generator_cpu", "driver_cpu"),
    *("mariadb_reads", "cache_hits", "cache_misses", "cache_hit_rate", "event_loop_delay"),
    *("delivered", "delivery_p50", "delivery_p99", "delivery_p999", "delivery_max", "missing"),
    *("pool_wait", "held_back", "published"),
)
"""What a table may print, see `TableSpec.columns`."""
OUR_PREFIX = "loadstone:"
"""What every key begins with that is written to a server of the user's."""


def _known_metric(name: str) -> str:
    if name not in METRICS:
        known = f"{listed(RATES)}, {listed(f'{latency}.p99' for latency in LATENCIES)} (or {listed(QUANTILES)})"
        raise Problem(
            "'{name}' is no metric; {hint}metrics are: {known}", name=name, hint=nearest(name, METRICS), known=known
        )
    return name


def _known_column(name: str) -> str:
    if name not in COLUMNS:
        raise Problem(
            "'{name}' is no column; {hint}columns are: {columns}",
            name=name,
            hint=nearest(name, COLUMNS),
            columns=listed(COLUMNS),
        )
    return name


def _claimed_metric(name: str) -> str:
    return name if re.fullmatch(_OF_A_PART, name) else _known_metric(name)


ColumnKey = Annotated[str, AfterValidator(_known_column), Field(json_schema_extra={"enum": list(COLUMNS)})]
AnsweredBy = Literal["comparisons", "figures"]
MetricKey = Annotated[str, AfterValidator(_known_metric), Field(json_schema_extra={"enum": list(METRICS)})]
ClaimedMetric = Annotated[
    str,
    AfterValidator(_claimed_metric),
    Field(json_schema_extra={"anyOf": [{"enum": list(METRICS)}, {"pattern": f"^{_OF_A_PART}$"}]}),
]
"""What a conclusion may be about: also what a request costs a part."""


def default_margin(metric: str) -> float:
    """The margin of a metric for which an experiment gives none, as a share."""
    return RATE_MARGIN if metric in RATES else LATENCY_MARGIN


class Factor(SpecPart):
    """What is varied. `default` is the level where a table does not vary it; the first one if none is given."""

    HARMLESS = fields("levels default off_by_default alike unit title values")

    levels: tuple[Level, ...] = Field(min_length=1, max_length=LEVELS_MAX)
    default: Level | None = None
    off_by_default: tuple[Level, ...] = ()
    """Levels that are measured only where `--only` names them; what they alone need is not started otherwise."""
    alike: bool = False
    """Whether nothing uses it on purpose: equal conditions, to see how much measuring alone makes them differ."""
    unit: str = ""
    title: str = ""
    values: dict[str, dict[str, Level]] = {}
    """Where a level is a name for several settings: level -> name -> value, used as `${factor.name}`."""

    @property
    def usual(self) -> Level:
        """The level of conditions whose table does not vary this factor."""
        return self.levels[0] if self.default is None else self.default

    @property
    def on_by_default(self) -> tuple[Level, ...]:
        """The levels that are measured where `--only` does not name the factor."""
        return tuple(level for level in self.levels if not is_level(level, self.off_by_default))


def level_behind(reference: str, condition: Condition, factors: Mapping[str, Factor]) -> Level:
    """The level of a factor that is referred to, or the value of that name behind the level. Raises KeyError."""
    factor, _, name = reference.partition(".")
    level = condition[factor]
    return factors[factor].values[level_text(level)][name] if name else level


AA_FACTOR = "twin"
"""The factor of `--twin`: of each comparison one condition stands in the same rounds twice."""
TWIN_LEVELS = ("original", "twin")


class TableSpec(SpecPart):
    """A set of conditions printed as one table: the product of `vary`, other factors at default."""

    HARMLESS = fields("name title vary note quick quick_only columns")

    FORMS: ClassVar[Mapping[str, str]] = {"name": "all", "title": "All", "vary": "{FACTOR: [LEVEL, LEVEL]}"}

    name: str
    title: str
    vary: dict[str, tuple[Level, ...]]
    note: str = ""
    quick: bool = True
    """Whether `--quick` runs it too."""
    quick_only: dict[str, tuple[Level, ...]] = {}
    """The levels that `--quick` leaves in, of those factors of `vary` that are named here."""
    columns: tuple[ColumnKey, ...] = ()
    """The study's own columns by their keys; empty: those of every table."""

    def varied(self, *, quick: bool) -> dict[str, tuple[Level, ...]]:
        """What it varies, as `--quick` has it or in full."""
        return {**self.vary, **self.quick_only} if quick else self.vary


class ComparisonSpec(SpecPart):
    """A question that is answered by comparing conditions block by block. It varies one factor and no other.

    Every two of `levels` are a pair (with `baseline`: each other level against that one), once for each
    combination of the levels `at`; factors that neither names stand at their default. All its pairs are
    one family: together they claim a difference where there is none in at most 5 % of experiments.
    """

    HARMLESS = fields("name question between levels baseline at quick_at quick metric margin note")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)
    question: str
    between: str
    """The factor whose levels are compared."""
    levels: tuple[Level, ...] = Field(min_length=2, max_length=LEVELS_MAX)
    baseline: Level | None = None
    at: dict[str, tuple[Level, ...]] = {}
    quick_at: dict[str, tuple[Level, ...]] | None = None
    """Replaces `at` under `--quick`; None: the same."""
    quick: bool = True
    """Whether `--quick` compares it too."""
    metric: MetricKey | None = None
    """What decides; the experiment's `primary_metric` if none is given. All other figures are exploratory."""
    margin: Margin | None = None
    """A difference below it does not matter (`5 %` or 0.05); None: 5 % for rates, 10 % for latencies."""
    note: str = ""


class Effects(SpecPart):
    """A question about several factors at once, answered by all combinations of their levels (a full factorial).

    Of each factor each level is compared with the reference, averaged over the levels of the others (the main effect);
    of each two factors, whether the effect of the one depends on the level of the other (their interaction). Each
    level is also compared with the reference at every combination of the others, as a comparison of the same name.
    The effects are one family, and so are those pairs: each together claims a difference where there is none in at
    most 5 % of experiments.
    """

    HARMLESS = fields("name question factors reference where metric margin quick note")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)
    question: str
    factors: tuple[str, ...] = Field(min_length=2, max_length=FACTORS_MAX)
    """All their levels are combined, those that are off by default only where `--only` names them."""
    reference: dict[str, Level] = {}
    """Factor -> the level that its others are compared with; its usual one where none is given."""
    where: dict[str, Level] = {}
    """Levels of other factors; those that are not named stand at their default."""
    metric: Literal["goodput_per_s", "throughput_per_s", "response_ns.mean"] | None = None
    """What decides; the experiment's `primary_metric` if none is given. It must be one of these three."""
    margin: Margin | None = None
    """A difference below it does not matter (`5 %` or 0.05); None: 5 % for rates, 10 % for latencies."""
    quick: bool = True
    """Whether `--quick` measures it too."""
    note: str = ""


class Design(SpecPart):
    """Numbers and lengths of the measurements of conditions."""

    HARMLESS = fields("budget table_blocks trial rounds slice at_rate cost_within")

    budget: Duration = "45 min"
    """How long the run may last (`45 min`, or seconds)."""
    table_blocks: int = Field(default=6, ge=1, le=BLOCKS_MAX)
    """How often a condition is measured that stands in tables only: 6 are the fewest that give a 95 % interval."""
    trial: Duration | None = None
    """Measure phase of a trial that is compared (`3 s`, or seconds); None: by the rule of `experiment.plan.rounds`."""
    rounds: Literal["auto", "never"] = "auto"
    """auto: what is compared takes turns in rounds of slices where it can; never: it is measured by whole trials."""
    slice: Duration | None = None
    """How long a slice of a round is (`100 ms`, or seconds); None: 100 ms."""
    at_rate: AtRate = "50 %"
    """The rate at which rows of tables whose own load is at full speed are measured in addition, so that their latency
    means something: a share of the row's capacity (`50 %`), a rate for all rows (`5000/s`), or `never`. Comparisons of
    latencies under such a load are made at it, all conditions at one rate: the share is that of the slowest's capacity
    (with `never` 50 %)."""
    cost_within: Margin | None = None
    """Decided comparisons in rounds go on until the interval of what a request costs reaches no further than so many
    points to a side (`3 %`), for 108 rounds at most and as long as nothing else waits; None: they end when decided."""


class QuickDesign(SpecPart):
    """What `--quick` replaces in the design; None: nothing."""

    HARMLESS = fields("budget table_blocks trial at_rate slice")

    budget: Duration | None = "3 min"
    table_blocks: int | None = Field(default=1, ge=1, le=BLOCKS_MAX)
    trial: Duration | None = "700 ms"
    at_rate: AtRate | None = None
    slice: Duration | None = None


class Published(SpecPart):
    """Figures of the original study, printed as context beside ours, never as a target.

    A factor that neither `where` nor `along` names stands at its default.
    """

    HARMLESS = fields("where along levels values")

    where: dict[str, Level]
    along: str
    """The factor that runs through `levels`."""
    levels: tuple[Level, ...]
    values: tuple[float, ...]


class PublishedSet(SpecPart):
    HARMLESS = fields("source metric column rows")

    source: str
    metric: MetricKey = "goodput_per_s"
    column: ColumnKey | Literal[""] = ""
    """The column beside which they are printed, e.g. `mtt`; empty: they are figures of `metric`."""
    rows: tuple[Published, ...] = ()


class Conclusion(SpecPart):
    """A conclusion of the original author, to be answered with our data.

    at_least: does any condition of `where` reach `value` of `metric`?
    ratio: `metric` of conditions `where` against those of `against`, matched on all other factors;
        the verdicts of `comparison` answer it. `value`: the published ratio less one (.0652 is 6.52 % more).
    beyond: what one server on one machine cannot answer; `answer` says why.
    pool_wait: share of the response time that was spent waiting for a connection, `where` against `against`.
    """

    HARMLESS = fields("claim kind where against metric value answer comparison claims")

    claim: str
    kind: Literal["at_least", "ratio", "beyond", "pool_wait"]
    where: dict[str, Level] = {}
    against: dict[str, Level] = {}
    metric: ClaimedMetric = "goodput_per_s"
    """As of a comparison; or `cpu_ns.PART`, what a request costs a part (`store` where its name differs)."""
    value: float | None = None
    answer: str = ""
    comparison: str | None = None
    """The declared comparison, or effects, that answer it."""
    claims: Literal["less", "the same", "more"] | None = None
    """What it says of `metric` under `where`, beside `against`; None: it is not put to the test."""


class SubjectSpec(SpecPart):
    """The application under test: built and started by its manifest, or one of the user's by URL (`--subject`)."""

    HARMLESS = fields("when replicas host limits warm_up")
    LISTED = fields("manifest url environment")

    manifest: str | None = None
    """A folder of `subjects/` by its name, or a path, which counts from the experiment's file."""
    url: str | None = None
    """URL of the user's application; several, separated by commas, are its replicas.

    What stands under `environment`, `limits` and `replicas` is then what the user must have started it with.
    """
    when: dict[str, Level | tuple[Level, ...]] = {}
    """Conditions that need it; empty: all."""
    replicas: Any = 1
    host: str | None = None
    """The name of a monitor of the fleet (`--fleet`), on whose machine it is started; None: on this one."""
    limits: dict[str, Any] = {}
    """Limits of each replica: `cpu: 0.5`, `memory: 512 MB`; an empty text stands for none."""
    environment: dict[str, Any] = {}
    """Variables that the condition varies; they go before the manifest's."""
    warm_up: Duration | None = None
    """How long it is under each kind of load before its first trial; None: as its manifest says."""


class DataInto(SpecPart):
    """One place that rows are written to: a table of a database, or keys of Redis.

    Only under conditions that `when` allows and that have the server.
    """

    HARMLESS = fields("server when table")
    LISTED = fields("commands")

    server: str
    when: dict[str, Level | tuple[Level, ...]] = {}
    table: str | None = None
    """Filled with the columns of the same names."""
    commands: tuple[str, ...] = ()
    """Redis: sent for each row, with `{column}` for its values and `{json}` for the row; keys: `loadstone:...`."""


class DataSpec(SpecPart):
    """Rows that are there before the first trial: made once, kept in a cache folder, written once to each server."""

    HARMLESS = fields("rows into")
    LISTED = fields("columns")

    rows: Any
    """Number of rows; `--scale` changes it."""
    columns: dict[str, str] = Field(min_length=1)
    """Name -> `{number}` (from 1), `{uniform A..B}`, `{random N lowercase}`, and text around them."""
    into: tuple[DataInto, ...] = Field(min_length=1)


class Lesson(SpecPart):
    """What went wrong in the original measurement, and what shows whether it does here.

    kind: `check` (named by `name`), `comparison` (its verdicts), `errors` (kept apart from the throughput),
    `held_back` (which part was the limit), `stored` (rows counted as rows), `data` (every store held the same rows),
    `repeats` (blocks and intervals), `apart` (effects tell factors apart that changed together then; named by `name`),
    `saturation` (points with intervals), `cpu` (attributed to each part, beside what they share).
    """

    HARMLESS = fields("then kind name")

    then: str
    kind: Literal[
        "check", "comparison", "errors", "held_back", "stored", "data", "repeats", "apart", "saturation", "cpu"
    ]
    name: str = ""


class Promise(SpecPart):
    """Number of acknowledged writes that a server may lose when its process is killed, under these levels."""

    HARMLESS = fields("when lost")

    when: dict[str, Level | tuple[Level, ...]] = {}
    """Empty: under all conditions of the crash."""
    lost: int = Field(default=0, ge=0)
    """More in one try are an alarm."""


class CrashSpec(SpecPart):
    """A server is killed (SIGKILL) under load and started again, and what it had acknowledged is looked up.

    Every acknowledged key is looked up where the load goes to the server itself, each operation stores `{key}`, and
    keys are `exactly_once` or hold a `{document}`. Elsewhere `count` counts, which gives bounds: then each operation
    must store exactly one thing that it counts, and keys are `exactly_once`. `vary` is as a table's. A server of the
    user's is never killed: what needs that is left out.
    """

    HARMLESS = fields("name title server vary promise after times quick_times note")
    LISTED = fields("count")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)
    title: str
    server: str
    vary: dict[str, tuple[Level, ...]]
    count: Count | None = None
    """As `StoredSpec.count`; needed where keys cannot be looked up."""
    promise: Promise | None = None
    after: Duration = "1 s"
    """How long it is under load when it is killed."""
    times: int = Field(default=3, ge=1, le=100)
    """How often each condition is tried."""
    quick_times: int = Field(default=1, ge=0, le=100)
    note: str = ""


class GoalSpec(SpecPart):
    """A question of a kind of its own about some conditions, after the tables and comparisons
    (`measure/goals/registry.py`).

    `vary` is as a table's. What else its kind takes stands beside, and is checked by the kind.
    """

    HARMLESS = fields("name kind vary time quick")

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)
    kind: str
    vary: dict[str, tuple[Level, ...]]
    time: Duration = "30 s"
    """How much of the run's budget is kept for it."""
    quick: bool = True
    """Whether `--quick` asks it too."""

    @property
    def settings(self) -> dict[str, Any]:
        """What its kind takes, as it is written."""
        return dict(self.model_extra or {})


class Quick(SpecPart):
    """What `--quick` replaces in the workload's phases and in the design."""

    HARMLESS = fields("phases design scale warm_up")

    phases: dict[str, Any] = {}
    design: QuickDesign = QuickDesign()
    scale: float | None = Field(default=None, gt=0, le=1)
    """What `--scale` is if it is not given."""
    warm_up: Duration | None = None
    """How long subjects are under each kind of load before their first trial."""


class AsPublished(SpecPart):
    """What `--as-published` replaces: the original's own counts."""

    HARMLESS = fields("tables model phases note")

    tables: tuple[str, ...] = ()
    """The original's own tables, which alone are then run; all of them if none is named."""
    model: dict[str, Any] = {}
    phases: dict[str, Any] = {}
    note: str = ""


@dataclass(frozen=True)
class LoadSearch:
    """A search of an add-on for loads: what stands of it in a run's folder, which the core keeps as mappings."""

    group: str
    """The group of its trials; no comparison may be called so."""
    settings: type[BaseModel]
    """What the plan has of it."""
    step: type[BaseModel]
    """What a trial has of it: which step it is."""
    places: Callable[[Mapping[str, Any]], Iterable[tuple[object, ...]]]
    """What a step is one of at most `BLOCKS_MAX` of: no run has more."""


class AddOnPart(SpecPart):
    """Base of what an add-on reads under a top-level key of an experiment."""

    AFTER: ClassVar[str]
    """The key of the core behind which it stands, where keys are listed and where an experiment is written."""
    IS_WRITTEN: ClassVar[bool] = True
    """Whether its key is written where an experiment has nothing under it."""
    WORD: ClassVar[str | None] = None
    """The word that stands for all of its defaults, if one does."""
    SEARCH: ClassVar[LoadSearch | None] = None
    """The search that is planned for it, if one is."""
    REPLACES_LOAD: ClassVar[bool] = False
    """Whether that is all that is measured of the tables' conditions, in place of the load of the workload."""
    GOES_ON: ClassVar[bool] = True
    """Whether a run that ended early can be gone on with where a command line described the experiment."""

    @classmethod
    def annotation(cls) -> Any:
        """What may be written under its key, as pydantic has it."""
        return cls | None

    @property
    def varied(self) -> "Mapping[str, tuple[Level, ...]] | None":
        """Levels of the conditions that it needs, beside those of tables and comparisons; None: it needs no others."""
        return None

    def check(self, experiment: "Experiment", key: str) -> None:
        """Raises UserError, with the line, where it does not fit to the rest of the experiment that has it at `key`."""


def _reads_a_key(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, AddOnPart) and getattr(one, "AFTER", "") in Experiment.model_fields


ADD_ON_FIELDS: Slot[type[AddOnPart]] = Slot("experiment_fields", lambda: Experiment.model_fields, _reads_a_key)
"""The top-level keys that add-ons bring."""
P = TypeVar("P", bound=AddOnPart)


def search_of(group: str) -> LoadSearch | None:
    """The search that has its trials in this group; None: there is none, or its add-on is not installed."""
    searches = (part.SEARCH for _, part in ADD_ON_FIELDS.items())
    return next((one for one in searches if one is not None and one.group == group), None)


class Experiment(SpecPart):
    """One experiment: a question, factors, the load, and what the original found."""

    HARMLESS = fields(
        """
        format name question description answered_by primary_metric factors tables comparisons effects design published
        conclusions lessons crashes goals scale quick as_published
        """
    )
    LISTED = fields("servers subjects data workload")

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    FORMS: ClassVar[Mapping[str, str]] = {
        "question": "Is B faster?",
        "tables": "[{name: all, title: All, vary: {FACTOR: [LEVEL, LEVEL]}}]",
        "servers": "{redis: {kind: embedded}}",
    }
    """How a required key is written: what a message shows where it is missing."""

    format: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=80)
    question: str
    description: str = ""
    answered_by: AnsweredBy = "comparisons"
    """What answers the question in a sentence: the clearest comparison, or the figures of a table's first factor."""
    primary_metric: MetricKey = "goodput_per_s"
    factors: dict[str, Factor]
    tables: tuple[TableSpec, ...] = Field(min_length=1, max_length=PARTS_MAX)
    servers: dict[str, dict[str, Any]]
    """Name -> settings of a provider (`kind: embedded | process | url...`), see `servers.registry.SERVERS`.

    With `when`, as of an operation, it is there for those conditions only.
    """
    subjects: dict[str, SubjectSpec] = {}
    data: dict[str, DataSpec] = {}
    workload: Workload
    comparisons: tuple[ComparisonSpec, ...] = Field(default=(), max_length=PARTS_MAX)
    effects: tuple[Effects, ...] = Field(default=(), max_length=PARTS_MAX)
    design: Design = Design()
    published: tuple[PublishedSet, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    crashes: tuple[CrashSpec, ...] = Field(default=(), max_length=PARTS_MAX)
    goals: tuple[GoalSpec, ...] = Field(default=(), max_length=PARTS_MAX)
    scale: float = Field(default=1.0, gt=0, le=1)
    """Factor by which users and rows are made smaller than they are written, if `--scale` is not given."""
    quick: Quick = Quick()
    as_published: AsPublished | None = None

    _source: ExperimentSource | None = PrivateAttr(default=None)

    @classmethod
    def from_source(cls, source: ExperimentSource) -> "Experiment":
        """The experiment that a text holds. Raises UserError naming file, line, key, value and remedy."""
        whole = cls.with_add_ons()
        try:
            experiment = whole.model_validate(source.data)
        except ValidationError as error:
            raise source.error(*source.first_problem(error, whole)) from None
        experiment._source = source
        return experiment

    @staticmethod
    def with_add_ons() -> "type[Experiment]":
        """The class that takes the keys of add-ons, too. Raises UserError where an add-on of others is broken."""
        return _with_fields(tuple(ADD_ON_FIELDS.items()))

    @classmethod
    def recorded(cls, data: object) -> "Experiment":
        """The experiment as a run's folder has it; the run may have had add-ons that are not installed here.

        Raises:
            ValueError: it is none, or something is written under a key that is not known: without the add-on that reads
                it the run would be judged by other rules.
        """
        whole = cls.with_add_ons()
        if isinstance(data, Mapping):
            known = whole.model_fields
            data = {key: value for key, value in data.items() if value is not None or key in known}
            strange = next((key for key in data if key not in known), None)
            if strange is not None:
                raise Problem(
                    "{key}: is read by an add-on that is not installed here; install it, or a newer version",
                    key=strange,
                )
        return whole.model_validate(data)

    @property
    def parts(self) -> dict[str, AddOnPart]:
        """What is written for add-ons, by its key."""
        found = {key: getattr(self, key, None) for key in ADD_ON_FIELDS.names()}
        return {key: part for key, part in found.items() if part is not None}

    @property
    def goes_on(self) -> bool:
        """Whether a run that ended early can be gone on with where a command line described the experiment."""
        return all(part.GOES_ON for part in self.parts.values())

    def part(self, kind: type[P]) -> P | None:
        """What is written for an add-on that reads it as this very class; None: nothing."""
        return next((part for part in self.parts.values() if type(part) is kind), None)

    @property
    def has_twin(self) -> bool:
        """Whether each comparison has a condition twice, as `--twin` requests."""
        factor = self.factors.get(AA_FACTOR)
        return factor is not None and factor.alike and factor.levels == TWIN_LEVELS

    @property
    def compared_names(self) -> list[str]:
        """What comparisons and effects are called: of either the pairs have verdicts under that name."""
        return [*(comparison.name for comparison in self.comparisons), *(effect.name for effect in self.effects)]

    def manifest(self, word: str) -> Path:
        """The manifest that a word means: of a built-in subject, or a path. Raises ValueError with what helps."""
        return manifest_path(word, self.source.folder)

    @property
    def source(self) -> ExperimentSource:
        """Where the experiment was written, for errors that are found later."""
        return self._source or ExperimentSource(label=self.name, data=self.model_dump())


@cache
def _with_fields(fields: tuple[tuple[str, type[AddOnPart]], ...]) -> type[Experiment]:
    """An experiment with these keys beside those of the core, each behind the one that it names."""
    own: dict[str, Any] = {
        key: (part.annotation(), Field(default=None, exclude_if=None if part.IS_WRITTEN else is_none))
        for key, part in fields
    }
    whole: type[Experiment] = create_model(
        Experiment.__name__, __base__=Experiment, __doc__=Experiment.__doc__, __module__=__name__, **own
    )
    behind = {name: [key for key, part in fields if name == part.AFTER] for name in Experiment.model_fields}
    order = [key for name, keys in behind.items() for key in (name, *keys)]
    whole.__pydantic_fields__ = {key: whole.__pydantic_fields__[key] for key in order}
    whole.model_rebuild(force=True)
    return whole


def conditions_varied(experiment: Experiment, vary: Mapping[str, tuple[Level, ...]]) -> list[Condition]:
    """The product of what is varied, other factors at default: the first factor changes slowest."""
    usual = {name: factor.usual for name, factor in experiment.factors.items()}
    return [usual | dict(zip(vary, levels, strict=True)) for levels in itertools.product(*vary.values())]


def conditions_of_effects(experiment: Experiment, effects: Effects) -> list[Condition]:
    """Every combination, those of levels that are off by default, too."""
    fixed = {name: (level,) for name, level in effects.where.items()}
    levels = {name: experiment.factors[name].levels for name in effects.factors}
    return conditions_varied(experiment, fixed | levels)
