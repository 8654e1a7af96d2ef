"""How far the trials of a condition lie apart: an add-on that adds a section to every report."""

from loadstone.addon import AddOn
from loadstone.experiment.plan.labels import label_of
from loadstone.judge.analysis.analysis import AnswerList
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.verdict import AnalysisModel
from loadstone.report.document import Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.text.message import message

SENTENCES = {
    "spread_heading": "How far trials lie apart",
    "spread_condition": "condition",
    "spread_condition_meaning": "What was measured.",
    "spread_least": "least",
    "spread_least_meaning": "The trial with the fewest correct replies a second.",
    "spread_most": "most",
    "spread_most_meaning": "The trial with the most.",
    "spread_short": "{least:rounded} to {most:rounded} a second",
}


class Spread(AnalysisModel):
    """One condition, in correct replies a second."""

    label: str
    least_per_s: float
    most_per_s: float


class Spreads(AnswerList[Spread]):
    """The answer: it stands in analysis.json under `spread`."""


def evaluate(found: RunFindings) -> Spreads | None:
    """By the valid trials of each condition that has two; None: there is nothing to say."""
    rates: dict[str, list[float]] = {}
    for trial in found.own_load:
        if trial.verdict == "valid":
            rates.setdefault(label_of(found.run.experiment, trial.condition), []).append(trial.goodput_per_s)
    several = {label: all_ for label, all_ in rates.items() if len(all_) > 1}
    rows = [Spread(label=label, least_per_s=min(all_), most_per_s=max(all_)) for label, all_ in several.items()]
    return Spreads(rows) if rows else None


def section(found: Spreads) -> Section:
    """The section, which Markdown, the page and the terminal each lay out."""
    columns = tuple(
        SectionColumn(message(f"spread_{name}"), message(f"spread_{name}_meaning"))
        for name in ("condition", "least", "most")
    )
    return Section("spread", message("spread_heading"), (SectionTable("", columns, tuple(map(line, found.root))),))


def line(row: Spread) -> TableRow:
    """A line of its table."""
    cells = (SectionCell(row.least_per_s, "per_s"), SectionCell(row.most_per_s, "per_s"))
    return TableRow(row.label, cells, message("spread_short", least=row.least_per_s, most=row.most_per_s))


ADD_ON = AddOn(
    "spread",
    answers={"spread": "spread:Spreads"},
    evaluations={"spread": "spread:evaluate"},
    sections={"spread": "spread:section"},
    sentences={"spread": "spread:SENTENCES"},
)
