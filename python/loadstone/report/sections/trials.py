"""What a report shows of the trials behind its figures: each with its checks."""

from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis, TrialView
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.document import CheckLine, ConditionTrials, Section, TrialLine, Trials
from loadstone.report.summary import Anchors, anchors_of
from loadstone.report.tables.columns import goodput_name
from loadstone.run_folder.trial import TrialVerdict
from loadstone.text.language import _

_OPENED_MAX = 6
"""More invalid trials than this stay folded."""
_TRIALS_WITH_ALL_MAX = 100
"""With more trials than this the checks that one passed are counted only: `trials.jsonl` has them."""
_WORST_FIRST: tuple[TrialVerdict, ...] = ("invalid", "suspect")


def trials_section(analysis: Analysis) -> Section | None:
    """Every trial, under its condition; None without one."""
    anchors = anchors_of(analysis)
    if not anchors.conditions:
        return None
    trials = Trials(
        tuple(_conditions(analysis, anchors)),
        rate=goodput_name(analysis),
        opened=sum(view.verdict == "invalid" for view in analysis.trials) <= _OPENED_MAX,
        all_checks=len(analysis.trials) <= _TRIALS_WITH_ALL_MAX,
    )
    hint = _("{trials}, each with its checks", trials=summary.trials(analysis))
    return Section("trials", _("Trials"), (trials,), hint=hint, layouts=("page", "markdown"))


def _conditions(analysis: Analysis, anchors: Anchors) -> Iterator[ConditionTrials]:
    for anchor, label, views in anchors.conditions:
        names, verdicts = {view.trial for view in views}, {view.verdict for view in views}
        rows = (row for table in analysis.tables for row in table.rows if names.intersection(row.trials))
        yield ConditionTrials(
            label,
            anchor,
            verdict=next((kind for kind in _WORST_FIRST if kind in verdicts), "valid"),
            bottleneck=next((row.bottleneck.message for row in rows if row.bottleneck), None),
            lines=tuple(_line(view, anchors) for view in views),
        )


def _line(view: TrialView, anchors: Anchors) -> TrialLine:
    return TrialLine(
        view.trial,
        anchors.view(view),
        group=view.group,
        block=view.block,
        order=view.order,
        attempt=view.attempt,
        verdict=view.verdict,
        rate=fmt.rate(view.goodput_per_s),
        p99=fmt.duration(view.p99_ns),
        checks=tuple(
            CheckLine(summary.check_title(check.name), summary.figure(check), check.verdict, check.reason)
            for check in view.checks
        ),
    )
