"""The analysis as it is, for programs."""

from loadstone.analyse.model import Analysis


def render(analysis: Analysis) -> dict[str, bytes]:
    """`analysis.json`."""
    return {"analysis.json": (analysis.model_dump_json(indent=2) + "\n").encode()}
