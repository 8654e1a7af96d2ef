"""`loadstone gate`: is the new version slower than the old one? For CI: a line, and an exit status for each answer."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from loadstone.commands.command import Takes, command
from loadstone.commands.gate_options import GateLoad, GateOptions, Versions
from loadstone.commands.gate_output import GateOutput
from loadstone.commands.http_options import HttpWork
from loadstone.commands.load import Load, rate_per_s
from loadstone.commands.redis_options import Address, KeySpace, Login, Receivers, Recording, RedisWork
from loadstone.errors import UserError
from loadstone.options import MEASURES, PARTS, Option, RunOptions

SERVICE, REDIS = "http", "redis"
"""What two versions are of where nothing else is said."""
BUDGET = "60 s"
CONNECTIONS, REDIS_CONNECTIONS = 16, 50
USUAL_RATIO = "1:10"
"""SETs to GETs, where no option says what is sent."""
_OF_SUBJECT = re.compile(r"^subject (base|head)(?:-twin)?: (?:run\.command |run\.ready: )?")
SLICE = "100 ms"
"""Of a service."""
TAKEN = tuple(name for name in MEASURES if name not in ("resume", "fleet", "lost_agent"))
"""Of the options of a run: a gate is over within a minute, on one machine."""


HELP = """Is the new version slower than the old one?

`loadstone gate --base './old {port}' --head './new {port}'`; options: `gate http --help`

`loadstone gate --base redis=7.0 --head redis=8.2`; options: `gate redis --help`
"""


class GateGroup(TyperGroup):
    """`loadstone gate --base ...`: of what kind the two versions are, they say themselves."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See typer."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [kind_of(args), *args]
        return super().parse_args(ctx, args)


def kind_of(words: Sequence[str]) -> str:
    """Which of the gate's commands these options are of: `--base redis=7.0` is of a Redis."""
    from loadstone.commands.gate_redis import is_redis

    if any(word.partition("=")[0] == "--start" for word in words):
        return SERVICE  # of git revisions, which may have any name
    for word, following in pairwise((*words, "")):
        base = following if word == "--base" else word.removeprefix("--base=") if word.startswith("--base=") else ""
        if base and is_redis(base):
            return REDIS
    return SERVICE


gate_app = typer.Typer(
    cls=GateGroup,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@command(gate_app, "http")
def gate_http(
    *,
    versions: Versions,
    work: HttpWork,
    load: GateLoad,
    gate: GateOptions,
    run: Annotated[RunOptions, Takes(*TAKEN)],
    output: GateOutput,
) -> None:
    """Is the new version of a service slower than the old one?

    Both run at once and are loaded in turns. Status 0: same or faster; 1: slower; 3: invalid; 4: not decidable here.
    """
    from loadstone.commands.ad_hoc_run import carry_out
    from loadstone.commands.gate_experiment import http_gate
    from loadstone.commands.gate_services import services

    output.check()  # before anything is built
    with services(versions) as (base, head):
        ad_hoc = http_gate(base, head, work, load_of(load, gate, slice_=SLICE), gate, restarts=_restarts(versions))
        with by_options():
            # The commands are the user's own words, and what a build took is no part of the budget.
            carry_out(ad_hoc, replace(run, trust=True, began_s=time.monotonic()), output)


@command(gate_app, "redis")
def gate_redis(
    *,
    base: Annotated[
        str | None,
        Option(
            "--base",
            metavar="SERVER",
            help="redis, redis=7.0, valkey, redis:7.2 (an image), a program, a URL; settings behind commas.",
            panel=PARTS,
        ),
    ] = None,
    head: Annotated[
        str | None, Option("--head", metavar="SERVER", help="The same of the new one.", panel=PARTS)
    ] = None,
    work: RedisWork,
    keys: KeySpace,
    load: GateLoad,
    gate: GateOptions,
    run: Annotated[RunOptions, Takes(*TAKEN)],
    output: GateOutput,
) -> None:
    """Is a Redis, by its version or its settings, slower than another one?

    Both run at once and are loaded in turns. Status 0: same or faster; 1: slower; 3: invalid; 4: not decidable here.
    """
    from loadstone.commands.ad_hoc_run import carry_out
    from loadstone.commands.gate_redis import redis_gate
    from loadstone.commands.redis_experiment import RedisAsked

    if not work.tests and work.ratio is None and not work.commands:
        work = replace(work, ratio=USUAL_RATIO)
    of_redis = load_of(load, gate, slice_=SLICE, connections=REDIS_CONNECTIONS)
    asked = RedisAsked(None, of_redis, work, keys, Receivers(), Recording(), Login(), Address())
    carry_out(redis_gate(base, head, asked, gate), replace(run, trust=True), output)


@contextmanager
def by_options() -> Iterator[None]:
    """Errors of the two applications name the options that start them."""
    try:
        yield
    except UserError as error:
        named = _OF_SUBJECT.sub(r"--\1: ", str(error))
        if named == str(error):
            raise
        raise UserError(named) from None


def _restarts(versions: Versions) -> bool:
    """Whether both are started again and again: not what runs already."""
    return versions.base_url is None and not versions.start_once


def load_of(load: GateLoad, gate: GateOptions, *, slice_: str, connections: int = CONNECTIONS) -> Load:
    """The load of a gate as that of any ad hoc experiment. Raises UserError."""
    return Load(
        connections=load.connections or connections,
        total_rate_per_s=None if load.rate_per_s is None else rate_per_s("--rate", load.rate_per_s),
        timeout_ms=load.timeout_ms,
        threads=load.threads,
        slice=gate.slice or slice_,
        budget=gate.budget or BUDGET,
    )
