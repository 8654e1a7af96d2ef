"""A file of HTTP requests, in the form that the HTTP clients of IntelliJ and VS Code have in common (`.http`).

    @kind = json

    ### read
    # @weight 9
    GET /items/{uniform 1..1000}?as={{kind}}

    ### write
    # @expect 201, 409
    POST /items
    Content-Type: application/json

    {"name": "{random 10 lowercase}"}

`###` begins a request, an empty line its body. Of an address the path alone counts: the command says where it goes.
What an editor does with a reply (`> {% ... %}`, `>> file`) is passed over.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from loadstone.cli.http_options import statuses
from loadstone.experiment.plan.operations import HttpRequest, Method
from loadstone.experiment.plan.substitute import FieldError
from loadstone.experiment.plan.workload_from_text import literal_braces, with_keys
from loadstone.experiment.spec.problems import first_problem
from loadstone.safety.bounds.files import read_bytes, why
from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REFERENCE
from loadstone.text.message import AnyText, said
from loadstone.text.wording import listed, nearest

OPTION = "--request-file"
LARGEST_BYTES, REQUESTS_MAX, HEADERS_MAX = 1_000_000, 500, 100
"""The first of the file, and of all that its variables and the files of its bodies add."""
TAGS = ("name", "weight", "expect", "expect-text")
OF_EDITORS = ("no-log", "no-redirect", "no-cookie-jar", "no-auto-encoding", "timeout", "connection-timeout", "note")
"""Tags that change nothing of what is sent."""
METHODS: tuple[str, ...] = get_args(Method)
_LINE = re.compile(r"\r?\n")
_COMMENT = ("#", "//")
_TAG = re.compile(r"(?:#|//)\s*@([A-Za-z][\w-]*)\s*=?\s*(.*)")
_SET = re.compile(r"@([A-Za-z_][\w.-]*)\s*=\s*(.*)")
_USED = re.compile(r"\{\{([^{}]*)\}\}")
_RANDOM = re.compile(r"\$(?:randomInt\s+|random\.integer\(\s*)(-?\d{1,18})(?:\s+|\s*,\s*)(-?\d{1,18})\s*\)?")
_ENVIRONMENT = re.compile(r"\$(?:processEnv\s+|env\.)(\w+)")
_VERSION = re.compile(r"HTTP/\d(?:\.\d)?")
_ADDRESS = re.compile(r"(https?://[^/?#]*)(.*)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_IN_PATH, _IN_HEADER = re.compile(r"[!\"$-~]*"), re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_BODY_FILE = re.compile(r"<(@?)\s+(\S.*)")
_OF_REPLIES = re.compile(r">>!?\s|<>\s|>\s+\S+\.js\s*$")
_WEIGHT = re.compile(r"[1-9]\d{0,5}", re.ASCII)
Numbered = Sequence[tuple[int, str]]
"""Lines with their numbers."""


@dataclass
class FileRequest:
    """One request of a file."""

    name: str = ""
    """As its author calls it; empty: nobody did."""
    weight: int = 1
    method: str = "GET"
    path: str = "/"
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    status: int | str | list[int | str] | None = None
    """What is correct; None: as the options say."""
    contains: str | None = None


def read_requests(path: Path) -> list[FileRequest]:
    """The requests of a file, in their order. Raises UserError: it names the line, and what to write."""
    try:
        text = read_bytes(path, LARGEST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(
            "{option} {path}: cannot be read ({why}); name a text of requests, as `GET /items`",
            option=OPTION,
            path=path,
            why=why(error),
        ) from None
    requests = list(islice(_Reader(path).requests(text), REQUESTS_MAX + 1))
    if not requests:
        raise UserError("{option} {path}: it has no request; write one, as `GET /items`", option=OPTION, path=path)
    if len(requests) > REQUESTS_MAX:
        raise UserError(
            "{option} {path}: more than {most} requests; write fewer", option=OPTION, path=path, most=REQUESTS_MAX
        )
    return requests


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._variables: dict[str, str] = {}
        self._address = ""
        """That of the requests until now; the command's takes its place."""
        self._left = LARGEST_BYTES
        """Characters that variables and files may still add to the requests."""

    def requests(self, text: str) -> Iterator[FileRequest]:
        title, lines = "", []
        for number, line in enumerate((*_LINE.split(text), "###"), start=1):
            if not line.startswith("###"):
                lines.append((number, line))
                continue
            if (request := self._request(title, lines)) is not None:
                yield request
            title, lines = line.strip("# \t"), []

    def _request(self, title: str, lines: Numbered) -> FileRequest | None:
        """The request of these lines; None where they are comments and variables alone."""
        request, at = FileRequest(name=title), 0
        while at < len(lines) and self._is_before(request, *lines[at]):
            at += 1
        if at == len(lines):
            return None
        number, first = lines[at]
        self._require_no_script(number, first)
        at += 1
        while at < len(lines) and lines[at][1][:1] in (" ", "\t") and lines[at][1].strip()[:1] in ("/", "?", "&"):
            first += lines[at][1].strip()
            at += 1
        request.method, request.path = self._method_and_path(first.strip(), number)
        while at < len(lines) and lines[at][1].strip():
            self._header(request, *lines[at])
            at += 1
        request.body = self._body(lines[at + 1 :])
        self._require_sendable(request, number)
        return request

    def _is_before(self, request: FileRequest, number: int, line: str) -> bool:
        """Whether a line stands before the request itself: it is empty, a comment with or without a tag, a variable."""
        text = line.strip()
        if (tag := _TAG.fullmatch(text)) is not None:
            self._tag(request, tag[1], tag[2].strip(), number)
        elif (variable := _SET.fullmatch(text)) is not None:
            self._variables[variable[1]] = self._filled(variable[2].strip(), number)
        else:
            return not text or text.startswith(_COMMENT)
        return True

    def _tag(self, request: FileRequest, name: str, value: str, number: int) -> None:
        if name == "name":
            request.name = value
        elif name == "weight":
            if not _WEIGHT.fullmatch(value):
                wrong = said("'@weight {value}' is no weight; write @weight 3", value=shortened(value, 20))
                raise self._wrong(number, wrong)
            request.weight = int(value)
        elif name == "expect":
            place = said("{place}: {problem}", place=self._place(number), problem="@expect")
            request.status = statuses(place, shortened(value))
        elif name == "expect-text":
            request.contains = literal_braces(self._filled(value, number), doubled=False)
        elif name not in OF_EDITORS:
            hint = nearest(name, TAGS)
            raise self._wrong(
                number,
                said("'@{name}' is not known; {hint}known are: {known}", name=name[:40], hint=hint, known=listed(TAGS)),
            )

    def _method_and_path(self, line: str, number: int) -> tuple[str, str]:
        method, space, target = line.partition(" ")
        if not space or not method.isalpha():
            method, target = "GET", line
        if method.upper() not in METHODS:
            raise self._wrong(
                number,
                said("'{method}' is not sent; write one of: {known}", method=shortened(method), known=listed(METHODS)),
            )
        target = self._filled(target.strip(), number)
        before, _, last = target.rpartition(" ")
        target = before.rstrip() if _VERSION.fullmatch(last) else target
        if (found := _ADDRESS.fullmatch(target)) is not None:
            self._require_one_address(found[1], number)
            target = found[2] if found[2].startswith("/") else f"/{found[2]}"
        if not target.startswith("/"):
            raise self._wrong(number, said("its path begins with no '/'; write GET /items, or GET http://HOST/items"))
        if not _IN_PATH.fullmatch(_PLACEHOLDER.sub("", target)):
            raise self._wrong(number, said("a path holds no spaces, no '#' and only ASCII; write %20 and the like"))
        return method.upper(), target

    def _require_one_address(self, address: str, number: int) -> None:
        if self._address not in ("", address):
            raise self._wrong(
                number,
                said(
                    "{one} and {other} are two services, and a load is of one; leave the requests of one out",
                    one=shortened(self._address),
                    other=shortened(address),
                ),
            )
        self._address = address

    def _header(self, request: FileRequest, number: int, line: str) -> None:
        text = line.strip()
        if (tag := _TAG.fullmatch(text)) is not None:
            self._tag(request, tag[1], tag[2].strip(), number)
            return
        if text.startswith(_COMMENT):
            return
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or not _IN_HEADER.fullmatch(text):
            raise self._wrong(number, said("a header is 'NAME: VALUE'; write an empty line before a body"))
        if len(request.headers) == HEADERS_MAX:
            raise self._wrong(number, said("more than {most} headers; write fewer", most=HEADERS_MAX))
        if name.strip().lower() in map(str.lower, request.headers):
            raise self._wrong(number, said("header '{name}' is there twice; write it once", name=shortened(name)))
        request.headers[name.strip()] = literal_braces(self._filled(value.strip(), number), doubled=False)

    def _body(self, lines: Numbered) -> str | None:
        """Without what an editor does with the reply; None where nothing is left."""
        kept: list[tuple[int, str]] = []
        in_script = False
        for number, line in lines:
            if in_script or line.startswith("> {%"):
                in_script = not line.rstrip().endswith("%}")
            elif not _OF_REPLIES.match(line):
                self._require_no_script(number, line)
                kept.append((number, line))
        while kept and not kept[-1][1].strip():
            kept.pop()
        if not kept:
            return None
        file = _BODY_FILE.fullmatch(kept[0][1].rstrip())
        if file is not None and len(kept) == 1:
            text = self._of_file(file[2], kept[0][0])
            filled = self._filled(text, kept[0][0]) if file[1] else self._counted(text, kept[0][0])
        else:
            for number in (number for number, line in kept if _BODY_FILE.fullmatch(line.rstrip())):
                raise self._wrong(number, said("a file is a whole body; write `< FILE` alone, or the text itself"))
            filled = "\n".join(self._filled(line, number) for number, line in kept)
        return literal_braces(filled, doubled=False)

    def _require_no_script(self, number: int, line: str) -> None:
        if line.startswith("< {%"):
            raise self._wrong(number, said("a script before a request is not run; remove it, and write placeholders"))

    def _of_file(self, name: str, number: int) -> str:
        """The text of a file beside this one, or below: what stands elsewhere is nothing for who wrote the requests."""
        folder = self._path.absolute().parent
        try:
            with os.fdopen(open_file(folder / name, folder=folder), "rb") as file:
                body = file.read(LARGEST_BYTES + 1)
            return body.decode(errors="strict" if len(body) <= LARGEST_BYTES else "replace")  # too much, whatever it is
        except (OSError, ValueError) as error:
            problem = said(
                "body {name}: cannot be read ({why}); name a text beside {file}",
                name=shortened(name),
                why=why(error),
                file=self._path.name,
            )
            raise self._wrong(number, problem) from None

    def _filled(self, text: str, number: int) -> str:
        """The text with its variables. Raises UserError where one is not known."""
        filled = _USED.sub(lambda used: self._counted(self._value(used[1].strip(), number), number), text)
        if "{{" in filled:
            raise self._wrong(number, said("'{{{{' begins a variable, and no '}}}}' ends it; write {{{{NAME}}}}"))
        return filled

    def _counted(self, text: str, number: int) -> str:
        """Return the text, which comes from elsewhere than this line, after counting it. Raises UserError where all of
        that is too much."""
        self._left -= len(text)
        if self._left < 0:
            raise self._wrong(number, said("variables and files make the requests longer than 1 MB; use smaller ones"))
        return text

    def _value(self, name: str, number: int) -> str:
        if name in self._variables:
            return self._variables[name]
        if (drawn := _RANDOM.fullmatch(name)) is not None and int(drawn[1]) < int(drawn[2]):
            return f"{{uniform {int(drawn[1])}..{int(drawn[2]) - 1}}}"
        if (variable := _ENVIRONMENT.fullmatch(name)) is not None:
            return f"${{env:{variable[1]}}}"
        shown = shortened(name, 40)
        if name.startswith("$"):
            drawn_here = "{seq}, {number}, {uniform 1..100}, {random 10 lowercase}"
            raise self._wrong(number, said("'{name}' is not drawn here; write {drawn}", name=shown, drawn=drawn_here))
        raise self._wrong(number, said("variable '{name}' is not known; write '@{name} = VALUE' above", name=shown))

    def _require_sendable(self, request: FileRequest, number: int) -> None:
        """What a plan refuses is refused here, where its line is known. Raises UserError."""
        data: dict[str, Any] = {
            "path": _without_references(request.path),
            "headers": {name: _without_references(value) for name, value in request.headers.items()},
            "body": _without_references(request.body or ""),
            "expect": {"contains": request.contains or ""},
        }
        try:
            HttpRequest.model_validate(with_keys(data, ()))
        except FieldError as error:
            path, problem = error.path, error.problem
        except ValidationError as error:
            path, problem = first_problem(error, HttpRequest, data)
        else:
            return
        place = ".".join(map(str, path)) or "request"
        raise self._wrong(number, said("{place}: {problem}", place=place, problem=problem))

    def _place(self, number: int) -> AnyText:
        return said("{option} {path}, line {number}", option=OPTION, path=self._path, number=number)

    def _wrong(self, number: int, problem: AnyText) -> UserError:
        return UserError("{place}: {problem}", place=self._place(number), problem=problem)


def _without_references(text: str) -> str:
    """A text as a plan is checked by: a secret is put in only where it is sent."""
    return REFERENCE.sub("", text)
