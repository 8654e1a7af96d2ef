"""The parts of a plan that are about HTTP/1.1: requests, what is expected of replies, and rows of data."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.plan.part import PlanPart

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = ("content-length", "transfer-encoding")

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Status = Annotated[int, Field(ge=200, le=599)] | Literal["2xx", "3xx", "4xx", "5xx"]


def _header_names(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"'{name}' is no name of a header; use letters, digits and '-'")
        if name.lower() in _OWN_HEADERS:
            raise ValueError(f"'{name}' is written by the driver; leave it out")
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_header_names)]
JsonPath = Annotated[str, Field(pattern=r"^[^.]+(\.[^.]+)*$")]


class HttpExpect(PlanPart):
    """What a correct reply is: its status, and of the checks on its body all that are given.

    `status`: one, several, or a class as `2xx`; a redirect is not followed, and right only if it is expected here.
    `equals`, `contains`: text that the body is, or holds; placeholders that stand for the same wherever an operation
    uses them are allowed, so neither `{uniform}` nor `{random}`. `json_fields`: the body is JSON and has a value,
    whatever it is, at each of these places, e.g. `id` or `content.0.title`.
    """

    status: Status | Annotated[tuple[Status, ...], Field(min_length=1)] = "2xx"
    equals: str | None = None
    contains: str | None = None
    json_fields: tuple[JsonPath, ...] = ()


class HttpRequest(PlanPart):
    """One request. `path` (with its query), the values of `headers`, and `body` are templates. Placeholders:

    `{number}` the key's number from 1 to `keys.count`; `{key}` prefix and 12-digit number; `{id}` that number alone;
    `{data.FIELD}` a field of the operation's row of the data file; `{seq}` a counter from 0; `{uniform A..B}` an
    integer; `{random N lowercase}` N letters; `{document}` a JSON text of the plan's size, `{value}` `payload_bytes`
    of text, both others for each operation (and `{version}` `{field}` `{body}` `{field_json}`, parts of the document).
    `{{` is a literal brace. A path and a header take a row's text as it is: write %20 and the like into the file.

    Host, Content-Length and Authorization (from the endpoint) are written by the driver, no other header is.
    """

    method: Method = "GET"
    path: str = Field(pattern="^/")
    headers: Headers = Field(default={})
    body: str | None = None
    expect: HttpExpect = HttpExpect()


class DataFile(PlanPart):
    """Rows for `{data.FIELD}`, read once: CSV whose first line names the fields, a JSON object a line, or documents.

    `format` follows from the file's ending (.csv, .jsonl, .ndjson) if it is not given; `documents` is a JSON document a
    line, which is the field `document` as it stands. Where the first line is `{"key": ..., "value": ...}` all are, with
    the fields `key` and `document`, and a text among the values is taken for its characters. The rows are taken in
    order, over and over, or drawn uniformly, or each key has one (`key`); all requests of one operation see the same
    row. `path` is read by the driver as it is: make it absolute.
    """

    path: str = Field(min_length=1)
    format: Literal["csv", "jsonl", "documents"] | None = None
    order: Literal["sequential", "uniform", "key"] = "sequential"
