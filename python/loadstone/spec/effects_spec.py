"""What several factors change together: every combination of their levels, measured in the same rounds or blocks."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from loadstone.spec.levels import Level
from loadstone.spec.units import margin_share

FACTORS_MAX = 4
"""Of one question: more make more combinations than can take turns."""


def _is_margin(value: object) -> object:
    margin_share(value)
    return value


class Effects(BaseModel):
    """A question about several factors at once, answered by all combinations of their levels (a full factorial).

    Of each factor each level is compared with the reference, averaged over the levels of the others (the main effect);
    of each two factors, whether the effect of the one depends on the level of the other (their interaction). Each
    level is also compared with the reference at every combination of the others, as a comparison of the same name.
    The effects are one family, and so are those pairs: each together claims a difference where there is none in at
    most 5 % of experiments.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)
    question: str
    factors: tuple[str, ...] = Field(min_length=2, max_length=FACTORS_MAX)
    """All their levels are combined, those that are off by default only where `--only` names them."""
    reference: dict[str, Level] = {}
    """Factor -> the level that its others are compared with; its usual one where none is given."""
    where: dict[str, Level] = {}
    """Levels of other factors; those that are not named stand at their default."""
    metric: Literal["goodput_per_s", "throughput_per_s", "response_ns.mean"] | None = None
    """What decides; the experiment's `primary_metric` if none is given. It must be one of these three."""
    margin: Annotated[str | float, BeforeValidator(_is_margin)] | None = None
    """A difference below it does not matter (`5 %` or 0.05); None: 5 % for rates, 10 % for latencies."""
    quick: bool = True
    """Whether `--quick` measures it too."""
    note: str = ""
