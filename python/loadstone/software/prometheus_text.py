"""What an application exposes in Prometheus's text format, as far as it is needed."""

import math
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


def samples(text: str, needed: tuple[str, ...]) -> list[Sample]:
    """Those of the lines that begin with one of `needed`: parsing all of them takes ten times as long.

    Raises:
        ValueError: it is not that format.
    """
    lines = (line for line in text.splitlines() if line.startswith(needed))
    try:
        return [figure for family in text_string_to_metric_families("\n".join(lines)) for figure in family.samples]
    except IndexError as error:  # of the parser, where a line breaks off
        raise ValueError(f"not Prometheus's text format: {error}") from None


def values(observed: Iterable[Sample], name: str, labels: Mapping[str, str]) -> Iterator[float]:
    """The finite values of that name which have these labels."""
    for figure in observed:
        if figure.name == name and labels.items() <= figure.labels.items() and math.isfinite(figure.value):
            yield figure.value
