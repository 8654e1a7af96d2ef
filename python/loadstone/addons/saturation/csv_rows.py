"""What spreadsheets have of saturation points: `saturation.csv` and `ramp.csv`."""

from collections.abc import Iterator, Sequence

from loadstone.addons.saturation.results import Estimated, SaturationAnswer, SaturationAnswers, SaturationPoint
from loadstone.addons.saturation.section import part_names
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report.csv_report import cost_cells
from loadstone.report.tables.column import CsvValue


def _answers(analysis: Analysis) -> Sequence[SaturationAnswer]:
    found = analysis.part(SaturationAnswers)
    return () if found is None else found.root


def saturation_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """Every level of every condition; of one without levels its answer alone."""
    answers = _answers(analysis)
    parts = part_names(answers)
    costed = list(dict.fromkeys(name for one in answers for point in one.points for name in point.costs))
    for answer in answers:
        points: list[SaturationPoint | None] = [*answer.points] or [None]
        for point in points:
            response = None if point is None else point.response_ns
            yield {
                **_saturation(answer),
                "users": None if point is None else point.users,
                "offered_per_s": None if point is None else point.rate_per_s,
                "goodput_per_s": None if point is None else point.per_s,
                "lowest_sweep_per_s": None if point is None else point.low,
                "highest_sweep_per_s": None if point is None else point.high,
                **{f"response_{name}_ns": getattr(response, name, None) for name in ("mean", "p50", "p99")},
                "errors_share": None if point is None else point.errors,
                **{f"cpu_{part}_share_of_core": None if point is None else point.cpu.get(part) for part in parts},
                **cost_cells({} if point is None else point.costs, costed),
                "verdict": "" if point is None else point.verdict,
                "reasons": "" if point is None else " ".join(map(fmt.sentence, point.reasons)),
            }


def _saturation(answer: SaturationAnswer) -> dict[str, CsvValue]:
    limit, objective = answer.limiting, answer.objective
    return {
        "condition": answer.label,
        "model": answer.model,
        "kind": answer.kind,
        **_estimated("point_users", answer.users),
        **_estimated("point_per_s", answer.per_s),
        "at_least_per_s": answer.at_least_per_s,
        "limit": "" if limit is None else limit.bottleneck.part,
        "limit_evidence": "" if limit is None else fmt.sentence(limit.bottleneck.message),
        "objective": "" if objective is None else objective.text,
        **_estimated("objective_per_s", None if objective is None else objective.rate_per_s),
    }


def _estimated(name: str, found: Estimated | None) -> dict[str, CsvValue]:
    ends = ("value", "low", "high")
    return {name if end == "value" else f"{name}_{end}": getattr(found, end, None) for end in ends}


def ramp_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """Every step of every classical ramp."""
    for answer in _answers(analysis):
        for step in answer.ramp.steps if answer.ramp else ():
            yield {
                "condition": answer.label,
                "users": step.users,
                "from_s": step.from_s,
                "to_s": step.to_s,
                "goodput_per_s": step.per_s,
            }
