"""`loadstone http`: what its options make of an experiment."""

from dataclasses import replace

from loadstone.commands.ad_hoc import AdHoc, Target
from loadstone.commands.http_options import HttpWork
from loadstone.commands.http_requests import HttpRequests, requested
from loadstone.commands.load import Load
from loadstone.commands.operations import LoadRow
from loadstone.commands.targets import OTHER, SUBJECT, address, at
from loadstone.language import authored
from loadstone.secrecy.references import learn_options

COLUMNS = ("goodput", "interval", "p50", "p95", "p99", "p999", "max", "errors", "app_cpu", "held_back")


def http_ad_hoc(url: str, work: HttpWork, load: Load) -> AdHoc:
    """Everything of the experiment. Raises UserError that names the option."""
    load.check()
    against = load.against
    learn_options((url, *([] if against is None else [against])))
    requests = requested(work)
    first = _target(url, SUBJECT, requests)
    row = first.rows[0]
    targets: tuple[Target, ...]
    if against is None:
        targets = (replace(first, rows=()),)
        what = authored("the service {at}", at=at(url))
        question = authored("How fast is {what} under {under}?", what=what, under=row.name)
    else:
        other = _target(against, OTHER, requests)
        label = f"{other.label} (B)" if other.label == first.label else other.label
        same = tuple(LoadRow(row.name, theirs.operations) for theirs in other.rows)
        targets = (first, replace(other, label=label, rows=same))
        question = load.faster(label, first.label, row.name)
    return AdHoc(
        command="http",
        question=question,
        load=load,
        targets=targets,
        rows=(row,),
        workload={"protocol": "http1", "pipeline_depth": 1, "keys": {"count": work.numbers}},
        columns=COLUMNS,
    )


def _target(url: str, part: str, requests: HttpRequests) -> Target:
    """A service with what is requested of it."""
    base, row = requests.of(url, "URL" if part == SUBJECT else "--against")
    return Target(address(base), part, {"url": base}, (row,))
