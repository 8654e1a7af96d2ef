"""The built-in experiments: each is planned in every mode, and says what the study that it repeats had."""

import functools
import itertools
from pathlib import Path

import pytest
from tests.experiments import find_experiment
from tests.readable import names

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.checks.checks import CHECKS
from loadstone.report.tables.columns import COLUMNS
from loadstone.safety.errors import UserError
from loadstone.servers import registry

ROOT = Path(__file__).parents[3]
STUDIES = sorted({"aof-modes", "jedis-vs-lettuce", "local-vs-cloud", "memory-vs-disk"} & {*names()})
"""Those with an application."""
MODES = {"full": {}, "quick": {"quick": True}, "published": {"as_published": True}, "scaled": {"scale": 0.3}}
LONGEST_S = 12 * 60
"""How long a quick run of a study may last."""


@functools.cache
def planned(name: str, mode: str = "full") -> RunPlan:
    return make_run_plan(find_experiment(name), **MODES[mode])


def trials_of(run_plan: RunPlan) -> list[PlannedTrial]:
    return [*run_plan.trials, *(one.trial for one in run_plan.crashes)]


def modes_of(experiment: Experiment) -> list[str]:
    """Only what repeats a published study has a mode as it was published."""
    return [mode for mode in MODES if mode != "published" or experiment.as_published is not None]


def test_an_experiment_that_repeats_no_study_has_every_other_mode() -> None:
    own = find_experiment("json-documents").model_copy(update={"as_published": None})
    assert modes_of(own) == ["full", "quick", "scaled"]
    with pytest.raises(UserError, match="as-published"):
        make_run_plan(own, as_published=True)


@pytest.mark.parametrize(
    ("name", "mode"), [(name, mode) for name in names() for mode in modes_of(find_experiment(name))]
)
def test_each_is_planned_in_every_mode(name: str, mode: str) -> None:
    run_plan = planned(name, mode)
    assert run_plan.trials
    for trial in trials_of(run_plan):
        for server, settings in trial.servers.items():
            registry.make_server(server, settings)  # a setting that its kind does not know is an error
        assert {data.server for data in trial.data} <= set(trial.servers)
        assert {stored.server for stored in trial.stored} <= set(trial.servers)


@pytest.mark.parametrize("name", names())
def test_lessons_name_checks_that_there_are(name: str) -> None:
    known = {check.name for check in CHECKS}
    assert {lesson.name for lesson in find_experiment(name).lessons if lesson.kind == "check"} <= known


@pytest.mark.parametrize("name", STUDIES)
def test_columns_name_what_there_is(name: str) -> None:
    experiment = find_experiment(name)
    assert {column for table in experiment.tables for column in table.columns} <= set(COLUMNS)
    printed = {column for table in experiment.tables for column in table.columns} | {"tps"}
    assert {published.column for published in experiment.published} - {"", "store_cpu"} <= printed
    assert "repeats" in {lesson.kind for lesson in experiment.lessons}


@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_run_ends_in_twelve_minutes_and_judges_every_comparison(name: str) -> None:
    run_plan = planned(name, "quick")
    building_s = 60.0
    assert run_plan.budget_s + building_s + run_plan.crashes_s() <= LONGEST_S
    assert run_plan.expected_s() <= run_plan.budget_s
    warm_up_s = {"aof-modes": 10, "local-vs-cloud": 8, "jedis-vs-lettuce": 30}.get(name, 20)
    assert {required.warm_up_s for trial in run_plan.trials for required in trial.subjects.values()} == {warm_up_s}


@pytest.mark.parametrize("name", STUDIES)
def test_the_full_run_has_a_look_at_every_comparison_in_its_time(name: str) -> None:
    run_plan = planned(name)
    assert run_plan.budget_s <= 45 * 60
    assert run_plan.expected_s() <= run_plan.budget_s
    assert all(group.replicates(group.looks[0]) >= 8 for group in run_plan.groups if group.pairs)


@pytest.mark.parametrize("name", STUDIES)
def test_no_answer_is_given_up_that_only_waits_for_its_turn(name: str) -> None:
    for trial in planned(name).trials:
        model = trial.plan.model
        if trial.subjects:
            assert isinstance(model, Closed)
            slowest_s = model.users / 150  # answers a second of one core, with a thousand rows in each
            assert trial.plan.timeouts.request_ms >= 1000 * slowest_s


@pytest.fixture
def run_plan() -> RunPlan:
    return planned("aof-modes")


class TestAofModes:
    def test_part_one_is_redis_benchmarks(self, run_plan: RunPlan) -> None:
        paced = "set-paced"
        alone = [t for t in run_plan.trials if t.target == "redis-alone" and t.condition["operation"] != paced]
        assert {trial.plan.operations[0].name for trial in alone} == {"set", "get", "lpush", "lpop"}
        for trial in alone:
            plan = trial.plan
            assert isinstance(plan.model, Closed)
            assert (plan.model.users, plan.pool.connections, plan.pipeline_depth) == (50, 50, 1)
            assert (plan.protocol, plan.documents.payload_bytes) == ("resp2", 3)
            assert set(trial.servers) == {"redis-alone"}
            assert not trial.subjects
            assert "limits" not in trial.servers["redis-alone"]

    @pytest.mark.parametrize("mode", ["full", "quick"])
    def test_latencies_compare_at_one_rate(self, mode: str) -> None:
        paced = [t.plan for t in planned("aof-modes", mode).trials if t.condition["operation"] == "set-paced"]
        assert paced
        assert {str(plan.model) for plan in paced} == {str(Open(rate_per_s=5000, arrivals="poisson"))}
        assert {plan.pool.connections for plan in paced} == {50}

    def test_part_one_is_not_scaled(self) -> None:
        alone = [t.plan.model for t in planned("aof-modes", "quick").trials if t.target == "redis-alone"]
        assert {model.users for model in alone if isinstance(model, Closed)} == {50}

    @pytest.mark.parametrize(
        ("store", "appendonly", "appendfsync"),
        [("redis", "no", "everysec"), ("redis-everysec", "yes", "everysec"), ("redis-always", "yes", "always")],
    )
    def test_a_store_is_a_mode_in_both_parts(
        self, run_plan: RunPlan, store: str, appendonly: str, appendfsync: str
    ) -> None:
        mine = [trial for trial in run_plan.trials if trial.condition["store"] == store]
        assert {trial.target for trial in mine} == {"redis-alone", "spring"}
        for trial in mine:
            settings = trial.servers["redis" if trial.subjects else "redis-alone"]["settings"]
            assert isinstance(settings, dict)
            assert (settings["appendonly"], settings["appendfsync"]) == (appendonly, appendfsync)
        assert {trial.subjects["spring"].environment["SUBJECT_CACHE"] for trial in mine if trial.subjects} == {"true"}

    def test_lists_are_filled_for_every_pop(self, run_plan: RunPlan) -> None:
        pops = [trial for trial in run_plan.trials if trial.condition["operation"] == "lpop"]
        assert pops
        for trial in pops:
            assert trial.load is not None
            (command,) = trial.load.operations[0].commands
            elements = (len(command.args) - 2) * trial.load.keys.count
            phases = trial.plan.phases
            assert elements >= 150_000 * (phases.warm_up_s + phases.measure_s)
            assert trial.plan.operations[0].commands[0].expect == "item"
            assert trial.plan.keys.distribution == "sequential"

    def test_part_two_has_the_limits_of_the_cluster(self, run_plan: RunPlan) -> None:
        for trial in (trial for trial in run_plan.trials if trial.subjects):
            assert trial.servers["mariadb"]["limits"] == {"cpu": 1.0, "memory": "1 GiB"}
            if trial.condition["store"] != "mariadb":
                assert trial.servers["redis"]["limits"] == {"cpu": 0.5, "memory": "512 MiB"}
            assert trial.subjects["spring"].limits == {"cpu": 4.0, "memory": 4 * 1024**3}

    def test_every_row_of_the_original_has_its_figures(self) -> None:
        for published in find_experiment("aof-modes").published:
            cells = sum(len(row.values) for row in published.rows)
            assert cells == (12 if published.column == "" else 36)

    def test_the_crash_stores_each_key_once(self, run_plan: RunPlan) -> None:
        assert {one.trial.condition["store"] for one in run_plan.crashes} == {
            "redis",
            "redis-everysec",
            "redis-always",
        }
        for one in run_plan.crashes:
            assert one.crash.server == "redis-crash"
            assert one.trial.plan.keys.distribution == "exactly_once"
            assert one.trial.plan.keys.count >= 150_000 * one.trial.plan.phases.measure_s


class TestJedisVsLettuce:
    @staticmethod
    def of_application(mode: str = "full") -> list[PlannedTrial]:
        return [trial for trial in planned("jedis-vs-lettuce", mode).trials if trial.condition["library"] == "none"]

    def test_each_client_has_a_redis_of_its_own_and_the_same_mariadb(self) -> None:
        trials = self.of_application()
        clients = {trial.condition["client"] for trial in trials}
        assert len({str(trial.servers["redis"]) for trial in trials}) == len(clients) == 3
        assert len({str(trial.servers["mariadb"]) for trial in trials}) == 1

    def test_the_load_is_the_originals(self) -> None:
        for trial in self.of_application():
            assert isinstance(trial.plan.model, Closed)
            assert (trial.plan.model.users, trial.plan.pool.connections) == (600, 600)
            assert [data.rows for data in trial.data] == [1_000_000]
            assert trial.plan.operations[0].requests[0].path == "/api/feed?page={uniform 1..1000}"

    def test_every_page_is_full_at_the_quick_scale(self) -> None:
        assert {data.rows for trial in self.of_application("quick") for data in trial.data} == {100_000}

    @pytest.mark.parametrize("mode", ["full", "quick"])
    def test_without_an_application_the_libraries_have_the_same_pools_straight_on_redis(self, mode: str) -> None:
        found = {}
        for trial in planned("jedis-vs-lettuce", mode).trials:
            if trial.condition["library"] != "none":
                assert isinstance(trial.plan.model, Closed)
                assert (trial.target, trial.subjects, list(trial.servers), trial.data) == ("redis", {}, ["redis"], ())
                pool = trial.plan.pool
                found[trial.driver] = (trial.plan.model.users, pool.connections, pool.min_idle, pool.max_idle)
        assert found == {
            "jedis": (200, 8, 0, 8),
            "jedis:test_on_borrow=on,test_on_return=on": (200, 128, 36, 128),
            "lettuce": (200, 1, 1, 1),
        }

    @pytest.mark.parametrize(("client", "most", "idle"), [("jedis-8", "8", "0"), ("jedis-128", "128", "36")])
    def test_a_pool_is_a_level(self, client: str, most: str, idle: str) -> None:
        trial = next(t for t in planned("jedis-vs-lettuce").trials if t.condition["client"] == client)
        environment = trial.subjects["spring"].environment
        assert environment["SPRING_DATA_REDIS_CLIENTTYPE"] == "jedis"
        assert environment["SPRING_DATA_REDIS_JEDIS_POOL_MAXACTIVE"] == most
        assert environment["SPRING_DATA_REDIS_JEDIS_POOL_MINIDLE"] == idle


class TestMemoryVsDisk:
    def test_every_store_is_read_and_written_with_the_same_posts(self) -> None:
        trials = planned("memory-vs-disk").trials
        assert {len(trial.data) for trial in trials} == {1}
        data = {(d.name, d.rows, d.seed, str(d.columns)) for trial in trials for d in trial.data}
        assert len(data) == 1
        assert {(trial.condition["operation"], trial.condition["store"]) for trial in trials} == set(
            itertools.product(["write", "read"], ["mariadb", "redis-hash", "redis-json"])
        )

    @pytest.mark.parametrize("mode", MODES)
    def test_postgresql_is_off_unless_it_is_named(self, mode: str) -> None:
        assert not [trial for trial in planned("memory-vs-disk", mode).trials if "postgresql" in trial.servers]
        run_plan = make_run_plan(
            find_experiment("memory-vs-disk"), only={"store": ("postgresql", "redis-json")}, **MODES[mode]
        )
        mine = [trial for trial in run_plan.trials if trial.condition["store"] == "postgresql"]
        assert {trial.condition["operation"] for trial in mine} == {"write", "read"}
        assert {tuple(trial.servers) for trial in mine} == {("postgresql",)}
        assert {(data.name, data.server) for trial in mine for data in trial.data} == {("posts", "postgresql")}
        counted = {one.server for trial in mine if trial.condition["operation"] == "write" for one in trial.stored}
        assert counted == {"postgresql"}
        compared = [] if mode == "published" else ["write-postgresql", "read-postgresql"]
        assert [group.name for group in run_plan.groups if group.pairs] == compared

    @pytest.mark.parametrize("mode", MODES)
    def test_reads_ask_for_posts_that_are_there(self, mode: str) -> None:
        for trial in planned("memory-vs-disk", mode).trials:
            assert trial.plan.keys.count == trial.data[0].rows

    def test_what_is_written_is_counted_as_rows(self) -> None:
        counts = {t.condition["store"]: t.stored for t in planned("memory-vs-disk").trials if t.stored}
        assert set(counts) == {"mariadb", "redis-hash", "redis-json"}
        assert counts["redis-hash"][0].count == "SCARD loadstone:subject:post"

    def test_198_users(self) -> None:
        assert {trial.plan.model.users for trial in planned("memory-vs-disk").trials} == {198}
        assert {trial.plan.model.users for trial in planned("memory-vs-disk", "quick").trials} == {20}


def test_every_built_in_experiment_stands_in_the_documentation() -> None:
    text = (ROOT / "docs" / "studies.md").read_text()
    experiments: list[Experiment] = [find_experiment(name) for name in names()]
    for experiment in experiments:
        assert f"loadstone run {experiment.name}" in text


@pytest.mark.parametrize("page", ["README.md", "README.ko.md"])
def test_every_built_in_experiment_has_its_line_in_both_languages(page: str) -> None:
    lines = (ROOT / page).read_text().splitlines()
    assert [name for name in names() if not any(line.startswith(f"| `{name}` |") for line in lines)] == []
