"""What a run would send to servers of the user's, and that the built-in experiments may send all of theirs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.experiments import find_experiment
from tests.readable import names

from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.software import software_of
from loadstone.machine.ports import free_port
from loadstone.run.confinement import REMARKS, confined
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

DATABASES = {
    "mariadb": "mariadb://me:it@127.0.0.1:1/loadstone",
    "postgresql": "postgresql://u:p@127.0.0.1:1/",
    "memcached": "memcached://127.0.0.1:1",
}
SCRIPTS = ("update-ways",)
"""What a script does with keys cannot be known: whoever wants it on a server of theirs says so."""
PlanOf = Callable[..., RunPlan]


@pytest.fixture
def users_url(tmp_path: Path) -> Iterator[str]:
    """A Redis with RedisJSON that plays the user's."""
    server = EmbeddedSettings(modules=("json",)).server("users")
    root = tmp_path / "users"
    root.mkdir()
    endpoint = server.start(DeployContext(work_root=root))
    yield f"redis://:{endpoint.password}@{endpoint.host}:{endpoint.port}/0"
    server.stop()


def plan_on(url: str, experiment: str | Path, **changes: object) -> RunPlan:
    """The plan of an experiment with servers of the user's in the place of its own."""
    written = requested_experiment(RunRequest(experiment=str(experiment)))
    theirs = tuple(
        f"{name}={DATABASES.get(software_of(settings).name, url)}" for name, settings in written.servers.items()
    )
    on = tuple(f"factors.{name}.off_by_default=[]" for name, one in written.factors.items() if one.off_by_default)
    options = RunRequest(experiment=str(experiment), servers=theirs, set=on, seed=1, **changes)  # type: ignore[arg-type]
    return requested_plan(requested_experiment(options), options)


@pytest.mark.parametrize("mode", [{}, {"quick": True}, {"as_published": True}])
@pytest.mark.parametrize("name", names())
def test_the_built_in_experiments_pass(users_url: str, name: str, mode: dict[str, bool]) -> None:
    if mode.get("as_published") and find_experiment(name).as_published is None:
        pytest.skip("it repeats no published study")
    if name in SCRIPTS:
        assert "EVAL" in refusal(plan_on(users_url, name, **mode))
        assert confined(plan_on(users_url, name, **mode), ask=True, allow=True)
        return
    assert confined(plan_on(users_url, name, **mode), ask=False, allow=False) == ()
    assert confined(plan_on(users_url, name, **mode), ask=True, allow=False) == ()


@pytest.fixture
def app_with(app: str, tmp_path: Path) -> Callable[[str, str], Path]:
    """The example with an application, with one text of it replaced."""

    def write(old: str, new: str) -> Path:
        assert old in app
        path = tmp_path / "app.yaml"
        path.write_text(app.replace(old, new))
        return path

    return write


URL = "redis://127.0.0.1:1"


def refusal(plan: RunPlan) -> str:
    with pytest.raises(UserError) as refused:
        confined(plan, ask=False, allow=False)
    text = str(refused.value)
    assert "\n" not in text
    assert "--allow-any-command" in text
    assert "which is not loadstone's own" in text
    return text


def test_the_example_passes(app_with: Callable[[str, str], Path]) -> None:
    assert confined(plan_on(URL, app_with("name: app", "name: app")), ask=False, allow=False) == ()


@pytest.mark.parametrize(
    ("old", "new", "place", "why"),
    [
        (
            "SADD loadstone:subject:post {id}",
            "COPY loadstone:a other",
            "data 'posts'",
            "its key 'other' is not loadstone's",
        ),
        ("SADD loadstone:subject:post {id}", "FLUSHALL loadstone:x", "data 'posts'", "it acts on the whole server"),
        ("SADD loadstone:subject:post {id}", 'SADD loadstone:x "{id}', "data 'posts'", "its quotes are not closed"),
    ],
)
def test_what_surrounds_the_load_is_confined(
    app_with: Callable[[str, str], Path], old: str, new: str, place: str, why: str
) -> None:
    text = refusal(plan_on(URL, app_with(old, new)))
    assert text.startswith(f"{place}: ")
    assert why in text


def test_what_an_application_stores_may_be_counted_under_any_key(app_with: Callable[[str, str], Path]) -> None:
    path = app_with('"SCARD loadstone:subject:post"', "SCARD shop:posts")
    assert confined(plan_on(URL, path), ask=False, allow=False) == ()


@pytest.mark.fault("a file of SQL for your database", "refused; declared tables pass", area="commands")
@pytest.mark.parametrize("allow", [False, True])
def test_a_file_of_sql_is_for_no_server_of_the_users(
    app_with: Callable[[str, str], Path], tmp_path: Path, *, allow: bool
) -> None:
    """What it would make there nobody could find again."""
    folder = tmp_path / "mine"
    folder.mkdir()
    mine = "name: mine\nrun: {command: 'true'}\nenvironment: {DB: '${mariadb.host}'}\n"
    (folder / "subject.yaml").write_text(f"{mine}tables: {{mariadb: schema.sql}}\n")
    (folder / "schema.sql").write_text("CREATE TABLE post (id INT);\n")
    plan = plan_on(URL, app_with("manifest: spring", "manifest: ./mine"))
    with pytest.raises(UserError) as refused:
        confined(plan, ask=False, allow=allow)
    assert str(refused.value) == (
        "subject app: tables.mariadb: 'schema.sql' is run only on a server that loadstone starts, and mariadb "
        "(127.0.0.1:1) is not one; declare its tables (NAME: {columns: ..., key: ...}), see docs/subjects.md"
    )
    (folder / "subject.yaml").write_text(f"{mine}tables: {{post: {{columns: {{id: int}}, key: id}}}}\n")
    assert confined(plan_on(URL, tmp_path / "app.yaml"), ask=False, allow=False) == ()


@pytest.mark.parametrize(
    "variable",
    [
        "MARIADB_URL: 'jdbc:mariadb://127.0.0.1:3306/prod'",
        "SPRING_DATA_REDIS_DATABASE: 3",
        "SPRING_DATA_REDIS_HOST: db-2.example",
    ],
)
def test_a_built_in_application_keeps_to_the_database_that_its_server_names(
    app_with: Callable[[str, str], Path], variable: str
) -> None:
    text = refusal(plan_on(URL, app_with("SUBJECT_STORE:", f"{variable}\n      SUBJECT_STORE:")))
    assert text.startswith(f"subject 'app', environment.{variable.partition(':')[0]}: ")
    assert "another server or database than its URL names; leave the variable out" in text


def test_our_own_servers_take_any_command(small: str, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(small.replace("SET {key} {value}", "FLUSHALL"))
    options = RunRequest(experiment=str(path), seed=1)
    assert confined(requested_plan(requested_experiment(options), options), ask=True, allow=False) == ()


def test_what_is_allowed_is_said(small: str, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(small.replace("SET {key} {value}", "FLUSHALL"))
    assert "FLUSHALL" in path.read_text()
    plan = plan_on(URL, path)
    assert "operation 'set': 'FLUSHALL' is not sent to redis (127.0.0.1:1)" in refusal(plan)
    (remark, *_) = confined(plan, ask=False, allow=True)
    assert str(remark) == (
        "--allow-any-command: operation 'set' sends 'FLUSHALL' to redis (127.0.0.1:1), although it acts on the "
        "whole server"
    )


def test_many_remarks_are_counted(small: str, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    commands = ", ".join(f"{{args: SET other{number} x}}" for number in range(REMARKS + 3))
    path.write_text(small.replace("{args: 'SET {key} {value}', expect: ok}", commands.replace(", {", "\n        - {")))
    remarks = confined(plan_on(URL, path), ask=False, allow=True)
    assert len(remarks) == REMARKS + 1
    assert str(remarks[-1]) == "--allow-any-command: and 3 others"


def test_a_server_that_is_gone_is_said_in_one_line(small: str, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(small)
    with pytest.raises(UserError, match="Connection refused") as refused:
        confined(plan_on(f"redis://127.0.0.1:{free_port()}", path), ask=True, allow=False)
    assert "\n" not in str(refused.value)


def test_what_is_only_loaded_is_confined(small: str, tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    stored = "    - {name: store, weight: 0, when: {operation: get}, commands: [{args: SET other x}]}\n  load:\n"
    path.write_text(small.replace("  load:\n    - operation: set", f"{stored}    - operation: store"))
    assert "operation 'store': 'SET other x'" in refusal(plan_on(URL, path))
