"""What a gate asks of its two comparisons: when it is red, and how often it may be so by chance."""

from typing import ClassVar, Literal

from pydantic import Field

from loadstone.experiment.action import fields
from loadstone.experiment.spec.experiment import AddOnPart
from loadstone.experiment.spec.part import Margin

GATE_RATE, GATE_P99 = "rate", "p99"
"""What the comparisons of a gate are called."""
BASE, HEAD = "base", "head"
"""The versions as levels of a factor; their servers or services are called so, too."""
ONCE_WARM_UP_S = 60.0
"""How long each version is warmed up that is started once: a JVM on one CPU compiles for so long. After 20 s two of
them still got faster by 12 to 50 % while they were measured, and five minutes decided nothing."""


STARTS_DIFFER = 0.10
"""Standard deviation between starts of one version, as a share, of what is started once: two JVMs of equal versions of
a Spring application differed by 16 % in CPU per request after a minute of warming up, two starts of one by 11 %."""


class Gate(AddOnPart):
    """What `loadstone gate` asks: whether one version is slower than another by more than the margins.

    Comparisons go on until that is known, and their intervals hold at a level of their own.
    """

    HARMLESS = fields("base head level figures cost_margin memory_margin restarts starts_differ undecided")

    AFTER: ClassVar[str] = "effects"
    IS_WRITTEN: ClassVar[bool] = False
    GOES_ON: ClassVar[bool] = False

    base: str = ""
    """What the versions are called in the verdict."""
    head: str = ""
    level: float = Field(default=0.001, gt=0, le=0.5)
    """How often a gate may say that the head is slower by more than a margin where it is not."""
    figures: int = Field(default=4, ge=1, le=20)
    """How many figures share the level."""
    cost_margin: Margin = "3 %"
    """A smaller difference in CPU per request does not matter."""
    memory_margin: Margin = "10 %"
    """Margin of the memory that it takes at most."""
    restarts: bool = False
    """Whether both are started again for each block where they take turns: what differs from start to start is in the
    intervals then."""
    starts_differ: float = Field(default=0.0, ge=0, le=1)
    """Standard deviation between starts of one version, as a share, where it is not measured: of what is started once,
    is measured in whole trials, or runs already. What may come of that is no difference of versions."""
    undecided: Literal["status", "pass", "fail"] = "status"
    """What becomes of what is not decidable here: a status of its own, or that of a pass or of a failure."""
