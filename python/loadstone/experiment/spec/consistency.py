"""What must fit together in an experiment: names, levels, references, and that something uses each factor.

Each problem is one UserError.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from loadstone.experiment.spec.consistency_of_parts import (
    check_levels,
    check_levels_once,
    check_parts,
    check_when,
    no_level,
)
from loadstone.experiment.spec.counting import check_counts
from loadstone.experiment.spec.experiment import (
    ComparisonSpec,
    Conclusion,
    Effects,
    Experiment,
    Factor,
    search_of,
)
from loadstone.experiment.spec.levels import REFERENCE, Level, factors_in, is_level, level_text
from loadstone.experiment.spec.yaml_text import Path, in_one_line
from loadstone.safety.bounds.replies import shortened
from loadstone.text.message import said
from loadstone.text.units import duration_s
from loadstone.text.wording import listed, nearest, shown

SLICE_MIN_S, SLICE_MAX_S = 0.02, 60.0
"""A shorter slice is mostly set-up; a longer one is a trial."""
_TAKEN = re.compile(r"table(-\d+)?|at-rate")
"""What groups of conditions outside of every comparison are called, beside those of add-ons."""
_METRICS = tuple(name for one in get_args(Effects.model_fields["metric"].annotation) for name in get_args(one))


def cross_check(experiment: Experiment) -> None:
    """Raises UserError for the first thing that does not fit, with its line."""
    for name, factor in experiment.factors.items():
        _factor(experiment, name, factor)
    _tables(experiment)
    _as_published(experiment)
    for part in ("servers", "subjects", "data", "workload", "crashes", "quick", "as_published"):
        for path, text in _texts(experiment.source.data.get(part), (part,)):
            _references(experiment, path, text)
    _operations(experiment)
    _comparisons(experiment)
    _names(experiment)
    _effects(experiment)
    _design(experiment)
    for key, of_add_on in experiment.parts.items():
        of_add_on.check(experiment, key)
    _goals(experiment)
    check_counts(experiment)
    _published(experiment)
    for index, conclusion in enumerate(experiment.conclusions):
        _conclusion(experiment, ("conclusions", index), conclusion)
    check_parts(experiment)


def may_be_a_slice(length: str | float | None) -> bool:
    """Whether a slice may be so long; None: as long as by the rule."""
    return length is None or SLICE_MIN_S <= duration_s(length) <= SLICE_MAX_S


def _design(experiment: Experiment) -> None:
    lengths = {
        ("design", "slice"): experiment.design.slice,
        ("quick", "design", "slice"): experiment.quick.design.slice,
    }
    for at, length in lengths.items():
        if not may_be_a_slice(length):
            problem = said(
                "{length} is no length of a slice; write 20 ms to 60 s, or leave it out for 100 ms",
                length=shown(length),
            )
            raise experiment.source.error(at, problem)


def _goals(experiment: Experiment) -> None:
    for index, goal in enumerate(experiment.goals):
        for factor, levels in goal.vary.items():
            check_levels_once(experiment, ("goals", index, "vary", factor), factor, levels)


def _factor(experiment: Experiment, name: str, factor: Factor) -> None:
    error, at = experiment.source.error, ("factors", name)
    if len(name) > 80 or not name.replace("_", "").isalnum() or not name.isascii() or not name[0].isalpha():
        at = ("factors", shortened(name, 40))
        if len(name) > 80:
            raise error(
                at,
                said(
                    "{name} is not a factor's name; use letters, digits and underscores, a letter first, at most 80",
                    name=shown(name),
                ),
            )
        raise error(
            at,
            said(
                "{name} is not a factor's name; use letters, digits and underscores, a letter first", name=shown(name)
            ),
        )
    texts = [level_text(level) for level in factor.levels]
    for index, text in enumerate(texts):
        if not text or text in texts[:index]:
            problem = said("'{text}' is given twice; remove it", text=text) if text else said("'' is empty; remove it")
            raise error((*at, "levels", index), problem)
    if factor.default is not None and not is_level(factor.default, factor.levels):
        raise error((*at, "default"), no_level(factor.default, name, factor.levels))
    _off_by_default(experiment, name, factor)
    for level, values in factor.values.items():
        if level not in texts:
            raise error((*at, "values", level), no_level(level, name, factor.levels))
        missing = [key for other in factor.values.values() for key in other if key not in values]
        if missing:
            raise error(
                (*at, "values", level),
                said("'{missing}' is missing, which other levels have; write it", missing=missing[0]),
            )
    without = [text for text in texts if text not in factor.values]
    if factor.values and without:
        raise error((*at, "values"), said("the level '{level}' has no values; write them", level=without[0]))


def _off_by_default(experiment: Experiment, name: str, factor: Factor) -> None:
    """They are levels, some are left, and so is the one that stands where a table names none."""
    at: Path = ("factors", name, "off_by_default")
    if not factor.off_by_default:
        return
    check_levels_once(experiment, at, name, factor.off_by_default)
    if not factor.on_by_default:
        raise experiment.source.error(
            at, said("turns off every level of {name}; leave at least one out of it", name=name)
        )
    if not is_level(factor.usual, factor.on_by_default):
        usual = level_text(factor.usual)
        remedy = said(
            "leave it out, or name another level as 'default: {level}'",
            level=level_text(factor.on_by_default[0]),
        )
        problem = said(
            "'{usual}' is the level where a table or a comparison names none, and must be on; {remedy}",
            usual=usual,
            remedy=remedy,
        )
        raise experiment.source.error(at, problem)


def _tables(experiment: Experiment) -> None:
    names: list[str] = []
    for index, table in enumerate(experiment.tables):
        at: Path = ("tables", index)
        if table.name in names:
            raise experiment.source.error(
                (*at, "name"), said("'{table}' is used twice; give each table its own name", table=table.name)
            )
        names.append(table.name)
        for factor, levels in table.vary.items():
            check_levels_once(experiment, (*at, "vary", factor), factor, levels)
        for factor, levels in table.quick_only.items():
            _left_in(experiment, (*at, "quick_only", factor), levels, table.vary.get(factor, ()))


def _left_in(experiment: Experiment, at: Path, levels: tuple[Level, ...], varied: tuple[Level, ...]) -> None:
    """`--quick` leaves levels in that the table has, and some at least."""
    if not levels:
        raise experiment.source.error(at, said("leaves nothing in; name a level, or write 'quick: false'"))
    for level in levels:
        if not is_level(level, varied):
            known = listed(level_text(one) for one in varied) or "none"
            problem = said(
                "'{level}' is not varied here; of {at} there are: {known}",
                level=level_text(level),
                at=at[-1],
                known=known,
            )
            raise experiment.source.error(at, problem)


def _comparisons(experiment: Experiment) -> None:
    for index, comparison in enumerate(experiment.comparisons):
        at: Path = ("comparisons", index)
        _between(experiment, at, comparison)
        for key, places in (("at", comparison.at), ("quick_at", comparison.quick_at or {})):
            for factor, levels in places.items():
                if factor == comparison.between:
                    problem = said(
                        "'{factor}' is what is compared; remove it here, or compare between another factor",
                        factor=factor,
                    )
                    raise experiment.source.error((*at, key, factor), problem)
                check_levels_once(experiment, (*at, key, factor), factor, levels)


def _names(experiment: Experiment) -> None:
    """Comparisons, effects and goals have names of their own: their conditions are measured apart."""
    names: list[str] = []
    for section in ("comparisons", "effects", "goals"):
        for index, one in enumerate(getattr(experiment, section)):
            at: Path = (section, index, "name")
            if _TAKEN.fullmatch(one.name) or search_of(one.name) is not None:
                problem = said("'{one}' is a reserved name of loadstone; choose another one", one=one.name)
                raise experiment.source.error(at, problem)
            if one.name in names:
                raise experiment.source.error(
                    at, said("'{one}' is used twice; give it a name of its own", one=one.name)
                )
            names.append(one.name)


def _between(experiment: Experiment, at: Path, comparison: ComparisonSpec) -> None:
    """The factor that is compared, its levels, and the baseline."""
    factor, levels, baseline = comparison.between, comparison.levels, comparison.baseline
    check_levels(experiment, (*at, "between"), factor, ())
    check_levels_once(experiment, (*at, "levels"), factor, levels)
    if baseline is not None and not is_level(baseline, levels):
        known = listed(level_text(level) for level in levels)
        problem = said(
            "'{baseline}' is none of the levels that are compared; they are: {known}",
            baseline=level_text(baseline),
            known=known,
        )
        raise experiment.source.error((*at, "baseline"), problem)


def _as_published(experiment: Experiment) -> None:
    names = [table.name for table in experiment.tables]
    for index, name in enumerate(experiment.as_published.tables if experiment.as_published else ()):
        if name not in names:
            problem = said(
                "'{name}' is no table; {hint}tables are: {names}",
                name=name,
                hint=nearest(name, names),
                names=listed(names),
            )
            raise experiment.source.error(("as_published", "tables", index), problem)


def _references(experiment: Experiment, path: Path, text: str) -> None:
    """Every `${...}` in a text must name a factor, or a value behind its levels."""
    for match in REFERENCE.finditer(text):
        name, _, value = match[1].partition(".")
        if name not in experiment.factors:
            known = experiment.factors
            problem = said(
                "'{match}' names no factor; {hint}factors are: {known}",
                match=match[0],
                hint=nearest(name, known),
                known=listed(known),
            )
            raise experiment.source.error(path, problem)
        behind = next(iter(experiment.factors[name].values.values()), {})
        if value and value not in behind:
            problem = said(
                "'{match}' names no value of {name}; {hint}values are: {behind}",
                match=match[0],
                name=name,
                hint=nearest(value, behind),
                behind=listed(behind),
            )
            raise experiment.source.error(path, problem)


def _operations(experiment: Experiment) -> None:
    workload = experiment.workload
    for index, operation in enumerate(workload.operations):
        check_when(experiment, ("workload", "operations", index, "when"), operation.when)
    for index, model in enumerate(workload.models):
        check_when(experiment, ("workload", "models", index, "when"), model.when)
    names = list(dict.fromkeys(operation.name for operation in workload.operations))
    for index, load in enumerate(workload.load):
        at: Path = ("workload", "load", index)
        check_when(experiment, (*at, "when"), load.when)
        if load.operation not in names:
            problem = said(
                "'{operation}' is no operation; {hint}operations: {names}",
                operation=load.operation,
                hint=nearest(load.operation, names),
                names=listed(names),
            )
            raise experiment.source.error((*at, "operation"), problem)


def _published(experiment: Experiment) -> None:
    for number, published in enumerate(experiment.published):
        for index, row in enumerate(published.rows):
            at: Path = ("published", number, "rows", index)
            check_when(experiment, (*at, "where"), row.where)
            check_levels(experiment, (*at, "along"), row.along, ())
            check_levels(experiment, (*at, "levels"), row.along, row.levels)
            if len(row.levels) != len(row.values):
                problem = said(
                    "has {values} values for {levels} levels; write one value for each level",
                    values=len(row.values),
                    levels=len(row.levels),
                )
                raise experiment.source.error((*at, "values"), problem)


def _conclusion(experiment: Experiment, at: Path, conclusion: Conclusion) -> None:
    check_when(experiment, (*at, "where"), conclusion.where)
    check_when(experiment, (*at, "against"), conclusion.against)
    names = experiment.compared_names
    if conclusion.comparison is not None and conclusion.comparison not in names:
        word = conclusion.comparison
        problem = said(
            "'{word}' is no comparison; {hint}comparisons are: {names}",
            word=word,
            hint=nearest(word, names),
            names=listed(names),
        )
        raise experiment.source.error((*at, "comparison"), problem)
    needed = {"at_least": "value", "ratio": "against", "pool_wait": "against", "beyond": "answer"}[conclusion.kind]
    if getattr(conclusion, needed) in (None, "", {}):
        raise experiment.source.error(
            (*at, needed),
            said("is missing; a conclusion of kind {kind} needs it", kind=conclusion.kind),
        )
    if conclusion.kind == "ratio" and conclusion.value is not None and conclusion.value <= -1:
        problem = said(
            "is {value:g}; a ratio less one is above -1: write -0.24 for 24 % less",
            value=conclusion.value,
        )
        raise experiment.source.error((*at, "value"), problem)


def _texts(data: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text in plain data, with its path."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(value, (*path, key))
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            yield from _texts(value, (*path, index))


def _effects(experiment: Experiment) -> None:
    for index, effects in enumerate(experiment.effects):
        at: Path = ("effects", index)
        _combined(experiment, at, effects)
        for factor, level in effects.reference.items():
            check_levels(experiment, (*at, "reference", factor), factor, (level,))
            if factor not in effects.factors:
                problem = said(
                    "'{factor}' is none of the factors that are combined; they are: {factors}",
                    factor=factor,
                    factors=listed(effects.factors),
                )
                raise experiment.source.error((*at, "reference", factor), problem)
        for factor, level in effects.where.items():
            check_levels(experiment, (*at, "where", factor), factor, (level,))
            if factor in effects.factors:
                problem = said("'{factor}' is combined with the others; remove it here, or from factors", factor=factor)
                raise experiment.source.error((*at, "where", factor), problem)
        if effects.metric is None and experiment.primary_metric not in _METRICS:
            problem = said(
                "is missing, and {primary_metric} has no effects; write one of: {metrics}",
                primary_metric=experiment.primary_metric,
                metrics=listed(_METRICS),
            )
            raise experiment.source.error((*at, "metric"), problem)


def _combined(experiment: Experiment, at: Path, effects: Effects) -> None:
    for place, name in enumerate(effects.factors):
        check_levels(experiment, (*at, "factors", place), name, ())
        if name in effects.factors[:place]:
            raise experiment.source.error(
                (*at, "factors", place), said("'{name}' is given twice; remove it", name=name)
            )
        if len(experiment.factors[name].levels) < 2:
            problem = said(
                "'{name}' has one level only, which changes nothing; remove it, or give it another level", name=name
            )
            raise experiment.source.error((*at, "factors", place), problem)


_PARTS = ("servers", "subjects", "data", "workload")
"""What a trial is made of. What `--quick` and `--as-published` replace is measured by those alone."""


def check_used(experiment: Experiment, written: Mapping[str, Any]) -> None:
    """Raises UserError for the first factor of several levels that no text and no `when` of a trial names.

    Levels that nothing uses are measured alike, and their comparison ends in a confident EQUIVALENT about nothing.
    `written`: the experiment without what options put in the place of a factor, which is no slip.
    """
    parts = [data.get(part) for data in (experiment.source.data, written) for part in _PARTS]
    used = {name for part in parts for name in _factors_used(part)}
    for name, factor in experiment.factors.items():
        if len(factor.levels) > 1 and name not in used and not factor.alike:
            when = in_one_line({name: [factor.levels[0]]})
            problem = said(
                "nothing uses it: its levels would be measured alike; write ${{{name}}} or when: {when}, or "
                "alike: true if that is meant",
                name=name,
                when=when,
            )
            raise experiment.source.error(("factors", name), problem)


def _factors_used(data: Any) -> Iterator[str]:
    """The factors that stand in texts and in each `when`."""
    if isinstance(data, str):
        yield from factors_in(data)
    elif isinstance(data, Mapping):
        when = data.get("when")
        yield from when if isinstance(when, Mapping) else ()
        for value in data.values():
            yield from _factors_used(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _factors_used(item)
