"""The load as an experiment writes it, in the plan's own terms: its operations, and the data they need."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from loadstone.experiment.action import fields
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.experiment.spec.levels import REFERENCE, Level
from loadstone.experiment.spec.part import SpecPart
from loadstone.text.problem import Problem

OPERATIONS_MAX = 1000


class OperationSpec(SpecPart):
    """An operation as the plan has it (`experiment.plan.operations.Operation`), and the conditions it is for.

    The `args` of a command may be one text: it is split at the spaces outside of `{...}`; with `repeat: N` its last
    argument is sent N times. An operation has either `commands` (Redis) or `requests` (HTTP,
    `experiment.plan.operations.HttpRequest`).
    """

    HARMLESS = fields("name when weight writes units")
    LISTED = fields("commands requests read_back")

    name: str
    when: dict[str, Level | tuple[Level, ...]] = {}
    weight: float = Field(default=1.0, ge=0)
    """Share in the mix, relative to the others; 0: only for `load`."""
    commands: tuple[dict[str, Any], ...] = ()
    requests: tuple[dict[str, Any], ...] = ()
    writes: Literal["nothing", "document", "field"] = "nothing"
    read_back: dict[str, Any] | None = None
    units: str | int = "auto"
    """How many units one operation is: `1`, or `10 messages`. `auto`: as its commands say, so that MGET of ten keys is
    ten keys. Operations of one kind that differ in it are compared by their units (`units_per_s`)."""


class ModelSpec(SpecPart):
    """The model of the conditions `when`, in place of the workload's own."""

    HARMLESS = fields("when model")

    when: dict[str, Level | tuple[Level, ...]] = Field(min_length=1)
    model: dict[str, Any]


class LoadData(SpecPart):
    """Data that must be there before a trial of the conditions `when`: every key once, by `operation`.

    Of several operations with that name it is the one for the condition, where the factors that
    stand in this `when` are not queried (`get` is loaded by `set`, of the same storage).
    """

    HARMLESS = fields("operation when")

    operation: str
    when: dict[str, Level | tuple[Level, ...]] = {}


def _table_name(written: str) -> str:
    if REFERENCE.search(written) is None and re.fullmatch(r"\w{1,64}", written, re.ASCII) is None:
        raise Problem("'{written}' is not the name of a table; use letters, digits and _ only", written=written[:80])
    return written


class TableCount(SpecPart):
    """The rows of a table, as what counts what is stored."""

    HARMLESS = fields("table")

    table: Annotated[str, AfterValidator(_table_name)]


Count = Annotated[
    Annotated[str, Tag("text")] | Annotated[TableCount, Tag("table")],
    Discriminator(lambda written: "table" if isinstance(written, Mapping | TableCount) else "text"),
]


class StoredSpec(SpecPart):
    """Way in which a server counts what an operation stores: queried around a trial, and held against correct replies.

    Only where the condition has that operation.
    """

    HARMLESS = fields("operation server when")
    LISTED = fields("count")

    operation: str
    server: str
    when: dict[str, Level | tuple[Level, ...]] = {}
    count: Count
    """A command that answers one number (`SCARD loadstone:x`, `DBSIZE`), or the table whose rows are counted
    (`{table: post}`)."""


class Workload(SpecPart):
    """The load, in the plan's own terms; a value may be `${factor}`, or text with a unit (`10 kB`, `5 s`).

    Beyond the plan's words, `documents.field_share` gives `field_bytes` as a share of the payload, and `keys.count_of`
    the name of a data set (`Experiment.data`) whose rows are the `count`; where it is an empty text, `count` holds.

    With `protocol: http1` the pool is that of one replica: it is multiplied by the replicas of the target, so that with
    as many connections as users each replica gets exactly the same load.
    """

    HARMLESS = fields(
        """
        target scaled model models pool pipeline_depth protocol threads back_end phases keys documents verify timeouts
        receivers load misses
        """
    )
    LISTED = fields("driver data recording operations stored")

    target: Any = None
    """The server or subject that gets the load; None: the subject of the condition, or else every server."""
    scaled: Any = True
    """Whether `--scale` changes the users and the pool of the current condition."""
    model: dict[str, Any]
    models: tuple[ModelSpec, ...] = ()
    """Where some conditions need another model, e.g. an open one, which compares latencies at an equal rate."""
    pool: dict[str, Any]
    pipeline_depth: Any = 1
    protocol: Any = "resp2"
    driver: Any = NATIVE
    """What makes the load: `native`, or the program of a client library by its name or path, with its options after a
    colon (`go-redis`, `redis-py:mode=asyncio`). Conditions may differ in it: `${client}`."""
    threads: Any = "auto"
    """Threads of the generator. `auto`: as many as the CPUs allow and the load needs, see
    `experiment.plan.trial_plans`."""
    back_end: Any = "auto"
    """Back end of the native engine: `io_uring`, `epoll`, or `auto`: io_uring where the kernel has what it takes."""
    phases: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    documents: dict[str, Any] = {}
    verify: dict[str, Any] = {}
    timeouts: dict[str, Any] = {}
    data: dict[str, Any] | None = None
    """Rows of a file for `{data.FIELD}` (`experiment.plan.operations.DataFile`); a path counts from this file."""
    recording: dict[str, Any] | None = None
    """Commands that `redis-cli MONITOR` recorded, sent again in the place of others: `path`, which counts
    from this file, and `speed` (`experiment.plan.operations.Recording`)."""
    receivers: dict[str, Any] | None = None
    """Connections that receive what is sent by `{message}`: `kind` (`subscribe` or `stream_group`) and `connections`
    (`experiment.plan.operations.Receivers`); each key is a channel or a stream."""
    operations: tuple[OperationSpec, ...] = Field(min_length=1, max_length=OPERATIONS_MAX)
    load: tuple[LoadData, ...] = ()
    misses: Any = "auto"
    """The share of the reads that find nothing by design: `20 %`, or `any`. `auto`: none where data are loaded."""
    stored: tuple[StoredSpec, ...] = ()
