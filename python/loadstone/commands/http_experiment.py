"""`loadstone http`: what its options make of an experiment."""

from dataclasses import replace

from loadstone.commands.ad_hoc import AdHoc, Target
from loadstone.commands.http_options import HttpWork
from loadstone.commands.load import Load
from loadstone.commands.operations import Fields, LoadRow, http_operations
from loadstone.commands.targets import OTHER, SUBJECT, address, at, http_target
from loadstone.language import authored
from loadstone.secrecy.references import learn_options

COLUMNS = ("goodput", "interval", "p50", "p95", "p99", "p999", "max", "errors", "app_cpu", "held_back")
PATHS_SHOWN = 2


def http_ad_hoc(url: str, work: HttpWork, load: Load) -> AdHoc:
    """Everything of the experiment. Raises UserError that names the option."""
    load.check()
    against = load.against
    learn_options((url, *([] if against is None else [against])))
    first = _target(url, SUBJECT, work)
    row = first.rows[0]
    targets: tuple[Target, ...]
    if against is None:
        targets = (replace(first, rows=()),)
        what = authored("the service {at}", at=at(url))
        question = authored("How fast is {what} under {under}?", what=what, under=row.name)
    else:
        other = _target(against, OTHER, work)
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


def _target(url: str, part: str, work: HttpWork) -> Target:
    """A service with what is requested of it: below each URL its own path, or those of `--path`."""
    target = http_target(url, work.paths, "URL" if part == SUBJECT else "--against")
    operations = http_operations(target.paths, work)
    settings: Fields = {"url": target.base}
    paths = [path.partition("?")[0] for path in target.paths]  # what stands behind it may be a secret
    shown = ", ".join(paths[:PATHS_SHOWN]) + (", ..." if len(paths) > PATHS_SHOWN else "")
    return Target(address(target.base), part, settings, (LoadRow(f"{work.method} {shown}"[:80], tuple(operations)),))
