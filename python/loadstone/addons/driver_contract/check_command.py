"""`loadstone check driver` as a command; `command.py` carries it out."""

from typing import Annotated

import typer

from loadstone.cli.command import command
from loadstone.cli.options import EXPERIMENT, Option, TrustOption
from loadstone.safety import terminal

check_app = typer.Typer(help="Check a part of your own.", no_args_is_help=True, rich_markup_mode=None)


@check_app.callback()
def _check() -> None:
    """Check a part of your own."""


@command(check_app, "driver")
def check_driver_command(
    *,
    driver: Annotated[str, typer.Argument(metavar="NAME[:OPTION=VALUE]|PATH", show_default=False)],
    trust: TrustOption = False,
    part: Annotated[
        tuple[str, ...],
        Option("--part", metavar="TEXT", help="Only the parts with this in their name. Repeatable.", panel=EXPERIMENT),
    ] = (),
) -> None:
    """Run a driver through the whole contract (docs/driver-contract.md) on a Redis of its own, in up to two minutes."""
    from loadstone.addons.driver_contract.command import check_driver

    status = check_driver(driver, part, lambda line: terminal.result_lines([line]), terminal.remark, trust=trust)
    if status:
        raise typer.Exit(status)
