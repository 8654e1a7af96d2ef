"""`loadstone http URL`: load on a service without an experiment, by the options of wrk, hey and k6."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from loadstone import cli_options as opt
from loadstone.commands import load_options as of
from loadstone.errors import UserError


def _duration(text: str) -> float:
    """Reads `-d`, which is the body with hey. Raises UserError."""
    try:
        return of.seconds("-d")(text)
    except UserError:
        remedy = "-d is how long it is measured, as with wrk and k6; write 10s; a body: --body TEXT, or -D FILE"
        raise UserError(f"-d '{text[:40]}': no time; {remedy}") from None


Duration = Annotated[
    float | None,
    typer.Option(
        "-d",
        "--duration",
        "-z",
        metavar="TIME",
        parser=_duration,
        help="How long it is measured, all repeats together: seconds, or '2m' (5 s). As wrk and k6; hey's: --body.",
    ),
]
Paths = Annotated[
    list[str] | None,
    typer.Option(
        "--path", metavar="PATH", help="Below the URL, e.g. '/post/{number}'; several are requested equally often."
    ),
]
Method = Annotated[
    Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    typer.Option("-m", "--method", case_sensitive=False, help="Of all requests."),
]
Header = Annotated[
    list[str] | None,
    typer.Option("-H", "--header", metavar="'NAME: VALUE'", help="Repeatable; a secret as ${env:NAME}."),
]
Body = Annotated[str | None, typer.Option("--body", metavar="TEXT|@FILE", help="Of all requests.")]
BodyFile = Annotated[Path | None, typer.Option("-D", "--body-file", metavar="FILE", help="The body from a file.")]
Expect = Annotated[str, typer.Option("--expect", metavar="STATUS", help="What is correct: 200, 2xx, or 200,404.")]
ExpectText = Annotated[
    str | None, typer.Option("--expect-text", metavar="TEXT", help="A correct reply holds this text.")
]
Numbers = Annotated[
    int,
    typer.Option(
        "--keys",
        metavar="NUMBER",
        parser=opt.whole("--keys", "not a number", 1, 1_000_000_000),
        help="How many {number} there are.",
    ),
]
WorkerRate = Annotated[
    float | None,
    typer.Option(
        "-q",
        metavar="RATE",
        parser=of.positive("-q", "not a rate", 1e9),
        help="As --rate, of each connection: hey's meaning.",
    ),
]
Wrk2Rate = Annotated[str | None, typer.Option("-R", metavar="RATE", help="The same as --rate: wrk2's name of it.")]
Latency = Annotated[bool, typer.Option("--latency", help="wrk's switch; latencies are always printed.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="One line a row, no progress.")]


def http_command(
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    connections: Annotated[int, of.connections_of("--vus", "-u")] = 50,
    requests: Annotated[int | None, of.requests_of("-i", "--iterations")] = None,
    duration: Duration = None,
    threads: Annotated[int | None, opt.threads_of("-t", "--threads")] = None,
    path: Paths = None,
    method: Method = "GET",
    header: Header = None,
    body: Body = None,
    body_file: BodyFile = None,
    expect: Expect = "2xx",
    expect_text: ExpectText = None,
    keys: Numbers = 1000,
    rate: of.Rate = None,
    wrk2_rate: Wrk2Rate = None,
    worker_rate: WorkerRate = None,
    rates: of.Rates = None,
    arrivals: of.Arrivals = "constant",
    precise: of.Precise = False,
    think: of.Think = None,
    at_rate: of.AtRate = None,
    warm_up: of.WarmUp = None,
    repeat: of.Repeat = None,
    against: of.Against = None,
    slice_: of.Slice = None,
    timeout: of.Timeout = None,
    latency: Latency = False,  # noqa: ARG001 (accepted: what it requests is always done)
    secret_file: opt.SecretFile = None,
    budget: opt.Budget = None,
    seed: opt.Seed = None,
    out: of.Out = None,
    no_keep: of.NoKeep = False,
    resume: of.Resume = None,
    share_machine: opt.ShareMachine = False,
    wait: opt.Wait = False,
    prometheus: opt.Prometheus = None,
    fail_if: opt.FailIf = None,
    quiet: Quiet = False,
    csv: of.Csv = False,
    json_: opt.Json = False,
    json_out_file: of.JsonFile = None,
    hdr_file_prefix: of.HdrPrefix = None,
    open_: opt.Open = False,
    verbose: opt.Verbose = False,
) -> None:
    """Load an HTTP service of yours.

    It must run already. Without options GET of the URL, 50 connections, 5 s. It is full load: not for production.
    """
    from loadstone.commands.ad_hoc_load import AdHocLoad, rate_levels, rate_per_s
    from loadstone.commands.ad_hoc_run import AdHocOutput, carry_out
    from loadstone.commands.http_load import COMPARED_SLICE, USUAL_S, HttpWork, http_ad_hoc

    given = {"--rate": rate, "-R": wrk2_rate, "-q": worker_rate}
    if len([name for name, value in given.items() if value is not None]) > 1:
        raise UserError(f"{', '.join(name for name, value in given.items() if value is not None)}: write one of them")
    if body is not None and body_file is not None:
        raise UserError("--body, -D: leave one of them out")
    written = rate or wrk2_rate
    per_s = None if written is None else rate_per_s("--rate" if rate else "-R", written)
    ad_hoc = http_ad_hoc(
        url,
        against,
        HttpWork(
            tuple(path or ()), method, tuple(header or ()), body if body_file is None else f"@{body_file}",
            expect, expect_text, keys,
        ),
        AdHocLoad(
            connections=connections,
            threads=threads,
            measure_s=duration,
            usual_s=USUAL_S,
            requests=requests,
            rate_per_s=per_s if worker_rate is None else worker_rate * connections,
            rates=() if rates is None else rate_levels("--rates", rates),
            arrivals=arrivals,
            precise=precise,
            think_ms=think,
            warm_up_s=of.warm_up_s(warm_up, requests, AdHocLoad.warm_up_s),
            repeat=repeat,
            at_rate=at_rate,
            budget=budget,
            timeout_ms=timeout,
            slice=COMPARED_SLICE if slice_ is None and against is not None else slice_,
        ),
    )  # fmt: skip
    carry_out(
        ad_hoc,
        AdHocOutput(
            out, resume, tuple(secret_file or ()), seed=seed, wait=wait, share_machine=share_machine,
            prometheus=prometheus,
            fail_if=tuple(fail_if or ()), quiet=quiet, verbose=verbose, json=json_, csv=csv, json_file=json_out_file,
            hdr_prefix=hdr_file_prefix, open=open_, keep=not no_keep, command=tuple(sys.argv[1:]),
        ),
    )  # fmt: skip
