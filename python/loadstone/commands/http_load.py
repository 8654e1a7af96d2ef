"""`loadstone http`: what its options make of an experiment."""

from dataclasses import dataclass, replace

from loadstone.commands.ad_hoc_load import AdHoc, AdHocLoad, Target, check_load
from loadstone.commands.saturate_operations import http_operations, http_target
from loadstone.commands.targets import OTHER, SUBJECT, Fields, LoadRow, address, at
from loadstone.plan.workload.finish import literal_braces
from loadstone.secrecy.references import learn_options
from loadstone.spec.yaml_text import Path

COLUMNS = ("goodput", "interval", "p50", "p95", "p99", "p999", "max", "errors", "app_cpu", "held_back")
USUAL_S = 5.0
PATHS_SHOWN = 2
COMPARED_SLICE = "400 ms"
"""Of a comparison of services: an answer within a minute. What reaches into the other's slices makes them longer."""


@dataclass(frozen=True)
class HttpWork:
    """What is requested, as the options say it."""

    paths: tuple[str, ...] = ()
    method: str = "GET"
    headers: tuple[str, ...] = ()
    body: str | None = None
    """Text, or `@FILE`."""
    expect: str = "2xx"
    expect_text: str | None = None
    numbers: int = 1000
    """How many `{number}` there are."""


def http_ad_hoc(url: str, against: str | None, work: HttpWork, load: AdHocLoad) -> AdHoc:
    """Everything of the experiment. Raises UserError that names the option."""
    check_load(load, "-d", compares=against is not None)
    learn_options((url, *([] if against is None else [against])))
    first = _target(url, SUBJECT, work)
    row = first.rows[0]
    targets: tuple[Target, ...]
    if against is None:
        targets = (replace(first, rows=()),)
        question = f"How fast is the service {at(url)} under {row.name}?"
    else:
        other = _target(against, OTHER, work)
        label = f"{other.label} (B)" if other.label == first.label else other.label
        same = tuple(LoadRow(row.name, one.operations) for one in other.rows)
        targets = (first, replace(other, label=label, rows=same))
        question = f"Is {label} faster than {first.label} under {row.name}{load.compared_by}?"
    return AdHoc(
        command="http",
        question=question,
        load=load,
        targets=targets,
        rows=(row,),
        workload={"protocol": "http1", "keys": {"count": work.numbers}},
        columns=COLUMNS,
        given=_GIVEN,
    )


def _target(url: str, part: str, work: HttpWork) -> Target:
    """A service with what is requested of it: below each URL its own path, or those of `--path`."""
    found = http_target(url, work.paths, "URL" if part == SUBJECT else "--against")
    operations = http_operations(found.paths, work.method, work.headers, work.body, work.expect, work.expect_text)
    for request in (request for one in operations for request in one["requests"] if "body" in request):
        request["body"] = literal_braces(request["body"])
    settings: Fields = {"url": found.base}
    paths = [path.partition("?")[0] for path in found.paths]  # what stands behind it may be a secret
    shown = ", ".join(paths[:PATHS_SHOWN]) + (", ..." if len(paths) > PATHS_SHOWN else "")
    return Target(address(found.base), part, settings, (LoadRow(f"{work.method} {shown}"[:80], tuple(operations)),))


_GIVEN: dict[Path, str] = {
    ("workload", "threads"): "-t",
    ("workload", "pool"): "-c",
    ("workload", "keys", "count"): "--keys",
    ("workload", "operations"): "the request",
    ("workload", "operations", 0, "requests", 0, "expect", "contains"): "--expect-text",
    ("workload", "phases"): "-d, -n, --warm-up",
    ("workload", "model"): "-c, --rate",
    ("workload", "models"): "--rates",
    ("workload", "timeouts"): "--timeout",
    ("design", "budget"): "--budget",
    ("design", "at_rate"): "--at-rate",
    ("design", "slice"): "--slice",
    ("subjects", SUBJECT, "url"): "URL",
    ("subjects", OTHER, "url"): "--against",
}
"""Where each option stands in the experiment."""
