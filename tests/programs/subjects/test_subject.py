"""Subjects: built once, started in replicas, watched, and ended with everything they started."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.real_servers import is_gone, wait_until

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.processes.resource_limits import Limits
from loadstone.programs.build import first_error
from loadstone.programs.manifest import Manifest, read_manifest
from loadstone.programs.subjects import replica as replica_module
from loadstone.programs.subjects import url as subject_url
from loadstone.programs.subjects.placeholders import ServerFactsForSubject, address_of
from loadstone.programs.subjects.subject import LocalSubject, SubjectSettings, local_subject
from loadstone.programs.subjects.url import UrlSubject, parse_subject_url
from loadstone.safety.errors import Interrupted, ServerGone, UserError
from loadstone.servers.server import DeployContext, ServerFacts

APPLICATION = """
import http.server, json, os, subprocess, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"arguments": sys.argv[1:], **os.environ}).encode()
        self.send_response(200 if self.path == "/ready" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass

escaped = subprocess.Popen(["sleep", "600"], start_new_session=True)
print("escaped", escaped.pid, flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
MANIFEST = """
name: shop
build:
  inputs: [app.py]
  commands: ["cp app.py built.py", "sh -c 'echo built >> times'"]
  output: built.py
run:
  command: {python} {{output}} {{port}} {{jvm_flags}} --number {{replica}}
  ready: /ready
environment:
  STORE: redis://:${{redis.password}}@${{redis.address}}/${{redis.database}}
  TABLES: ${{mariadb.address}}
  CACHE: yes
optional_servers: [mariadb]
jvm_flags: [-Xmx1g, -Dx=y]
warm_up_s: 3
"""
REDIS = ServerFactsForSubject("127.0.0.1", "6379", "", "secret-of-redis", "2")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's application with its manifest."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "app.py").write_text(APPLICATION)
    (folder / "subject.yaml").write_text(MANIFEST.format(python=sys.executable))
    return folder


def edit(folder: Path, old: str, new: str) -> None:
    manifest = folder / "subject.yaml"
    assert old in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(old, new))


@pytest.fixture
def shop(folder: Path, context: DeployContext) -> Iterator[Callable[..., LocalSubject]]:  # noqa: ARG001 (ends after it)
    made: list[LocalSubject] = []

    def make(**settings: object) -> LocalSubject:
        made.append(local_subject(folder, SubjectSettings(**{"servers": {"redis": REDIS}, **settings})))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def refusal(subject: LocalSubject, context: DeployContext) -> str:
    with pytest.raises(UserError) as refused:
        subject.start(context)
    assert subject.pids == {}
    assert "\n" not in str(refused.value)
    return str(refused.value)


def reported_by(endpoint: Endpoint) -> dict[str, object]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=10)
    try:
        connection.request("GET", "/ready")
        reported: dict[str, object] = json.loads(connection.getresponse().read())
        return reported
    finally:
        connection.close()


@pytest.mark.fault("a secret of another program in the environment")
@pytest.mark.parametrize(("inherits", "gets"), [("[]", set()), ("[OF_SHOP, UNSET]", {"OF_SHOP"}), ("all", None)])
def test_of_loadstones_own_environment_it_gets_what_every_program_needs(
    inherits: str,
    gets: set[str] | None,
    folder: Path,
    shop: Callable[..., LocalSubject],
    context: DeployContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = {"OF_SHOP", "AWS_SECRET_ACCESS_KEY", "JAVA_TOOL_OPTIONS", "PM2_SECRET_KEY", "MANAGEMENT_SERVER_PORT"}
    for name in others:
        monkeypatch.setenv(name, "elsewhere")
    edit(folder, "  ready: /ready\n", f"  ready: /ready\n  inherits: {inherits}\n")
    (endpoint,) = shop().start(context)
    found = reported_by(endpoint)
    assert {"PATH", "HOME", "STORE"} <= found.keys()
    assert found.keys() & others == (others if gets is None else gets)


def test_two_replicas_have_ports_logs_and_numbers_of_their_own(
    shop: Callable[..., LocalSubject], context: DeployContext, tmp_path: Path
) -> None:
    subject = shop(replicas=2, environment={"CACHE": "no"})
    endpoints = subject.start(replace(context, log_folder=tmp_path / "logs"))
    assert len({endpoint.port for endpoint in endpoints}) == 2
    assert list(subject.pids) == ["shop-1", "shop-2"]
    for number, endpoint in enumerate(endpoints, 1):
        reported = reported_by(endpoint)
        assert reported["arguments"] == [str(endpoint.port), "-Xmx1g", "-Dx=y", "--number", str(number)]
        assert reported["STORE"] == "redis://:secret-of-redis@127.0.0.1:6379/2"
        assert reported["CACHE"] == "no", "what the condition sets goes before the manifest"
        assert "TABLES" not in reported, "the experiment has no mariadb, which is optional"
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["shop-1.log", "shop-2.log"]
    assert subject.warm_up_s == 3


def test_secrets_stand_in_no_command_line_and_no_record(
    shop: Callable[..., LocalSubject], context: DeployContext
) -> None:
    subject = shop(environment={"GITHUB_TOKEN": "secret-of-redis"})
    subject.start(context)
    assert subject.details["environment.GITHUB_TOKEN"] == "***"
    family = [psutil.Process(subject.pids["shop"]), *psutil.Process().children(recursive=True)]
    assert "secret-of-redis" not in " ".join(" ".join(process.cmdline()) for process in family)
    assert "secret-of-redis" not in repr(subject.details)
    assert subject.details["environment.STORE"].startswith("redis://:${redis.password}@")


def test_it_is_built_once_for_each_state_of_its_sources(
    shop: Callable[..., LocalSubject], context: DeployContext, folder: Path, tmp_path: Path
) -> None:
    reported: list[str] = []
    for _ in range(2):
        subject = shop()
        subject.start(replace(context, progress=reported.append))
        subject.stop()
    assert reported == ["building shop: cp", "building shop: sh", "starting shop", "starting shop"]
    first = subject.details["source"]
    (folder / "app.py").write_text(APPLICATION + "\n")
    subject.start(context)
    assert subject.details["source"] != first
    assert len(list((tmp_path / "cache/loadstone/subjects").glob("*/times"))) == 2
    assert sorted(path.name for path in folder.iterdir()) == ["app.py", "subject.yaml"], "the sources are left alone"


def test_what_does_not_build_is_reported_in_the_compilers_texts_and_built_again(
    shop: Callable[..., LocalSubject], context: DeployContext, folder: Path
) -> None:
    edit(folder, "cp app.py built.py", "sh -c 'echo noise; echo Error in app.py:3, no such thing; exit 1'")
    reported = refusal(shop(), context)
    assert reported.startswith("subject shop: it does not build: Error in app.py:3, no such thing; its log is ")
    assert Path(reported.rpartition(" ")[2]).read_text().startswith("noise\n")
    edit(folder, "exit 1", "cp app.py built.py")
    shop().start(context)


def test_a_build_that_makes_nothing_is_reported(
    shop: Callable[..., LocalSubject], context: DeployContext, folder: Path
) -> None:
    edit(folder, "cp app.py built.py", "true")
    assert "the build made no 'built.py'" in refusal(shop(), context)


def test_a_tool_that_is_missing_is_reported(
    shop: Callable[..., LocalSubject], context: DeployContext, folder: Path
) -> None:
    edit(folder, "cp app.py built.py", "no-such-compiler app.py")
    assert "no-such-compiler cannot be run" in refusal(shop(), context)


def test_the_first_error_of_maven_is_the_compilers() -> None:
    log = """[ERROR] COMPILATION ERROR :
[ERROR] /cache/x/src/main/java/A.java:[12,5] cannot find symbol
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin (default-compile)
"""
    assert first_error(log, Path("/cache/x")) == "src/main/java/A.java:[12,5] cannot find symbol"
    assert first_error("npm error code E404\nnpm error 404 Not Found - left-pad\n", Path("/x")).startswith(
        "npm error 404"
    )
    assert first_error("", Path("/x")) == "nothing"


def test_what_does_not_get_ready_is_reported_with_its_last_lines(
    shop: Callable[..., LocalSubject], context: DeployContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "app.py").write_text(
        "import os\nprint('no table', os.environ['STORE'], flush=True)\nraise SystemExit(3)\n"
    )
    assert "its last lines are: no table redis://:***@127.0.0.1:6379/2" in refusal(shop(), context)
    (folder / "app.py").write_text("import time\nprint('waiting', flush=True)\ntime.sleep(600)\n")
    edit(folder, "ready: /ready", "ready: /ready\n  ready_within_s: 5")  # for Python itself to start
    heard: list[str] = []
    monkeypatch.setattr(replica_module, "SILENT_S", 0.1)
    told = replace(context, progress=heard.append)
    assert "/ready is not ready within 5 s; its last lines are: waiting" in refusal(shop(), told)
    assert any(re.search(r"waiting for \w+ to answer at port \d+/ready, up to 5 s", str(one)) for one in heard)


def test_a_port_that_is_taken_is_left_to_the_other(
    shop: Callable[..., LocalSubject], context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = replica_module.free_port
    with socket.create_server(("127.0.0.1", 0)) as silent:
        taken = silent.getsockname()[1]
        ports = iter([taken])
        monkeypatch.setattr(replica_module, "free_port", lambda _="": next(ports, None) or real())
        monkeypatch.setattr(replica_module, "ASK_S", 0.2)
        (endpoint,) = shop().start(context)
        assert endpoint.port != taken


def test_it_ends_with_what_left_its_session(
    shop: Callable[..., LocalSubject], context: DeployContext, tmp_path: Path
) -> None:
    subject = shop()
    subject.start(replace(context, log_folder=tmp_path / "logs"))
    escaped = int((tmp_path / "logs/shop.log").read_text().split()[1])
    assert not is_gone(escaped)
    subject.stop()
    subject.stop()
    assert is_gone(escaped)


@pytest.mark.fault("an application that loadstone started dies", "it restarts on its port, cold", area="servers")
def test_a_death_is_observed_and_it_starts_again_on_its_port(
    shop: Callable[..., LocalSubject], context: DeployContext
) -> None:
    subject = shop(replicas=2)
    endpoints = subject.start(context)
    os.kill(subject.pids["shop-2"], signal.SIGKILL)
    wait_until(lambda: not subject.alive())
    assert list(subject.pids) == ["shop-1"]
    assert "escaped" in str(subject.last_output())
    assert subject.restart() == endpoints
    assert subject.alive()


def test_limits_are_in_force_or_said_to_be_unavailable(
    shop: Callable[..., LocalSubject], context: DeployContext
) -> None:
    subject = shop(limits=Limits(cpu=0.5))
    reported: list[str] = []
    subject.start(replace(context, progress=reported.append))
    if subject.limits["cpu"].value == 0.5:
        wait_until(lambda: subject.throttling()["shop"].periods > 0)  # one takes 100 ms
    else:
        assert subject.limits["cpu"].status == "unavailable"
        assert any("limits are unavailable" in line for line in reported)


PROGRAM = """
import json, sys, time
from pathlib import Path
from loadstone.servers.server import DeployContext
from loadstone.programs.subjects.placeholders import ServerFactsForSubject
from loadstone.programs.subjects.subject import SubjectSettings, local_subject

redis = ServerFactsForSubject("127.0.0.1", "6379", "", "secret", "2")
subject = local_subject(Path(sys.argv[1]), SubjectSettings(replicas=2, servers={"redis": redis}))
subject.start(DeployContext(work_root=Path(sys.argv[2]), log_folder=Path(sys.argv[3])))
print(json.dumps(list(subject.pids.values())), flush=True)
time.sleep(600)
"""


def test_kill_9_of_loadstone_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    work, logs = tmp_path / "work", tmp_path / "logs"
    work.mkdir()
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(work), str(logs)], stdout=subprocess.PIPE, text=True
    )
    with program:
        assert program.stdout is not None
        pids = json.loads(program.stdout.readline())
        escaped = [int((logs / f"shop-{number}.log").read_text().split()[1]) for number in (1, 2)]
        program.kill()
    wait_until(lambda: all(is_gone(pid) for pid in [*pids, *escaped]))
    wait_until(lambda: list(work.iterdir()) == [])


def test_a_reference_to_no_server_is_named(shop: Callable[..., LocalSubject], context: DeployContext) -> None:
    assert "environment.STORE: the experiment has no server 'redis' (it has: none)" in refusal(
        shop(servers={}), context
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: shop", "nam: shop", "nam: unknown key"),
        ("{port}", "{prot}", "run.command: '{prot}' is not known"),
        ("{port}", "${redis.password}", "name servers in 'environment'"),
        ("${redis.address}", "${redis.adress}", "a server has no 'adress'"),
        ("name: shop", "name: [", "it is not YAML"),
        ("ready: /ready", "ready: ready", "run.ready: "),
    ],
)
def test_a_wrong_manifest_is_one_line(folder: Path, old: str, new: str, said: str) -> None:
    edit(folder, old, new)
    with pytest.raises(UserError) as refused:
        read_manifest(folder)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_manifest_and_inputs_are_named(
    folder: Path, shop: Callable[..., LocalSubject], context: DeployContext
) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_manifest(folder / "nowhere")
    edit(folder, "[app.py]", "[src/*.py]")
    assert "'src/*.py' matches no file" in refusal(shop(), context)


def test_an_application_without_a_build_runs_where_it_is(context: DeployContext, folder: Path) -> None:
    manifest = Manifest.model_validate(
        {"name": "plain", "run": {"command": f"{sys.executable} app.py {{port}}", "ready": "/ready"}}
    )
    subject = LocalSubject(manifest, folder)
    try:
        (endpoint,) = subject.start(context)
        assert reported_by(endpoint)["arguments"] == [str(endpoint.port)]
    finally:
        subject.stop()


def test_one_by_url_is_queried_and_never_stopped(
    shop: Callable[..., LocalSubject], context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject_url, "RETURN_S", 1.0)
    ours = shop(replicas=2)
    endpoints = ours.start(context)
    theirs = UrlSubject("app", [f"http://{endpoint.label}/base" for endpoint in endpoints])
    assert [endpoint.base_path for endpoint in theirs.start(DeployContext())] == ["/base", "/base"]
    assert list(theirs.pids.values()) == list(ours.pids.values())
    theirs.stop()
    assert ours.alive()
    ours.stop()
    assert not theirs.alive()
    told: list[str] = []
    with pytest.raises(UserError, match="Connection refused; start it"):
        theirs.start(DeployContext(progress=told.append))
    told.clear()
    with pytest.raises(ServerGone, match="--resume"):
        theirs.restart()
    assert [line.split(": ")[0] for line in told] == ["waiting for app for up to 1 s"]


def test_one_by_url_that_answers_late_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_url, "ASK_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = UrlSubject("app", [f"http://127.0.0.1:{listener.getsockname()[1]}"])
        assert theirs.alive()
        with pytest.raises(UserError, match="timed out; start it"):
            theirs.start(DeployContext())
        with pytest.raises(Interrupted):
            UrlSubject("app", ["http://127.0.0.1:1"]).start(DeployContext(stopped=lambda: True))
    assert not theirs.alive()


def test_a_host_that_is_none_is_reported() -> None:
    with pytest.raises(UserError, match=r"^subject .* a host has parts of 1 to 63 characters"):
        UrlSubject("app", [f"http://{'a' * 70}.example:80"]).start(DeployContext())


def test_a_build_ends_when_the_user_asks(
    shop: Callable[..., LocalSubject], context: DeployContext, folder: Path
) -> None:
    reported: list[str] = []
    edit(folder, "cp app.py built.py", "sleep 600")
    stopping = replace(context, progress=reported.append, stopped=lambda: bool(reported))
    with pytest.raises(Interrupted):
        shop().start(stopping)
    assert reported == ["building shop: sleep"]


def test_urls_of_subjects() -> None:
    assert parse_subject_url("http://m%40e:s%3Aecret@app").username == "m@e"
    assert parse_subject_url("http://m%40e:s%3Aecret@app").password == "s:ecret"
    assert parse_subject_url("http://app:8080/") == Endpoint(host="app", port=8080)
    secure = parse_subject_url("https://me:secret@app")
    assert (secure.port, secure.username, secure.tls is not None) == (443, "me", True)
    for wrong in ("app:8080", "http://", "http://app/?x=1", "http://me:secret@app:99999"):
        with pytest.raises(UserError) as refused:
            parse_subject_url(wrong)
        assert "secret" not in str(refused.value)


def test_addresses() -> None:
    facts = ServerFacts("mariadb", "11", "", "", details={"database": "loadstone"})
    assert address_of(Endpoint(port=3306, username="me", password="p"), facts) == ServerFactsForSubject(
        "127.0.0.1", "3306", "me", "p", "loadstone"
    )
    assert address_of(Endpoint(database=2), ServerFacts("redis", "8", "", "")).database == "2"
    with pytest.raises(UserError, match="host and port"):
        address_of(Endpoint(unix_path="/tmp/x"), facts)


def test_a_service_that_speaks_no_tls_is_not_taken_for_a_stopped_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(4096)
                line.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(UserError, match=r"it speaks no TLS; write http:// in place of https://"):
            UrlSubject("shop", [f"https://127.0.0.1:{port}"]).start(DeployContext())
        answering.join()
