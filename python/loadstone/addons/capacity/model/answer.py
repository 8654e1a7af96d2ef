"""Where the capacity of a condition goes, as data: its parts, what fills first, and what the model can foretell."""

from loadstone.experiment.spec.levels import Level
from loadstone.judge.analysis.analysis import AnswerList
from loadstone.judge.verdict import AnalysisModel, CpuCost
from loadstone.text.message import Message


class CapacityPart(AnalysisModel):
    """A server, an application, or the generator, at the level of users that gave the highest rate."""

    name: str
    cost: CpuCost
    """CPU time for a correct reply."""
    disk_ns: float | None = None
    """What its only thread waits for the disk for each of them; None where that does not wait for one."""
    cpus: float | None
    """How many CPUs it can keep busy; None: that is not known."""
    one_thread: bool
    """Whether each process of it works in one thread."""
    shares_with: list[str] = []
    """Parts that fill the same CPUs together with it."""
    busy_share: float | None
    """Share of these CPUs that is busy, with what shares them."""
    most_per_s: float | None
    """What it can do if nothing else limits it: m / D. Busy servers are cheaper, so it may be more than that."""
    most_low_per_s: float | None = None
    most_high_per_s: float | None = None
    """Its interval, where its cost has one."""


class CapacityLimit(AnalysisModel):
    """A part that fills, or several that share its CPUs."""

    name: str
    busy_share: float
    most_per_s: float


class CapacityLevel(AnalysisModel):
    """One number of users: what was measured, and what a model says that was fitted on the others."""

    users: int
    think_s: float
    per_s: float
    response_s: float
    predicted_per_s: float | None = None
    """None of levels that no model was held to."""


class Prediction(AnalysisModel):
    """What some users would get, with the 95 % interval that follows from the errors on held-out levels."""

    users: int
    per_s: float
    low_per_s: float
    high_per_s: float
    response_s: float
    low_s: float
    high_s: float
    busiest: str
    """What fills first."""
    busy_share: float
    """Its busy share: as measured, where the level is one of the run."""
    measured_per_s: float | None = None
    """Measured rate, where the level is one of the run and nothing is changed."""


class Capacity(AnalysisModel):
    """One condition, over its numbers of users."""

    condition: dict[str, Level]
    """Without the factors that are numbers of users."""
    label: str
    """The varied factors only; empty where there are none."""
    users: int
    """At which the parts are shown."""
    per_s: float
    response_s: float
    waiting_s: float | None = None
    """Part of a response time without the CPU time of its parts and their queues: round trips, disks, locks, timers.
    None where a CPU is full: there it cannot be told from the queue for that."""
    parts: list[CapacityPart]
    """What fills first, first."""
    limits: list[CapacityLimit]
    """What fills first, and what next."""
    limit: Message
    """One sentence: what is the limit now, what would be the next, and how far both are."""
    levels: list[CapacityLevel]
    checked_from: int | None = None
    """The fewest users from which on the model holds; None: nothing is predicted."""
    error: float | None = None
    """Typical error on held-out levels, as a log ratio."""
    best_from: int | None = None
    """From so many users on predictions are best."""
    reach: float | None = None
    """Half of the 95 % interval of a prediction there, as a log ratio."""
    refusal: Message | None = None
    """Why nothing is predicted, and what to do."""
    remarks: list[Message] = []
    predictions: list[Prediction] = []


class Capacities(AnswerList[Capacity]):
    """Where the capacity goes, of an application: a condition each; left out of other runs."""
