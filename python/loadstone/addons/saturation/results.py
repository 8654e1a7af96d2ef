"""Where a condition saturates, as data: the point with its interval, what was measured, and which part is the limit."""

import math
from typing import ClassVar, Literal

from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.spec.levels import Level
from loadstone.judge.analysis.analysis import AnswerList, ConditionFigures, KnownFigure
from loadstone.judge.bottleneck import Bottleneck
from loadstone.judge.verdict import AnalysisModel, CpuCost
from loadstone.run_folder.trial import TrialVerdict
from loadstone.text.message import Message, message

PointKind = Literal["plateau", "peak", "limit", "at_least", "none"]
"""plateau: throughput levels off. peak: it falls again. limit: the highest rate of the open model that keeps its
objective. at_least: only a bound is known, and why. none: nothing may be said, and the message has the reason."""
ObjectiveKind = Literal["limit", "met_always", "never", "unknown"]
"""limit: met up to somewhere within what was measured. met_always, never: at every load, at none. unknown: the data do
not say, and the message has the reason."""


class Estimated(AnalysisModel):
    """A figure with both ends of its 95 % interval."""

    value: float
    low: float
    high: float


class SaturationPoint(AnalysisModel):
    """What one load did, all its sweeps together: one level of users, or one rate."""

    users: int | None
    """Number of users in the closed model."""
    rate_per_s: float | None
    """Rate in the open model, which was to be held."""
    per_s: float
    """Correct replies a second, typical of the sweeps."""
    low: float
    """The least and the most of a single sweep."""
    high: float
    response_ns: Quantiles | None
    """Over all sweeps; None where its histograms cannot be read."""
    cpu: dict[str, float]
    """CPU of each part as a share of one core."""
    costs: dict[str, CpuCost] = {}
    """Server, application, client library -> its CPU time for one correct reply; of those that were observed."""
    errors: float
    """Share of wrong or missing replies, timeouts among them."""
    sweeps: int = 0
    """In so many it was measured."""
    verdict: TrialVerdict
    reasons: list[Message]
    """Why not valid: one for each failed check."""


class SearchPoint(AnalysisModel):
    """One step of the search: the users were doubled, or a rate was halved in between."""

    users: int | None
    rate_per_s: float | None
    per_s: float
    kept: bool | None = None
    """Open model: whether the objective was kept; None in the closed one."""


class Search(AnalysisModel):
    """Search that found the range."""

    points: list[SearchPoint]
    why: Message | None
    """Why it ended; None where it did not come to its end."""


class PartShare(AnalysisModel):
    """Share that a part was full: of its main thread's core, or of the CPUs it may use."""

    part: str
    unloaded: float | None
    """With one user, or at the lowest rate."""
    knee: float | None
    """At the level that is nearest to the saturation point."""
    beyond: float | None
    """From twice the saturation point on."""


class Limiting(AnalysisModel):
    """The part that is the limit, and how full each part was at three loads."""

    bottleneck: Bottleneck
    users: int | None
    """The load at which it was read, at the least: the knee, or where nothing is full there, beyond it."""
    rate_per_s: float | None
    runner_up: str | None
    """The fullest part that the bottleneck's line does not name; None where no other was observed."""
    runner_up_share: float | None
    shares: list[PartShare]
    """The fullest first."""


class ObjectiveAnswer(AnalysisModel):
    """Up to which load an objective like `p99 < 10 ms` is met."""

    text: str
    kind: ObjectiveKind
    message: Message
    rate_per_s: Estimated | None
    """The highest rate that meets it."""
    users: Estimated | None = None
    """The most users that do; None in the open model."""


class RampStep(AnalysisModel):
    """One step of a classical ramp; times in seconds since it began."""

    users: int
    from_s: float
    to_s: float
    per_s: float
    average_per_s: float
    """The moving average there: as the eye smooths."""


class RampAnswer(AnalysisModel):
    """A classical ramp of the same condition, and what the eye reads off its chart."""

    steps: list[RampStep]
    eye_users: int | None
    """Where the eye puts the saturation point; None where the chart has no top."""
    eye_per_s: float | None
    knee_users: int | None = None
    """Where Kneedle (Satopaa et al. 2011), the classical rule, puts it; None where it finds no knee."""
    knee_per_s: float | None = None
    message: Message
    """Why that differs from the saturation point that was measured."""


class SaturationAnswer(AnalysisModel):
    """Where one condition saturates."""

    condition: dict[str, Level]
    label: str
    """The varied factors only; empty where nothing is varied."""
    model: Literal["closed", "open"]
    kind: PointKind
    message: Message
    """The verdict in one line."""
    users: Estimated | None
    """The saturation point, where waiting begins; None in the open model, and where there is none."""
    per_s: Estimated | None
    """What it does at most, a second: of a plateau with more users than `users`."""
    from_users: int | None = None
    """The fewest users of a plateau from which on every level does 95 % of `per_s` or more."""
    at_least_per_s: float | None
    """For `at_least`, what its best level typically did."""
    sweeps: int
    """Independent estimates behind the interval: sweeps, or blocks of bisections."""
    rounds_a_sweep: int = 0
    """Rounds of slices that make one sweep; 0: its levels were measured by whole trials."""
    seconds: float
    """From the first trial to the last, the search among them."""
    think_s: float
    unloaded_s: float | None
    """R_0: the shortest mean response time of any level, in seconds: no level does more than N / (R_0 + Z)."""
    unloaded_users: int | None = None
    """At how many users that is; None of runs of older versions: at one."""
    points: list[SaturationPoint]
    """In the order of their load."""
    search: Search
    limiting: Limiting | None
    """None where nothing can show it."""
    objective: ObjectiveAnswer | None = None
    """None where none was given."""
    ramp: RampAnswer | None = None
    """None where none was driven."""

    @property
    def at_the_point(self) -> SaturationPoint | None:
        """What was measured nearest to the saturation point, by users or rate; without one, at the highest load."""
        point = self.users if self.model == "closed" else self.per_s
        loads = [(one.users or one.rate_per_s or 0.0, one) for one in self.points]
        if point is None:
            return max(loads, key=lambda load: load[0], default=(0.0, None))[1]
        return min(loads, key=lambda load: abs(load[0] - point.value), default=(0.0, None))[1]

    @property
    def users_known(self) -> KnownFigure | Message:
        """What is known of the users of the saturation point, or why nothing is."""
        if self.users is not None:
            return KnownFigure(self.users.value, self.users.low, self.users.high)
        return message("objective_of_users_at_rates") if self.model == "open" else self.message

    @property
    def rate_known(self) -> KnownFigure | Message:
        """What is known of the highest rate, or why nothing is."""
        if self.per_s is not None:
            return KnownFigure(self.per_s.value, self.per_s.low, self.per_s.high)
        return self.message if self.at_least_per_s is None else KnownFigure(None, self.at_least_per_s, math.inf)


class SaturationAnswers(AnswerList[SaturationAnswer]):
    """Where each condition saturates, where the experiment searches for it."""

    behind: ClassVar[str] = "factors"

    def headline(self) -> Message | None:
        """Where each condition saturates."""
        said = [message("saturation_of", label=answer.label, said=answer.message) for answer in self.root]
        return message("saturations", answers=said) if said else None

    def is_enough(self) -> bool:
        """Whether it was searched for; rows that are missing were not reached in time."""
        return bool(self.root)

    def is_refused(self) -> bool:
        """Whether a condition has no point, nor a bound of one."""
        return any(answer.kind == "none" for answer in self.root)

    def trust_without_rows(self) -> Message | None:
        """Say how many of the points were found."""
        sure = sum(answer.kind in ("plateau", "peak", "limit") for answer in self.root)
        return message("trust_saturation", good=sure, of=len(self.root)) if self.root else None

    def condition_figures(self) -> list[ConditionFigures]:
        """Users and rate of each point, and what a request costs nearest to it."""
        return [
            ConditionFigures(
                answer.condition,
                answer.label,
                {"saturation": answer.users_known, "capacity": answer.rate_known},
                {} if answer.at_the_point is None else answer.at_the_point.costs,
            )
            for answer in self.root
        ]
