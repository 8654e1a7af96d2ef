"""Saturation points as `--fail-if` names them."""

from collections.abc import Mapping
from typing import ClassVar

from loadstone.judge.analysis.objectives import AnsweredFigure
from loadstone.safety.errors import UserError


class _PointFigure(AnsweredFigure):
    """A figure of a saturation point."""

    def no_ratio(self, objective: str) -> UserError:
        """See `AnsweredFigure`."""
        return UserError(
            "--fail-if '{text}': saturation points are not compared by ratios; write for example '{example}'",
            text=objective,
            example=self.example,
        )

    def not_asked(self, objective: str) -> UserError:
        """See `AnsweredFigure`."""
        return UserError(
            "--fail-if '{objective_text}': this run looks for no saturation point; use it with `loadstone "
            "saturate`, or with an experiment that has `load: saturate` or `saturation`",
            objective_text=objective,
        )

    def nothing_else(self, objective: str) -> UserError:
        """See `AnsweredFigure`."""
        return UserError(
            "--fail-if '{objective_text}': this run has no figure but saturation points; write for example "
            "'{point_examples}' or 'cpu > 20us', and give a latency with --objective",
            objective_text=objective,
            point_examples=PointRate.example,
        )


class PointUsers(_PointFigure):
    """The users of the saturation point."""

    units: ClassVar[Mapping[str, float]] = {"": 1.0, "users": 1.0}
    of_users = True
    example = "saturation < 20"


class PointRate(_PointFigure):
    """Correct replies a second there; of the open model the highest rate that keeps its objective."""

    units: ClassVar[Mapping[str, float]] = {"": 1.0, "/s": 1.0, "k": 1e3, "k/s": 1e3, "M": 1e6, "M/s": 1e6}
    example = "capacity < 50k/s"
