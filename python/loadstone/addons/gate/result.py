"""What a gate found, as data: `gate.json`."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from pydantic import Field

from loadstone.addons.gate.spec import BASE, GATE_P99, GATE_RATE
from loadstone.addons.gate.starts import starts_reach
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.judge.analysis.analysis import Answer, Family, RatioOverRuns, RatiosOverRuns
from loadstone.judge.statistics.pair_evidence import reaching
from loadstone.judge.verdict import AnalysisModel, Requests
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.language import _
from loadstone.text.message import Message, message

GATE_FILE = "gate.json"
"""The file of the outcome."""
Standing = Literal["slower", "same", "not_slower", "faster", "undecided", "invalid", "unclaimed"]
"""State of B against A. slower: by more than the margin, with the whole interval on that side. same: the interval lies
within the margins. not_slower: it may be faster, and is not slower by more than the margin. undecided: none of these
was shown; invalid: a check forbids to compare; unclaimed: the gate is invalid, so nothing is said of it."""
GateVerdict = Literal["slower", "same", "faster", "undecided", "invalid"]
FigureName = Literal["rate", "cpu", "p99", "memory"]
_OVER_BASE: dict[FigureName, Message] = {
    "rate": message("gate.rate"),
    "cpu": message("gate.cpu"),
    "p99": message("gate.p99"),
    "memory": message("gate.memory"),
}
"""What the head does, or takes, by what the base does: names of figures over runs."""
_NORMAL = NormalDist()


class GateFigure(AnalysisModel):
    """One figure of the head against that of the base."""

    name: FigureName
    unit: Literal["/s", "ns", "bytes"]
    """Unit of `base` and `head`: requests a second, CPU nanoseconds a request, nanoseconds, bytes."""
    verdict: Standing
    base: float | None = None
    head: float | None = None
    ratio: float | None = None
    """Head over base; None where there is none."""
    low: float | None = None
    high: float | None = None
    """The interval of `ratio`, at `interval_level`."""
    slower: float | None = None
    """Share of the base by which the head is slower (0.06: 6 %): of a rate how much is lost, of others how much more it
    takes. Less than 0: it is faster."""
    slower_low: float | None = None
    slower_high: float | None = None
    tolerance: float
    """A share of the base, as `slower`: less does not matter."""
    may_be_lost: bool = False
    """True for an open figure if a loss beyond the tolerance is not unlikely, or a loss of unknown size is shown."""
    visible: float | None = None
    """The smallest `slower` that this gate would have called slower 8 times in 10."""
    interval_level: float | None = None
    """How often such an interval holds, e.g. 0.9998."""
    units: int = 0
    """How many rounds, or blocks, it rests on."""
    unit_of_units: Literal["round", "block"] = "round"
    rate_per_s: float | None = None
    """At which both were loaded; None: at full speed."""
    requests: Requests | None = None
    """Requests that a P99 is of."""
    needed: int | None = None
    """Rounds or blocks that would probably decide an open figure; None: more of them would not."""
    needed_s: float | None = None
    """The budget for that, in seconds."""
    why: Message | None = None
    """Why it is not decided, where there is more to say than that."""

    @property
    def is_rate(self) -> bool:
        """Whether it is better where it is larger."""
        return self.unit == "/s"

    @property
    def change(self) -> list[float | None]:
        """Return the head over the base, with the interval's ends."""
        return [self.ratio, self.low, self.high]

    @property
    def losses(self) -> list[float | None]:
        """Return `slower` with the interval's ends."""
        return [self.slower, self.slower_low, self.slower_high]


class GateResult(AnalysisModel, Answer):
    """The whole outcome of a gate. `gate.json` in the run's folder; its schema is docs/gate.schema.json."""

    format: Literal[1] = 1
    base: str
    head: str
    verdict: GateVerdict
    status: int
    """The exit status: 0 same or faster, 1 slower, 3 invalid, 4 not decidable here."""
    message: Message
    """The verdict as one line."""
    decided_by: list[FigureName]
    """The figures that the verdict rests on."""
    figures: list[GateFigure]
    twin: list[GateFigure] = Field(default=[])
    """The base against another start of itself in the same rounds: the noise floor. Empty without `--twin`."""
    advice: Message | None = None
    """What would help most, where it is not decidable here."""
    level: float
    """How often a gate may be red where the head is not slower by more than the tolerances."""
    starts_differ: float = 0.0
    """Standard deviation between starts of one version, as a share, for what was started once, or ran before. The level
    holds if they do not differ more; 0: starts were measured."""
    tolerance: float
    run: str
    """Name of the run's folder."""
    began_unix_s: float
    elapsed_s: float
    budget_s: float
    machine: dict[str, str]
    """What the figures were measured on: CPU, how many, kernel, loadstone's version."""

    def opens_alone(self) -> Message:
        """The verdict."""
        return message("gate_answer", head=self.head, base=self.base, verdict=self.message)

    def over_runs(self, run: RecordedRun) -> RatiosOverRuns:
        """Ratios of the head to the base.

        Gates against one base under one load make a line. What is started once is a line of its own, with what starts
        of one version may differ by in its intervals: each gate has another start.
        """
        measured = {trial.group: trial for trial in reversed(run.trials) if trial.block != WARM_BLOCK}
        found = measured.get(GATE_RATE, measured.get(GATE_P99))
        under = {"p99": measured.get(GATE_P99)}
        figures = [
            _of_figure(run, self, figure, under.get(figure.name, found))
            for figure in self.figures
            if figure.ratio is not None
        ]
        return RatiosOverRuns(figures, self.head, (BASE,))

    def refusal_of_claims(self, families: Sequence[Family]) -> CheckResult | None:
        """Every comparison of an invalid gate is invalid by what makes the gate so."""
        return None if self.verdict != "invalid" else _refusal_of_claims(families, self)

    def exit_status(self) -> int:
        """As the gate has it."""
        return self.status

    def trusted(self, of_rows: str) -> str:
        """With the ratio, which is good where figures are not."""
        if self.verdict == "invalid":
            return of_rows
        return _("Both took turns, so their ratio is valid; of each by itself: {said}", said=of_rows)


def _of_figure(run: RecordedRun, gate: GateResult, figure: GateFigure, trial: TrialRecord | None) -> RatioOverRuns:
    """`trial`: one under the load of the figure."""
    once = trial is not None and _is_started_once(run, trial)
    return RatioOverRuns(
        key=f"gate {figure.name} {'once' if once else 'again'} {gate.base}",
        label=f"{gate.base}: {figure.name}{', started once' if once else ''}",
        named=_OVER_BASE[figure.name],
        ratio=figure.ratio or 0.0,
        interval=_of_starts(figure, _at_95(figure), gate.starts_differ),
        trial=trial,
    )


def _is_started_once(run: RecordedRun, trial: TrialRecord) -> bool:
    """Whether the processes of a gate stay the same over its blocks; a client library's program is started for each."""
    drive = trial.facts.drive
    rounds = next((one.rounds for one in run.plan.groups if one.name == trial.group), None)
    return (rounds is None or rounds.processes != "restarted") and (drive is None or drive.program is None)


def _at_95(figure: GateFigure) -> tuple[float, float] | None:
    """The interval of a ratio at another level than 95 %, as if its logarithm were normal."""
    ratio, low, high, level = figure.ratio or 0.0, figure.low, figure.high, figure.interval_level
    if low is None or high is None or level is None or not 0 < low <= ratio <= high:
        return None
    shrunk = _NORMAL.inv_cdf(0.975) / _NORMAL.inv_cdf((1 + level) / 2)
    return ratio * (low / ratio) ** shrunk, ratio * (high / ratio) ** shrunk


def _of_starts(
    figure: GateFigure, interval: tuple[float, float] | None, starts_differ: float
) -> tuple[float, float] | None:
    """An interval that holds what starts of one version differ by, where that is not in it."""
    if not starts_differ or interval is None:
        return interval
    reach = starts_reach(starts_differ, 0.95, of_latency=figure.name == "p99")
    low, high = map(math.log, interval)
    low, high = reaching(math.log(figure.ratio or 0.0), low, high, reach)
    return math.exp(low), math.exp(high)


def _refusal_of_claims(families: Sequence[Family], gate: "GateResult") -> CheckResult | None:
    """That the base differs from itself, or what a check of the trials says."""
    if gate.message.kind == "gate_one_process":
        return CheckResult(
            name="one_process", verdict="invalid", measured=None, limit=None, unit="", reason=gate.message
        )
    apart = next((one for one in gate.twin if one.name in gate.decided_by), None)
    if apart is None:
        return next((one.primary.refusal for family in families for one in family.comparisons), None)
    return CheckResult(
        name="twin",
        verdict="invalid",
        measured=round(100 * abs(apart.slower or 0.0), 6),
        limit=round(100 * apart.tolerance, 6),
        unit="%",
        reason=gate.message,
    )
