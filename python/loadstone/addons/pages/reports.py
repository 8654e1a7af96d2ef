"""The report of a run, the same as its file, with what can be downloaded of it; and the trial behind a figure."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.addons.history.run_row import fingerprint
from loadstone.addons.pages.comparing import drawn
from loadstone.addons.pages.page import files, page, part_of_page
from loadstone.addons.pages.settings import folder_of
from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.judge.analysis.analysis import Analysis, TimelinePoint
from loadstone.report import summary
from loadstone.report.charts.timeline_chart import timeline_chart
from loadstone.report.html.page import EmbeddedPage, render_hosted
from loadstone.report.write import REPORTERS
from loadstone.run_folder.reading import IntervalLine, RecordedRun, read_run
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.safety.secrets.known import hide_known
from loadstone.text.language import _

_KEPT = 4
"""Analyses that are kept in memory: one takes some 10 MB."""
_INTERVALS_MAX = 400
"""Lines of a trial's table: a trial of more seconds has them in `intervals.jsonl`."""
_DOWNLOADS = {
    "report.html": ("html", "text/html; charset=utf-8"),
    "report.md": ("md", "text/markdown; charset=utf-8"),
    "analysis.json": ("json", "application/json"),
    "tables.zip": ("csv", "application/zip"),
    "charts.zip": ("svg", "application/zip"),
}
"""File -> the report's format, and what it is sent as. Formats of several files are sent as one archive."""


def _report(request: Request) -> Response:
    folder = folder_of(request)
    name = request.path_params["name"]
    _, analysis = _analysed(folder)
    bar = part_of_page(
        request,
        "report_bar.html",
        name=name,
        downloads=[(file, kind) for file, (kind, _type) in _DOWNLOADS.items()],
    )
    hosted = EmbeddedPage(Markup(bar), files()["report_bar.css"].decode(), f"{_address(name)}/trials/")
    content, policy = render_hosted(analysis, hosted)
    headers = {"content-security-policy": f"{policy}; frame-ancestors 'self'"}
    return Response(hide_known(content.decode()), media_type="text/html; charset=utf-8", headers=headers)


def _download(request: Request) -> Response:
    folder, file = folder_of(request), request.path_params["file"]
    if file not in _DOWNLOADS:
        raise HTTPException(404)
    kind, media_type = _DOWNLOADS[file]
    made = {name: _hidden(content) for name, content in REPORTERS[kind](_analysed(folder)[1]).items()}
    content = _zipped(made, folder.name) if file.endswith(".zip") else made[file]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-.")[:120] or "run"
    headers = {
        "content-disposition": f'attachment; filename="{stem}-{file}"',
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(content, media_type=media_type, headers=headers)


def _hidden(content: bytes) -> bytes:
    return hide_known(content.decode()).encode()


def _zipped(made: Mapping[str, bytes], name: str) -> bytes:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:120] or "run"
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in made.items():
            archive.writestr(f"{stem}/{file}", content)
    return written.getvalue()


def _analysed(folder: Path) -> tuple[RecordedRun, Analysis]:
    """The run and what is made of it, as its folder is now. Raises UserError if it cannot be read."""
    return _kept(folder, fingerprint(folder))


@lru_cache(maxsize=_KEPT)
def _kept(folder: Path, _fingerprint: str) -> tuple[RecordedRun, Analysis]:
    run = read_run(folder)
    return run, analyse_run(run)


def _trial(request: Request) -> Response:
    """What was measured in one trial, its checks, and what the monitors saw meanwhile."""
    folder, name = folder_of(request), request.path_params["trial"]
    run, analysis = _analysed(folder)
    trials = {trial.trial: trial for trial in (*run.shorter, *run.trials)}
    view = next((one for one in analysis.trials if one.trial == name), None)
    trial = trials.get(name)
    if trial is None or view is None:
        raise HTTPException(404, _("The run has no trial of this name."))
    alone = analysis.model_copy(update={"timeline": _around(analysis, name), "trials": [view]})
    return page(
        request,
        "trial.html",
        name=request.path_params["name"],
        analysis=analysis,
        trial=trial,
        view=view,
        checks=[(check, summary.figure(check)) for check in _failing_first(view.checks)],
        quantiles=list(_quantiles(trial)),
        seen=list(_seen(trial)),
        picture=drawn(timeline_chart(alone)),
        intervals=_intervals(run.intervals.get(name, ())),
        left=max(0, len(run.intervals.get(name, ())) - _INTERVALS_MAX),
        cpu={part: seconds / trial.duration_s for part, seconds in trial.cpu_s.items()} if trial.duration_s else {},
    )


def _failing_first(checks: Sequence[CheckResult]) -> list[CheckResult]:
    order = {"invalid": 0, "suspect": 1, "unknown": 2, "valid": 3}
    return sorted(checks, key=lambda check: order[check.verdict])


def _around(analysis: Analysis, name: str) -> list[TimelinePoint]:
    return [point for point in analysis.timeline if point.trial == name]


def _quantiles(trial: TrialRecord) -> Iterator[tuple[str, Quantiles]]:
    for title, quantiles in (
        (_("response time"), trial.response_ns),
        (_("service time"), trial.service_ns),
        (_("wait for a connection"), trial.pool_wait_ns),
        (_("the generator's own delay"), trial.schedule_lag_ns),
    ):
        if quantiles.max is not None or quantiles.p50 is not None:
            yield title, quantiles


def _seen(trial: TrialRecord) -> Iterator[tuple[str, str, float, float]]:
    for part, metrics in trial.facts.seen.items():
        for metric, value in metrics.items():
            yield part, metric, value.avg, value.max


def _intervals(lines: tuple[IntervalLine, ...]) -> list[IntervalLine]:
    return sorted(lines, key=lambda line: (line.index, line.operation))[:_INTERVALS_MAX]


def _address(name: str) -> str:
    return f"/runs/{quote(name, safe='')}"


routes = (
    Route("/runs/{name}/report", _report, name="report"),
    Route("/runs/{name}/trials/{trial}", _trial, name="trial"),
    Route("/runs/{name}/{file}", _download, name="download"),
)
