"""A run once more: its form, filled in from its command, where anything can be changed before Start."""

from collections.abc import Collection, Iterator, Sequence
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.pages.command_lines import OF_OPTIONS, OF_QUICK_OPTIONS, OF_SWITCHES
from loadstone.addons.pages.experiment_facts import ExperimentFacts
from loadstone.addons.pages.forms import Form
from loadstone.addons.pages.settings import PageSettings, folder_of, place_of
from loadstone.experiment.spec.built_in import names
from loadstone.run_folder.earlier_runs import command_of
from loadstone.safety.errors import UserError

_OF_THIS_START = ("--out", "--wait", "--share-machine", "--trust", "--watch", "--no-color")
"""Options that say how it was started, and not what is measured."""
_WITHOUT_VALUE = ("--wait", "--share-machine", "--trust", "--watch", "--no-color", *(f"--{one}" for one in OF_SWITCHES))
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
    options = _options(words[1:])
    match words:
        case ["run", *_]:
            return _of_experiment(options, place)
        case [("redis" | "http") as kind, *_]:
            return "/quick", [("kind", kind), *_named(options)]
        case ["saturate", ("redis" | "http") as kind, *_]:
            return "/quick", [("kind", kind), ("search", "on"), *_named(options[1:])]
    raise _no_form(" ".join(words[:1]))


def filled(form: Form, found: ExperimentFacts, fields: Collection[str]) -> Form:
    """The form of an experiment: what is not said is as the experiment has it, and what no field has is a line."""
    kept = [(name, value) for name, value in form.fields if name in fields and not name.startswith("level.")]
    lines = [f"{name[4:]}={value}" for name, value in form.fields if name.startswith("set.") and name not in fields]
    for factor in found.factors:
        name, given = f"level.{factor.name}", form.all(f"level.{factor.name}")
        chosen = {*given, *(level for one in given for level in one.split(","))}
        kept += [(name, level.text) for level in factor.levels if (level.text in chosen if given else level.on)]
    return Form([*kept, ("sent", "1"), ("further", "\n".join(lines))])


def _of_experiment(options: Sequence[tuple[str, str]], place: PageSettings) -> tuple[str, Fields]:
    fields: Fields = []
    word = ""
    for option, value in options:
        match option:
            case "":
                word = value
            case "--only":
                name, _, levels = value.partition("=")
                fields.append((f"level.{name}", levels))
            case "--set":
                path, _, level = value.partition("=")
                fields.append((f"set.{path}", level))
            case "--server" | "--subject":
                name, _, url = value.partition("=")
                fields.append((f"{option[2:]}.{name}", url))
            case _ if option[2:] in OF_SWITCHES:
                fields.append((option[2:], "on"))
            case _ if option[2:] in OF_OPTIONS:
                fields.append((option[2:], value))
            case _:
                raise _no_form(option)
    return _form_of(word, place), [("again", "1"), *fields]


def _form_of(word: str, place: PageSettings) -> str:
    """The address of an experiment's form. Raises UserError."""
    if word in names():
        return f"/experiments/{word}"
    path = place.here / word
    if path.parent == place.experiments and path.is_file():
        return f"/own/{quote(path.name)}"
    raise UserError("{name}: this experiment is not among those here; start it from a terminal", name=word[:200])


def _named(options: Sequence[tuple[str, str]]) -> Fields:
    """The fields of a quick command. Raises UserError."""
    found: Fields = []
    for option, value in options:
        if option and option not in OF_QUICK_OPTIONS:
            raise _no_form(option)
        found.append((OF_QUICK_OPTIONS[option] if option else "url", value))
    return found


def _options(words: Sequence[str]) -> list[tuple[str, str]]:
    """Each option with its value, arguments without one; those of the start are left out."""
    return [(name, value) for name, value in _every(words) if name not in _OF_THIS_START]


def _every(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            yield "", word
        elif equals or name in _WITHOUT_VALUE:
            yield name, value
        else:
            yield name, next(rest, "")


def _no_form(what: str) -> UserError:
    return UserError("{option}: no form has this; start it from a terminal as before", option=what[:80])


routes = (Route("/runs/{name}/again", _again),)
