"""What reads command lines, made once: to make it takes as long as to read twenty."""

from functools import cache
from typing import Any

import typer

from loadstone.cli.main import whole


@cache
def parser() -> Any:
    """The whole command, with all that are below it."""
    return typer.main.get_command(whole())
