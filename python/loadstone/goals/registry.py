"""The kinds of goals, in the order in which they are asked within a turn."""

from collections.abc import Callable

from loadstone.goals.comparison import Comparison
from loadstone.goals.crash import Crash
from loadstone.goals.fixed_rate import FixedRate
from loadstone.goals.goal import Asked, Goal
from loadstone.goals.saturate import Saturate
from loadstone.goals.table import Table

GOALS: tuple[Callable[[Asked], Goal], ...] = (Table, Comparison, FixedRate, Saturate, Crash)
