"""`loadstone gate`: is the new version slower than the old one? For CI: a line, and an exit status for each answer."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from loadstone.addons.gate.options import GateLoad, GateOptions, Versions
from loadstone.addons.gate.output import GateOutput
from loadstone.cli.command import OptionBinding, PeerOptions, command
from loadstone.cli.http_options import HttpWork
from loadstone.cli.load import Load, rate_per_s
from loadstone.cli.options import BEHIND, MEASURES, PARTS, Option
from loadstone.cli.redis_options import AddressOptions, KeySpace, Login, ReceiverOptions, RedisWork, ReplayOptions
from loadstone.run.request import RunRequest
from loadstone.safety import terminal
from loadstone.safety.errors import SubjectFailed, UserError
from loadstone.text.message import said

SERVICE, REDIS = "http", "redis"
"""What two versions are of where nothing else is said."""
BUDGET, LONGER_BUDGET, ONCE_BUDGET = "60 s", "5 min", "7 min"
"""The second one: of what cannot take turns in slices; the third: of what takes long to start and to warm up."""
CONNECTIONS, REDIS_CONNECTIONS = 16, 50
USUAL_RATIO = "1:10"
"""SETs to GETs, where no option says what is sent."""
SLICE, ONCE_SLICE = "100 ms", "400 ms"
"""Slice of a service, and of one that is started once, whose collections and compilations are to fit into a slice."""
TAKEN = tuple(name for name in MEASURES if name not in ("resume", "fleet", "lost_agent"))
"""Options of a run that a gate takes: it is over within a minute, on one machine."""
WRITTEN = tuple(each.name for each in fields(GateOutput) if each.init and each.name != "fail_if")
"""Options of a run's output that a gate takes: what makes it red stands in its files, too."""
PEERS = PeerOptions(
    refused={"--fail-if": said("a gate is red by its tolerances; write --tolerance or --tolerance-p99")}
)


HELP = """Is the new version slower than the old one?

`loadstone gate --base './old {port}' --head './new {port}'`, whose options are these

`loadstone gate --base redis=7.0 --head redis=8.2`, or `jedis=7.1.0` and `jedis=7.4.1`; options: `gate redis --help`

Status 0: same or faster; 1: slower; 2: bad input; 3: invalid; 4: not decidable here.
"""


class GateGroup(TyperGroup):
    """`loadstone gate --base ...`: of what kind the two versions are, they say themselves."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See typer."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [kind_of(args), *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Those of two services, which are what it takes where nothing else is said; then the commands."""
        service = self.get_command(ctx, SERVICE)
        assert service is not None
        service.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def kind_of(words: Sequence[str]) -> str:
    """Which of the gate's commands these options are of: `--base redis=7.0` is of a Redis."""
    from loadstone.addons.gate.clients import is_client
    from loadstone.cli.named_servers import is_redis

    if any(word.partition("=")[0] == "--start" for word in words):
        return SERVICE  # of git revisions, which may have any name
    for word, following in pairwise((*words, "")):
        base = following if word == "--base" else word.removeprefix("--base=") if word.startswith("--base=") else ""
        if base and (is_redis(base) or is_client(base)):
            return REDIS
    return SERVICE


gate_app = typer.Typer(
    cls=GateGroup,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@command(gate_app, "http", PEERS)
def gate_http(
    *,
    versions: Versions,
    work: HttpWork,
    load: GateLoad,
    gate: GateOptions,
    run: Annotated[RunRequest, OptionBinding(*TAKEN, *BEHIND)],
    output: Annotated[GateOutput, OptionBinding(*WRITTEN)],
) -> None:
    """Is the new version of a service slower than the old one?

    Both run at once and are loaded in turns. Status 0: same or faster; 1: slower; 2: bad input; 3: invalid; 4: not
    decidable here.
    """
    from loadstone.addons.gate.experiment import http_gate, require_no_guess
    from loadstone.addons.gate.services import services
    from loadstone.cli.ad_hoc_run import run_ad_hoc
    from loadstone.cli.http_requests import requested

    output.check()  # before anything is built
    requests = requested(work)
    if _restarts(versions):
        require_no_guess(gate)
    with output.alone(), services(versions) as (base, head):
        once = versions.start_once
        of_gate = load_of(load, gate, slice_=ONCE_SLICE if once else SLICE, budget=ONCE_BUDGET if once else BUDGET)
        ad_hoc = http_gate(base, head, requests, of_gate, gate, restarts=_restarts(versions))
        with by_options():
            # What a build took is no part of the budget.
            run_ad_hoc(ad_hoc, replace(run, typed=True, began_s=time.monotonic()), output)


@command(gate_app, "redis", PEERS)
def gate_redis(
    *,
    base: Annotated[
        str | None,
        Option(
            "--base",
            metavar="SERVER|LIBRARY",
            help="redis, redis=7.0, valkey, redis:7.2 (an image), a program, a URL; settings behind commas. Or a "
            "client library: jedis=7.1.0, redis-py=8.1.0,mode=asyncio.",
            panel=PARTS,
        ),
    ] = None,
    head: Annotated[
        str | None, Option("--head", metavar="SERVER|LIBRARY", help="The same of the new one.", panel=PARTS)
    ] = None,
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="SERVER",
            help="Of client libraries: what both load, as --base says a server; without it one is started.",
            panel=PARTS,
        ),
    ] = None,
    work: RedisWork,
    keys: KeySpace,
    recording: ReplayOptions,
    load: GateLoad,
    gate: GateOptions,
    run: Annotated[RunRequest, OptionBinding(*TAKEN)],
    output: Annotated[GateOutput, OptionBinding(*WRITTEN)],
) -> None:
    """Is a Redis, by its version or its settings, or a client library slower than another one?

    Both run at once and are loaded in turns. Status 0: same or faster; 1: slower; 2: bad input; 3: invalid; 4: not
    decidable here.
    """
    from loadstone.addons.gate.clients import build, client_gate, is_client, require_clients
    from loadstone.addons.gate.redis import base_and_head, redis_gate
    from loadstone.cli.ad_hoc_run import run_ad_hoc
    from loadstone.cli.redis_experiment import RedisRequest

    base, head = base_and_head(base, head)
    require_clients(base, head)
    of_clients, replays = is_client(base), recording.replayed is not None
    if not (work.tests or work.ratio or work.commands or work.commands_file or replays):
        work = replace(work, ratio=USUAL_RATIO)
    whole = of_clients or replays
    of_redis = load_of(
        load,
        gate,
        budget=LONGER_BUDGET if whole else BUDGET,
        slice_=None if whole else SLICE,
        connections=None if replays else REDIS_CONNECTIONS,
    )
    asked = RedisRequest(None, of_redis, work, keys, ReceiverOptions(), recording, Login(), AddressOptions())
    if server is not None and not of_clients:
        raise UserError("--server: is for client libraries; leave it out, or write --base jedis=VERSION")
    output.check()  # before anything is built
    ad_hoc = client_gate(base, head, server, asked, gate) if of_clients else redis_gate(base, head, asked, gate)
    for line in ad_hoc.description.splitlines():  # what of a recording is sent again, and what is not
        terminal.remark(line)
    with output.alone():
        if of_clients:
            build(ad_hoc)
        run_ad_hoc(ad_hoc, replace(run, typed=True, began_s=time.monotonic()), output)


@contextmanager
def by_options() -> Iterator[None]:
    """Errors of the two applications name the options that start them."""
    try:
        yield
    except SubjectFailed as error:
        from loadstone.experiment.spec.experiment import AA_FACTOR

        option = f"--{error.subject.removesuffix(f'-{AA_FACTOR}')}"
        raise UserError("{place}: {problem}", place=option, problem=error.problem) from None


def _restarts(versions: Versions) -> bool:
    """Whether both are started again and again: not what runs already."""
    return versions.base_url is None and not versions.start_once


def load_of(
    load: GateLoad,
    gate: GateOptions,
    *,
    slice_: str | None,
    budget: str = BUDGET,
    connections: int | None = CONNECTIONS,
) -> Load:
    """The load of a gate as that of any ad hoc experiment. Raises UserError."""
    return Load(
        connections=load.connections or connections,
        total_rate_per_s=None if load.rate_per_s is None else rate_per_s("--rate", load.rate_per_s),
        timeout_ms=load.timeout_ms,
        threads=load.threads,
        slice=gate.slice or slice_,
        budget=gate.budget or budget,
    )
