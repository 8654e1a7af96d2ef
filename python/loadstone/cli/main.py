"""The `loadstone` command. Results go to stdout, progress and remarks to stderr; only this file exits.

With `--json` the JSON alone is on stdout. Exit status: 0 done; 1 a --fail-if objective was missed; 2 bad input, or a
report or result that cannot be written; 3 measured, but invalid, or a server that went away or sends invalid replies;
70 a defect of loadstone (`safety/defect.py`); 130 interrupted (what was finished is kept). All text goes through
`safety/terminal.py`. What a command needs is imported in it: a mistake on the command line is found before what takes
time to load.
"""

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from loadstone.cli.carry_out import carried_out, objectives_of, show_outcome
from loadstone.cli.command import COMMANDS, OptionBinding, command, usage_error
from loadstone.cli.help import in_readers_language
from loadstone.cli.http_command import HTTP_PEERS, http_command
from loadstone.cli.options import (
    MEASURES,
    PARTS,
    RESULTS,
    Option,
    QuietOption,
    Results,
    SecretFiles,
)
from loadstone.cli.redis_command import REDIS_PEERS, redis_command
from loadstone.machine.installation import own_command, version_lines
from loadstone.report.write import AGAIN_FORMATS, FORMATS
from loadstone.run.request import RunRequest
from loadstone.safety import defect, terminal
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import Interrupted, LoadstoneError, UserError
from loadstone.safety.secrets.known import redact
from loadstone.text import language
from loadstone.text.language import _, in_language, of_author
from loadstone.text.message import AnyText, said


def self_test_command() -> None:
    """Measure how far to trust figures of this machine.

    `doctor` reads what is installed and how the machine is set; this measures: the generator on servers of known speed,
    delay and freezes, clocks, CPUs, and what a kill leaves. Status 3 if something does not hold.
    """
    from loadstone.run.describe import try_out

    status = try_out(lambda line: terminal.result(f"{line}\n"), terminal.remark)
    if status:
        raise typer.Exit(status)


app = typer.Typer(
    name="loadstone",
    help="The load laboratory for Redis and the applications around it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMPLETING = "_LOADSTONE_COMPLETE"
"""The variable by which a shell asks how a command line may go on."""
COMPLETION = "--install-completion"
"""Typer's own option, which writes to the files of the user's shell."""
MISSING = said("Missing argument '{argument}'", argument="EXPERIMENT|FILE.yaml")
WORD_MAX, LINE_MAX = 400, 2000
"""Characters of a message: paths and lists of choices are shorter."""
RUN = "RUN"
"""A run's folder, or `latest`."""
CHOOSES = (
    *(
        "only",
        "set",
        "servers",
        "subjects",
        "hosts",
        "driver",
        "secret_files",
        "quick",
        "as_published",
        "scale",
        "budget",
    ),
    *("blocks", "at_rate", "twin", "allow_any_command"),
)
"""Options of a run that choose what is measured, and how long."""
PLANS = ("only", "set", "servers", "subjects", "driver")
"""Options of a run by which it needs other programs."""


def _experiments(incomplete: str) -> list[str]:
    """The built-in experiments that a word may become, for the shell; files it knows by itself."""
    from loadstone.experiment.spec.built_in import names

    return [name for name in names() if name.startswith(incomplete)]


Named = Annotated[
    str | None, typer.Argument(metavar="EXPERIMENT|FILE.yaml", show_default=False, autocompletion=_experiments)
]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print version, engine and build.")] = False,
    _lang: Annotated[
        str,
        typer.Option(
            "--lang", metavar="en|ko", help="The language, before or after a command.", show_default="the locale's"
        ),
    ] = "",
) -> None:
    if version:
        terminal.result_lines(version_lines())
        raise typer.Exit


@app.command("list")
@forbid_connections()
def list_command() -> None:
    """List the built-in experiments, a line each."""
    from loadstone.experiment.spec.built_in import questions

    terminal.result_lines([f"{name:<20} {of_author(question)}" for name, question in questions()])
    if sys.stdout.isatty():  # a program that reads the list gets a line an experiment
        terminal.result_lines([_("try one: {command} run NAME --quick", command=own_command())])


@command(app, "show")
@forbid_connections()
def show(
    *,
    experiment: Named = None,
    options: Annotated[RunRequest, OptionBinding(*CHOOSES)],
) -> None:
    """Show what an experiment would do, and how long it takes."""
    if experiment is None:
        raise UserError("{missing}: name an experiment (`loadstone list`)", missing=MISSING)
    _require_no_url(experiment)
    from loadstone.run.describe import describe_experiment

    described, acts = describe_experiment(replace(options, experiment=experiment))
    terminal.result_lines([described, ""])
    for line in acts:
        terminal.print_unredacted(line, result=True)
    terminal.result_lines(
        ["", _("try it: {command}", command=f"{own_command()} run {shlex.quote(experiment)} --quick")]
    )


@command(app, "init")
@forbid_connections()
def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", show_default=False)] = Path("experiment.yaml"),
) -> None:
    """Write a commented experiment (experiment.yaml)."""
    from loadstone.cli.init_command import write_experiment

    write_experiment(file)
    command = f"{own_command()} run {shlex.quote(str(file))} --quick"
    terminal.result_lines([_("written: {file}", file=file), _("try it: {command}", command=command)])


@command(app, "run")
def run(
    *,
    experiment: Named = None,
    options: Annotated[RunRequest, OptionBinding(*CHOOSES, *MEASURES, "parts", "out", "trust", "quiet")],
    results: Results,
) -> None:
    """Run an experiment and print what the data say."""
    from loadstone.run_folder.earlier_runs import folder_to_resume

    folder = None if options.resume is None else folder_to_resume(options.resume, options.out)
    if experiment is None:
        _go_on(folder, trust=options.trust)
        return
    _require_no_url(experiment)
    options.check()
    objectives = objectives_of(results.fail_if)
    outcome = carried_out(replace(options, experiment=experiment, resume=folder), objectives, results)
    show_outcome(outcome, results)


command(app, "redis", REDIS_PEERS)(redis_command)
command(app, "http", HTTP_PEERS)(http_command)


@command(app, "report")
def report(
    *,
    folder: Annotated[Path, typer.Argument(metavar=RUN)],
    format_: Annotated[
        str, Option("--format", metavar="FORMATS", help=f"Comma-separated: {', '.join(FORMATS)}.", panel=RESULTS)
    ] = ",".join(AGAIN_FORMATS),
    results: Results,
    quiet: QuietOption = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Print every table, not the outcome alone.", panel=RESULTS)
    ] = False,
) -> None:
    """Write a run's reports again, from its folder."""
    from loadstone.run_folder.earlier_runs import run_folder
    from loadstone.run_folder.files import require_run

    path = run_folder(folder)
    require_run(path)
    objectives = objectives_of(results.fail_if)
    from loadstone.run.run import report_run
    from loadstone.safety import console

    formats = tuple(part.strip() for part in format_.split(",") if part.strip())
    printed = console.results(beside_json=results.json, quiet=quiet)
    with forbid_connections():
        outcome = report_run(path, formats, printed, console.remarks(quiet=quiet), objectives, verbose=verbose)
    show_outcome(outcome, results)


def clean(
    *,
    run: Annotated[str | None, typer.Argument(metavar=RUN, show_default=False)] = None,
    server: Annotated[
        tuple[str, ...],
        Option(
            "--server",
            metavar="NAME=URL",
            help="How to log in to a server; no password is kept. Repeatable.",
            panel=PARTS,
        ),
    ] = (),
    secret_file: SecretFiles = (),
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print what would be removed, and remove nothing.", panel=RESULTS)
    ] = False,
) -> None:
    """Remove what killed runs left on servers of yours.

    Of one run, or without RUN of all of ./runs.
    """
    from loadstone.cli.clean_command import clean as clean_up

    status = clean_up(
        run, server, lambda line: terminal.result_lines([line]), secret_files=secret_file, dry_run=dry_run
    )
    if status:
        raise typer.Exit(status)


def doctor(*, experiment: Named = None) -> None:
    """Check this machine, or what an experiment needs of it."""
    from loadstone.safety import console

    if experiment is None:
        from loadstone.run.describe import examine

        if not examine(console.results()):
            raise typer.Exit(1)
        return
    _require_no_url(experiment)
    from loadstone.run.setup import examine_needs

    if not examine_needs(RunRequest(experiment=experiment), lambda line: terminal.result_lines([line])):
        raise typer.Exit(1)


def setup(*, experiment: Named = None, options: Annotated[RunRequest, OptionBinding(*PLANS)]) -> None:
    """Fetch what an experiment lacks here, without root.

    MariaDB by Maven, Node and extras by pip: pinned, and checked by hash. What no registry has is named.
    """
    if experiment is None:
        raise UserError("{missing}: name an experiment (`loadstone list`)", missing=MISSING)
    _require_no_url(experiment)
    from loadstone.run.setup import set_up

    set_up(replace(options, experiment=experiment), lambda line: terminal.result_lines([line]))


@cache
def whole() -> typer.Typer:
    """The whole command: those of add-ons stand before those that look after the machine.

    Raises UserError for an add-on of another package that cannot be loaded.
    """
    for name, added in COMMANDS.items():
        if isinstance(added, typer.Typer):
            app.add_typer(added, name=name)
        else:
            command(app, name)(added)
    command(app, "clean")(clean)
    command(app, "doctor")(doctor)
    command(app, "setup")(setup)
    command(app, "self-test")(self_test_command)
    return app


def main() -> None:
    """Entry point: every error becomes one line and its exit status."""
    terminal.prepare()
    if sys.argv[1:] == ["--version"]:  # nothing need be loaded for it
        terminal.result_lines(version_lines())
        return
    defect.report_those_of_threads()
    _end_in_order()
    try:
        _require_text(sys.argv[1:])
        _choose_language()
        if not sys.argv[1:] and COMPLETING not in os.environ:
            _help()
        status = in_readers_language(whole())(prog_name="loadstone", standalone_mode=False)
        if status == Interrupted.exit_status:  # what typer makes of Ctrl-C, where a command lets it through
            _exit(status, "interrupted")
    except (typer.Abort, KeyboardInterrupt):
        _exit(Interrupted.exit_status, "interrupted")
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help of a group: as it is, line by line
            terminal.result_lines([error.message])
            terminal.finish()
            sys.exit(UserError.exit_status)
        _exit(UserError.exit_status, usage_error(error))
    except LoadstoneError as error:
        _exit(error.exit_status, error.message)
    except OSError as error:
        _exit(UserError.exit_status, _about_file(error))
    except Exception as error:
        _exit(defect.STATUS, defect.report(error))
    terminal.finish()
    sys.exit(status if isinstance(status, int) else 0)


def _end_in_order() -> None:
    """SIGTERM and a closed terminal end a command as Ctrl-C does: what it made goes. What measures has its own way."""

    def end(signum: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 (the signal module's signature)
        for stream in terminal.on_terminal() if signum == signal.SIGHUP else ():
            terminal.discard(stream)
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # not as under `nohup`
            signal.signal(number, end)


def _choose_language() -> None:
    """Speak what `--lang` says, wherever it stands, else the locale's language; the rest does not know of it.

    Raises UserError.
    """
    language.set_language(language.of_locale(os.environ))
    words = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    for at, word in reversed(list(enumerate(words, 1))):
        name, attached, value = word.partition("=")
        if name != "--lang":
            continue
        if not attached:
            value = words[at] if at < len(words) else ""
        if value not in language.LANGUAGES:
            raise UserError("--lang {value}: write {languages}", value=value, languages=" or ".join(language.LANGUAGES))
        del sys.argv[at : at + (1 if attached else 2)]
        language.set_language(value, by_option=True)


def _help() -> NoReturn:
    """A command line without a command: what there is, line by line as `--help` has it, and status 2."""
    status = in_readers_language(whole())(["--help"], prog_name="loadstone", standalone_mode=False)
    assert not status
    terminal.finish()
    sys.exit(UserError.exit_status)


def _go_on(folder: Path | None, *, trust: bool) -> None:
    """`run` without an experiment: what a folder was started with, and after it what is said now. Raises UserError."""
    if folder is None:
        raise UserError("{missing}: name an experiment (`loadstone list`), or give --resume RUN", missing=MISSING)
    from loadstone.run.command_line import words_are_of_folder
    from loadstone.run_folder.earlier_runs import command_of, files_sent, written_by

    given = [word for word in sys.argv[sys.argv.index("run") + 1 :] if word != "--trust"]
    words_are_of_folder(trusted=trust, files_sent=files_sent(command_of(folder, given)))
    for option in written_by(folder, given):
        terminal.remark(
            said(
                "--resume {folder}: {option} is not taken from there; give it again if you want it",
                folder=folder,
                option=option,
            )
        )
    # Last, so that `latest` is not looked for again, where the command's own `--out` or another folder would answer.
    words = [*command_of(folder, given), *given, "--resume", str(folder)]
    status = in_readers_language(whole())(words, prog_name="loadstone", standalone_mode=False)
    if isinstance(status, int) and status:
        raise typer.Exit(status)


def _require_no_url(experiment: str) -> None:
    """Raises UserError for a server in the place of an experiment; shows no password."""
    scheme, is_url, rest = experiment.partition("://")
    if is_url:
        command = "http" if scheme in ("http", "https") else "redis"
        url = shlex.quote(experiment) if "@" not in rest else "URL"
        raise UserError(
            "{scheme}://...: a server, and not an experiment; to load it: loadstone {command} {url}",
            scheme=scheme,
            command=command,
            url=url,
        )


def _short(message: str) -> str:
    """A message on one line that can be read at a glance, whatever long value it quotes: both of its ends."""
    return _cut(" ".join(_cut(word, WORD_MAX) for word in message.split()), LINE_MAX)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 4 :]}"


def _require_text(words: Sequence[str]) -> None:
    """Raises UserError for a word that is no text: neither a plan nor a record could hold it."""
    for before, word in zip(("", *words), words, strict=False):
        try:
            word.encode()
        except UnicodeEncodeError:
            what = before if before.startswith("-") and before != "--" else f"'{terminal.printable(word)}'"
            raise UserError(
                "{what}: is not text in UTF-8; write it in UTF-8, or call the file otherwise", what=what
            ) from None


def _about_file(error: OSError) -> AnyText:
    """What is wrong with a file, with the option that names it, if one does."""
    name = str(error.filename or "")
    if COMPLETION in sys.argv:
        return said(
            "{option}: {name}: {why}; name a home that you may write to by HOME, or print the text by "
            "--show-completion, and have your shell read it",
            option=COMPLETION,
            name=name,
            why=error.strerror or error,
        )
    at = next((at for at, word in enumerate(sys.argv) if at and len(word) > 1 and name.startswith(word)), 0)
    option = sys.argv[at - 1] if at and sys.argv[at - 1].startswith("-") else ""
    if option:
        return f"{option} {name}: {error.strerror or error}; name another one"
    return f"{error.strerror or error}{f' ({name})' if name else ''}"


def _exit(status: int, message: AnyText) -> None:
    terminal.remark(f"loadstone: {_short(redact(in_language(message)))}")
    terminal.finish()
    sys.exit(status)


if __name__ == "__main__":
    main()
