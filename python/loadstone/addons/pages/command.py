"""`loadstone serve`: the pages of experiments and runs."""

import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from loadstone.cli.options import Option, whole
from loadstone.machine.extras import require
from loadstone.run_folder.earlier_runs import RUNS
from loadstone.run_folder.files import PLAN
from loadstone.safety import terminal
from loadstone.safety.bounds.folder_files import is_file
from loadstone.safety.errors import UserError
from loadstone.text.language import _, by_option, translatable


def serve_command(
    *,
    port: Annotated[
        int | None,
        Option(
            "--port",
            metavar="PORT",
            help="Default 8428; 0: a free one.",
            read=whole(translatable("not a port"), 0, 65535),
        ),
    ] = None,
    open_: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
    runs: Annotated[Path, Option("--runs", metavar="DIR", help="The folder of the runs.")] = RUNS,
    experiments: Annotated[
        Path, Option("--experiments", metavar="DIR", help="The folder of your own experiments.")
    ] = Path(),
    run: Annotated[
        str | None,
        Option("--run", metavar="NAME", help="Show this run of the folder alone, and end 10 minutes after it."),
    ] = None,
    listen: Annotated[
        str, Option("--listen", metavar="ADDRESS", help="Beyond this machine: takes --cert and --key, or --insecure.")
    ] = "127.0.0.1",
    cert: Annotated[Path | None, Option("--cert", metavar="FILE", help="A certificate (PEM), for TLS.")] = None,
    key: Annotated[Path | None, Option("--key", metavar="FILE", help="Its key (PEM).")] = None,
    insecure: Annotated[
        bool, Option("--insecure", help="Without TLS beyond this machine: who reads the network may start programs.")
    ] = False,
) -> None:
    """Offer web pages to start, watch and read runs."""
    require("serve", "serve")
    from loadstone.addons.pages.server import Listening, serve
    from loadstone.addons.pages.settings import PageSettings

    for option, folder in (("--runs", runs), ("--experiments", experiments)):
        if folder.exists() and not folder.is_dir():
            raise UserError("{option} {folder}: not a folder; name one", option=option, folder=folder)
    if run is not None and not is_file(runs / run / PLAN):
        raise UserError("--run {run}: there is no run of this name in {folder}", run=run, folder=runs)
    listening = Listening(listen, port, cert, key, insecure)

    def ready(address: str, once: str) -> None:
        told = _("anyone with this link can start runs here; Ctrl-C ends it")
        terminal.result(f"{_('the pages are at')}\n\n  {address}\n\n{told}\n")
        terminal.STDOUT.flush()
        if open_:
            webbrowser.open(once)

    place = PageSettings(
        runs=runs.absolute(),
        experiments=experiments.absolute(),
        only_run=run,
        language=by_option(),
        secure=listening.secure,
    )
    serve(place, listening, ready, "/" if run is None else f"/runs/{quote(run)}")
