"""What commands that load an HTTP service request: their options."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from loadstone.cli.options import REQUESTS, Option, whole
from loadstone.safety.errors import UserError
from loadstone.text.language import translatable
from loadstone.text.message import AnyText

_STATUS = re.compile(r"[2-5](?:[0-9]{2}|xx)")


@dataclass(frozen=True)
class HttpWork:
    """Which requests are sent, and what is a correct reply."""

    paths: Annotated[
        tuple[str, ...],
        Option(
            "--path",
            metavar="PATH",
            help="Below the URL, e.g. '/post/{number}'; several are requested equally often.",
            panel=REQUESTS,
        ),
    ] = ()
    request_file: Annotated[
        Path | None,
        Option(
            "--request-file",
            metavar="FILE",
            help="Several requests with their weights, as .http files of IntelliJ and VS Code have them.",
            panel=REQUESTS,
        ),
    ] = None
    method: Annotated[
        Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        Option("--method", ("-m",), help="Of all requests.", panel=REQUESTS, case_sensitive=False),
    ] = "GET"
    headers: Annotated[
        tuple[str, ...],
        Option(
            "--header",
            ("-H",),
            metavar="'NAME: VALUE'",
            help="Repeatable; a secret as ${env:NAME}.",
            panel=REQUESTS,
        ),
    ] = ()
    text: Annotated[
        str | None, Option("--body", metavar="TEXT|@FILE", help="The body of all requests.", panel=REQUESTS)
    ] = None
    body_file: Annotated[
        Path | None,
        Option("--body-file", ("-D",), metavar="FILE", help="The body from a file.", panel=REQUESTS),
    ] = None
    expect: Annotated[
        str, Option("--expect", metavar="STATUS", help="What is correct: 200, 2xx, or 200,404.", panel=REQUESTS)
    ] = "2xx"
    expect_text: Annotated[
        str | None,
        Option("--expect-text", metavar="TEXT", help="A correct reply holds this text.", panel=REQUESTS),
    ] = None
    numbers: Annotated[
        int,
        Option(
            "--keys",
            ("-r",),
            metavar="NUMBER",
            help="How many {number} there are.",
            panel=REQUESTS,
            read=whole(translatable("not a number"), 1, 1_000_000_000),
        ),
    ] = 1000

    @property
    def body(self) -> str | None:
        """Text, or `@FILE`. Raises UserError where both are given."""
        if self.text is not None and self.body_file is not None:
            raise UserError("--body, -D: leave one of them out")
        return self.text if self.body_file is None else f"@{self.body_file}"


def statuses(option: AnyText, text: str) -> int | str | list[int | str]:
    """What is correct: `200`, `2xx`, `200,404`. Raises UserError, which begins with the option."""
    written = [part.strip() for part in text.split(",")]
    wrong = next((part for part in written if not _STATUS.fullmatch(part)), None)
    if wrong is not None or (len(written) > 1 and any(part.endswith("xx") for part in written)):
        raise UserError(
            "{option} {text}: no status of HTTP; write for example 200, 2xx, or 200,404", option=option, text=text
        )
    status: list[int | str] = [int(part) if part.isdecimal() else part for part in written]
    return status[0] if len(status) == 1 else status
