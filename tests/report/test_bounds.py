"""Why a figure could be far higher: the sentence has the bound that stands beside the figure."""

from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.verdict import UNBOUNDED, GeneratorBound
from loadstone.report.figure_format import sentence
from loadstone.report.figure_quality import bound_lines
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import Message, message


def bounded(analysis: Analysis, of_row: float, of_trials: tuple[float, ...]) -> str:
    """The line of a row with this bound, whose trials have those."""
    row, *_ = (row for row in analysis.tables[0].rows if row.verdict == "valid")
    views = [view for view in analysis.trials if view.trial in row.trials][:1]
    trials = [
        views[0].model_copy(update={"trial": f"t{number}", "checks": [gain(share)]})
        for number, share in enumerate(of_trials)
    ]
    shown = row.model_copy(
        update={
            "label": "get",
            "trials": [one.trial for one in trials],
            "bound": GeneratorBound(generator=of_row, taken=0.0),
        }
    )
    table = analysis.tables[0].model_copy(update={"rows": [shown]})
    (line,) = bound_lines(analysis.model_copy(update={"tables": [table], "trials": trials}))
    return line


def gain(share: float) -> CheckResult:
    bound: Message = message("check.no_bound") if share >= UNBOUNDED else message("check.up_to", share=share)
    reason = message("check.gain.bound", generator=0.98, server=0.54, bound=bound)
    return CheckResult(name="gain", verdict="suspect", measured=100 * share, limit=10, unit="%", reason=reason)


def test_both_are_rounded_up(analysis: Analysis) -> None:
    line = bounded(analysis, 4.462, (4.462,))
    assert line.startswith("get (up to +447 %): ")
    assert line.endswith("the rate could be up to 447 % higher.")


def test_of_several_trials_the_sentence_has_the_bound_of_the_row(analysis: Analysis) -> None:
    line = bounded(analysis, 0.36, (0.2, UNBOUNDED))
    assert line.startswith("get (up to +36 %): ")
    assert line.endswith("the rate could be up to 36 % higher.")
    line = bounded(analysis, UNBOUNDED, (0.2, UNBOUNDED))
    assert line.startswith("get (no upper bound): ")
    assert line.endswith("no upper limit of the rate is known.")


def test_one_line_a_row_has_the_bound_of_the_row_too() -> None:
    """What `-q` prints behind SUSPECT is counted over trials, and has the reason of one of them."""
    counted = message("check.failed_in", check="gain", verdict="suspect", trials=2, of=4, reason=gain(1.03).reason)
    assert "up to 103 % higher" in sentence(counted)
    assert "up to 22 % higher" in sentence(GeneratorBound(generator=0.22, taken=0.0).put_into(counted))
    assert "no upper limit" in sentence(GeneratorBound(generator=UNBOUNDED, taken=0.0).put_into(counted))
    without = message("check.failed_in", check="background", reason=message("check.background.not_reported"))
    assert GeneratorBound(generator=0.22, taken=0.0).put_into(without) == without
