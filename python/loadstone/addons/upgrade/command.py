"""`loadstone upgrade-check A B --traffic FILE`: recorded commands on two servers, reply by reply."""

import time
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.options import EXPERIMENT, RESULTS, Option, require_place
from loadstone.safety import terminal
from loadstone.safety.errors import UserError
from loadstone.text.language import _

STATUSES = {"yes": 0, "yes_but": 0, "no": 1, "not_decidable": 4}
"""Those of a gate."""
_EVERY_S = 2.0


def upgrade_command(
    *,
    a: Annotated[str, typer.Argument(metavar="A", help="The server of now: redis=7.0, an image, a program, settings.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What it is to be, named likewise: redis, valkey=9.1.")],
    traffic: Annotated[
        Path | None,
        Option("--traffic", metavar="FILE", help="What `redis-cli MONITOR` printed: your commands.", panel=EXPERIMENT),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the outcome as JSON alone to stdout.", panel=RESULTS)] = False,
    json_file: Annotated[
        Path | None,
        Option("--json-out-file", metavar="FILE", help="Write the outcome as JSON there, too.", panel=RESULTS),
    ] = None,
) -> None:
    """May I upgrade? Every reply compared.

    Two servers get your recorded commands. Both are started empty, on this machine, and A twice: what differs between
    its two is the replay's own doing.
    """
    if traffic is None:
        raise UserError(
            "--traffic: which commands? Record some of your server's: redis-cli MONITOR > FILE; then --traffic FILE"
        )
    if json_file is not None:
        require_place("--json-out-file", json_file)
    from loadstone.addons.upgrade.check import check_upgrade
    from loadstone.addons.upgrade.report import show
    from loadstone.cli.named_servers import server_of
    from loadstone.report.json_report import json_text
    from loadstone.run_folder.lines import write_file
    from loadstone.safety import console
    from loadstone.safety.secrets.known import redact
    from loadstone.safety.secrets.references import learn_options

    learn_options((a, b))
    sides = server_of(a, "A"), server_of(b, "B")
    for name, side in zip(("A", "B"), sides, strict=True):
        if side.settings["kind"] == "url":
            raise UserError(
                "{name} {server}: is a server that runs; both are filled, so name what loadstone starts: redis=7.2, "
                "an image, a program",
                name=name,
                server=side.name,
            )
    found = check_upgrade(*sides, traffic, terminal.remark, _SentSoFar())
    show(found, console.results(beside_json=json))
    text = redact(json_text(found))
    if json:
        terminal.result_json(text)
    if json_file is not None:
        write_file(json_file, text.encode())
    if STATUSES[found.answer]:
        raise typer.Exit(STATUSES[found.answer])


class _SentSoFar:
    """Says how far it is, every other second."""

    def __init__(self) -> None:
        self._said_s = time.monotonic()

    def __call__(self, sent: int) -> None:
        if time.monotonic() - self._said_s > _EVERY_S:
            self._said_s = time.monotonic()
            terminal.remark(_("{sent:,} commands compared", sent=sent))
