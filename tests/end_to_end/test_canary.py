"""A canary in every place where a user can write a secret, and none in anything that a run leaves."""

import base64
import contextlib
import html
import json
import re
import stat
import sys
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote_plus, urlsplit

import psutil
import pytest
import redis

from loadstone.machine.ports import free_port
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.report.write import REPORTERS
from loadstone.run.consent import FOLDER
from tests.end_to_end.conftest import Done, Lab, redis_in

pytestmark = pytest.mark.timeout(600)
MEASURED = (0, 3)
"""On a busy machine its trials may be invalid; what is written is the same."""
APP = Path(__file__).parent / "talkative" / "app.py"


def canary(place: str) -> str:
    """A word that stands nowhere else, and names its place."""
    return f"Cnry7{''.join(part.capitalize() for part in re.split('[^a-z0-9]+', place.lower()))}q9Z"


PLACES = {
    # of the experiment's file
    "header authorization": "workload...headers: {Authorization: Bearer C}",
    "header proxy": "workload...headers: {Proxy-Authorization: Basic C}",
    "header cookie": "workload...headers: {Cookie: sid=C; theme=dark}",
    "header api key": "workload...headers: {X-Api-Key: C}",
    "query token": "workload...path: /item?token=C",
    "query key": "workload...path: /item?key=C",
    "query signature": "workload...path: /item?X-Amz-Signature=C",
    "body json": 'workload...body: {"password": "C"}',
    "body form": "workload...body: user=a&client_secret=C",
    "command auth": "workload...commands: AUTH user C (of an operation that is not run)",
    "variable password": "subjects.app.environment.DB_PASSWORD: C",
    "variable session": "subjects.app.environment.SESSION_KEY: C",
    "variable token": "subjects.app.environment.GITHUB_TOKEN: C",
    "variable dsn jdbc": "subjects.app.environment.JDBC_URL: jdbc:mariadb://u:C@h/db",
    "variable dsn query": "subjects.app.environment.JDBC_TWO: jdbc:mariadb://h/db?user=u&password=C",
    "variable dsn pairs": "subjects.app.environment.PG: host=h user=u password=C",
    "variable java": "subjects.app.environment.JAVA_TOOL_OPTIONS: -Dspring.datasource.password=C",
    "value behind level": "factors.mode.values.one.pw: C, used by ${mode.pw} in environment.MODE_PASSWORD",
    "variable shell": "subjects.app.environment.SHELL_PASSWORD: C;$ (what a shell could run is shown by `show`)",
    "server url": "servers.theirs.url: redis://acl:C@host (an ACL user)",
    # of the application's manifest
    "manifest variable": "environment: {ADMIN_PASS: C}",
    # by reference
    "from env": "environment.PLAIN: ${env:NAME}, where no name says that it is secret",
    "from env level": "a level: ${env:NAME}",
    "from file": "environment.OTHER: ${secret:NAME} with --secret-file",
    # on the command line
    "set variable": "--set subjects.app.environment.REDIS_PASS=C",
    "set header": "--set workload.operations.0.requests.0.headers.X-Auth-Token=C",
    "line of a key": "a line of a key of several lines, by ${env:NAME}",
    "odd password": "a password with characters that URLs, shells and HTML escape",
}
ODD = "Cnry7Odd'p@s/s\"<&%2B>{q9}Z"
CANARIES = {place: canary(place) for place in PLACES} | {"odd password": ODD}
C = {place.replace(" ", "_"): value for place, value in CANARIES.items()}

MANIFEST = f"""\
name: app
run:
  command: {sys.executable} {APP} {{port}}
  ready: /ready
  ready_within_s: 90
environment:
  STORE: redis://:${{redis.password}}@${{redis.address}}
  STORE_PASS: ${{redis.password}}
  ADMIN_PASS: {C["manifest_variable"]}
warm_up_s: 0.3
"""
EXPERIMENT = f"""\
format: 1
name: talkative
question: Is anything told?
factors:
  mode: {{levels: [one], title: Mode, values: {{one: {{pw: {C["value_behind_level"]}}}}}}}
  login: {{levels: ["${{env:LOGIN_A}}", "${{env:LOGIN_B}}"], title: Login}}
tables:
  - {{name: all, title: Everything, vary: {{mode: [one], login: ["${{env:LOGIN_A}}", "${{env:LOGIN_B}}"]}}}}
servers:
  redis: {{kind: embedded}}
  theirs: {{kind: url, url: THEIRS}}
subjects:
  app:
    manifest: app/subject.yaml
    environment:
      DB_PASSWORD: {C["variable_password"]}
      SESSION_KEY: {C["variable_session"]}
      GITHUB_TOKEN: {C["variable_token"]}
      JDBC_URL: jdbc:mariadb://u:{C["variable_dsn_jdbc"]}@h/db
      JDBC_TWO: jdbc:mariadb://h/db?user=u&password={C["variable_dsn_query"]}
      PG: host=h user=u password={C["variable_dsn_pairs"]}
      JAVA_TOOL_OPTIONS: -Dspring.datasource.password={C["variable_java"]}
      MODE_PASSWORD: ${{mode.pw}}
      SHELL_PASSWORD: {C["variable_shell"]};$
      LOGIN: ${{login}}
      PLAIN: ${{env:PLAIN_SECRET}}
      PEM: ${{env:KEY_IN_PEM}}
      OTHER: ${{secret:FILED}}
      REDIS_PASS: ""
      SIDE_FILE: "@side@"
workload:
  target: app
  protocol: http1
  model: {{kind: closed, users: 2}}
  pool: {{connections: 2}}
  phases: {{warm_up_s: 200 ms, measure_s: MEASURE, drain_s: 5 s}}
  timeouts: {{request_ms: 10 s}}
  operations:
    - name: add
      requests:
        - method: POST
          path: /item?token={C["query_token"]}&key={C["query_key"]}&X-Amz-Signature={C["query_signature"]}
          headers:
            Authorization: Bearer {C["header_authorization"]}
            Proxy-Authorization: Basic {C["header_proxy"]}
            Cookie: sid={C["header_cookie"]}; theme=dark
            X-Api-Key: {C["header_api_key"]}
            X-Auth-Token: ""
          body: '{{{{"user": "a", "password": "{C["body_json"]}"}}}} user=a&client_secret={C["body_form"]}'
    - name: unused
      weight: 0
      commands: [{{args: "AUTH user {C["command_auth"]}"}}]
design: {{table_blocks: 1, at_rate: never}}
"""
ENVIRONMENT = {
    "PLAIN_SECRET": C["from_env"],
    "LOGIN_A": C["from_env_level"],
    "LOGIN_B": f"{C['from_env_level']}B",
    "ODD_SECRET": ODD,
    "KEY_IN_PEM": f"-----BEGIN KEY-----\n{C['line_of_a_key']}\n-----END KEY-----\n",
}


@dataclass
class Theirs:
    """A Redis of the user's with an ACL user."""

    port: int

    def url(self, login: str) -> str:
        return f"redis://{login}@127.0.0.1:{self.port}/0"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    with redis_in(tmp_path_factory.mktemp("theirs"), "plain") as (_, url):
        with contextlib.closing(redis.Redis.from_url(url)) as client:
            for user, password in (("acl", C["server_url"]), ("odd", ODD)):
                client.acl_setuser(user, enabled=True, passwords=[f"+{password}"], keys=["*"], categories=["+@all"])
        yield Theirs(urlsplit(url).port or 0)


def experiment(lab: Lab, theirs: Theirs, measure: str = "500 ms", login: str = "") -> Path:
    (lab.folder / "app").mkdir(exist_ok=True)
    (lab.folder / "app" / "subject.yaml").write_text(MANIFEST)
    (lab.folder / "filed").write_text(f"{C['from_file']}\n")
    (lab.folder / "side").mkdir(exist_ok=True)
    text = EXPERIMENT.replace("THEIRS", f'"{theirs.url(login or "acl:" + C["server_url"])}"').replace(
        "MEASURE", measure
    )
    path = lab.folder / "talkative.yaml"
    path.write_text(text.replace("@side@", str(lab.folder / "side" / "generated")))
    return path


OPTIONS = (
    *("--secret-file", "FILED=filed"),
    *("--set", f"subjects.app.environment.REDIS_PASS={C['set_variable']}"),
    *("--set", f"workload.operations.0.requests.0.headers.X-Auth-Token={C['set_header']}"),
)


def variants(data: bytes, depth: int = 2) -> Iterator[bytes]:
    """The data, and what it says to those who decode it: escapes, %-escapes, Base64, gzip and zlib."""
    yield data
    text = data.decode(errors="replace")
    yield unquote_plus(text).encode()
    yield html.unescape(text).encode()
    yield text.replace("\\", "").encode()
    yield text.replace("'\"'\"'", "'").encode()
    yield from (bytes.fromhex(found[0].decode()) for found in re.finditer(rb"(?:[0-9a-f]{2}){8,}", data))
    with contextlib.suppress(zlib.error):
        yield zlib.decompress(data, 47)
    for found in re.finditer(rb"[A-Za-z0-9+/_-]{16,}={0,2}", data) if depth else ():
        run = found[0].rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            piece = run[start:]
            decoded = base64.b64decode(piece[: len(piece) // 4 * 4])
            yield decoded
            with contextlib.suppress(zlib.error):
                yield zlib.decompress(decoded, 47)


def places_in(data: bytes, more: str = "") -> list[str]:
    """The places whose canary stands in the data, in any form."""
    secrets = CANARIES | ({"generated": more} if more else {})
    found = set()
    for variant in variants(data):
        found |= {place for place, secret in secrets.items() if secret.encode() in variant}
    return sorted(found)


def left(lab: Lab, done: Done, generated: str = "") -> dict[str, list[str]]:
    """Where canaries stand in what a run leaves: its files, names, output, temporary folder, and answers."""
    reported = {"stdout": done.out.encode(), "stderr": done.err.encode()}
    files = [file for root in ("runs", "tmp") for file in (lab.folder / root).rglob("*") if file.is_file()]
    reported |= {str(file.relative_to(lab.folder)): file.read_bytes() for file in files}
    reported |= {str(file): file.read_bytes() for file in (cache_folder() / FOLDER).glob("*.json")}
    reported["names"] = "\n".join(reported).encode()
    return {name: found for name, data in reported.items() if (found := places_in(data, generated))}


def arguments(pid: int) -> bytes:
    """The command lines of all that a process started: everybody may read them.

    Until it is another program, a child has those words with which the user started the command.
    """
    words: list[str] = []
    with contextlib.suppress(psutil.Error):
        command = psutil.Process(pid)
        own = command.cmdline()
        for child in command.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found = child.cmdline()
                words += [] if found == own else found
    return "\n".join(words).encode()


@pytest.mark.fault(
    "a secret in experiment, manifest, command line or environment",
    "in no file, output, metric, log or child's arguments",
    area="secrets",
)
def test_no_canary_is_in_what_a_run_leaves(lab: Lab, theirs: Theirs) -> None:
    port = free_port()
    command = lab.begin(
        "run",
        "--trust",
        experiment(lab, theirs),
        *OPTIONS,
        "--prometheus",
        str(port),
        "--json",
        "--verbose",
        **ENVIRONMENT,
    )
    observed: list[bytes] = []

    def measured() -> bool:
        observed.append(arguments(command.process.pid))
        with contextlib.suppress(OSError):
            observed.append(urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read())
        return command.process.poll() is not None

    lab.until(measured)
    done = command.wait()
    assert done.status in MEASURED, done.err
    generated = (lab.folder / "side" / "generated").read_text()
    assert len(generated) > 20
    log = next((lab.run() / "logs").rglob("app*.log")).read_text()
    assert "Authorization: " in log, "the application told nothing, and the test shows nothing"
    assert "PLAIN: ${env:PLAIN_SECRET}" in log
    assert left(lab, done, generated) == {}
    assert [places_in(data, generated) for data in observed if places_in(data, generated)] == []
    for path in (lab.run(), *lab.run().rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    resolved = (lab.run() / "experiment.yaml").read_text()
    assert "PLAIN: ${env:PLAIN_SECRET}" in resolved
    assert {line["condition"]["login"] for line in lab.lines()} == {"${env:LOGIN_A}", "${env:LOGIN_B}"}
    assert json.loads(done.out)["experiment"] == "talkative"

    lab.draws = True
    reported = lab.loadstone("report", lab.run(), "--format", ",".join(REPORTERS))
    lab.draws = False
    assert reported.status == 0, reported.err
    assert left(lab, reported, generated) == {}
    listed = lab.loadstone("runs")
    assert left(lab, listed, generated) == {}
    again = lab.loadstone("run", "--resume", lab.run(), **ENVIRONMENT)
    assert "the secret in --set subjects.app.environment.REDIS_PASS is not kept; add --set subjects" in again.error_line
    again = lab.loadstone("run", "--resume", lab.run(), *OPTIONS[2:], **ENVIRONMENT)
    assert again.status in MEASURED, again.err
    assert left(lab, again, generated) == {}


def test_a_secret_by_reference_needs_nothing_to_go_on(lab: Lab, theirs: Theirs) -> None:
    path = experiment(lab, theirs, login="odd:${env:ODD_SECRET}")
    done = lab.loadstone("run", "--trust", path, "--secret-file", "FILED=filed", **ENVIRONMENT)
    assert done.status in MEASURED, done.err
    assert left(lab, done) == {}
    again = lab.loadstone("run", "--resume", lab.run(), **ENVIRONMENT)
    assert again.status in MEASURED, again.err
    assert left(lab, again) == {}
    again = lab.loadstone("run", "--resume", lab.run(), **{**ENVIRONMENT, "ODD_SECRET": ""})
    assert "servers.theirs.url: '${env:ODD_SECRET}': the variable ODD_SECRET is empty" in again.error_line


REFUSED: dict[str, Callable[[Theirs], list[str]]] = {
    "port": lambda _: ["--server", f"theirs=redis://acl:{C['server_url']}@127.0.0.1:port/0"],
    "scheme": lambda _: ["--server", f"theirs=http://acl:{C['server_url']}@127.0.0.1/0"],
    "slash": lambda _: ["--server", f"theirs=redis://acl:{C['server_url']}/x@127.0.0.1:1/0"],
    "option": lambda _: ["--server", f"theirs=redis://acl:{C['server_url']}@127.0.0.1/0?bad=1"],
    "no name": lambda _: ["--server", f"redis://acl:{C['server_url']}@127.0.0.1/0"],
    "wrong password": lambda theirs: ["--server", f"theirs={theirs.url('acl:' + C['variable_token'])}"],
    "odd password": lambda theirs: ["--server", f"theirs={theirs.url('acl:' + quote(ODD, safe=''))}"],
    "nobody there": lambda _: ["--server", f"theirs=redis://acl:{C['server_url']}@127.0.0.1:1/0"],
    "mariadb": lambda _: ["--server", f"theirs=mariadb://acl:{C['server_url']}@127.0.0.1/0"],
    "subject": lambda _: ["--subject", f"http://u:{C['server_url']}@127.0.0.1:x/"],
    "subject path": lambda _: ["--subject", f"u:{C['server_url']}@127.0.0.1:80"],
    "subject query": lambda _: ["--subject", f"http://127.0.0.1:1/?token={C['query_token']}"],
    "set below": lambda _: ["--set", f"subjects.app.environment.DB_PASSWORD.x={C['set_variable']}"],
    "set list": lambda _: ["--set", f"subjects.app.environment.DB_PASSWORD=[{C['set_variable']}]"],
    "set header": lambda _: ["--set", f"workload.operations.0.requests.0.headers.Authorization=[{C['set_header']}]"],
    "unknown key": lambda _: ["--set", f"servers.theirs.password={C['set_variable']}"],
    "dies": lambda _: ["--set", "subjects.app.environment.APP_DIES='yes'"],
    "level": lambda _: ["--set", f"factors.mode.values.one.pw=[{C['value_behind_level']}]"],
}


@pytest.mark.fault(
    "bad URL, wrong password, refused input, or an application that prints its password",
    "one line without the password",
    area="secrets",
)
@pytest.mark.parametrize("refused", REFUSED)
def test_no_canary_is_in_what_a_refused_run_says(lab: Lab, theirs: Theirs, refused: str) -> None:
    done = lab.loadstone("run", "--trust", experiment(lab, theirs), *OPTIONS, *REFUSED[refused](theirs), **ENVIRONMENT)
    assert done.status in (2, 3), done.out + done.err
    assert done.error_line
    assert left(lab, done) == {}


@pytest.mark.fault("a secret's variable or file is missing", "one line with the remedy", area="secrets")
@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("PLAIN_SECRET", "subjects.app.environment.PLAIN: '${env:PLAIN_SECRET}': the variable PLAIN_SECRET is empty"),
        ("LOGIN_A", "factors.login.levels.0: '${env:LOGIN_A}': the variable LOGIN_A is empty in the environment; "),
    ],
)
def test_a_variable_that_is_missing_is_one_clear_line(lab: Lab, theirs: Theirs, missing: str, said: str) -> None:
    done = lab.loadstone("run", "--trust", experiment(lab, theirs), *OPTIONS, **{**ENVIRONMENT, missing: ""})
    assert done.status == 2
    assert said in done.error_line
    done = lab.loadstone("run", "--trust", experiment(lab, theirs), *OPTIONS[2:], **ENVIRONMENT)
    assert "'${secret:FILED}': no file was named for it; add --secret-file FILED=PATH" in done.error_line


@pytest.mark.fault("a factor's level is a secret", "refused with the remedy", area="secrets")
def test_a_level_that_is_a_secret_is_refused_with_its_remedy(lab: Lab, theirs: Theirs) -> None:
    path = experiment(lab, theirs)
    text = path.read_text().replace('"${env:LOGIN_A}", "${env:LOGIN_B}"', "alpha-Cnry7Levelq9Z, beta")
    path.write_text(text.replace("LOGIN: ${login}", "LOGIN_PASSWORD: ${login}"))
    done = lab.loadstone("run", "--trust", path, *OPTIONS, **ENVIRONMENT)
    assert "factors.login.levels: a level is the secret of subjects.app.environment.LOGIN_PASSWORD" in done.error_line
    assert "write ${env:NAME} as the level" in done.error_line
    assert "Cnry7Level" not in done.err
