"""What a run set out to measure, and what `--quick` alone would have: the rest was left out otherwise."""

from loadstone.analyse.answers import Planned
from loadstone.analyse.tables import tables_of_mode
from loadstone.record.reading import Run
from loadstone.spec.experiment import conditions_of_effects, conditions_varied


def planned_by(run: Run) -> Planned:
    """The conditions and comparisons of the run's plan."""
    compared = {group.name for group in run.plan.groups if group.pairs}
    conditions = [line.condition for line in run.plan.trials]
    return Planned(conditions, compared, quick=run.plan.quick, of_quick=_of_quick(run) if run.plan.quick else None)


def _of_quick(run: Run) -> Planned:
    """What `--quick` leaves in of the whole experiment, whatever `--only` names."""
    compared, tables = [one for one in run.experiment.comparisons if one.quick], tables_of_mode(run)
    conditions = [one for table in tables for one in conditions_varied(run.experiment, table.varied(quick=True))]
    for one in compared:
        places = one.at if one.quick_at is None else one.quick_at
        conditions += conditions_varied(run.experiment, {**places, one.between: one.levels})
    effects = [one for one in run.experiment.effects if one.quick]
    for factorial in effects:
        conditions += conditions_of_effects(run.experiment, factorial)
    return Planned(conditions, {*(one.name for one in compared), *(one.name for one in effects)}, quick=True)
