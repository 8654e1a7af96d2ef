"""A recording whose commands are sent again, as a plan has it."""

from pydantic import Field

from loadstone.plan.part import PlanPart

SPEED_MAX = 1e6


class Recording(PlanPart):
    """Commands that were recorded, in a file that was prepared for drivers.

    An operation is then the name of one command, without arguments: they are the recording's, its keys under the plan's
    prefix. A client of the recording has one connection, over which its commands go in their order; in a cluster it has
    one to each node, and a command for another node waits until those before it were answered. Commands whose keys are
    in several slots are not sent to a cluster. With the open model
    and `arrivals: recorded` they are intended when they were recorded, `speed` times as fast; with the closed one each
    is sent as soon as its connection is free. The drive ends with the last one, at `measure_max_s` at the latest.
    """

    path: str = Field(min_length=1)
    speed: float = Field(default=1.0, gt=0, le=SPEED_MAX)
    stored_bytes: int = Field(default=0, ge=0, description="what the commands store at most, about")
