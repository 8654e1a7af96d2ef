"""`loadstone check driver NAME|PATH`: does a client library's program keep the contract of drivers?"""

from typing import Annotated

import typer

from loadstone import terminal
from loadstone.commands.command import command
from loadstone.options import Option, Trust

check_app = typer.Typer(help="Check a part of your own.", no_args_is_help=True, rich_markup_mode=None)


@check_app.callback()
def _group() -> None:
    """Check a part of your own."""


@command(check_app, "driver")
def driver_command(
    *,
    driver: Annotated[str, typer.Argument(metavar="NAME[:OPTION=VALUE]|PATH", show_default=False)],
    trust: Trust = False,
    part: Annotated[
        tuple[str, ...],
        Option("--part", metavar="TEXT", help="Only the parts with this in their name. Repeatable."),
    ] = (),
) -> None:
    """Run a driver through the whole contract (docs/drivers.md) on a Redis of its own: about a minute."""
    from loadstone.check_driver import check_driver

    status = check_driver(driver, part, lambda line: terminal.result(f"{line}\n"), terminal.remark, trust=trust)
    if status:
        raise typer.Exit(status)
