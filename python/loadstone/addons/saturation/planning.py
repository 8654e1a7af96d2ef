"""Plans where it is looked for a saturation point: a template a condition, and how long that may take."""

from collections.abc import Sequence

from loadstone.addons.saturation.spec import Saturate, SaturationSettings, SaturationSpec, settings_of
from loadstone.experiment.plan.design.planned_search import SearchContext
from loadstone.experiment.plan.run_plan import PlannedTrial, SearchPlan
from loadstone.experiment.spec.driver_names import NATIVE, DriverWord
from loadstone.experiment.spec.levels import Condition
from loadstone.text.language import said
from loadstone.text.message import message

SERVER_S, APPLICATION_S, OPEN_S = 60.0, 140.0, 120.0
"""What it is taken to take until a condition's saturation point is found: of a server, behind an application; and in
addition in the open model."""


def planned_search(spec: Saturate, asked: SearchContext) -> SearchPlan | None:
    """With `load: saturate` of all chosen conditions, else of those of `saturation.vary`; None where there are none.

    Raises UserError where a condition's driver is a program.
    """
    conditions = _conditions(spec, asked)
    if not conditions:
        return None
    trials = []
    for number, condition in enumerate(conditions, start=1):
        trial = asked.template(condition, number)
        if trial.driver != NATIVE:
            problem = said(
                "'{driver}' cannot take turns, and a saturation is measured so; write {native}, or leave it out of "
                "`vary`",
                driver=DriverWord.of(trial.driver).place,
                native=NATIVE,
            )
            raise asked.experiment.source.error(("workload", "driver"), problem)
        trials.append(trial)
    settings = settings_of(spec, quick=asked.quick)
    ramp = settings.classical
    ramp_s = None if ramp is None else ramp.seconds
    expected_s = searches_s(settings, trials) + (ramp_s or 0.0) * len(trials)
    announced = message(
        "plan_saturation",
        conditions=len(trials),
        time_s=expected_s,
        objective=settings.objective if settings.model == "open" else None,
        sweeps=settings.sweeps,
        ramp_s=ramp_s,
    )
    return SearchPlan(settings.model_dump(mode="json"), tuple(trials), expected_s, announced)


def searches_s(settings: SaturationSettings, trials: Sequence[PlannedTrial]) -> float:
    """A guess at the seconds that all of them take, without their ramps."""
    of_open = OPEN_S if settings.model == "open" else 0.0
    each = [APPLICATION_S if trial.subjects else SERVER_S for trial in trials]
    return sum(one * (0.5 if settings.quick else 1.0) + of_open for one in each)


def _conditions(spec: Saturate, asked: SearchContext) -> Sequence[Condition]:
    if not isinstance(spec, SaturationSpec):
        return asked.chosen
    return [] if asked.quick and not spec.quick else asked.varied(spec.vary)
