"""`loadstone http`: what its options make of an experiment."""

from dataclasses import replace

from loadstone.cli.ad_hoc_experiment import AdHoc, Target
from loadstone.cli.http_options import HttpWork
from loadstone.cli.http_requests import requested
from loadstone.cli.load import Load
from loadstone.cli.targets import OTHER, SUBJECT, address, at, unlike
from loadstone.safety.secrets.references import learn_options
from loadstone.text.language import authored

COLUMNS = ("goodput", "interval", "p50", "p95", "p99", "p999", "max", "errors", "app_cpu", "held_back")


def http_ad_hoc(url: str, work: HttpWork, load: Load) -> AdHoc:
    """Everything of the experiment. Raises UserError that names the option."""
    load.check()
    against = load.against
    learn_options((url, *([] if against is None else [against])))
    requests = requested(work)
    services = requests.of_each({"URL": url} if against is None else {"URL": url, "--against": against})
    base, row = services[0]
    first = Target(address(base), SUBJECT, {"url": base}, (row,))
    targets: tuple[Target, ...]
    if against is None:
        targets = (replace(first, rows=()),)
        what = authored("the service {at}", at=at(url))
        question = authored("How fast is {what} under {under}?", what=what, under=row.name)
    else:
        other, theirs = services[1]
        label = unlike(address(other), first.label)
        targets = (first, Target(label, OTHER, {"url": other}, (theirs,)))
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
