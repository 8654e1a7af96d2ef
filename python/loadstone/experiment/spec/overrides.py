"""What the command line changes in an experiment, or chooses of it: `--set`, `--server`, `--subject`, `--only`..."""

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from loadstone.experiment.software import software_by_url, software_of
from loadstone.experiment.spec.driver_names import resolved
from loadstone.experiment.spec.experiment import AA_FACTOR, ADD_ON_FIELDS, TWIN_LEVELS, Experiment, Factor
from loadstone.experiment.spec.levels import Level, level_text
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.experiment.spec.subject_names import MANIFEST, names
from loadstone.experiment.spec.yaml_text import Path, YamlTextError, read_yaml
from loadstone.safety.bounds.replies import whole_number
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_experiments import learn_setting
from loadstone.safety.secrets.in_texts import REFERENCE
from loadstone.safety.secrets.references import learn_options
from loadstone.safety.secrets.references import resolve as resolve_reference
from loadstone.text.message import said
from loadstone.text.units import NEVER, duration_s, margin_share, parse_any, rate_or_share
from loadstone.text.wording import listed, nearest

LevelFilter = dict[str, tuple[Level, ...]]
"""The levels to which factors are restricted."""
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(/.*)?|\[[0-9a-fA-F:]+\]:[0-9]{1,5}(/.*)?", re.DOTALL)
_NAMED = re.compile(r"([a-zA-Z][a-zA-Z0-9_-]*)=(.*)", re.DOTALL)


_PLAIN = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)


def parse_only(experiment: Experiment, texts: Iterable[str], option: str = "--only") -> LevelFilter:
    """`FACTOR=LEVEL[,LEVEL]` texts as levels of the experiment, in the order of its factors' levels.

    A level is meant by its text (`1 kB`) or by its value (`1kB`, `1000 B`). Several texts for one
    factor add up. Raises UserError naming what exists.
    """
    chosen: dict[str, list[str]] = {}
    for text in texts:
        name, equals, levels = text.partition("=")
        name = name.strip()
        if not equals:
            raise UserError(
                "{option} {text}: write FACTOR=LEVEL[,LEVEL]; factors are: {factors}",
                option=option,
                text=text,
                factors=listed(experiment.factors),
            )
        if name not in experiment.factors:
            hint = nearest(name, experiment.factors)
            raise UserError(
                "{option} {text}: '{name}' is no factor; {hint}factors are: {factors}",
                option=option,
                text=text,
                name=name,
                hint=hint,
                factors=listed(experiment.factors),
            )
        required = [
            _level(experiment.factors[name], word.strip(), f"{option} {text}", name) for word in levels.split(",")
        ]
        chosen.setdefault(name, []).extend(level_text(level) for level in required)
    return {
        name: tuple(level for level in experiment.factors[name].levels if level_text(level) in texts_of_levels)
        for name, texts_of_levels in chosen.items()
    }


def _level(factor: Factor, word: str, option: str, name: str) -> Level:
    """The level that a word means: by its text, or else by its value."""
    for level in factor.levels:
        if word == level_text(level):
            return level
    for level in factor.levels:
        if _value(word) is not None and _value(word) == _value(level_text(level)):
            return level
    texts = [level_text(level) for level in factor.levels]
    raise UserError(
        "{option}: '{word}' is no level of {name}; {hint}levels are: {texts}",
        option=option,
        word=word,
        name=name,
        hint=nearest(word, texts),
        texts=listed(texts),
    )


def _value(text: str) -> object:
    """A text as a number with the noun of its unit, or as a plain number; None if it is neither."""
    try:
        return float(text)
    except ValueError:
        return parse_any(text)


class Overrides:
    """The data of an experiment while options change them, and which option gave what; nothing is validated here."""

    def __init__(self, source: ExperimentSource) -> None:
        self._source = source
        self._data = copy.deepcopy(source.data)
        self._given = dict(source.given)
        self._name = str(source.data.get("name"))

    @property
    def source(self) -> ExperimentSource:
        """The source as if what the options say had been written in it."""
        return replace(self._source, data=self._data, given=self._given)

    def _parts(self, key: str) -> dict[str, Any]:
        """What is written under a key, by its names; nothing where it is no mapping, which validation refuses."""
        written = self._data.get(key)
        return written if isinstance(written, dict) else {}

    def _put(self, dotted: Sequence[str], value: Any, option: str) -> None:
        """Put the value where the path leads. It also wins over what `--quick` and `--as-published` replace.

        Raises UserError where the path leads nowhere.
        """
        learn_setting(tuple(dotted), value)
        part = ADD_ON_FIELDS.get(dotted[0])
        if part is not None and part.WORD is not None and self._data.get(dotted[0]) == part.WORD:
            self._data[dotted[0]] = {}
        path = _put_in(self._data, dotted, value, option)
        if path[0] == "workload":
            _drop(self._data, ("quick", *path[1:]))
            _drop(self._data, ("as_published", *path[1:]))
        made = [path[:length] for length in range(1, len(path)) if path[:length] not in self._source.lines]
        self._given |= dict.fromkeys([*made, path], option)

    def put_setting(self, text: str) -> None:
        """Put the value of `PATH=VALUE` in its place. Raises UserError."""
        dotted, equals, written = text.partition("=")
        path = tuple(part.strip() for part in dotted.split("."))
        if not equals or not all(path):
            raise UserError("--set {dotted}: write PATH=VALUE, for example workload.phases.measure_s=5", dotted=dotted)
        try:
            value = read_yaml(written)[0]
        except YamlTextError as problem:
            raise UserError(
                "--set {dotted}: the value {problem}; quote it if it is text", dotted=dotted, problem=problem.problem
            ) from None
        self._put(path, value, f"--set {dotted}")

    def put_driver(self, text: str) -> None:
        """Put what makes the load; a path counts from the current folder. Raises UserError."""
        try:
            self._put(("workload", "driver"), resolved(text, FilePath()), "--driver")
        except ValueError as problem:
            raise UserError("--driver {driver}: {problem}", driver=text, problem=problem) from None

    def put_at_rate(self, text: str) -> None:
        """Put the rate at which rows are measured, too, also of a quick run. Raises UserError."""
        for design in ("design",), ("quick", "design"):
            self._put((*design, "at_rate"), check_at_rate(text), "--at-rate")

    def put_server(self, text: str) -> None:
        """Put a server of the user's in the place of the experiment's; it must offer the modules that this needs.

        Raises UserError; no URL is shown.
        """
        learn_options((text,))
        name, equals, url = text.partition("=")
        servers = self._parts("servers")
        written = servers.get(name)
        if not isinstance(written, dict) or not url:
            raise UserError(
                "--server {shown}: write NAME=URL; servers of {experiment} are: {known}",
                shown=f"{name}=..." if equals else "...",
                experiment=self._name,
                known=listed(servers),
            )
        path = ("servers", name)
        if self._given.get(path) == "--server":
            raise UserError("--server {path}=... is given twice; remove one of them", path=name)
        software = software_of(written)
        if "://" not in url and not REFERENCE.search(url):
            raise UserError(
                "--server {name}=...: it begins with no scheme; write {name}={schemes}://{shown}",
                name=name,
                schemes=software.schemes[0],
                shown="HOST:PORT" if "@" in url else url,
            )
        if software_by_url(resolve_reference(url)) is not software:
            raise UserError(
                "--server {name}=...: {name} is {one}; write {url_form}",
                name=name,
                one=software.one,
                url_form=software.url_form,
            )
        kept = {key: value for key, value in written.items() if key in ("modules", "when")}
        servers[name] = {"kind": software.url_kind, "url": url, **kept}
        self._given[path] = "--server"

    def put_subject(self, text: str) -> None:
        """Put the user's URLs or manifest in the place of a subject's.

        `URL[,URL]` is an application that runs, `PATH` a manifest of one to start (it counts from the current folder),
        and `NAME=` before it says which subject is meant. Raises UserError; no URL is shown.
        """
        learn_options((text,))
        subjects = self._parts("subjects")
        if not subjects:
            raise UserError(
                "--subject: {experiment} has no subject; its servers are given by --server NAME=URL",
                experiment=self._name,
            )
        named, known = _NAMED.fullmatch(text), listed(subjects)
        if named is None and len(subjects) > 1:
            raise UserError(
                "--subject: {experiment} has several subjects; write NAME=URL, with one of: {known}",
                experiment=self._name,
                known=known,
            )
        name, place = (named[1], named[2]) if named else (next(iter(subjects)), text)
        written = subjects.get(name)
        if not isinstance(written, dict) or not place:
            raise UserError(
                "--subject {name}=...: write URL, PATH or NAME=URL; subjects of {experiment} are: {known}",
                name=name,
                experiment=self._name,
                known=known,
            )
        path = ("subjects", name)
        if self._given.get(path) == "--subject":
            raise UserError(
                "--subject {path}=... is given twice; give all its URLs in one option, separated by commas", path=name
            )
        kind = "url" if "://" in resolve_reference(place) else "manifest"
        left_out = {"manifest", "url", *(("host",) if kind == "url" else ())}
        kept = {key: value for key, value in written.items() if key not in left_out}
        subjects[name] = {**kept, kind: place if kind == "url" else _manifest(place, text)}
        self._given |= {path: "--subject", (*path, kind): "--subject"}

    def put_host(self, text: str) -> None:
        """Put a server or an application on another machine. Raises UserError."""
        name, _, host = text.partition("=")
        room = next((room for room in ("servers", "subjects") if name in self._parts(room)), "")
        if not room or not host:
            raise UserError(
                "--host {text}: write NAME=HOST; parts of {experiment} are: {known}",
                text=text,
                experiment=self._name,
                known=listed([*self._parts("servers"), *self._parts("subjects")]),
            )
        self._put((room, name, "host"), host, "--host")

    def put_whole_trials(self) -> None:
        """Measure applications in whole trials: behind a fleet they would have to stand still in the others' slices.

        Raises UserError.
        """
        if not self._parts("subjects"):
            return
        for key, part in ADD_ON_FIELDS.items():
            if "rounds" in part.model_fields and self._data.get(key) is not None:
                self._put((key, "rounds"), NEVER, "--fleet")
        self._put(("design", "rounds"), NEVER, "--fleet")

    def put_twin(self) -> None:
        """Put a factor that nothing uses, so that each comparison has a condition twice.

        Raises UserError where there is nothing to compare with itself.
        """
        factors = self._parts("factors")
        twin = {"levels": list(TWIN_LEVELS), "alike": True}
        if AA_FACTOR in factors:
            written = factors[AA_FACTOR]
            if isinstance(written, dict) and twin.items() <= written.items():  # a run that is resumed
                return
            raise UserError(
                "--twin: {experiment} has a factor '{twin}' of its own; give that another name",
                experiment=self._name,
                twin=AA_FACTOR,
            )
        if not self._data.get("comparisons"):
            raise UserError("--twin: {experiment} compares nothing; leave it out", experiment=self._name)
        factors[AA_FACTOR] = twin
        path = ("factors", AA_FACTOR)
        self._given |= dict.fromkeys([path, (*path, "levels"), (*path, "alike")], "--twin")


def _put_in(data: dict[str, Any], dotted: Sequence[str], value: Any, option: str) -> Path:
    """Put the value where the path leads; missing mappings are made. The path with numbers for items of lists."""
    at: Any = data
    path: list[str | int] = []
    for part in dotted:
        if path:
            at = _below(at, path[-1])
        if isinstance(at, list):
            path.append(_index(at, str(part), option))
        elif isinstance(at, dict):
            path.append(part)
        else:
            before = ".".join(str(step) for step in path)
            raise UserError(
                "{option}: '{before}' is '{at}' and has nothing below it; shorten the path",
                option=option,
                before=before,
                at=at,
            )
    at[path[-1]] = value
    return tuple(path)


def _below(at: Any, part: str | int) -> Any:
    """What stands at `part`; a new mapping where there is nothing."""
    if isinstance(at, dict) and at.get(str(part)) is None:
        at[str(part)] = {}
    return at[part]


def _index(items: list[Any], part: str, option: str) -> int:
    """Which item of a list is meant: by its number from 0, or by its name if only one has it."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    number = whole_number(part)
    if number is not None and number < len(items):
        return number
    if names.count(part) == 1:
        return names.index(part)
    known = [str(name) for name in names if name is not None and names.count(name) == 1]
    figures = {"option": option, "part": part, "last": len(items) - 1}
    if known:
        raise UserError(
            "{option}: '{part}' is not an index of the list; use a number from 0 to {last} or one of: {known}",
            known=listed(known),
            **figures,
        )
    raise UserError("{option}: '{part}' is not an index of the list; use a number from 0 to {last}", **figures)


def _drop(data: dict[str, Any], path: Path) -> None:
    """Remove what stands at the path, if anything does."""
    at: Any = data
    for part in path[:-1]:
        at = at.get(part) if isinstance(at, dict) else None
    if isinstance(at, dict):
        at.pop(path[-1], None)


def _manifest(place: str, text: str) -> str:
    """A manifest's full path, or the name of a built-in subject. Raises UserError."""
    path = FilePath(place)
    if path.is_file() or (path / MANIFEST).is_file():
        return str(path.absolute())
    if place in names():
        return place
    shown = text if "@" not in text else "..."  # it may be a URL without its scheme, with a password
    meant = said("did you mean http://{place}? ", place=place) if _HOST_AND_PORT.fullmatch(place) else ""
    raise UserError(
        "--subject {shown}: neither a URL nor a manifest; {meant}write http://HOST:PORT, or the path of "
        "a {manifest}, which counts from the current folder; built-in subjects: {names}",
        shown=shown,
        meant=meant,
        manifest=MANIFEST,
        names=listed(names()),
    )


def parse_scale(text: str) -> float:
    """The share that `--scale` stands for: `10 %` and `0.1` are the same. Raises UserError."""
    try:
        return margin_share(float(text) if _PLAIN.fullmatch(text.strip()) else text)
    except ValueError:
        raise UserError(
            "--scale {text}: must be more than 0 and at most 1; write for example 0.1 or 10 %", text=text
        ) from None


def parse_duration_s(text: str, what: str) -> float:
    """Seconds that a text on the command line stands for; `what` is the option.

    Raises UserError: `--budget 20x: '20x' is not a time; write for example ...`.
    """
    try:
        return duration_s(text)
    except ValueError as error:
        raise UserError("{what} {text}: {error}", what=what, text=text, error=error) from None


def check_at_rate(text: str) -> str:
    """What `--at-rate` says, as it is written. Raises UserError."""
    try:
        rate_or_share(text)
    except ValueError as error:
        raise UserError("--at-rate {text}: {error}", text=text, error=error) from None
    return text
