"""From a form to a command line: what the page does is what this command does, in any terminal.

A password of a URL is taken out: its place gets `${env:NAME}`, and the variable of this name goes to the run by its
environment, so that no process list, page, log or history has it.
"""

import hashlib
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from loadstone.addons.pages.forms import Form
from loadstone.machine.installation import own_command
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.command_line import hidden_arguments
from loadstone.safety.secrets.in_texts import PROBE, REDACTED, REFERENCE, secrets_in
from loadstone.safety.secrets.known import learn

VARIABLE = "LOADSTONE_PASSWORD_"
_SECRET_SETTING = re.compile(r"(?P<head>[?&][\w.-]+=)(?P<value>[^&#]+)")
_URL_WORD = re.compile(r"(?:[\w.-]+=)?(?P<url>[a-z][a-z0-9+.-]*://\S+)")
"""A URL, or `NAME=URL`."""
_NEXT_URL = re.compile(r",(?=[a-z][a-z0-9+.-]*://)")
OF_SWITCHES, OF_OPTIONS = ("quick", "as-published", "twin"), ("budget", "blocks", "seed", "at-rate", "fleet")
OF_RUNS = ("sent", "further", *OF_SWITCHES, *OF_OPTIONS)
OF_QUICK = ("kind", "url", "against", "connections", "time", "seed", "search")
OF_GATE = ("base", "head", "start", "build", "path", "tolerance", "tolerance-p99", "budget")
"""The fields that a form may have; each option that one becomes stands here by its name."""
OF_QUICK_OPTIONS = {"--against": "against", "--connections": "connections", "--duration": "time", "--seed": "seed"}
"""The options of a quick run, and their fields."""
TEXT_MAX = 4000
"""Characters of a field."""


@dataclass(frozen=True)
class CommandLine:
    """The words behind `loadstone`, and the secrets that they refer to."""

    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    def adding(self, *words: str) -> "CommandLine":
        """Return the command line with further options."""
        return CommandLine((*self.words, *words), self.variables)

    @property
    def shown(self) -> str:
        """To paste into a terminal; the secrets are for the user to fill in."""
        command = " ".join([own_command(), *(shlex.quote(word) for word in hidden_arguments(self.words))])
        return "".join(f"export {name}='...'\n" for name in self.variables) + command


class _Words:
    """Collects options; secrets are taken out of URLs."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.variables: dict[str, str] = {}

    def option(self, name: str, value: str) -> None:
        """An option with its value, unless that is empty."""
        if value:
            self.words += [name, _text(name, value)] if not value.startswith("-") else [f"{name}={_text(name, value)}"]

    def url(self, option: str, value: str, name: str = "") -> None:
        """An option `NAME=URL`, or a URL alone; without an option an argument."""
        if not value:
            return
        if value.startswith("-"):
            raise UserError("{value}: not an address; write for example redis://HOST:PORT", value=value[:80])
        _require_no_mask(value)
        safe, found = without_secrets(_text(option, value))
        for variable, secret in found.items():
            learn(secret, f"${{env:{variable}}}")
        self.variables |= found
        self.words += [*([option] if option else []), f"{name}={safe}" if name else safe]

    def done(self) -> CommandLine:
        """Raises UserError where a secret is left in the words: it would be seen in the list of processes."""
        for word in self.words:
            _require_no_mask(word)
        for word, hidden in zip(self.words, hidden_arguments(self.words), strict=True):
            if REDACTED in hidden and hidden != word:
                raise UserError(
                    "{word}: here a password would be seen in the list of processes; write ${{env:NAME}} in its "
                    "place, and start `loadstone serve` with this variable",
                    word=hidden,
                )
        return CommandLine(tuple(self.words), self.variables)


def of_experiment(word: str, form: Form, factors: Mapping[str, Sequence[str]], usual: Mapping[str, Sequence[str]],
                  values: Mapping[str, str], parts: Collection[str]) -> CommandLine:  # fmt: skip
    """The command that runs an experiment as a form has it. Raises UserError.

    Args:
        word: the experiment, as the command line names it.
        form: what was sent.
        factors: the levels of each factor.
        usual: those that are measured where nothing is said.
        values: the settings that the form offers, with what they are in the experiment.
        parts: the fields of servers and applications: `server.NAME`, `subject.NAME`.
    """
    form.require_only({*OF_RUNS, *parts, *(f"level.{name}" for name in factors), *(f"set.{path}" for path in values)})
    made = _Words("run", word)
    for name, levels in factors.items():
        chosen = [level for level in levels if level in form.all(f"level.{name}")]
        if not chosen:
            raise UserError("{factor}: no level is chosen; choose one at least", factor=name)
        if list(chosen) != list(usual[name]):
            _only(made, name, chosen)
    for name, url in form.named("server."):
        made.url("--server", url, name)
    for name, url in form.named("subject."):
        made.url("--subject", url, name)
    for path, value in form.named("set."):
        if value != values[path]:
            made.option("--set", f"{path}={value}")
    for line in form.raw("further").splitlines():
        if line.strip():
            made.option("--set", line.strip())
    _common(made, form)
    return made.done()


def of_quick(form: Form) -> CommandLine:
    """The quick command of a form: one server or service, or two that are compared. Raises UserError."""
    form.require_only(OF_QUICK)
    kind = form.one("kind") or "redis"
    search = form.one("search") == "on"
    if kind not in ("redis", "http"):
        raise UserError("{kind}: choose Redis or HTTP", kind=kind)
    made = _Words(*(["saturate"] if search else []), kind)
    if kind == "http" and not form.one("url"):
        raise UserError("write the address of the service, for example http://127.0.0.1:8080/")
    if form.one("against") and not form.one("url"):
        raise UserError("write the first address, too: the second one is compared with it")
    made.url("", form.one("url"))
    made.url("--against", form.one("against"))
    for option, name in OF_QUICK_OPTIONS.items():
        if option != "--against":
            made.option(option, form.one(name))
    return made.done()


def of_gate(form: Form) -> CommandLine:
    """The gate of a form: is the new version slower than the old one? Raises UserError."""
    form.require_only(OF_GATE)
    made = _Words("gate")
    for name in ("base", "head"):
        if not form.one(name):
            raise UserError("--{option}: a gate compares two versions; name this one, too", option=name)
    for name in OF_GATE:
        made.option(f"--{name}", form.one(name))
    return made.done()


def _require_no_mask(word: str) -> None:
    """Raises UserError where `***` stands for a password that a page hid: a run would log in with the stars."""
    probed = word.replace(REDACTED, PROBE)
    if REDACTED in word and hidden_arguments(["--set", probed]) != ["--set", probed]:
        raise UserError(
            "{word}: *** stands in the place of a password that is not kept; write ${{env:NAME}} there, and start "
            "`loadstone serve` with this variable",
            word=word,
        )


def references_in(words: Sequence[str]) -> list[str]:
    """The variables that a command line refers to."""
    found = [match["name"] for word in words for match in REFERENCE.finditer(word) if match["where"] == "env"]
    return list(dict.fromkeys(found))


def without_secrets(url: str) -> tuple[str, dict[str, str]]:
    """A URL, or several behind commas, with references in the place of passwords, and the variables for them."""
    variables: dict[str, str] = {}
    return ",".join(_without(one, variables) for one in _NEXT_URL.split(url)), variables


def _without(url: str, variables: dict[str, str]) -> str:
    scheme, separator, rest = url.partition("://")
    login, at, address = rest.rpartition("@")
    if not separator:
        return url
    address = _SECRET_SETTING.sub(lambda found: _setting(found, variables, scheme, address), address)
    if at and login and not REFERENCE.search(login):
        user, colon, password = login.partition(":")
        if colon and password:
            login = f"{user}:{_kept(unquote(password), f'{scheme}://{user}@{address}', variables)}"
        elif not colon:
            login = _kept(user, f"{scheme}://@{address}", variables)
    return f"{scheme}{separator}{login}{at}{address}"


def _setting(found: "re.Match[str]", variables: dict[str, str], scheme: str, address: str) -> str:
    """A parameter `password=...` behind the address."""
    if REFERENCE.search(found[0]) or not any(secret.sure for secret in secrets_in(found[0])):
        return found[0]
    return found["head"] + _kept(found["value"], f"{scheme}://{address.partition('?')[0]}{found['head']}", variables)


def _kept(secret: str, place: str, variables: dict[str, str]) -> str:
    """A reference to a secret. Its name follows from the place, so that the same command is made the next time."""
    name = f"{VARIABLE}{hashlib.sha256(place.encode(errors='replace')).hexdigest()[:16].upper()}"
    variables[name] = secret
    return f"${{env:{name}}}"


def own_references(words: Sequence[str]) -> list[str]:
    """The variables that a command line refers to at the very places after which they are called, and nowhere else:
    elsewhere a name says nothing of whose password it is."""
    own: set[str] = set()
    other: set[str] = set()
    for word in words:
        named = references_in([word])
        url = _URL_WORD.fullmatch(word)
        (own if url is not None and _is_own(url["url"]) else other).update(named)
    return sorted(own - other)


def _is_own(url: str) -> bool:
    """Whether each password of a URL is a variable that is called after its place: made anew it is the same URL."""
    probed = REFERENCE.sub(lambda found: PROBE if found["name"].startswith(VARIABLE) else found[0], url)
    return without_secrets(probed)[0] == url


def _only(made: _Words, name: str, levels: Sequence[str]) -> None:
    if any("," in level for level in levels):
        for level in levels:
            made.option("--only", f"{name}={level}")
    else:
        made.option("--only", f"{name}={','.join(levels)}")


def _common(made: _Words, form: Form) -> None:
    for switch in OF_SWITCHES:
        if form.one(switch) == "on":
            made.words.append(f"--{switch}")
    for option in OF_OPTIONS:
        made.option(f"--{option}", form.one(option))


def _text(option: str, value: str) -> str:
    """Raises UserError."""
    if len(value) > TEXT_MAX:
        raise UserError("{option}: more than {most} characters", option=option, most=TEXT_MAX)
    if any(character in value for character in "\0\r\n"):
        raise UserError("{option}: a line ends within it; write it on one line", option=option)
    return value


def variables_of(form: Form, asked: Collection[str]) -> Iterator[tuple[str, str]]:
    """The passwords that a form gives by the names of their variables, as far as they were asked for."""
    for name, value in form.named("variable."):
        if name in asked:
            learn(value, f"${{env:{name}}}")
            yield name, value
