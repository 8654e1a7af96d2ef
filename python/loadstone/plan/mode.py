"""In which mode an experiment is planned, and by how much it is made smaller."""

from dataclasses import dataclass

from loadstone.spec.levels import Condition, level_text


@dataclass(frozen=True)
class Mode:
    """What replaces parts of the experiment. Quick and published may be both on; the published counts then win."""

    quick: bool = False
    as_published: bool = False
    scale: float = 1.0
    """Users and rows are so many times those that are written; with the published counts the phases, too."""

    def scaled(self, number: int) -> int:
        """A number of users or rows at this scale; at least 1 of what is at least 1."""
        return max(min(number, 1), round(number * self.scale))


def condition_text(condition: Condition) -> str:
    """`store=redis, users=8`, for messages."""
    return ", ".join(f"{factor}={level_text(level)}" for factor, level in condition.items()) or "the only condition"
