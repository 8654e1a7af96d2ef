"""Plans where it is looked for a saturation point: a template a condition, and how long that may take."""

from collections.abc import Sequence

from loadstone.addons.saturation.spec import Saturate, SaturationSettings, SaturationSpec, settings_of
from loadstone.experiment.plan.design.planned_search import SearchContext
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan, SearchPlan
from loadstone.experiment.spec.driver_names import NATIVE, DriverWord
from loadstone.experiment.spec.levels import Condition
from loadstone.text.message import message, said

SERVER_S, APPLICATION_S, OPEN_S = 60.0, 140.0, 120.0
"""What it is taken to take until a condition's saturation point is found: of a server, behind an application; and in
addition in the open model."""
LEAST = 0.25
"""J: the share of its usual time in which a saturation point of the closed model can still be found: steps and slices
are then so many times as long, and fewer levels are measured."""


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
    ramps_s = (ramp_s or 0.0) * len(trials)
    expected_s = ramps_s + searches_s(settings, trials)
    least_s = expected_s if settings.model == "open" else ramps_s + LEAST * searches_s(settings, trials)
    announced = message(
        "plan_saturation",
        conditions=len(trials),
        time_s=expected_s,
        objective=settings.objective if settings.model == "open" else None,
        sweeps=settings.sweeps,
        ramp_s=ramp_s,
    )
    return SearchPlan(settings.model_dump(mode="json"), tuple(trials), expected_s, least_s, announced)


def searches_s(settings: SaturationSettings, trials: Sequence[PlannedTrial]) -> float:
    """A guess at the seconds that all of them take, without their ramps."""
    of_open = OPEN_S if settings.model == "open" else 0.0
    each = [APPLICATION_S if trial.subjects else SERVER_S for trial in trials]
    return sum(one * (0.5 if settings.quick else 1.0) + of_open for one in each)


def share_of_time(run_plan: RunPlan, settings: SaturationSettings) -> float:
    """Length of the steps and slices of the search as a share of what is usual; 1 where there is no search."""
    search = run_plan.search
    if search is None or settings.model == "open":
        return 1.0
    usual_s = searches_s(settings, search.trials)
    ramps_s = search.expected_s - usual_s
    return min(1.0, max(LEAST, (run_plan.search_s() - ramps_s) / usual_s))


def _conditions(spec: Saturate, asked: SearchContext) -> Sequence[Condition]:
    if not isinstance(spec, SaturationSpec):
        return asked.chosen
    return [] if asked.quick and not spec.quick else asked.varied(spec.vary)
