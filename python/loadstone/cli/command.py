"""A command of the command line: its options are the fields of the dataclasses that its function takes.

    @command(app, "http", peers=PEERS)
    def http_command(url: Url, load: Load, run: Annotated[RunRequest, OptionBinding(*MEASURES)]) -> None: ...

An `Option` of a field (`options.option_of`), or of a parameter of the function, becomes one of typer's. Help stands in
groups, and an error names an option as the user wrote it.
"""

import copy
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import partial, wraps
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from loadstone.cli.options import PANELS, Option, option_of
from loadstone.safety.errors import UserError
from loadstone.slot import Slot
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, message, said

Function = Callable[..., None]
_TYPE = re.compile(r" <(?:str|path|int|float|list\[\w+\])>$")
"""What typer puts behind the name of an argument: it says nothing to who does not know Python."""
HELP = "--help"
NEAR = 0.7
"""Least likeness of two names of commands of which one may stand for the other."""
OWN_COMMANDS = ("list", "show", "init", "run", "redis", "http", "report", "clean", "doctor", "setup", "self-test")
COMMANDS: Slot[Function | typer.Typer] = Slot(
    "commands", lambda: OWN_COMMANDS, lambda one: callable(one) or isinstance(one, typer.Typer)
)
"""Commands of add-ons, and groups of them."""


@dataclass(frozen=True)
class PeerOptions:
    """What the users of similar programs type."""

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further names of options, by the field. Of these the help shows those of one letter."""
    refused: Mapping[str, AnyText] = field(default_factory=dict)
    """Options that this command does not have, with what to write."""
    refused_numbers: Mapping[str, AnyText] = field(default_factory=dict)
    """What to write for one of these where a number follows: to another of the peers the option means that."""
    mistaken: Mapping[str, AnyText] = field(default_factory=dict)
    """What is said of a value that cannot be read, where the option means something else to them; by the field."""


class OptionBinding:
    """Names the options of a dataclass that a command takes: `Annotated[RunRequest, OptionBinding("quick")]`."""

    def __init__(self, *names: str) -> None:
        self.names = names


def command(app: typer.Typer, name: str, peers: PeerOptions = PeerOptions()) -> Callable[[Function], Function]:
    """Makes a function a command of `app`. It takes its dataclasses filled, and its other parameters as typer does."""

    def add(function: Function) -> Function:
        flat = _flat(function, peers)
        app.command(name, cls=CommandSpec)(flat)
        return function

    return add


def _flat(function: Function, peers: PeerOptions) -> Function:
    """Return the function with a parameter for each option."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind, told = _parts(parameter.annotation)
        option = next((each for each in told if isinstance(each, Option)), None)
        if is_dataclass(kind):
            assert isinstance(kind, type)
            taken = next((each.names for each in told if isinstance(each, OptionBinding)), None)
            options = [
                (each, option)
                for each in fields(kind)
                if (taken is None or each.name in taken) and (option := option_of(kind, each)) is not None
            ]
            assert taken is None or set(taken) == {each.name for each, _ in options}, f"{kind}: {taken}"
            groups[parameter.name] = (kind, [each.name for each, _ in options])
            parameters += [_parameter(each.name, each.type, each.default, found, peers) for each, found in options]
        elif option is not None:
            parameters.append(_parameter(parameter.name, parameter.annotation, parameter.default, option, peers))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(function)
    def flat(**given: Any) -> None:
        filled = {
            name: kind(**_given({each: given.pop(each) for each in options}))
            for name, (kind, options) in groups.items()
        }
        function(**_given(given), **filled)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    flat.peers = peers  # type: ignore[attr-defined]
    return flat


def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type, and what `Annotated` says of it."""
    if get_origin(annotation) is not Annotated:
        return annotation, ()
    kind, *told = get_args(annotation)
    return kind, tuple(told)


def _parameter(name: str, annotation: Any, default: Any, option: Option, peers: PeerOptions) -> inspect.Parameter:
    """The parameter of which typer makes the option."""
    kind, _ = _parts(annotation)
    several = get_origin(kind) is tuple
    if several:
        kind = list[get_args(kind)[0]] | None  # type: ignore[misc]
    told = typer.Option(
        *(option.name, *option.also, *peers.names.get(name, ())),
        metavar=option.metavar,
        help=option.help,
        rich_help_panel=option.panel,
        parser=None if option.read is None else partial(_read, option, peers.mistaken.get(name)),
        case_sensitive=option.case_sensitive,
    )
    assert default not in (MISSING, inspect.Parameter.empty), f"{option.name}: an option has a default"
    kept = None if default == () else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=kept, annotation=Annotated[kind, told])


def _read(option: Option, mistaken: AnyText | None, text: str) -> Any:
    assert option.read is not None
    try:
        return option.read(option.name, text)
    except UserError:
        if mistaken is None:
            raise
        raise UserError(
            "{option} '{text}': {mistaken}", option=option.name, text=text[:40], mistaken=mistaken
        ) from None


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is left to its default; a list of typer's as a tuple."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if value is not None
    }


class CommandSpec(TyperCommand):
    """Prints its options in their groups, names them in errors as they were typed, and knows those of the peers."""

    @property
    def _peers(self) -> PeerOptions:
        return getattr(self.callback, "peers", PeerOptions())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See typer. Raises UserError for an option that a peer has and we have not, with what to write."""
        args = self._asks_for_help(args)
        ctx.meta["typed"] = list(args)
        refused = self._peers.refused
        for word in args:  # hey's long options with one dash, which would be read as a short one and its value
            if len(word) > 2 and word[0] == "-" != word[1] and word in refused:
                raise UserError("{option}: {why}", option=word, why=refused[word])
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            name = getattr(error, "option_name", "")
            if why := self._why_not(name, ctx.meta["typed"]):
                raise UserError("{option}: {why}", option=name, why=why) from None
            if getattr(error, "ctx", ctx) is None:  # an option without its value
                error.ctx = ctx  # type: ignore[attr-defined]
            raise
        except UserError as error:
            self._name_as_typed(ctx, error)
            raise

    def _why_not(self, name: str, args: Sequence[str]) -> AnyText:
        """What to write in the place of an option that cannot be read as it was typed; empty: it is no peer's."""
        of_number = self._peers.refused_numbers
        values = (after for before, after in itertools.pairwise(args) if before == name)
        if name in of_number and next(values, "").isdecimal():
            return of_number[name]
        if name in self._peers.refused:
            return self._peers.refused[name]
        field_of = next((each.name for each in self.params if name and name in each.opts), "")
        return self._peers.mistaken.get(field_of or "", "")

    def invoke(self, ctx: Any) -> Any:
        """See typer."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            self._name_as_typed(ctx, error)
            raise

    def _asks_for_help(self, args: list[str]) -> list[str]:
        """Where `-h` is the host, as redis-benchmark has it: without a value it still prints the help."""
        if not any("-h" in parameter.opts for parameter in self.params):
            return args
        return [
            HELP if word == "-h" and after.startswith("-") else word for word, after in itertools.pairwise((*args, "-"))
        ]

    def _name_as_typed(self, ctx: Any, error: UserError) -> None:
        """Makes an error name the options that it begins with as the user wrote them."""
        typed = _typed(ctx.meta["typed"], [parameter.opts for parameter in self.params])
        if typed:
            error.args = (message("as_typed", text=error.message, options=typed),)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments first, and what names no group last."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *PANELS)}
        ungrouped: list[tuple[str, str]] = []
        hidden = {name for names in self._peers.names.values() for name in names if name.startswith("--")}
        for parameter in self.get_params(ctx):
            shown = copy.copy(parameter)
            shown.opts = [name for name in parameter.opts if name not in hidden]
            line = shown.get_help_record(ctx)
            if line is None:
                continue
            line = (_TYPE.sub("", line[0]), line[1])
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(line)
            elif (group := getattr(parameter, "rich_help_panel", None)) is not None:
                groups[group].append(line)
            else:
                ungrouped.append(line)
        rest = "Help" if any(groups[title] for title in PANELS) else "Options"
        for title, lines in {**groups, rest: ungrouped}.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def _typed(words: Sequence[str], options: Iterable[Sequence[str]]) -> dict[str, str]:
    """Every name of each option that was typed -> the name by which it was: alone, or with its value attached."""
    typed: dict[str, str] = {}
    for names in options:
        spelled = (name for word in words for name in (word.partition("=")[0], word[:2]) if name in names)
        first = next(spelled, None)
        if first is not None:
            typed |= dict.fromkeys(names, first)
    return typed


EXAMPLES = {"URL": said("for example http://127.0.0.1:8080/"), "RUN": said("`latest` is the newest")}
"""Examples of arguments that a newcomer leaves out."""
_PARSER_SAYS = tuple(
    (re.compile(pattern, re.DOTALL), template)
    for pattern, template in (
        (r"No such option: (?P<option>\S+)", translatable("No such option: {option}")),
        (
            r"No such command '(?P<command>.*)'\. Did you mean '(?P<near>.*)'\?",
            translatable("No such command '{command}'. Did you mean '{near}'?"),
        ),
        (r"No such command '(?P<command>.*)'", translatable("No such command '{command}'")),
        (r"Missing argument '(?P<argument>.*)'", translatable("Missing argument '{argument}'")),
        (r"Missing option '(?P<option>.*)'", translatable("Missing option '{option}'")),
        (r"Option '(?P<option>.*)' requires an argument", translatable("Option '{option}' requires an argument")),
        (r"Option '(?P<option>.*)' does not take a value", translatable("Option '{option}' does not take a value")),
        (
            r"Got unexpected extra argument\(s\) \((?P<word>\S+)\)",
            translatable("Got unexpected extra argument ({word})"),
        ),
        (
            r"Got unexpected extra argument\(s\) \((?P<words>.*)\)",
            translatable("Got unexpected extra arguments ({words})"),
        ),
        (r"Invalid value for '(?P<option>.*?)': (?P<why>.*)", translatable("Invalid value for '{option}': {why}")),
        (r"(?P<value>'.*?') is not one of (?P<known>'.*')", translatable("{value} is not one of {known}")),
        (r"Value (?P<value>'.*?') is not a valid (?P<kind>.*)", translatable("{value} is not a valid {kind}")),
    )
)
"""What the library that reads command lines says, as sentences that can be said in another language."""


def usage_error(error: TyperException) -> AnyText:
    """What is wrong with a command line as one line, with what helps."""
    told = error.message if getattr(error, "possibilities", None) else error.format_message()
    text = told.removesuffix(".").replace("Value error, ", "")
    text = text if _is_near(text) else text.partition(". Did you mean")[0]
    wrong = _as_said(text)
    context: Any = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "loadstone COMMAND")
    if (near := _nearest_option(error)) is not None:
        return said(
            "{wrong}; did you mean {near}? `{command} --help` lists the options",
            wrong=_as_said(error.message),
            near=near,
            command=command,
        )
    parameter: Any = getattr(error, "param", None)
    if text.startswith("Missing argument") and parameter is not None:
        form = _required(context.command.params if context is not None else [parameter])
        figures = {"wrong": wrong, "command": command, "form": form}
        if example := EXAMPLES.get(form.split()[0]):
            return said("{wrong}: write `{command} {form}`, {example}", **figures, example=example)
        return said("{wrong}: write `{command} {form}`", **figures)
    if (kind := _kind_of_address(text, context)) is not None:
        return said("{wrong}: write `{command} {form}`", wrong=wrong, command=command, form=f"{kind} URL")
    end = "" if text.endswith("?") else said(";")
    if "command" in text:
        return said("{wrong}{end} `{command} --help` lists the commands", wrong=wrong, end=end, command=command)
    return said("{wrong}{end} `{command} --help` lists what it takes", wrong=wrong, end=end, command=command)


def _required(parameters: Iterable[Any]) -> str:
    """The arguments without which a command does nothing."""
    arguments = (one for one in parameters if one.param_type_name == "argument" and one.required)
    return " ".join(one.metavar or one.name.upper() for one in arguments)


def _is_near(text: str) -> bool:
    """Whether a command that typer names as the near one may have been meant: `clean` is not what `plan` says."""
    found = re.search(r"'(.*)'\. Did you mean '(.*?)'", text)
    return found is None or SequenceMatcher(None, found[1], found[2]).ratio() >= NEAR


def _kind_of_address(text: str, context: Any) -> str | None:
    """The command that takes the address which stands in the place of a command; None: it is no address."""
    found = re.match(r"No such command '(?P<scheme>\w+)://", text)
    kind = None if found is None else "http" if found["scheme"].startswith("http") else "redis"
    return kind if kind in getattr(getattr(context, "command", None), "commands", ()) else None


def _nearest_option(error: TyperException) -> str | None:
    """The option that an unknown one may mean; None: the error is another one, or none is near.

    Typer compares the dashes, too, and so finds that `--sentinel` is near `--sni`.
    """
    if not getattr(error, "possibilities", None):
        return None
    context, word = error.ctx, error.option_name  # type: ignore[attr-defined]
    names = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
    near = get_close_matches(word.removeprefix("--"), [name.removeprefix("--") for name in names], n=1)
    return f"--{near[0]}" if near else None


def _as_said(text: str) -> AnyText:
    for pattern, template in _PARSER_SAYS:
        if found := pattern.fullmatch(text):
            return said(template, **{name: _as_said(word) for name, word in found.groupdict().items()})
    return text
