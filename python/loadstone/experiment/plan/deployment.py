"""What a condition wants to find when its trials start: servers, subjects, rows, counts, and who gets the load."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.required import HOST_NAME, THIS_MACHINE, RequiredData, RequiredSubject, StoredCount
from loadstone.experiment.plan.subject_keys import is_other_prefix
from loadstone.experiment.plan.substitute import FieldError, FieldPath, PlanMode, condition_text, resolve_factors
from loadstone.experiment.software import software_of
from loadstone.experiment.spec.driver_names import NATIVE, resolved
from loadstone.experiment.spec.experiment import OUR_PREFIX, DataInto, DataSpec, Experiment, SubjectSpec
from loadstone.experiment.spec.levels import Condition, factors_in, level_text, matches
from loadstone.experiment.spec.part import Duration
from loadstone.experiment.spec.subject_names import is_built_in
from loadstone.experiment.spec.workload import TableCount
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said, text_of
from loadstone.text.units import BYTES, duration_s, parse

ROWS_MAX = 1_000_000_000
REPLICAS_MAX = 64
CPU_MIN = 0.01
MEMORY_MIN_BYTES = 4 * 1024**2


@dataclass(frozen=True)
class Deployment:
    """The parts of one condition, after substitution; see `PlannedTrial`, which has the same fields."""

    servers: dict[str, dict[str, object]]
    subjects: Mapping[str, RequiredSubject]
    data: tuple[RequiredData, ...]
    stored: tuple[StoredCount, ...]
    target: str | None
    driver: str = NATIVE

    @property
    def targets(self) -> tuple[str, ...]:
        """The parts that get the load, by name."""
        return (self.target,) if self.target is not None else tuple(self.subjects) or tuple(self.servers)

    @property
    def replicas(self) -> int:
        """Return how many endpoints a subject that gets the load has; 1 of a server."""
        return sum(self.subjects[name].replicas for name in self.targets if name in self.subjects) or 1


class DeploymentPlanner:
    """Makes the deployment of any condition of one experiment in one mode."""

    def __init__(self, experiment: Experiment, mode: PlanMode) -> None:
        self._experiment = experiment
        self._mode = mode

    def deployment(self, condition: Condition) -> Deployment:
        """The parts of a condition. Raises UserError with the line of what is wrong."""
        servers = {
            name: {key: value for key, value in self._filled(settings, condition).items() if key != "when"}
            for name, settings in self._experiment.servers.items()
            if matches(condition, settings.get("when", {}))
        }
        subjects = {
            name: _required_subject(self._experiment, name, condition, self._mode)
            for name, subject in self._experiment.subjects.items()
            if matches(condition, subject.when)
        }
        return Deployment(
            servers=servers,
            subjects=subjects,
            data=tuple(self._data(condition, servers)),
            stored=tuple(self._stored(condition, servers)),
            target=self._target(condition, servers, subjects),
            driver=self._driver(condition),
        )

    def rows(self, name: str, condition: Condition, path: FieldPath) -> int:
        """The rows of a data set, which a word at `path` of the workload names. Raises FieldError."""
        if name not in self._experiment.data:
            known = ", ".join(self._experiment.data) or "none"
            raise FieldError(path, said("'{name}' is no data set; data sets are: {known}", name=name, known=known))
        return self._rows(name, condition)

    def _filled(self, value: Any, condition: Condition) -> Any:
        return resolve_factors(value, condition, self._experiment.factors)

    def _rows(self, name: str, condition: Condition) -> int:
        """Written rows times the scale."""
        rows = self._filled(self._experiment.data[name].rows, condition)
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= ROWS_MAX:
            problem = said(
                "'{rows}' is not a number of rows; write a whole number of at least 1, without a unit", rows=rows
            )
            raise self._experiment.source.error(("data", name, "rows"), problem)
        return self._mode.scaled(rows)

    def _data(self, condition: Condition, servers: Mapping[str, object]) -> Iterator[RequiredData]:
        for name, data in self._experiment.data.items():
            places: set[str] = set()
            for index, into in enumerate(data.into):
                if into.server not in servers or not matches(condition, into.when):
                    continue
                if into.server in places:
                    problem = said(
                        "is written to {server} twice for {condition}; narrow one `when`",
                        server=into.server,
                        condition=condition_text(condition),
                    )
                    raise self._experiment.source.error(("data", name, "into", index), problem)
                places.add(into.server)
                yield self._required_data(name, data, into, condition)

    def _required_data(self, name: str, data: DataSpec, into: DataInto, condition: Condition) -> RequiredData:
        filled = partial(self._filled, condition=condition)
        return RequiredData(
            name=name,
            rows=self._rows(name, condition),
            columns={column: str(filled(template)) for column, template in data.columns.items()},
            server=into.server,
            table=None if into.table is None else str(filled(into.table)),
            commands=tuple(str(filled(command)) for command in into.commands),
            seed=derived_seed(1, "data", name),
        )

    def _stored(self, condition: Condition, servers: Mapping[str, object]) -> Iterator[StoredCount]:
        workload = self._experiment.workload
        there = {
            operation.name
            for operation in workload.operations
            if operation.weight > 0 and matches(condition, operation.when)
        }
        counted: set[str] = set()
        for index, stored in enumerate(workload.stored):
            if stored.operation not in there or not matches(condition, stored.when):
                continue
            at: FieldPath = ("workload", "stored", index)
            if stored.server not in servers:
                raise self._error((*at, "server"), said("'{server}' is not there", server=stored.server), condition)
            if stored.operation in counted:
                raise self._error(
                    (*at, "operation"), said("'{operation}' is counted twice", operation=stored.operation), condition
                )
            counted.add(stored.operation)
            count = stored.count.table if isinstance(stored.count, TableCount) else stored.count
            filled = str(self._filled(count, condition))
            yield StoredCount(operation=stored.operation, server=stored.server, count=filled)

    def _error(self, path: FieldPath, problem: AnyText, condition: Condition) -> UserError:
        told = said("{problem} for {condition}; narrow a `when`", problem=problem, condition=condition_text(condition))
        return self._experiment.source.error(path, told)

    def _driver(self, condition: Condition) -> str:
        """What makes the load. It must be there."""
        written, path = self._filled(self._experiment.workload.driver, condition), ("workload", "driver")
        if not isinstance(written, str) or not written:
            raise self._experiment.source.error(
                path,
                said("'{written}' is not a name; write {native} or that of a driver", written=written, native=NATIVE),
            )
        try:
            return resolved(written, self._experiment.source.folder)
        except ValueError as problem:
            raise self._experiment.source.error(path, text_of(problem)) from None

    def _target(
        self, condition: Condition, servers: Mapping[str, Mapping[str, Any]], subjects: Mapping[str, RequiredSubject]
    ) -> str | None:
        """Who gets the load; None: the subject, or else every server. It must be one that can."""
        written = self._filled(self._experiment.workload.target, condition)
        path: FieldPath = ("workload", "target")
        if written is not None and not isinstance(written, str):
            raise self._experiment.source.error(
                path, said("'{written}' is not a name; write that of a subject or a server", written=written)
            )
        parts = [*subjects, *servers]
        if written and written not in parts:
            known = ", ".join(parts) or said("nothing")
            problem = said(
                "'{written}' is not there for {condition}; there is: {known}",
                written=written,
                condition=condition_text(condition),
                known=known,
            )
            raise self._experiment.source.error(path, problem)
        if not written and len(subjects) > 1:
            problem = said(
                "{condition} has several subjects; name the one that gets the load", condition=condition_text(condition)
            )
            raise self._experiment.source.error(path, problem)
        if not parts:
            problem = said(
                "there is neither a server nor a subject for {condition}; widen a `when`",
                condition=condition_text(condition),
            )
            raise self._experiment.source.error(("servers",), problem)
        requested = [written] if written else [] if subjects else list(servers)
        for name in (name for name in requested if name in servers):
            software = software_of(servers[name])
            if software.takes_load:
                continue
            problem = said(
                "'{name}' is {software} and takes no load itself ({condition}); name another",
                name=name,
                software=software.one,
                condition=condition_text(condition),
            )
            raise self._experiment.source.error(path, problem)
        return written or None


def _required_subject(experiment: Experiment, name: str, condition: Condition, mode: PlanMode) -> RequiredSubject:
    """The subject `name` under a condition. Raises UserError with the line of what is wrong."""
    written = experiment.subjects[name]
    at: FieldPath = ("subjects", name)
    subject = SubjectSpec.model_construct(**resolve_factors(written.model_dump(), condition, experiment.factors))
    replicas = _replicas(experiment, at, subject.replicas)
    limits = _limits(experiment, at, subject.limits)
    environment = _environment(experiment, at, subject.environment)
    warm_up_s = _warm_up_s(experiment, subject.warm_up, mode)
    if written.url is not None:
        urls = _urls(experiment, at, str(subject.url))
        return RequiredSubject(urls=urls, replicas=len(urls), warm_up_s=warm_up_s)
    try:
        manifest = experiment.manifest(str(subject.manifest))
    except ValueError as problem_there:
        raise experiment.source.error((*at, "manifest"), str(problem_there)) from None
    if is_built_in(manifest):
        _check_prefixes(experiment, at, environment)
    return RequiredSubject(
        manifest=str(manifest),
        replicas=replicas,
        limits=limits,
        environment=environment,
        warm_up_s=warm_up_s,
        host=_host(experiment, at, subject.host),
    )


def _host(experiment: Experiment, at: FieldPath, value: Any) -> str | None:
    """The name of a monitor of the fleet; None: this machine."""
    if value in (None, "", THIS_MACHINE):
        return None
    if not isinstance(value, str) or not HOST_NAME.fullmatch(value):
        problem = said("'{value}' is not the name of a host; write that of a monitor of the fleet", value=value)
        raise experiment.source.error((*at, "host"), problem)
    return value


def _replicas(experiment: Experiment, at: FieldPath, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= REPLICAS_MAX:
        problem = said(
            "'{value}' is not a number of replicas; write a whole number from 1 to {most}",
            value=value,
            most=REPLICAS_MAX,
        )
        raise experiment.source.error((*at, "replicas"), problem)
    return value


def _limits(experiment: Experiment, at: FieldPath, values: Mapping[str, Any]) -> dict[str, object]:
    """CPUs and bytes; without those that are an empty text."""
    limits: dict[str, object] = {}
    for key, value in values.items():
        path: FieldPath = (*at, "limits", key)
        if key not in ("cpu", "memory"):
            raise experiment.source.error(path, said("unknown key; known here: cpu, memory"))
        if value != "":
            limits[key] = _cpu(experiment, path, value) if key == "cpu" else _memory(experiment, path, value)
    return limits


def _cpu(experiment: Experiment, path: FieldPath, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < CPU_MIN:
        raise experiment.source.error(
            path, said("'{value}' is not a number of CPUs; write for example 0.5", value=value)
        )
    return float(value)


def _memory(experiment: Experiment, path: FieldPath, value: Any) -> int:
    try:
        size = parse(value, BYTES) if isinstance(value, str) else value
    except ValueError as problem:
        raise experiment.source.error(path, text_of(problem)) from None
    if isinstance(size, bool) or not isinstance(size, int) or size < MEMORY_MIN_BYTES:
        raise experiment.source.error(
            path, said("'{value}' is too little or no size; write for example 512 MB", value=value)
        )
    return size


def _environment(experiment: Experiment, at: FieldPath, values: Mapping[str, Any]) -> dict[str, str]:
    for key, value in values.items():
        if not isinstance(value, str | bool | int | float):
            raise experiment.source.error(
                (*at, "environment", key), said("'{value}' is not a text; put it in quotes", value=value)
            )
    return {key: level_text(value) for key, value in values.items()}


def _check_prefixes(experiment: Experiment, at: FieldPath, environment: Mapping[str, str]) -> None:
    """Raises UserError: a variable sets a prefix of keys that could be another's."""
    for name, value in environment.items():
        if is_other_prefix(name, value):
            problem = said(
                "'{value}' is not a prefix of keys that can be told from those of others; begin it with "
                "{our_prefix}NAME:",
                value=value,
                our_prefix=OUR_PREFIX,
            )
            raise experiment.source.error((*at, "environment", name), problem)


def _urls(experiment: Experiment, at: FieldPath, text: str) -> tuple[str, ...]:
    urls = split_urls(text)
    if not urls or not all(url.startswith(("http://", "https://")) for url in urls):
        problem = said("the URL of a subject begins with http:// or https://; separate several by commas")
        raise experiment.source.error((*at, "url"), problem)
    return urls


def _warm_up_s(experiment: Experiment, written: Duration | None, mode: PlanMode) -> float | None:
    quick = experiment.quick.warm_up if mode.quick else None
    warm_up = written if quick is None else quick
    return None if warm_up is None else duration_s(warm_up)


def check_started_by_user(experiment: Experiment, conditions: Iterable[Condition]) -> None:
    """Raises UserError where a subject by URL would have to be started otherwise for some of the conditions."""
    measured = list(conditions)
    for name, subject in experiment.subjects.items():
        if subject.url is None:
            continue
        there = [condition for condition in measured if matches(condition, subject.when)]
        place, urls = experiment.source.place(("subjects", name)), len(split_urls(subject.url))
        for factor in factors_of_start(subject.environment, subject.limits, subject.replicas):
            levels = list(dict.fromkeys(level_text(condition[factor]) for condition in there))
            if len(levels) > 1:
                raise UserError(
                    "{place}: {factor} changes what {name} is started with; choose one level: --only {factor}={levels}",
                    place=place,
                    factor=factor,
                    name=name,
                    levels=levels[0],
                )
        replicas = resolve_factors(subject.replicas, there[0], experiment.factors) if there else urls
        if replicas not in (subject.replicas, urls):
            raise UserError(
                "{place}: replicas of {name} are {replicas}, and URLs given are {urls}; give one for each",
                place=place,
                name=name,
                replicas=replicas,
                urls=urls,
            )


def split_urls(text: str) -> tuple[str, ...]:
    """The URLs of replicas, which stand between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def factors_of_start(*parts: Any) -> list[str]:
    """The factors that stand in settings of a subject, each once."""
    return list(dict.fromkeys(name for part in parts for text in _texts(part) for name in factors_in(text)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
