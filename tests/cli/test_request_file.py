"""A file of requests: what is sent, by which weights, and one line for whatever is wrong in it."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.said import Said

from loadstone.cli.request_file import HEADERS_MAX, REQUESTS_MAX, FileRequest, read_requests
from loadstone.experiment.plan.operations import HttpRequest
from loadstone.safety.errors import UserError

ITEMS = """\
// Of the shop.
@host = http://localhost:8080
@item = /items/{{$randomInt 1 1001}}

### Read an item
# @no-log
# @weight 9
GET {{host}}{{item}}
    ?as=json
    &lang=ko HTTP/1.1
Accept: application/json
# @expect 200, 404
X-Token: ${env:HOME}

> {%
  client.test("ok", function() { client.assert(response.status === 200); });
%}

###
# @name add
# @expect 201
# @expect-text {"id":
POST /items
Content-Type: application/json

{"name": "{random 8 lowercase}", "of": {"price": {uniform 1..9}}, "by": "{{$processEnv HOME}}"}

>> added.json
###
http://localhost:8080

### no request stands here
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """A file of this text."""

    def write(text: str) -> Path:
        path = tmp_path / "shop.http"
        path.write_bytes(text.encode())
        return path

    return write


Written = Callable[[str], Path]


def test_requests_are_read_as_the_editors_have_them(written: Written) -> None:
    assert read_requests(written(ITEMS)) == [
        FileRequest(
            name="Read an item",
            weight=9,
            path="/items/{uniform 1..1000}?as=json&lang=ko",
            headers={"Accept": "application/json", "X-Token": "${env:HOME}"},
            status=[200, 404],
        ),
        FileRequest(
            name="add",
            method="POST",
            path="/items",
            headers={"Content-Type": "application/json"},
            body='{{"name": "{random 8 lowercase}", "of": {{"price": {uniform 1..9}}}, "by": "${env:HOME}"}}',
            status=201,
            contains='{{"id":',
        ),
        FileRequest(),
    ]
    assert read_requests(written(ITEMS.replace("\n", "\r\n"))) == read_requests(written(ITEMS))


def test_a_body_may_stand_in_a_file_beside_it(written: Written, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"a": {"b": {number}}, "c": "{{name}}"}')
    plain = written("@name = d\nPOST /a\n\n< ./body.json\n\n")
    assert [one.body for one in read_requests(plain)] == ['{{"a": {{"b": {number}}}, "c": "{{{{name}}}}"}}']
    filled = written("@name = d\nPOST /a\n\n<@ body.json")
    assert [one.body for one in read_requests(filled)] == ['{{"a": {{"b": {number}}}, "c": "d"}}']


def requests_of(found: Said) -> dict[str, tuple[float, HttpRequest]]:
    return {one.name: (one.weight, one.requests[0]) for one in found.run_plan.trials[0].plan.operations}


def test_they_are_the_operations_of_a_command_that_loads_a_service(
    said: Callable[..., Said], written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_operations(["http", "http://127.0.0.1:1/api"], said, written, monkeypatch)


def require_operations(
    words: Sequence[str], said: Callable[..., Said], written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails unless what a command loads a service with is what stands in the file."""
    monkeypatch.setenv("HOME", "/h{o}me")
    more = ["--header", "accept: text/html", "--header", "A: b", "--expect", "2xx", "--keys", "7"]
    found = said(*words, "--request-file", str(written(ITEMS)), *more)
    requests = requests_of(found)
    assert {name: weight for name, (weight, _) in requests.items()} == {"read-an-item": 9, "add": 1, "get": 1}
    read, add, get = (request for _, request in requests.values())
    assert read.headers == {"A": "b", "Accept": "application/json", "X-Token": "/h{{o}}me"}
    assert (read.expect.status, add.expect.status, get.expect.status) == ((200, 404), 201, "2xx")
    assert (add.expect.contains, get.path) == ('{{"id":', "/")
    assert found.run_plan.trials[0].plan.keys.count == 7
    assert "GET /items/{uniform 1..1000}, POST /items, ..." in found.experiment.question
    assert {one.url for one in found.experiment.subjects.values()} <= {*words}


def test_a_secret_in_a_body_is_put_in_where_it_is_sent(
    said: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_TEST_TOKEN", "t0p{s}ecret")
    found = said("http", "http://127.0.0.1:1/", "-m", "POST", "--body", '{"token": "${env:LOADSTONE_TEST_TOKEN}"}')
    ((_, request),) = requests_of(found).values()
    assert request.body == '{{"token": "t0p{{s}}ecret"}}'
    assert "t0p" not in str(found.experiment.source.data)


WRONG = [
    ("", "it has no request; write one, as `GET /items`"),
    ("# nothing\n@a = b\n###\n", "it has no request"),
    ("###\nGET /a\n" * (REQUESTS_MAX + 1), "more than 500 requests; write fewer"),
    ("GET /a\n" + "".join(f"A{n}: b\n" for n in range(HEADERS_MAX + 1)), "line 102: more than 100 headers"),
    ("# @weight 0\nGET /a", "line 1: '@weight 0' is no weight; write @weight 3"),
    ("# @weigth 2\nGET /a", "line 1: '@weigth' is not known; did you mean 'weight'? known are: name, weight, expect"),
    ("GET /a\n# @expect fine", "line 2: @expect fine: no status of HTTP; write for example 200"),
    ("# @expect-text {uniform 1..2}\nGET /a", "line 2: expect.contains: '{uniform 1..2}' is no placeholder"),
    ("\nWEBSOCKET ws://h/", "line 2: 'WEBSOCKET' is not sent; write one of: GET, HEAD, POST"),
    ("GET", "line 1: its path begins with no '/'; write GET /items, or GET http://HOST/items"),
    ("localhost:8080/a", "line 1: its path begins with no '/'"),
    ("GET /a b", "line 1: a path holds no spaces, no '#' and only ASCII; write %20"),
    ("GET /\u00fc#x", "line 1: a path holds no spaces"),
    ("GET /a/{x}", "line 1: path: '{x}' is no placeholder; placeholders are: {number}"),
    ("GET /{keys:0}", "line 1: request: '{keys:0}': an operation has 1 to 10000 keys"),
    ("GET http://a/\n###\nGET http://b/", "line 3: http://a and http://b are two services, and a load is of one"),
    ("GET {{host}}/a", "line 1: variable 'host' is not known; write '@host = VALUE' above"),
    ("GET /{{$guid}}", "line 1: '$guid' is not drawn here; write {seq}, {number}, {uniform 1..100}"),
    ("GET /a\n\n{{open", "line 3: '{{' begins a variable, and no '}}' ends it; write {{NAME}}"),
    ("GET /{{$randomInt 9 2}}", "line 1: '$randomInt 9 2' is not drawn here"),
    ("GET /a\nno header", "line 2: a header is 'NAME: VALUE'; write an empty line before a body"),
    ("GET /a\nA: b\x1b", "line 2: a header is 'NAME: VALUE'"),
    (
        "@v = b\rC: d\nGET /a\nA: {{v}}",
        "line 2: headers: the value of 'A' holds a line end or a control character; remove",
    ),
    ("GET /a\nA b: c", "line 1: headers: 'A b' is no name of a header"),
    ("GET /a\nContent-Length: 1", "line 1: headers: 'Content-Length' is written by the driver; leave it out"),
    ("GET /a\nA: b\na: c", "line 3: header 'a' is there twice; write it once"),
    ("< {%\n x() %}\nGET /a", "line 1: a script before a request is not run; remove it"),
    ("POST /a\n\n< nowhere.json", "line 3: body nowhere.json: cannot be read (No such file"),
    ("POST /a\n\n< ../shop.http", "line 3: body ../shop.http: cannot be read (it leads out of its folder)"),
    ("POST /a\n\n< /etc/hostname", "line 3: body /etc/hostname: cannot be read (it leads out of its folder)"),
    ("POST /a\n\n< link.json", "line 3: body link.json: cannot be read (it is a link"),
    ("POST /a\n\n< large.json", "line 3: variables and files make the requests longer than 1 MB"),
    ("POST /a\n\n< half.json\n###\n" * 3, "line 11: variables and files make the requests longer"),
    ("POST /a\n\n< bytes", "line 3: body bytes: cannot be read (it is not text in UTF-8 (byte 0))"),
    ("POST /a\n\n--x\n< shop.http", "line 4: a file is a whole body; write `< FILE` alone"),
    ("@a = " + "x" * 1000 + "\n@b = " + "{{a}}" * 900 + "\n@c = {{b}}\nGET /", "line 3: variables and files make"),
    ("GET /" + "y" * 1_000_000, "cannot be read (it is larger than 1 MB)"),
]


@pytest.mark.fault("a file of requests that is wrong, huge or leads elsewhere", "one line names its line", area="input")
@pytest.mark.parametrize(("text", "line"), WRONG)
def test_what_is_wrong_names_the_line_and_what_to_write(text: str, line: str, written: Written, tmp_path: Path) -> None:
    path = written(text)
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    (tmp_path / "large.json").write_text("x" * 1_000_001)
    (tmp_path / "half.json").write_text("x" * 500_000)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError) as error:
        read_requests(path)
    said = str(error.value)
    assert said.startswith(f"--request-file {path}")
    assert line in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--path", "/a"], "--path: --request-file says it for each request; leave it out"),
        (["-m", "POST"], "-m: --request-file says it for each request"),
        (["-D", "body"], "--body: --request-file says it"),
        (["--expect", "fine"], "--expect fine: no status of HTTP"),
    ],
)
def test_options_that_a_file_has_of_its_own(
    options: list[str], line: str, said: Callable[..., Said], written: Written
) -> None:
    with pytest.raises(UserError) as error:
        said("http", "http://127.0.0.1:1/", "--request-file", str(written("GET /")), *options)
    assert str(error.value).startswith(line)


def test_a_query_before_the_paths_of_a_file_has_no_meaning(said: Callable[..., Said], written: Written) -> None:
    with pytest.raises(UserError, match=r"^URL: '\?a=b' has no meaning before other paths; write it into these"):
        said("http", "http://127.0.0.1:1/?a=b", "--request-file", str(written("GET /")))


PIECES = [
    "###", "\n", "\n\n", "GET ", "POST ", "/a", "http://h", "{{", "}}", "{", "}", "${env:A}", "{uniform 1..2}", "{{a}}",
    "@a = b", "# @weight 2", "# @expect 2xx", "// x", "A: b", "< ", "<@ ./x", "> {%", "%}", ">> x", " HTTP/1.1", "?",
    " ", "\x00", "\x1b[2J", "\u2028", "\U0001f600", "$randomInt 1 9", ":", "=", "\r", "{keys:10}", "9" * 400,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_whatever_stands_in_a_file_it_is_requests_or_one_line(seed: int, written: Written) -> None:
    drawn: Any = random.Random(seed)
    for _ in range(100):
        path = written("".join(drawn.choices(PIECES, k=drawn.randrange(1, 40))))
        try:
            assert read_requests(path)
            continue
        except UserError as error:
            said = str(error)
        assert said.startswith(f"--request-file {path}")
        assert "\n" not in said
        assert "\x1b" not in said
