"""What must fit together in the deployed parts: servers, subjects, data, counts, crashes, and what went wrong then."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from loadstone.experiment.software import software_of, with_tables
from loadstone.experiment.spec.experiment import OUR_PREFIX, DataInto, DataSpec, Experiment, SubjectSpec
from loadstone.experiment.spec.levels import REFERENCE, Level, is_level, level_text
from loadstone.experiment.spec.workload import Count, TableCount
from loadstone.experiment.spec.yaml_text import Path
from loadstone.safety.bounds.replies import shortened
from loadstone.text.message import AnyText, said, text_of
from loadstone.text.wording import listed, nearest, shown

_PLACES = re.compile(r"\{([^{}]*)\}")
_DRAWN = re.compile(r"number|uniform -?[0-9]{1,18}\.\.-?[0-9]{1,18}|random [1-9][0-9]{0,5} lowercase")
_COLUMN_REMEDY = said("write {{number}}, {{uniform 1..100}} or {{random 10 lowercase}}")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
NAME_MAX = 80
_KINDS = {"servers": "server", "subjects": "subject", "data": "data set"}


def check_parts(experiment: Experiment) -> None:
    """Raises UserError for the first thing that does not fit, with its line."""
    for section, kind in _KINDS.items():
        for name in getattr(experiment, section):
            _name(experiment, (section, name), name, kind)
    for name, settings in experiment.servers.items():
        check_when(experiment, ("servers", name, "when"), settings.get("when", {}))
    for name, subject in experiment.subjects.items():
        _subject(experiment, ("subjects", name), name, subject)
    for name, data in experiment.data.items():
        _data(experiment, ("data", name), data)
    _target(experiment)
    _count_of(experiment)
    _stored(experiment)
    _lessons(experiment)
    _crashes(experiment)


def _name(experiment: Experiment, at: Path, name: str, kind: str) -> None:
    """The one rule for the names of parts: they become names of files and processes, and stand on command lines."""
    if not _NAME.fullmatch(name):
        problem = said(
            "{name} is not the name of a {kind}; use letters, digits, - and _, a letter first",
            name=shown(name),
            kind=kind,
        )
        raise experiment.source.error((at[0], shortened(name, 40)), problem)
    if len(name) > NAME_MAX:
        problem = said(
            "{name} has {length:,} characters; the name of a {kind} has at most {most}",
            name=shown(name),
            length=len(name),
            kind=kind,
            most=NAME_MAX,
        )
        raise experiment.source.error((at[0], shortened(name, 40)), problem)


def _subject(experiment: Experiment, at: Path, name: str, subject: SubjectSpec) -> None:
    error = experiment.source.error
    if name in experiment.servers:
        raise error(at, said("'{name}' is a server, too; give each part its own name", name=name))
    if (subject.manifest is None) == (subject.url is None):
        if subject.url is None:
            raise error(
                at, said("has neither manifest nor url; write one of them: manifest: spring, or url: http://HOST:PORT")
            )
        raise error(
            at, said("has both manifest and url; write one of them: manifest: spring, or url: http://HOST:PORT")
        )
    check_when(experiment, (*at, "when"), subject.when)
    if subject.manifest is not None and not REFERENCE.search(subject.manifest):
        try:
            experiment.manifest(subject.manifest)
        except ValueError as problem:
            raise error((*at, "manifest"), text_of(problem)) from None


def _data(experiment: Experiment, at: Path, data: DataSpec) -> None:
    for column, template in data.columns.items():
        for place in _PLACES.finditer(template):
            if not _DRAWN.fullmatch(place[1]):
                problem = said("'{place}' is not known here; {remedy}", place=place[0], remedy=_COLUMN_REMEDY)
                raise experiment.source.error((*at, "columns", column), problem)
    for index, into in enumerate(data.into):
        _into(experiment, (*at, "into", index), into, data)


def _into(experiment: Experiment, at: Path, into: DataInto, data: DataSpec) -> None:
    error = experiment.source.error
    _server(experiment, (*at, "server"), into.server)
    check_when(experiment, (*at, "when"), into.when)
    software = software_of(experiment.servers[into.server])
    if software.rows == "table" and (into.table is None or into.commands):
        raise error(
            at, said("{server} is {one}: write `table`, and no `commands`", server=into.server, one=software.one)
        )
    if software.rows == "commands" and (not into.commands or into.table is not None):
        others: AnyText = ""
        for one in with_tables():
            others = said("{others} and no {title}", others=others, title=one.title) if others else one.title
        raise error(
            at, said("{server} is no {others}: write `commands`, and no `table`", server=into.server, others=others)
        )
    for number, command in enumerate(into.commands):
        place: Path = (*at, "commands", number)
        for placeholder in _PLACES.finditer(command):
            if placeholder[1] != "json" and placeholder[1] not in data.columns:
                raise error(
                    place,
                    said(
                        "'{placeholder}' is no column; write {{json}} or one of: {columns}",
                        placeholder=placeholder[0],
                        columns=listed(data.columns),
                    ),
                )
        if not any(word.startswith(OUR_PREFIX) for word in command.split()[1:]):
            raise error(
                place,
                said(
                    "'{command}' names no key that begins with {prefix}, and no other may be written",
                    command=command,
                    prefix=OUR_PREFIX,
                ),
            )


def _target(experiment: Experiment) -> None:
    target = experiment.workload.target
    if isinstance(target, str) and not REFERENCE.search(target) and target:
        parts = [*experiment.subjects, *experiment.servers]
        if target not in parts:
            problem = said(
                "'{target}' is no subject and no server; {hint}there are: {parts}",
                target=target,
                hint=nearest(target, parts),
                parts=listed(parts),
            )
            raise experiment.source.error(("workload", "target"), problem)


def _count_of(experiment: Experiment) -> None:
    name = experiment.workload.keys.get("count_of", "")
    if isinstance(name, str) and name and not REFERENCE.search(name) and name not in experiment.data:
        problem = said(
            "'{name}' is no data set; {hint}data sets are: {data}",
            name=name,
            hint=nearest(name, experiment.data),
            data=listed(experiment.data),
        )
        raise experiment.source.error(("workload", "keys", "count_of"), problem)


def _stored(experiment: Experiment) -> None:
    names = list(dict.fromkeys(operation.name for operation in experiment.workload.operations))
    for index, stored in enumerate(experiment.workload.stored):
        at: Path = ("workload", "stored", index)
        check_when(experiment, (*at, "when"), stored.when)
        _server(experiment, (*at, "server"), stored.server)
        _count(experiment, (*at, "count"), stored.server, stored.count)
        if stored.operation not in names:
            hint = nearest(stored.operation, names)
            problem = said(
                "'{operation}' is no operation; {hint}operations: {names}",
                operation=stored.operation,
                hint=hint,
                names=listed(names),
            )
            raise experiment.source.error((*at, "operation"), problem)


def _lessons(experiment: Experiment) -> None:
    names = experiment.compared_names
    for index, lesson in enumerate(experiment.lessons):
        at: Path = ("lessons", index)
        if lesson.kind in ("check", "comparison") and not lesson.name:
            problem = said(
                "is missing; a lesson of kind {kind} needs the name of the {kind}",
                kind=lesson.kind,
            )
            raise experiment.source.error((*at, "name"), problem)
        if lesson.kind == "comparison" and lesson.name not in names:
            problem = said(
                "'{lesson}' is no comparison; {hint}comparisons are: {names}",
                lesson=lesson.name,
                hint=nearest(lesson.name, names),
                names=listed(names),
            )
            raise experiment.source.error((*at, "name"), problem)
        effects = [effect.name for effect in experiment.effects]
        if lesson.kind == "apart" and lesson.name not in effects:
            problem = said(
                "'{lesson}' names no effects; effects are: {effects}", lesson=lesson.name, effects=listed(effects)
            )
            raise experiment.source.error((*at, "name"), problem)
        searched = {part.SEARCH.group for part in experiment.parts.values() if part.SEARCH is not None}
        if lesson.kind == "saturation" and lesson.kind not in searched:
            raise experiment.source.error((*at, "kind"), said("'saturation' needs saturation points; write saturation"))
        if lesson.kind == "data" and not experiment.data:
            raise experiment.source.error((*at, "kind"), said("'data' needs rows that are there before; write data"))
        if lesson.kind == "stored" and not experiment.workload.stored:
            raise experiment.source.error((*at, "kind"), said("'stored' needs counts; write workload.stored"))


def _crashes(experiment: Experiment) -> None:
    names: list[str] = []
    for index, crash in enumerate(experiment.crashes):
        at: Path = ("crashes", index)
        if crash.name in names:
            raise experiment.source.error(
                (*at, "name"), said("'{crash}' is used twice; give each crash its own name", crash=crash.name)
            )
        names.append(crash.name)
        _server(experiment, (*at, "server"), crash.server)
        if crash.count is not None:
            _count(experiment, (*at, "count"), crash.server, crash.count)
        if crash.promise is not None:
            check_when(experiment, (*at, "promise", "when"), crash.promise.when)
        for factor, levels in crash.vary.items():
            check_levels_once(experiment, (*at, "vary", factor), factor, levels)


def _server(experiment: Experiment, path: Path, name: str) -> None:
    if name not in experiment.servers:
        known = experiment.servers
        problem = said(
            "{name} is no server; {hint}servers are: {known}",
            name=shown(name),
            hint=nearest(name, known),
            known=listed(known),
        )
        raise experiment.source.error(path, problem)


def _count(experiment: Experiment, path: Path, server: str, count: Count) -> None:
    """It is what counts on the server's software: a table, or a command that begins as such a command does."""
    software = software_of(experiment.servers[server])
    if isinstance(count, TableCount):
        count = f"{{table: {count.table}}}"
        if software.rows == "table":
            return
    first = (count.split() or [""])[0]
    if not first:
        raise experiment.source.error(path, said("is empty; {how_to_count}", how_to_count=software.how_to_count))
    if not REFERENCE.search(first) and first.upper() not in software.counts_by:
        problem = said(
            "{count} does not count on {server}, {one}; {how_to_count}",
            count=shown(count),
            server=server,
            one=software.one,
            how_to_count=software.how_to_count,
        )
        raise experiment.source.error(path, problem)


def check_when(experiment: Experiment, path: Path, when: object) -> None:
    """The factors and levels of a `when`, of one that was read as any data, too."""
    if not isinstance(when, Mapping):
        raise experiment.source.error(path, said("{when} is not a mapping; write factor: level", when=shown(when)))
    for factor, required in when.items():
        levels = required if isinstance(required, list | tuple) else (required,)
        for level in levels:
            if not isinstance(level, Level):
                raise experiment.source.error(
                    (*path, factor), said("{level} is no level; write a text or a number", level=shown(level))
                )
        check_levels(experiment, (*path, factor), factor, levels)


def check_levels_once(experiment: Experiment, path: Path, factor: str, levels: tuple[Level, ...]) -> None:
    """Levels of a factor that is varied: at least one, and each once."""
    check_levels(experiment, path, factor, levels)
    if not levels:
        raise experiment.source.error(path, said("has no level; write the levels to vary, or remove the factor"))
    for place, level in enumerate(levels):
        if is_level(level, levels[:place]):
            raise experiment.source.error(
                (*path, place), said("'{level}' is given twice; remove it", level=level_text(level))
            )


def check_levels(experiment: Experiment, path: Path, factor: str, levels: Iterable[Any]) -> None:
    """The factor must exist, and each level must be one of its levels."""
    if factor not in experiment.factors:
        known = experiment.factors
        problem = said(
            "'{factor}' is no factor; {hint}factors are: {known}",
            factor=factor,
            hint=nearest(factor, known),
            known=listed(known),
        )
        raise experiment.source.error(path, problem)
    for level in levels:
        if not is_level(level, experiment.factors[factor].levels):
            raise experiment.source.error(path, no_level(level, factor, experiment.factors[factor].levels))


def no_level(level: Level, factor: str, levels: Iterable[Level]) -> AnyText:
    """That a level is none of a factor's, and which there are."""
    texts = [level_text(known) for known in levels]
    text = level_text(level)
    quoted = isinstance(level, str) and text in texts
    hint = said("write it without quotes; ") if quoted else nearest(text, texts)
    return said(
        "'{text}' is no level of {factor}; {hint}levels are: {levels}",
        text=text,
        factor=factor,
        hint=hint,
        levels=listed(texts),
    )
