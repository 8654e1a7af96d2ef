"""`loadstone http URL`: load on a service by the options of wrk, hey and k6, which make an experiment."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.cli.command import OptionBinding, PeerOptions
from loadstone.cli.http_options import HttpWork
from loadstone.cli.load import Load, rate_per_s
from loadstone.cli.options import BEHIND, LOAD, MEASURES, RESULTS, Option, OutputOptions
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.text.language import author_text
from loadstone.text.message import said

if TYPE_CHECKING:
    from loadstone.cli.ad_hoc_experiment import AdHocLoad

COLUMNS = ("goodput", "interval", "p50", "p95", "p99", "p999", "max", "errors", "app_cpu", "held_back")
_REFUSED = {
    **dict.fromkeys(
        ("-s", "--script"),
        said("a script of wrk or k6 is not read; requests are options here: --path, --body; or a --request-file"),
    ),
    **dict.fromkeys(("-T",), said("write --timeout TIME (wrk), or -H 'Content-Type: ...' (hey)")),
    **dict.fromkeys(("-A",), said("write {instead}", instead="-H 'Accept: ...'")),
    **dict.fromkeys(("-a",), said("write http://USER:PASSWORD@HOST, the password as ${{env:NAME}}")),
    **dict.fromkeys(("-o",), said("write --csv or --json, and --out DIR for reports")),
    **dict.fromkeys(("-x", "-host", "-h2", "--http2"), said("is not there yet; leave it out")),
    **dict.fromkeys(("-disable-keepalive", "--disable-keepalive"), said("connections stay open; leave it out")),
    **dict.fromkeys(("-disable-compression", "-disable-redirects"), said("is always done; leave it out")),
    **dict.fromkeys(("-cpus",), said("write {instead}", instead="-t THREADS")),
    **dict.fromkeys(
        ("--stage", "--stages"), said("write --rates, or `loadstone saturate http --ramp '1000 over 10 min'`")
    ),
    **dict.fromkeys(("--summary-export",), said("write {instead}", instead="--json-out-file FILE")),
    **dict.fromkeys(("--no-vu-connection-reuse",), said("connections stay open; leave it out")),
    **dict.fromkeys(("-v", "--version"), said("`loadstone --version` prints it")),
}
HTTP_PEERS = PeerOptions(
    names={
        "connections": ("-u", "--vus"),
        "method": ("-X",),
        "requests": ("-i", "--iterations"),
        "measure_s": ("-d", "-z"),
        "threads": ("-t",),
        "connection_rate_per_s": ("-q",),
    },
    refused=_REFUSED,
    mistaken={
        "connection_rate_per_s": said(
            "no rate; -q is the rate of each connection, as with hey; write for example 100; to print less: --quiet"
        ),
        "measure_s": said(
            "no time; -d is how long it is measured, as with wrk and k6; write 10s; a body: --body TEXT, or -D FILE"
        ),
    },
)
USUAL_S = 5.0
COMPARED_SLICE = "400 ms"
"""Slice of a comparison of services: an answer within a minute. What reaches into the other's slices makes them
longer."""


def http_command(
    *,
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    load: Load,
    wrk2_rate: Annotated[
        float | None,
        Option("-R", metavar="RATE", help="The same as --rate: wrk2's name of it.", panel=LOAD, read=rate_per_s),
    ] = None,
    work: HttpWork,
    latency: Annotated[  # noqa: ARG001 (accepted: what it requests is always done)
        bool, Option("--latency", help="wrk's switch; latencies are always printed.", panel=RESULTS)
    ] = False,
    run: Annotated[RunRequest, OptionBinding(*MEASURES, *BEHIND, "twin")],
    output: OutputOptions,
) -> None:
    """Load an HTTP service of yours.

    It must run already. Without options GET of the URL, 50 connections, 5 s. Sends full load; never
    use it on production.
    """
    from loadstone.cli.ad_hoc_run import run_ad_hoc

    rates = {"--rate": load.total_rate_per_s, "-R": wrk2_rate, "-q": load.connection_rate_per_s}
    given = [option for option, rate in rates.items() if rate is not None]
    if len(given) > 1:
        raise UserError("{given}: write one of them", given=", ".join(given))
    load = replace(
        load,
        total_rate_per_s=load.total_rate_per_s or wrk2_rate,
        slice=COMPARED_SLICE if load.slice is None and load.against is not None else load.slice,
        usual_s=USUAL_S,
    )
    run_ad_hoc(http_ad_hoc(url, work, load), run, output)


def http_ad_hoc(url: str, work: HttpWork, load: Load) -> "AdHocLoad":
    """What the options make of an experiment. Raises UserError that names the option."""
    from loadstone.cli.ad_hoc_experiment import AdHocLoad, Target  # only now: it takes time to load
    from loadstone.cli.http_requests import requested
    from loadstone.cli.targets import OTHER, SUBJECT, address, distinct_label
    from loadstone.safety.secrets.references import learn_options

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
        what = author_text("the service at {place}", place=address(url))
        question = author_text("How fast is {what} under {under}?", what=what, under=row.name)
    else:
        other, theirs = services[1]
        label = distinct_label(address(other), first.label)
        targets = (first, Target(label, OTHER, {"url": other}, (theirs,)))
        question = load.faster(label, first.label, row.name)
    return AdHocLoad(
        command="http",
        question=question,
        load=load,
        targets=targets,
        rows=(row,),
        workload={"protocol": "http1", "pipeline_depth": 1, "keys": {"count": work.numbers}},
        columns=COLUMNS,
    )
