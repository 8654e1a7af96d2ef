from pathlib import Path
from typing import Any

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment, read_source
from loadstone.experiment.spec.overrides import check_at_rate, parse_duration_s, parse_only, parse_scale
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.run.prepare import requested_experiment
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError


@pytest.fixture
def experiment(small: str) -> Experiment:
    return load_experiment(small, label="small.yaml")


@pytest.mark.parametrize(
    ("texts", "levels"),
    [
        (["payload=1 kB"], {"payload": ("1 kB",)}),
        (["payload=1kB"], {"payload": ("1 kB",)}),
        (["payload=1000 B"], {"payload": ("1 kB",)}),
        (["payload=1kB,100B"], {"payload": ("100 B", "1 kB")}),
        (["payload=1kB", "payload=100 B"], {"payload": ("100 B", "1 kB")}),
        (["workers=8"], {"workers": (8,)}),
        (["workers=8.0"], {"workers": (8,)}),
        (["operation=get", " workers = 1 "], {"operation": ("get",), "workers": (1,)}),
        ([], {}),
    ],
)
def test_only_means_levels_by_text_or_value(
    experiment: Experiment, texts: list[str], levels: dict[str, tuple[object, ...]]
) -> None:
    assert parse_only(experiment, texts) == levels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "payloads=1 kB",
            "--only payloads=1 kB: 'payloads' is no factor; did you mean 'payload'? "
            "factors are: operation, payload, workers, idle",
        ),
        (
            "payload=2 kB",
            "--only payload=2 kB: '2 kB' is no level of payload; did you mean '1 kB'? levels are: 100 B, 1 kB",
        ),
        ("workers=2", "--only workers=2: '2' is no level of workers; levels are: 1, 8"),
        ("workers=1,", "--only workers=1,: '' is no level of workers; levels are: 1, 8"),
        ("workers=nan", "--only workers=nan: 'nan' is no level of workers; levels are: 1, 8"),
        ("payload", "--only payload: write FACTOR=LEVEL[,LEVEL]; factors are: operation, payload, workers, idle"),
    ],
)
def test_only_names_what_exists(experiment: Experiment, text: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_only(experiment, [text])
    assert str(caught.value) == expected


def test_a_setting_is_taken_as_if_written_in_the_file(experiment: Experiment) -> None:
    changed = with_overrides(
        experiment,
        sets=[
            "workload.pool.connections=64",
            "factors.workers.levels=[1, 8, 16]",
            "tables.by-users.vary.workers=[16]",
            "tables.0.title=Sizes",
            "workload.timeouts.request_ms=1 s",
            "workload.operations.0.commands.0.expect=any",
        ],
    )
    assert changed.workload.pool["connections"] == 64
    assert changed.tables[1].vary["workers"] == (16,)
    assert changed.tables[0].title == "Sizes"
    assert changed.workload.timeouts == {"request_ms": "1 s"}
    assert changed.workload.operations[0].commands[0]["expect"] == "any"
    assert experiment.workload.pool["connections"] == 8, "the original stays as it was"


def test_a_setting_by_hand_wins_over_quick_and_as_published(experiment: Experiment) -> None:
    changed = with_overrides(experiment, sets=["workload.phases.measure_s=7 s"])
    assert changed.workload.phases["measure_s"] == "7 s"
    assert changed.quick.phases == {}
    assert changed.as_published is not None
    assert changed.as_published.phases == {"warm_up_s": "0 s", "measure_max_s": "1 min"}
    kept = with_overrides(experiment, sets=["quick.phases.measure_s=7 s"])
    assert kept.quick.phases == {"measure_s": "7 s"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "workload.pol.connections=3",
            "--set workload.pol.connections: workload.pol: unknown key; did you mean 'pool'? known here: target, "
            "scaled, model, models, pool, pipeline_depth, protocol, driver, threads, back_end, phases, keys, "
            "documents, verify, timeouts, data, recording, receivers, operations, load, misses, stored",
        ),
        (
            "tables.0.quick=perhaps",
            "--set tables.0.quick: 'perhaps' is not true or false; write true or false",
        ),
        (
            "tables.by-age.quick=true",
            "--set tables.by-age.quick: 'by-age' is not an index of the list; use a number from 0 to 1 or one of: "
            "by-size, by-users",
        ),
        (
            "tables.2.quick=true",
            "--set tables.2.quick: '2' is not an index of the list; use a number from 0 to 1 or one of: "
            "by-size, by-users",
        ),
        (
            "name.first=x",
            "--set name.first: 'name' is 'small' and has nothing below it; shorten the path",
        ),
        (
            "factors.workers.levels=[1]",
            "small.yaml:25: tables.1.vary.workers: '8' is no level of workers; levels are: 1",
        ),
        (
            "workload.model.users=${worker}",
            "--set workload.model.users: '${worker}' names no factor; did you mean 'workers'? "
            "factors are: operation, payload, workers, idle",
        ),
        ("question=", "--set question: nothing is not text; put it in quotes"),
        ("workload..x=1", "--set workload..x: write PATH=VALUE, for example workload.phases.measure_s=5"),
        ("workload", "--set workload: write PATH=VALUE, for example workload.phases.measure_s=5"),
        ("name=[a", "--set name: the value is not valid YAML: while parsing a flow sequence expected ',' or ']', "
         "but got '<stream end>'; quote it if it is text"),
    ],
)  # fmt: skip
def test_a_setting_is_checked_as_if_written_in_the_file(experiment: Experiment, text: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        with_overrides(experiment, sets=[text])
    assert str(caught.value) == expected


def test_a_server_by_url_replaces_the_settings_and_keeps_what_is_needed(small: str) -> None:
    text = small.replace("redis: {kind: embedded}", "redis: {kind: embedded, modules: [json], config: {save: ''}}")
    changed = with_overrides(load_experiment(text), servers=["redis=redis://user:secret@host:6380/2?a=b"])
    assert changed.servers == {
        "redis": {"kind": "url", "url": "redis://user:secret@host:6380/2?a=b", "modules": ["json"]}
    }
    assert "modules" not in with_overrides(load_experiment(small), servers=["redis=redis://host"]).servers["redis"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://:secret@host", "--server ...: write NAME=URL; servers of small are: redis"),
        ("valkey=redis://:secret@host", "--server valkey=...: write NAME=URL; servers of small are: redis"),
        ("redis=", "--server redis=...: write NAME=URL; servers of small are: redis"),
    ],
)
def test_a_wrong_server_is_refused_without_its_password(experiment: Experiment, text: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        with_overrides(experiment, servers=[text])
    assert str(caught.value) == expected


def test_a_secret_that_was_set_is_not_shown(experiment: Experiment) -> None:
    with pytest.raises(UserError) as caught:
        with_overrides(experiment, sets=["servers.redis.password=[hunter2"])
    assert "hunter2" not in str(caught.value)


@pytest.fixture
def with_app(app: str) -> Experiment:
    return load_experiment(app, label="app.yaml")


def test_a_mariadb_by_url_keeps_its_conditions(with_app: Experiment) -> None:
    changed = with_overrides(with_app, servers=["mariadb=mysql://user:secret@host/db"])
    assert changed.servers["mariadb"] == {
        "kind": "mariadb-url",
        "url": "mysql://user:secret@host/db",
        "when": {"work": ["write", "read"], "store": "mariadb"},
    }


def test_a_server_of_another_kind_is_refused(with_app: Experiment) -> None:
    with pytest.raises(UserError) as caught:
        with_overrides(with_app, servers=["mariadb=redis://:secret@host"])
    assert str(caught.value) == (
        "--server mariadb=...: mariadb is a MariaDB; write mariadb://USER:PASSWORD@HOST:PORT/DATABASE"
    )
    with pytest.raises(UserError) as caught:
        with_overrides(with_app, servers=["redis=mariadb://:secret@host"])
    assert str(caught.value) == "--server redis=...: redis is a Redis; write redis://HOST:PORT"


@pytest.mark.parametrize(
    "option", ["http://u:secret@host:81,https://other", "app=http://u:secret@host:81,https://other"]
)
def test_a_subject_by_url_takes_the_manifests_place(with_app: Experiment, option: str) -> None:
    subject = with_overrides(with_app, subjects=[option]).subjects["app"]
    assert (subject.manifest, subject.url) == (None, "http://u:secret@host:81,https://other")
    assert (subject.when, subject.replicas) == (with_app.subjects["app"].when, "${replicas}")
    assert with_app.subjects["app"].manifest == "spring", "the original stays as it was"


def test_a_manifest_counts_from_the_current_folder(
    with_app: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "subject.yaml").write_text("name: mine\n")
    monkeypatch.chdir(tmp_path)
    subject = with_overrides(with_app, subjects=["subject.yaml"]).subjects["app"]
    assert (subject.manifest, subject.url) == (str(tmp_path / "subject.yaml"), None)
    assert subject.environment == with_app.subjects["app"].environment
    assert with_overrides(with_app, subjects=["spring"]).subjects["app"].manifest == "spring"


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (
            "absent/subject.yaml",
            "--subject absent/subject.yaml: neither a URL nor a manifest; write http://HOST:PORT, or the path of a "
            "subject.yaml, which counts from the current folder; built-in subjects: nest, spring",
        ),
        (
            "app=localhost:8080",
            "--subject app=localhost:8080: neither a URL nor a manifest; did you mean http://localhost:8080? write "
            "http://HOST:PORT, or the path of a subject.yaml, which counts from the current folder; built-in "
            "subjects: nest, spring",
        ),
        (
            "user:secret@host:8080",
            "--subject ...: neither a URL nor a manifest; write http://HOST:PORT, or the path of a subject.yaml, "
            "which counts from the current folder; built-in subjects: nest, spring",
        ),
        ("shop=http://:secret@host", "--subject shop=...: write URL, PATH or NAME=URL; subjects of app are: app"),
        ("app=", "--subject app=...: write URL, PATH or NAME=URL; subjects of app are: app"),
    ],
)
def test_a_wrong_subject_is_refused_without_its_password(with_app: Experiment, option: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        with_overrides(with_app, subjects=[option])
    assert str(caught.value) == expected


def test_which_subject_must_be_clear(app: str, experiment: Experiment) -> None:
    two = load_experiment(app.replace("subjects:\n", "subjects:\n  other: {manifest: spring, when: {work: direct}}\n"))
    with pytest.raises(UserError) as caught:
        with_overrides(two, subjects=["http://host"])
    assert str(caught.value) == "--subject: app has several subjects; write NAME=URL, with one of: other, app"
    assert with_overrides(two, subjects=["other=http://host"]).subjects["other"].url == "http://host"
    with pytest.raises(UserError) as caught:
        with_overrides(experiment, subjects=["http://host"])
    assert str(caught.value) == "--subject: small has no subject; its servers are given by --server NAME=URL"


def test_a_duration_of_the_command_line_names_its_option() -> None:
    assert parse_duration_s("20m", "--budget") == 1200
    with pytest.raises(UserError, match=r"^--budget soon: 'soon' is not a time; write for example `90 s`, `20 min`"):
        parse_duration_s("soon", "--budget")


@pytest.mark.parametrize(("text", "scale"), [("0.1", 0.1), ("10 %", 0.1), ("10%", 0.1), ("1", 1), ("100 %", 1)])
def test_a_scale_is_a_share(text: str, scale: float) -> None:
    assert parse_scale(text) == scale


@pytest.mark.parametrize("text", ["0", "1.1", "110 %", "-0.1", "nan", "ten", "10", "0.1 s", ""])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_scale(text)
    assert str(caught.value) == f"--scale {text}: must be more than 0 and at most 1; write for example 0.1 or 10 %"


@pytest.mark.parametrize(
    "wrong", ["0", "0 %", "100 %", "150%", "abc", "0/s", "2000000000/s", "5000", "5 ms", "-5 %", ""]
)
def test_what_is_no_fixed_rate_is_quoted_with_examples(wrong: str) -> None:
    with pytest.raises(UserError) as error:
        check_at_rate(wrong)
    assert str(error.value).startswith(f"--at-rate {wrong}: ")
    assert "50 %, 5000/s, or never" in str(error.value)
    assert "\n" not in str(error.value)


WRONG_POOL = ("connections: 8", "connections: many")


def test_a_setting_may_mend_what_is_wrong_in_the_file(small: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(small.replace(*WRONG_POOL))
    mended = requested_experiment(RunRequest(str(file), set=("workload.pool.connections=9",)))
    assert mended.workload.pool["connections"] == 9


@pytest.mark.parametrize(
    "options",
    [
        {"servers": ("none=redis://host",)},
        {"subjects": ("http://host",)},
        {"set": ("workload.model.kind.deep=1",)},
        {"hosts": ("none=host",)},
        {"driver": "none"},
        {"at_rate": "none"},
        {"twin": True},
    ],
    ids=str,
)
def test_what_is_wrong_in_the_file_is_said_before_what_is_wrong_in_an_option(
    small: str, tmp_path: Path, options: dict[str, Any]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(small)
    with pytest.raises(UserError, match=r"^--"):
        requested_experiment(RunRequest(str(file), **options))
    file.write_text(small.replace("question:", "questions:"))
    with pytest.raises(UserError, match=rf"^{file}:2: questions: unknown key"):
        requested_experiment(RunRequest(str(file), **options))


@pytest.mark.parametrize("wrong", ["5", "[1]", "{redis: 5}", "null"])
@pytest.mark.parametrize("key", ["servers", "subjects", "factors", "comparisons"])
def test_options_meet_whatever_stands_in_a_file(app: str, key: str, wrong: str) -> None:
    data = read_source(app, "app.yaml").data | {key: yaml_value(wrong)}
    source = ExperimentSource("app.yaml", data)
    for options in ({"servers": ("redis=redis://h",)}, {"subjects": ("http://h",)}, {"twin": True}):
        with pytest.raises(UserError):
            requested_experiment(RunRequest(described=source, **options))


def yaml_value(text: str) -> Any:
    return read_source(f"a: {text}", "a.yaml").data["a"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"driver": "jedis", "set": ("workload.operations=5",)}, "^--set workload.operations: '5' is not a list"),
        ({"driver": "native", "set": ("workload=5",)}, "^--driver: 'workload' is '5' and has nothing below it"),
        ({"at_rate": "50 %", "set": ("quick=5",)}, "^--at-rate: 'quick' is '5' and has nothing below it"),
    ],
    ids=str,
)
def test_an_error_names_the_option(experiment: Experiment, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        requested_experiment(RunRequest(described=experiment.source, **options))


def test_a_secret_of_one_setting_is_not_shown_by_another(experiment: Experiment) -> None:
    with pytest.raises(UserError, match="has nothing below it") as caught:
        with_overrides(experiment, sets=["servers.redis.password=hunter2hunter", "servers.redis.password.x=1"])
    assert "hunter2" not in str(caught.value)
