"""`loadstone saturate`: the experiment that its options stand for. It goes the same way as one from a file.

The command line is its text: what is wrong in it is said of the option.
"""

from collections.abc import Mapping

from loadstone.addons.saturation.options import OneCommand, SearchOptions
from loadstone.cli.ad_hoc_experiment import FACTOR, GIVEN
from loadstone.cli.http_options import HttpWork
from loadstone.cli.http_requests import requested
from loadstone.cli.operations import LoadRow, YamlMapping, redis_row, size_bytes
from loadstone.cli.options import given
from loadstone.cli.redis_options import Login
from loadstone.cli.targets import SERVER, SUBJECT, address, redis_server
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.experiment.spec.yaml_text import Path
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.references import learn_options
from loadstone.text.language import author_text

NAMES_SHOWN = 4


def redis_source(url: str | None, work: OneCommand, search: SearchOptions, login: Login = Login()) -> ExperimentSource:
    """Where a Redis saturates: one of the user's by URL, or one that is started for it. Raises UserError."""
    row = redis_row(work.command, work.load)
    (operation,) = row.operations
    workload: YamlMapping = {
        "target": SERVER,
        "pipeline_depth": work.pipeline,
        "keys": {"count": work.keys},
        "documents": {"payload_bytes": size_bytes("--data-size", work.size)},
        "operations": [operation],
    }
    if row.load is not None:
        workload["load"] = [{"operation": row.load["name"]}]
        if row.load["name"] != operation["name"]:
            workload["operations"] = [operation, {**row.load, "weight": 0}]
    server: YamlMapping = {"kind": "embedded"} if url is None else redis_server(url, login)
    for option in given(login) if url is None else ():
        raise UserError("{option}: is for a server of yours; add its URL, or leave it out", option=option)
    if row.modules:
        server["modules"] = list(row.modules)
    what = author_text("an embedded Redis") if url is None else author_text("the Redis at {place}", place=address(url))
    return _source("redis", what, _args(row), search, workload, {"servers": {SERVER: server}})


def http_source(url: str, work: HttpWork, search: SearchOptions) -> ExperimentSource:
    """Where an HTTP service of the user's saturates. Raises UserError."""
    learn_options((url,))
    base, row = requested(work).of(url)
    workload: YamlMapping = {
        "target": SUBJECT,
        "protocol": "http1",
        "keys": {"count": work.numbers},
        "operations": list(row.operations),
    }
    first = row.operations[0]["requests"][0]
    under = f"{first['method']} {first['path']}"
    if len(row.operations) > 1:
        under = author_text("{request} and other requests", request=under)
    what = author_text("the service at {place}", place=address(base))
    return _source("http", what, under, search, workload, {"servers": {}, "subjects": {SUBJECT: {"url": base}}})


def _source(
    command: str, what: str, under: str, search: SearchOptions, workload: YamlMapping, parts: YamlMapping
) -> ExperimentSource:
    """What both have in common. The one condition is named by its operation."""
    names = [operation["name"] for operation in workload["operations"] if operation.get("weight", 1)]
    level = "+".join([*names[:NAMES_SHOWN], *(["..."] if len(names) > NAMES_SHOWN else [])])
    question = author_text(
        "Where does {what} saturate under {under}, and which part is the limit?", what=what, under=under
    )
    data: YamlMapping = {
        "format": 1,
        "name": f"saturate-{command}",
        "question": " ".join(question.split()),
        "factors": {FACTOR: {"title": author_text("Operation"), "levels": [level]}},
        "tables": [{"name": "saturation", "title": author_text("Saturation"), "vary": {FACTOR: [level]}}],
        "workload": {**_load(search), **workload, "threads": search.threads or "auto"},
        **parts,
        "load": _saturate(search),
    }
    return ExperimentSource(label=f"loadstone saturate {command}", data=data, given=_GIVEN)


def _load(search: SearchOptions) -> YamlMapping:
    """The model and the pool: a connection for each user, unless their number is given.

    A pool that is smaller than the users stays as it is at every level (`addons/saturation/levels.py`).
    """
    pause = {} if search.think_ms is None else {"think_time_ms": search.think_ms}
    users = 1 if search.connections is None else search.connections + 1
    connections = 1 if search.connections is None else search.connections
    return {"model": {"kind": "closed", "users": users, **pause}, "pool": {"connections": connections}}


def _saturate(search: SearchOptions) -> YamlMapping:
    """What `load` of the experiment says; what is not given is left to it."""
    given: YamlMapping = {
        "model": search.model,
        "users_max": search.users_max,
        "sweeps": search.sweeps,
        "objective": search.objective,
        "ramp": search.ramp,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    if search.sweeps is not None:
        settings["sweeps_max"] = search.sweeps
    return settings


def _args(row: LoadRow) -> str:
    return str(row.operations[0]["commands"][0]["args"])


_GIVEN: Mapping[Path, str] = {
    **GIVEN,
    ("load",): "--model",
    ("load", "users_max"): "--users-max",
    ("load", "sweeps"): "--sweeps",
    ("load", "sweeps_max"): "--sweeps",
    ("load", "objective"): "--objective",
    ("load", "ramp"): "--ramp",
}
"""Where each option stands in the experiment."""
