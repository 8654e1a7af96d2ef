"""A run once more: its form, filled in from its command, where anything can be changed before Start.

The folder may be a stranger's, and what a form says counts as typed by the user. So what may fill a form is listed: its
own switches and levels, numbers, and plain addresses. All of it stands in the form in full. No address brings a name, a
password, a variable or a parameter, and no setting a program or a file: those the user writes.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.pages.command_lines import OF_QUICK_OPTIONS, OF_SWITCHES
from loadstone.addons.pages.experiment_facts import ExperimentFacts
from loadstone.addons.pages.forms import Form
from loadstone.addons.pages.settings import PageSettings, folder_of, place_of
from loadstone.experiment.spec.built_in import names
from loadstone.run.parts_behind import PORTS
from loadstone.run_folder.earlier_runs import TAKEN, TAKEN_SWITCHES, CommandWord, command_of, words_of
from loadstone.safety.errors import UserError

_OF_THIS_START = {"--out", "--wait", "--share-machine", "--trust", "--watch", "--no-color"}
"""Options that say how it was started, and not what is measured."""
_NUMBER = re.compile(r"-?[0-9][0-9A-Za-z.,%/ ]{0,40}")
"""With its unit."""
_SETTING = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
"""As a field of numbers takes it."""
_ADDRESS = re.compile(
    rf"({'|'.join(map(re.escape, PORTS))})://[A-Za-z0-9.:\[\]-]{{1,60}}(/[A-Za-z0-9._~-]{{0,40}}){{0,4}}"
)
"""A server at a host and a port: none that names others, and no file of this machine."""
_ADDRESS_MAX = 60
"""Characters that a field shows on a screen of a computer."""
_SWITCHES = {"again", "sent", "search", *OF_SWITCHES}
_NUMBERS = {"budget", "blocks", "seed", "at-rate", "connections", "time"}
Fields = list[tuple[str, str]]


async def _again(request: Request) -> Response:
    """Lead to the form. Raises UserError where no form has all that the command says."""
    folder, place = folder_of(request), place_of(request)
    try:
        words = await run_in_threadpool(command_of, folder)
    except UserError:  # of a gate, or with a secret that the folder does not keep
        raise UserError("{run}: no form has this run's command; start it from a terminal", run=folder.name) from None
    address, fields = again(words, place)
    return RedirectResponse(f"{address}?{urlencode(fields)}", 303)


def again(words: Sequence[str], place: PageSettings) -> tuple[str, Fields]:
    """The address of the form for a command line, and its fields. Raises UserError."""
    options = [one for one in words_of(words) if one.name not in _OF_THIS_START]
    match [one.value for one in options if not one.name]:
        case ["run", word]:
            return _form_of(word, place), allowed([("again", "1"), *_of_experiment(options)])
        case ["redis" | "http" as kind, *url] if len(url) < 2:
            return "/quick", allowed([("kind", kind), *_of_quick(options, url)])
        case ["saturate", "redis" | "http" as kind, *url] if len(url) < 2:
            return "/quick", allowed([("kind", kind), ("search", "on"), *_of_quick(options, url)])
        case plain:  # perhaps the value of an option that is not known
            unknown = (one.name for one in options if one.name and one.name not in TAKEN | TAKEN_SWITCHES)
            raise _no_form(next(unknown, " ".join(plain)))


def allowed(fields: Collection[tuple[str, str]]) -> Fields:
    """The fields, where all may be filled by a folder or a link. Raises UserError."""
    for name, value in fields:
        if not _may(name, value):
            raise _no_form(f"{name}={value}")
    return list(fields)


def _may(name: str, value: str) -> bool:
    part, dot, _ = name.partition(".")
    if name in _SWITCHES:
        return value in ("on", "1", "")
    if name in _NUMBERS:
        return not value or _NUMBER.fullmatch(value) is not None
    if dot and part == "set":
        return _SETTING.fullmatch(value) is not None
    if name in ("url", "against") or (dot and part in ("server", "subject")):
        return not value or (len(value) <= _ADDRESS_MAX and _ADDRESS.fullmatch(value) is not None)
    return (name == "kind" and value in ("redis", "http")) or (bool(dot) and part == "level")


def filled(form: Form, found: ExperimentFacts, fields: Collection[str]) -> Form:
    """The form of an experiment: what is not said is as the experiment has it. Raises UserError where it has no field
    for what is said."""
    for name, value in form.fields:
        if name not in fields and name != "again":
            raise _no_form(f"{name}={value}")
    kept = [(name, value) for name, value in form.fields if name in fields and not name.startswith("level.")]
    for factor in found.factors:
        name = f"level.{factor.name}"
        kept += [(name, text) for text in _levels(form.all(name), [level.text for level in factor.levels])]
        kept += [(name, level.text) for level in factor.levels if level.on and not form.all(name)]
    return Form([*kept, ("sent", "1")])


def _levels(given: Sequence[str], there: Sequence[str]) -> Iterator[str]:
    """The levels that are given, alone or several behind commas. Raises UserError where the form has no such one."""
    for one in given:
        levels = [one] if one in there else one.split(",")
        for level in levels:
            if level not in there:
                raise _no_form(f"--only {level}")
        yield from levels


def _of_experiment(options: Sequence[CommandWord]) -> Iterator[tuple[str, str]]:
    for one in options:
        name, _, value = one.value.partition("=")
        match one.name:
            case "":
                continue
            case "--only":
                yield f"level.{name}", value
            case "--set" | "--server" | "--subject":
                yield f"{one.name[2:]}.{name}", value
            case _ if one.name[2:] in OF_SWITCHES:
                yield one.name[2:], "on"
            case _ if one.name[2:] in _NUMBERS:
                yield one.name[2:], one.value
            case _:
                raise _no_form(one.name)


def _form_of(word: str, place: PageSettings) -> str:
    """The address of an experiment's form. Raises UserError."""
    if word in names():
        return f"/experiments/{word}"
    path = place.here / word
    if path.parent == place.experiments and path.is_file():
        return f"/own/{quote(path.name)}"
    raise UserError("{name}: this experiment is not among those here; start it from a terminal", name=word[:200])


def _of_quick(options: Sequence[CommandWord], urls: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The fields of a quick command. Its seed is its own. Raises UserError."""
    yield from (("url", url) for url in urls)
    for one in options:
        if one.name and one.name not in OF_QUICK_OPTIONS:
            raise _no_form(one.name)
        if one.name and one.name != "--seed":
            yield OF_QUICK_OPTIONS[one.name], one.value


def _no_form(what: str) -> UserError:
    return UserError("{option}: no form takes this from a run; start it from a terminal as before", option=what[:80])


routes = (Route("/runs/{name}/again", _again),)
