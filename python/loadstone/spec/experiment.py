"""What the user wrote: an experiment, every default filled in.

`${factor}` anywhere in `workload`, `servers` or an operation stands for the condition's level.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Level = str | int | float | bool
Condition = dict[str, Level]


class SpecPart(BaseModel):
    """Base of every part: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Factor(SpecPart):
    """What is varied. `default` is the level of conditions whose table does not vary it."""

    levels: tuple[Level, ...] = Field(min_length=1)
    default: Level | None = None
    unit: str = ""
    title: str = ""


class Table(SpecPart):
    """A set of conditions printed as one table: the product of `vary`, other factors at default."""

    name: str
    title: str
    vary: dict[str, tuple[Level, ...]]
    note: str = ""
    quick: bool = True
    """Whether `--quick` runs it too."""


class Published(SpecPart):
    """Figures of the original study, printed as context beside ours, never as a target."""

    where: dict[str, Level]
    along: str
    """The factor that runs through `levels`."""
    levels: tuple[Level, ...]
    values: tuple[float, ...]


class PublishedSet(SpecPart):
    source: str
    metric: str = "goodput_per_s"
    rows: tuple[Published, ...] = ()


class Conclusion(SpecPart):
    """A conclusion of the original author, to be answered with our data.

    at_least: does any condition of `where` reach `value` of `metric`?
    ratio: `metric` of conditions `where` against those of `against`, matched on all other factors.
    beyond: what one server on one machine cannot answer; `answer` says why.
    pool_wait: share of the response time that was spent waiting for a connection, `where` against `against`.
    """

    claim: str
    kind: Literal["at_least", "ratio", "beyond", "pool_wait"]
    where: dict[str, Level] = {}
    against: dict[str, Level] = {}
    metric: str = "goodput_per_s"
    value: float | None = None
    answer: str = ""


class OperationSpec(SpecPart):
    """An operation as the plan has it (`plan.model.Operation`), and the conditions it is for."""

    name: str
    when: dict[str, Level | tuple[Level, ...]] = {}
    weight: float = 1.0
    commands: tuple[dict[str, Any], ...]
    writes: Literal["nothing", "document", "field"] = "nothing"
    read_back: dict[str, Any] | None = None


class LoadData(SpecPart):
    """Data that must be there before a trial: every key once, by the operation named `with`."""

    operation: str
    when: dict[str, Level | tuple[Level, ...]] = {}


class Workload(SpecPart):
    """The load, in the plan's own words; a value may be `${factor}`, or text with a unit (`10 kB`, `5 s`)."""

    model: dict[str, Any]
    pool: dict[str, Any]
    pipeline_depth: Any = 1
    protocol: Any = "resp2"
    threads: Any = 1
    phases: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    documents: dict[str, Any] = {}
    verify: dict[str, Any] = {}
    timeouts: dict[str, Any] = {}
    operations: tuple[OperationSpec, ...] = Field(min_length=1)
    load: tuple[LoadData, ...] = ()


class Quick(SpecPart):
    """What `--quick` replaces in the workload's phases."""

    phases: dict[str, Any] = {}


class AsPublished(SpecPart):
    """What `--as-published` replaces: the original's own counts."""

    model: dict[str, Any] = {}
    phases: dict[str, Any] = {}
    note: str = ""


class Experiment(SpecPart):
    """One experiment: a question, factors, the load, and what the original found."""

    format: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    question: str
    description: str = ""
    primary_metric: str = "goodput_per_s"
    factors: dict[str, Factor]
    tables: tuple[Table, ...] = Field(min_length=1)
    servers: dict[str, dict[str, Any]]
    """Name -> settings of a provider (`kind: embedded | process | url`), see `registry.SERVERS`."""
    workload: Workload
    published: tuple[PublishedSet, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    quick: Quick = Quick()
    as_published: AsPublished | None = None
