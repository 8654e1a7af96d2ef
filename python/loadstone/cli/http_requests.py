"""Which requests a service gets, as options or a file of them say it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.cli.http_options import HttpWork, statuses
from loadstone.cli.operations import LoadRow, YamlMapping, mix, name_of
from loadstone.cli.targets import http_target
from loadstone.experiment.plan.workload_from_text import literal_braces
from loadstone.safety.errors import UserError

BODY_MAX_BYTES = 1_000_000
PATHS_SHOWN = 2


@dataclass(frozen=True)
class HttpRequests:
    """What is requested of a service."""

    row: LoadRow
    below: bool
    """Whether its paths stand below that of the URL; False: that of the URL takes the place of the one."""
    numbers: int
    """How many `{number}` there are."""

    def of(self, url: str, option: str = "URL") -> tuple[str, LoadRow]:
        """The service at a URL, and what it gets. Raises UserError, which begins with the option."""
        target = http_target(url, option, below=self.below)
        if self.below:
            return target.base, self.row
        (operation,) = self.row.operations
        (request,) = operation["requests"]
        return target.base, _row([{**operation, "requests": [{**request, "path": target.path}]}])

    def of_each(self, urls: Mapping[str, str]) -> list[tuple[str, LoadRow]]:
        """Return the rows of several URLs, by their options. The rows are called alike, for they are compared."""
        services = [self.of(url, option) for option, url in urls.items()]
        name = _row([operation for _, row in services for operation in row.operations]).name
        return [(base, replace(row, name=name)) for base, row in services]


def requested(work: HttpWork) -> HttpRequests:
    """Those of the file, those of `--path`, or one of the URL's own path. Raises UserError that names the option."""
    headers = dict(map(_header, work.headers))
    expect: YamlMapping = {"status": statuses("--expect", work.expect)}
    if work.expect_text is not None:
        expect["contains"] = work.expect_text
    if work.request_file is not None:
        return HttpRequests(_row(_of_file(work, work.request_file, headers, expect)), True, work.numbers)
    wrong = next((path for path in work.paths if not path.startswith("/")), None)
    if wrong is not None:
        raise UserError("--path '{wrong}': must begin with '/'; write for example /{wrong}", wrong=wrong)
    common: YamlMapping = {"method": work.method.upper(), "headers": headers, "expect": expect}
    if work.body is not None:
        common["body"] = literal_braces(_body(work.body))
    paths = work.paths or ("/",)
    made = mix("", [(1, {"name": work.method.lower(), "requests": [{**common, "path": path}]}) for path in paths])
    return HttpRequests(_row(made.operations), bool(work.paths), work.numbers)


def _of_file(work: HttpWork, path: Path, headers: YamlMapping, expect: YamlMapping) -> tuple[YamlMapping, ...]:
    """An operation a request of the file; what it does not say is as the options have it. Raises UserError."""
    from loadstone.cli.request_file import OPTION, read_requests

    given = {"--path": work.paths, "--method": work.method != "GET", "--body": work.body is not None}
    for option in (option for option, value in given.items() if value):
        raise UserError("{option}: {file} says it for each request; leave it out", option=option, file=OPTION)
    weighted: list[tuple[int, YamlMapping]] = []
    for one in read_requests(path):
        own = {name.lower() for name in one.headers}
        request: YamlMapping = {
            "method": one.method,
            "path": one.path,
            "headers": {**{name: value for name, value in headers.items() if name.lower() not in own}, **one.headers},
            "expect": {**expect, **({} if one.status is None else {"status": one.status})},
        }
        if one.contains is not None:
            request["expect"]["contains"] = one.contains
        if one.body is not None:
            request["body"] = one.body
        method = one.method.lower()
        weighted.append((one.weight, {"name": name_of(one.name or method, method), "requests": [request]}))
    return mix("", weighted).operations


def _row(operations: Sequence[YamlMapping]) -> LoadRow:
    """Called by the first of its requests."""
    requests = [one["requests"][0] for one in operations]
    written = [(str(one["method"]), one["path"].partition("?")[0]) for one in requests]  # behind it may be a secret
    shown = _texts(list(dict.fromkeys(written)))
    more = ", ..." if len(shown) > PATHS_SHOWN else ""
    return LoadRow(f"{', '.join(shown[:PATHS_SHOWN])}{more}"[:80], tuple(operations))


def _texts(written: Sequence[tuple[str, str]]) -> list[str]:
    """`GET /a`, and of the same method `/b`."""
    before = ("", *(method for method, _ in written[:-1]))
    both = zip(before, written, strict=True)
    return [path if method == last else f"{method} {path}" for last, (method, path) in both]


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UserError("--header {name}: write 'NAME: VALUE'; secrets as ${{env:NAME}}", name=shlex.quote(name))
    return name.strip(), value.strip()


def _body(text: str) -> str:
    """The text, or with an `@` before it that of a file. Raises UserError where that cannot be read."""
    if not text.startswith("@"):
        return text
    try:
        with Path(text[1:]).open("rb") as file:
            body = file.read(BODY_MAX_BYTES + 1)
        if len(body) > BODY_MAX_BYTES:
            raise UserError("--body {text}: more than 1 MB; use a smaller file", text=text)
        return body.decode()
    except OSError as error:
        raise UserError(
            "--body {text}: cannot be read ({strerror}); write the text, or @FILE", text=text, strerror=error.strerror
        ) from None
    except UnicodeDecodeError:
        raise UserError("--body {text}: not text in UTF-8; use a text file", text=text) from None
