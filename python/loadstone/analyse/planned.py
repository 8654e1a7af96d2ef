"""What a run set out to measure, and what `--quick` alone would have: the rest was left out otherwise."""

from collections.abc import Iterator, Mapping
from itertools import product

from loadstone.analyse.answers import Planned
from loadstone.analyse.tables import tables_of_mode
from loadstone.record.reading import Run
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import Condition, Level


def planned_by(run: Run) -> Planned:
    """The conditions and comparisons of the run's plan."""
    compared = {group.name for group in run.plan.groups if group.pairs}
    conditions = [line.condition for line in run.plan.trials]
    return Planned(conditions, compared, quick=run.plan.quick, of_quick=_of_quick(run) if run.plan.quick else None)


def _of_quick(run: Run) -> Planned:
    """What `--quick` leaves in of the whole experiment, whatever `--only` names."""
    compared = [one for one in run.experiment.comparisons if one.quick]
    conditions = [one for table in tables_of_mode(run) for one in _conditions(run.experiment, table.varied(quick=True))]
    for one in compared:
        places = one.at if one.quick_at is None else one.quick_at
        conditions += _conditions(run.experiment, {**places, one.between: one.levels})
    effects = [one for one in run.experiment.effects if one.quick]
    for factorial in effects:
        levels = {name: run.experiment.factors[name].levels for name in factorial.factors}
        fixed = {name: (level,) for name, level in factorial.where.items()}
        conditions += _conditions(run.experiment, {**fixed, **levels})
    return Planned(conditions, {*(one.name for one in compared), *(one.name for one in effects)}, quick=True)


def _conditions(experiment: Experiment, vary: Mapping[str, tuple[Level, ...]]) -> Iterator[Condition]:
    usual = {name: factor.usual for name, factor in experiment.factors.items()}
    return (usual | dict(zip(vary, levels, strict=True)) for levels in product(*vary.values()))
