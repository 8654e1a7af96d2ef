"""An interval as the person at the terminal is shown it."""

from loadstone.conduct.display import CampaignProgress
from loadstone.drive.outcome import Interval
from loadstone.live.live_figures import LiveFigures


def show_interval(progress: CampaignProgress, interval: Interval, label: str = "") -> None:
    """Show it, unless there is no load in it. `label`: the condition, where several take turns."""
    figures = LiveFigures.of(interval)
    if figures is not None:
        progress.live(figures, label)
