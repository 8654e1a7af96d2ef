"""Reports as the core makes them, without pictures: what is here imports no add-on."""

import re
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from unittest import mock

from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.charts import chart, renderer_process
from loadstone.report.write import REPORTERS

_LONG = re.compile(rb"-?\d+\.\d{9,}(?:e-?\d+)?")


def markdown(analysis: Analysis) -> str:
    """The report of an analysis."""
    with nothing_drawn():
        return REPORTERS["md"](analysis)["report.md"].decode()


def reports(folder: Path) -> dict[str, str]:
    """The reports of all runs in a folder, by their names."""
    return {path.name: markdown(analyse(path)) for path in folder.iterdir()}


def to_nine_digits(text: bytes) -> bytes:
    return _LONG.sub(lambda found: b"%.9g" % float(found[0]), text)


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """In the place of each drawing stands the digest of what is to be drawn."""

    def begin(spec_json: str, _vega_lite: str) -> "Future[str]":
        drawn: Future[str] = Future()
        digest = sha256(to_nine_digits(spec_json.encode())).hexdigest()
        drawn.set_result(f'<svg class="marks" width="1" height="1" viewBox="0 0 1 1"><desc>{digest}</desc></svg>')
        return drawn

    caches = (chart._begun, chart._drawn)
    for cache in caches:
        cache.cache_clear()
    try:
        with mock.patch.object(renderer_process, "begin", begin):
            yield
    finally:
        for cache in caches:
            cache.cache_clear()
