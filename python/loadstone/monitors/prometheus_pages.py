"""Applications that expose figures in Prometheus's text format: how their pages are queried and read."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from loadstone.monitors.monitor import CounterRates
from loadstone.safety.bounds.http_exchange import NotHttp, exchange
from loadstone.safety.bounds.replies import read_as
from loadstone.safety.errors import LoadstoneError
from loadstone.text.message import said
from loadstone.text.problem import Problem

WAIT_S = 0.2
"""How long a sample waits for answers, all pages together. One that comes later belongs to the next sample."""
GIVE_UP_S = 5.0
"""How long an application may take for a whole answer. It gets one query at a time."""

Read = Callable[[str, str], dict[str, float]]
"""The figures of a part out of the text of its page. Raises ValueError: it is not Prometheus's format."""


class PrometheusPages:
    """A page for each part. All are queried at the same time, and the rates of each part's counters are kept."""

    def __init__(self, urls: Mapping[str, str], read: Read, page_max_bytes: int) -> None:
        """`urls`: by part; `page_max_bytes`: how long a page may be."""
        self._pages = {part: _Page(part, url, read, page_max_bytes) for part, url in urls.items()}
        self._rates: dict[str, CounterRates] = {}

    def answers(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Each part, with the figures that it answered last if they were not taken before; else without any."""
        for page in self._pages.values():
            page.ask()
        until_s = time.monotonic() + WAIT_S
        for part, page in self._pages.items():
            yield part, page.answer(until_s)

    def rates(self, part: str, counters: Mapping[str, float]) -> dict[str, float]:
        """Growth a second of a part's counters since they were last given; nothing the first time."""
        if part in self._rates:
            return self._rates[part].of(counters)
        self._rates[part] = CounterRates(counters)
        return {}


class _Page:
    """One page, queried in a thread of its own: an application under load, whose answer takes long, delays no other."""

    def __init__(self, part: str, url: str, read: Read, max_bytes: int) -> None:
        self._part = part
        self._url = urlsplit(url)
        self._read = read
        self._max_bytes = max_bytes
        self._asking: threading.Thread | None = None
        self._asked_now = False
        self._figures: dict[str, float] = {}

    def ask(self) -> None:
        """Ask, unless the last request still waits for its answer."""
        self._asked_now = self._asking is None
        if self._asking is None:
            self._asking = threading.Thread(target=self._ask, name=f"page of {self._part}", daemon=True)
            self._asking.start()

    def answer(self, until_s: float) -> dict[str, float]:
        """What was answered; a request that was just sent is waited for until then."""
        if self._asking is not None and self._asked_now:
            self._asking.join(max(0.0, until_s - time.monotonic()))
        if self._asking is None or self._asking.is_alive():
            return {}
        self._asking = None
        figures, self._figures = self._figures, {}
        return figures

    def _ask(self) -> None:
        host, port, path = self._url.hostname or "", self._url.port or 80, self._url.path or "/"
        try:
            answer = exchange(host, port, path, within_s=GIVE_UP_S, body_max_bytes=self._max_bytes)
            with read_as(self._part, path, said("figures in Prometheus's format")):
                self._figures = self._read(self._part, answer.body.decode()) if answer.status == 200 else {}
        except (OSError, NotHttp, ValueError, LoadstoneError):
            self._figures = {}


def samples(text: str, needed: tuple[str, ...]) -> list[Sample]:
    """Those of the lines that begin with one of `needed`: parsing all of them takes ten times as long.

    Raises:
        ValueError: it is not that format.
    """
    lines = (line for line in text.splitlines() if line.startswith(needed))
    try:
        return [figure for family in text_string_to_metric_families("\n".join(lines)) for figure in family.samples]
    except IndexError as error:  # of the parser, where a line breaks off
        raise Problem("not Prometheus's text format: {error}", error=error) from None


def total(observed: Iterable[Sample], name: str, labels: Mapping[str, str]) -> float | None:
    """The sum of the finite values of that name which have these labels; None where there are none."""
    finite = list(values(observed, name, labels))
    return sum(finite) if finite else None


def values(observed: Iterable[Sample], name: str, labels: Mapping[str, str]) -> Iterator[float]:
    """The finite values of that name which have these labels."""
    for figure in observed:
        if figure.name == name and labels.items() <= figure.labels.items() and math.isfinite(figure.value):
            yield figure.value
