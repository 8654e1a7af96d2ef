"""How long it takes until the first slow reply, from the beginning of the load: a goal as an author would add it."""

from collections.abc import Sequence

from pydantic import Field

from loadstone.addon import AddOn
from loadstone.experiment.action import fields
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.spec.part import Duration, SpecPart
from loadstone.judge.analysis.analysis import AnswerList
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.checks.checks import forbidding
from loadstone.judge.verdict import AnalysisModel
from loadstone.measure.goals.declared import AddOnGoal
from loadstone.report.document import Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.run_folder.plan_summary import GoalLine
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message
from loadstone.text.units import duration_s

INTERVAL_S = 0.1
"""How exactly the moment is known."""
SENTENCES = {
    "first_slow_heading": "The first slow reply",
    "first_slow_condition": "condition",
    "first_slow_condition_meaning": "What was under load.",
    "first_slow_limit": "slower than",
    "first_slow_limit_meaning": "A reply that takes longer is slow.",
    "first_slow_tries": "tries",
    "first_slow_tries_meaning": "How often the load began.",
    "first_slow_slow": "with a slow reply",
    "first_slow_slow_meaning": "Tries in which a reply was slow.",
    "first_slow_first": "first after",
    "first_slow_first_meaning": "The earliest slow reply, from the beginning of the load.",
    "first_slow_short": "{slow} of {times} tries with a slow reply",
    "first_slow_none": "No reply took longer than {slow_s:duration_s}.",
    "first_slow_headline": (
        "The first reply slower than {slow_s:duration_s} came {first_s:duration_s} after the load began ({label})."
    ),
}


class FirstSlowSettings(SpecPart):
    """What the experiment says of it."""

    HARMLESS = fields("slow times")

    slow: Duration = "10 ms"
    """A reply that takes longer is slow."""
    times: int = Field(default=3, ge=1, le=100)
    """How often each condition is tried."""


class FirstSlowRow(AnalysisModel):
    """One condition."""

    label: str
    times: int
    """Tries that count."""
    slow: int
    """Of them those with a slow reply."""
    first_s: float | None
    """The earliest one, in seconds from the beginning of the load; None: none was slow."""


class FirstSlowGoal(AnalysisModel):
    """What one goal found: a row a condition."""

    name: str
    slow_s: float
    rows: list[FirstSlowRow]

    @property
    def told(self) -> Message:
        """The earliest of all."""
        known = [row for row in self.rows if row.first_s is not None]
        first = min(known, key=lambda row: row.first_s or 0.0, default=None)
        if first is None:
            return message("first_slow_none", slow_s=self.slow_s)
        return message("first_slow_headline", slow_s=self.slow_s, first_s=first.first_s, label=first.label)


class FirstSlowAnswer(AnswerList[FirstSlowGoal]):
    """What the goals of this kind found; it stands in `analysis.json` under `first_slow`."""

    def headline(self) -> Message:
        """A sentence a goal."""
        return message("sentences", parts=[goal.told for goal in self.root])


class FirstSlow(AddOnGoal[FirstSlowSettings]):
    """Each condition so many times, without a warm-up."""

    kind = "first_slow"
    settings_type = FirstSlowSettings

    def following(self, trials: Sequence[TrialRecord]) -> PlannedTrial | None:
        """All conditions, and then all of them again."""
        done = {trial.trial for trial in trials}
        tries = (
            self.trial(template, number, _cold(template.plan))
            for number in range(1, self.settings.times + 1)
            for template in self.planned.trials
        )
        return next((trial for trial in tries if trial.name not in done), None)


def _cold(plan: Plan) -> Plan:
    phases = plan.phases.model_copy(update={"ramp_up_s": 0.0, "warm_up_s": 0.0})
    return plan.model_copy(update={"phases": phases, "interval_s": INTERVAL_S})


def _first_s(run: RecordedRun, trial: TrialRecord, slow_s: float) -> float | None:
    """When the first interval with a slow reply ended; None: there was none."""
    slow = (
        one.start_s + one.duration_s for one in run.intervals.get(trial.trial, ()) if one.response_ns.max > 1e9 * slow_s
    )
    return min(slow, default=None)


def evaluate(found: RunFindings) -> FirstSlowAnswer | None:
    """By the longest response time of each interval."""
    goals = [_of_goal(found.run, goal, trials) for goal, trials in found.declared(FirstSlow.kind)]
    return FirstSlowAnswer(goals) if goals else None


def _of_goal(run: RecordedRun, goal: GoalLine, trials: Sequence[TrialRecord]) -> FirstSlowGoal:
    slow_s = duration_s(FirstSlowSettings.model_validate(goal.settings).slow)
    by_label: dict[str, list[float | None]] = {}
    for trial in trials:
        if not forbidding(trial):
            label = label_of(run.experiment, trial.condition)
            by_label.setdefault(label, []).append(_first_s(run, trial, slow_s))
    rows = []
    for label, firsts in by_label.items():
        known = [first for first in firsts if first is not None]
        rows.append(FirstSlowRow(label=label, times=len(firsts), slow=len(known), first_s=min(known, default=None)))
    return FirstSlowGoal(name=goal.name, slow_s=slow_s, rows=rows)


def section(found: FirstSlowAnswer) -> Section:
    """A table a goal."""
    columns = tuple(
        SectionColumn(message(f"first_slow_{name}"), message(f"first_slow_{name}_meaning"))
        for name in ("condition", "limit", "tries", "slow", "first")
    )
    tables = (
        SectionTable(goal.name, columns, tuple(_line(goal.slow_s, row) for row in goal.rows)) for goal in found.root
    )
    return Section("first_slow", message("first_slow_heading"), tuple(tables))


def _line(slow_s: float, row: FirstSlowRow) -> TableRow:
    cells = (
        SectionCell(slow_s, "seconds"),
        SectionCell(row.times),
        SectionCell(row.slow),
        SectionCell(row.first_s, "seconds"),
    )
    return TableRow(row.label, cells, message("first_slow_short", slow=row.slow, times=row.times))


ADD_ON = AddOn(
    "first_slow",
    declared_goals={"first_slow": f"{__name__}:FirstSlow"},
    answers={"first_slow": f"{__name__}:FirstSlowAnswer"},
    evaluations={"first_slow": f"{__name__}:evaluate"},
    sections={"first_slow": f"{__name__}:section"},
    sentences={"first_slow": f"{__name__}:SENTENCES"},
)
