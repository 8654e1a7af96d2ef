"""What a condition wants to find: servers, subjects, rows, counts and the target; and where mistakes are found."""

from pathlib import Path

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.plan.deployment import Deployment, DeploymentPlanner
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.preview import preview_plan
from loadstone.experiment.plan.required import StoredCount
from loadstone.experiment.plan.subject_keys import prefixes_in
from loadstone.experiment.plan.substitute import PlanMode
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Level
from loadstone.experiment.spec.loading import load_experiment
from loadstone.report.terminal.announcement import description
from loadstone.safety.errors import UserError

USUAL: dict[str, Level] = {"work": "write", "store": "mariadb", "users": 20, "replicas": 1, "aof": "no"}
MARIADB = {"store": ("mariadb",)}
Only = dict[str, tuple[Level, ...]]


def deployment(experiment: Experiment | str, mode: PlanMode = PlanMode(), **levels: Level) -> Deployment:
    if isinstance(experiment, str):
        experiment = load_experiment(experiment, label="app.yaml")
    return DeploymentPlanner(experiment, mode).deployment(USUAL | levels)


def test_a_server_is_there_for_the_conditions_it_names_and_has_their_levels(app: str) -> None:
    assert deployment(app).servers == {
        "mariadb": {
            "kind": "mariadb",
            "settings": {"innodb_buffer_pool_size": "64M", "innodb_flush_log_at_trx_commit": 1},
        }
    }
    for aof, appendonly, appendfsync in (("no", "no", "everysec"), ("always", "yes", "always")):
        settings = {"appendonly": appendonly, "appendfsync": appendfsync}
        redis = deployment(app, store="redis-json", aof=aof).servers
        assert redis == {"redis": {"kind": "embedded", "settings": settings}}


def test_a_subject_has_its_manifest_levels_and_units(app: str) -> None:
    subject = deployment(app, store="redis-hash", replicas=2).subjects["app"]
    assert (Path(subject.manifest or "") / "subject.yaml").is_file()
    assert Path(subject.manifest or "").is_absolute()
    assert (subject.replicas, subject.warm_up_s, subject.urls) == (2, 10.0, ())
    assert subject.limits == {"cpu": 1.5, "memory": 768_000_000}
    assert subject.environment == {"SUBJECT_STORE": "redis-hash", "SUBJECT_CACHE": "false"}
    assert deployment(app, work="direct", store="redis-hash").subjects == {}


@pytest.mark.parametrize("name", ["SUBJECT_KEYPREFIX", "SUBJECT_KEY_PREFIX", "subject.key-prefix", "REDIS_KEY_PREFIX"])
@pytest.mark.parametrize("value", ["prod-", "", "loadstone:", "loadstone::", "loadstone-x:", "loadstone:{host}:"])
def test_a_built_in_subject_keeps_keys_below_a_name_of_its_own(app: str, name: str, value: str) -> None:
    with pytest.raises(UserError, match=rf"app\.yaml:\d+: subjects\.app\.environment\.{name}: .*begin it with load"):
        deployment(app.replace("SUBJECT_STORE:", f"{name}: '{value}'\n      SUBJECT_STORE:"), store="redis-hash")


def test_a_built_in_subject_may_have_a_prefix_of_its_own(app: str) -> None:
    changed = app.replace("SUBJECT_STORE:", "SUBJECT_KEYPREFIX: 'loadstone:mine:'\n      SUBJECT_STORE:")
    subject = deployment(changed, store="redis-hash").subjects["app"]
    assert subject.environment["SUBJECT_KEYPREFIX"] == "loadstone:mine:"
    assert prefixes_in(subject.environment | {"JSON": '{"a": "loadstone:b:c", "d": "loadstone:"}'}) == [
        "loadstone:b:c",
        "loadstone:mine:",
    ]


def test_quick_has_a_warm_up_of_its_own(app: str) -> None:
    assert deployment(app, PlanMode(quick=True)).subjects["app"].warm_up_s == 4
    without = app.replace("  warm_up: 4 s\n", "").replace("    warm_up: 10 s\n", "")
    assert deployment(without, PlanMode(quick=True)).subjects["app"].warm_up_s is None


def test_an_empty_limit_is_none(app: str) -> None:
    assert deployment(app.replace("cpu: 1.5", 'cpu: ""')).subjects["app"].limits == {"memory": 768_000_000}


def test_rows_are_for_the_servers_that_are_there(app: str) -> None:
    (rows,) = deployment(app).data
    assert (rows.name, rows.rows, rows.server, rows.table, rows.commands) == ("posts", 10_000, "mariadb", "post", ())
    assert rows.columns == {"id": "{number}", "title": "{random 10 lowercase}", "content": "{random 10 lowercase}"}
    assert rows.seed == derived_seed(1, "data", "posts"), "whatever the run's own seed"
    (keys,) = deployment(app, work="read", store="redis-json").data
    assert (keys.table, keys.commands) == (None, ("SET loadstone:subject:post-json:{id} {json}",))
    assert (keys.rows, keys.columns, keys.seed) == (rows.rows, rows.columns, rows.seed)
    assert deployment(app, store="redis-json").data == ()
    assert deployment(app, PlanMode(scale=0.001)).data[0].rows == 10


def test_what_is_stored_is_counted_where_the_condition_has_the_operation(app: str) -> None:
    assert deployment(app).stored == (StoredCount("write", "mariadb", "post"),)
    assert deployment(app, store="redis-json").stored == (StoredCount("write", "redis", "DBSIZE"),)
    assert deployment(app, work="read").stored == ()


def test_who_gets_the_load(app: str) -> None:
    direct: dict[str, Level] = {"work": "direct", "store": "redis-json"}
    assert deployment(app).target == "app"
    assert deployment(app, **direct).target == "redis"
    unsaid = app.replace("  target: ${work.target}\n", "")
    for replicas, targets in (({"replicas": 2}, ("app",)), (direct, ("redis",))):
        there = deployment(unsaid, **replicas)  # type: ignore[arg-type]
        assert (there.target, there.targets) == (None, targets)
    assert [deployment(app, replicas=number).replicas for number in (1, 2)] == [1, 2]
    assert deployment(app, **direct, replicas=2).replicas == 1


def test_the_users_own_subject_has_nothing_of_ours(app: str) -> None:
    experiment = with_overrides(load_experiment(app), subjects=["http://one:1, https://two/base"])
    subject = deployment(experiment).subjects["app"]
    assert (subject.urls, subject.replicas) == (("http://one:1", "https://two/base"), 2)
    assert (subject.manifest, dict(subject.environment), dict(subject.limits)) == (None, {}, {})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("replicas: ${replicas}", "replicas: 0", "71: subjects.app.replicas: '0' is not a number of replicas; write a "
         "whole number from 1 to 64"),
        ("cpu: 1.5", "cpu: 500m", "72: subjects.app.limits.cpu: '500m' is not a number of CPUs; write for example 0.5"),
        ("memory: 768 MB", "memory: 768M", "72: subjects.app.limits.memory: '768M' is not a size; did you mean "
         "`768 MB`? write for example `100 B`, `10 kB` (1000 bytes each), `1 KiB` (1024 bytes), `1 MiB`"),
        ("memory: 768 MB", "memory: 768", "72: subjects.app.limits.memory: '768' is too little or no size; write for "
         "example 512 MB"),
        ("memory: 768 MB", "mem: 768 MB", "72: subjects.app.limits.mem: unknown key; known here: cpu, memory"),
        ("SUBJECT_CACHE: false", "SUBJECT_CACHE: [1]", "75: subjects.app.environment.SUBJECT_CACHE: '[1]' is not a "
         "text; put it in quotes"),
        ("manifest: spring #", "manifest: ${store} #", "69: subjects.app.manifest: 'mariadb' is no subject; built-in "
         "subjects: nest, spring; or give the path of a subject.yaml, which counts from the experiment's file"),
        ("manifest: spring #", "url: localhost:80 #", "69: subjects.app.url: the URL of a subject begins with http:// "
         "or https://; separate several by commas"),
        ("rows: 10000", "rows: 10 kB", "80: data.posts.rows: '10 kB' is not a number of rows; write a whole number "
         "of at least 1, without a unit"),
        ("{server: mariadb, when: {store: mariadb}, table: post}",
         "{server: mariadb, table: post}\n      - {server: mariadb, table: row_added}",
         "87: data.posts.into.1: is written to mariadb twice for {}; narrow one `when`"),
        ("{operation: write, server: mariadb,", "{operation: write, server: redis,",
         "122: workload.stored.0.count: '{table: post}' does not count on redis, a Redis; begin it with "
         "one of: DBSIZE, EXISTS, GET, HLEN, LLEN, SCARD, STRLEN, XLEN, ZCARD"),
        ("server: redis, when: {store: redis-hash}, count", "server: redis, when: {store: mariadb}, count",
         "123: workload.stored.1.server: 'redis' is not there for {}; narrow a `when`"),
        ("server: redis, when: {store: redis-json}, count: DBSIZE",
         "server: mariadb, when: {store: mariadb}, count: {table: row_added}",
         "124: workload.stored.2.operation: 'write' is counted twice for {}; narrow a `when`"),
        ("target: ${work.target}", "target: redis", "96: workload.target: 'redis' is not there for {}; there is: app, "
         "mariadb"),
        ("target: ${work.target}", "target: mariadb", "96: workload.target: 'mariadb' is a MariaDB and takes no load "
         "itself ({}); name another"),
        ("target: ${work.target}", "target: 3", "96: workload.target: '3' is not a name; write that of a subject or a "
         "server"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_at_its_line(app: str, old: str, new: str, expected: str) -> None:
    assert app.count(old) == 1
    condition = "work=write, store=mariadb, users=20, replicas=1, aof=no"
    with pytest.raises(UserError) as caught:
        deployment(app.replace(old, new))
    assert str(caught.value) == f"app.yaml:{expected.replace('{}', condition)}"


def test_several_subjects_need_a_target_and_no_part_at_all_is_an_error(app: str) -> None:
    two = app.replace("subjects:\n", "subjects:\n  other: {manifest: spring}\n").replace(
        "  target: ${work.target}\n", ""
    )
    with pytest.raises(UserError, match=r"workload\.target: .* has several subjects; name the one that gets the load$"):
        deployment(two)
    with pytest.raises(UserError, match=r"servers: there is neither a server nor a subject for work=direct"):
        deployment(app.replace("  target: ${work.target}\n", ""), work="direct")


def by_url(text: str, urls: str = "http://user:secret@host:81") -> Experiment:
    return with_overrides(load_experiment(text, label="app.yaml"), subjects=[urls])


def refusal(experiment: Experiment, only: Only) -> str:
    with pytest.raises(UserError) as caught:
        make_run_plan(experiment, only=only)
    return str(caught.value)


def test_a_factor_of_its_start_must_stand_still(app: str) -> None:
    assert refusal(by_url(app), {}) == (
        "--subject: store changes what app is started with; choose one level: --only store=mariadb"
    )
    assert refusal(by_url(app), {"store": ("redis-json",)}) == (
        "--subject: replicas changes what app is started with; choose one level: --only replicas=1"
    )


def test_other_factors_may_vary(app: str) -> None:
    run_plan = make_run_plan(by_url(app), only=MARIADB, blocks=1, scale=1.0)
    assert {trial.condition["users"] for trial in run_plan.trials} == {20, 60}
    assert {trial.subjects["app"].urls for trial in run_plan.trials} == {("http://user:secret@host:81",)}


def test_conditions_without_the_subject_are_not_queried(app: str) -> None:
    """The crash varies the append-only file, and drives Redis itself."""
    text = app.replace("SUBJECT_CACHE: false", "SUBJECT_CACHE: ${aof}")
    run_plan = make_run_plan(by_url(text), only={"store": ("redis-json",), "replicas": (1,)}, blocks=1)
    assert {one.trial.condition["aof"] for one in run_plan.crashes} == {"no", "everysec", "always"}


def test_as_many_urls_as_replicas(app: str) -> None:
    only: Only = {"store": ("redis-json",), "replicas": (2,)}
    assert refusal(by_url(app), only) == ("--subject: replicas of app are 2, and URLs given are 1; give one for each")
    run_plan = make_run_plan(by_url(app, "http://a,http://b"), only=only, blocks=1, scale=1.0)
    assert {trial.plan.pool.connections for trial in run_plan.trials} == {40}
    fixed = app.replace("replicas: ${replicas}", "replicas: 1").replace(
        "  replicas:\n", "  replicas:\n    alike: true\n", 1
    )
    free = make_run_plan(by_url(fixed, "http://a,http://b"), only=MARIADB, blocks=1, scale=1.0)
    assert free.trials[0].plan.pool.connections == 2 * free.trials[0].plan.model.users  # type: ignore[union-attr]


def test_what_the_user_must_have_done_is_reported(app: str) -> None:
    experiment = with_overrides(by_url(app), servers=["mariadb=mariadb://user:secret@host"])
    text = description(preview_plan(make_run_plan(experiment, only=MARIADB, blocks=1), experiment), experiment)
    reported = " ".join(text[text.index("Subject app") :].split())
    assert reported.startswith(
        "Subject app: yours, 1 URL (work write, read); it must run with SUBJECT_STORE=mariadb "
        "SUBJECT_CACHE as the experiment has it Data"
    )
    assert "secret" not in text
    ours = description(preview_plan(make_run_plan(by_url(app), only=MARIADB, blocks=1), by_url(app)), by_url(app))
    assert "its mariadb is unknown: give it by --server" in " ".join(ours.split())
