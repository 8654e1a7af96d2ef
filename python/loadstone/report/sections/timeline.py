"""What a report shows of the run second by second."""

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.document import Picture, Section
from loadstone.text.language import _


def timeline_section(analysis: Analysis) -> Section | None:
    """Pictures; None where nothing was recorded."""
    if not analysis.timeline:
        return None
    hint = _("rates, percentiles, errors and CPU, second by second")
    pictures = (Picture("timeline"), Picture("percentiles"), Picture("errors"))
    return Section("timeline", _("Time line"), pictures, hint=hint, layouts=("page", "markdown"))
