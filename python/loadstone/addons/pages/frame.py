"""The place of a picture that the pages draw themselves, in pixels."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PictureFrame:
    """A picture's size, and the four sides of what its axes enclose."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    @classmethod
    def within(
        cls, width: float, height: float, *, left: float, right: float, top: float, bottom: float
    ) -> "PictureFrame":
        """Leave so much room at each side."""
        return cls(width, height, left, width - right, top, height - bottom)

    @property
    def across(self) -> float:
        """Return the length of the axis to the right."""
        return self.right - self.left

    @property
    def up(self) -> float:
        """Return the length of the axis upwards."""
        return self.bottom - self.top
