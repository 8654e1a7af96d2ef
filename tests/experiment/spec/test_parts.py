"""Servers, subjects, data, counts, lessons and crashes of an experiment; each misfit is one exact line."""

import pytest

from loadstone.experiment.software import REDIS_COUNTING
from loadstone.experiment.spec.experiment import COLUMNS
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError


def test_the_example_is_right(app: str) -> None:
    experiment = load_experiment(app)
    assert list(experiment.subjects) == ["app"]
    assert [crash.name for crash in experiment.crashes] == ["durability"]
    assert experiment.tables[0].columns == ("tps", "peak_tps", "mtt", "stored", "store_cpu")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "when: {work: [write, read], store: mariadb}",
            "when: {work: [write, rd], store: mariadb}",
            "61: servers.mariadb.when.work: 'rd' is no level of work; did you mean 'read'? "
            "levels are: write, read, direct",
        ),
        (
            "when: {work: [write, read], store: mariadb}",
            "when: mariadb",
            "61: servers.mariadb.when: 'mariadb' is not a mapping; write factor: level",
        ),
        (
            "manifest: spring #",
            "manifest: sprong #",
            "69: subjects.app.manifest: 'sprong' is no subject; did you mean 'spring'? built-in subjects: nest, "
            "spring; or give the path of a subject.yaml, which counts from the experiment's file",
        ),
        (
            "manifest: spring #",
            "manifest: spring\n    url: http://localhost #",
            "68: subjects.app: has both manifest and url; write one of them: manifest: spring, or url: http://HOST:PORT",
        ),
        (
            "manifest: spring #",
            "warmup: 3 s #",
            "69: subjects.app.warmup: unknown key; did you mean 'warm_up'? known here: manifest, url, when, replicas, "
            "host, limits, environment, warm_up",
        ),
        ("  app:\n", "  redis:\n", "68: subjects.redis: 'redis' is a server, too; give each part its own name"),
        (
            "SUBJECT_STORE: ${store}",
            "SUBJECT_STORE: ${stor}",
            "74: subjects.app.environment.SUBJECT_STORE: '${stor}' names no factor; did you mean 'store'? "
            "factors are: work, store, users, replicas, aof",
        ),
        (
            'title: "{random 10 lowercase}"',
            'title: "{random 10 letters}"',
            "83: data.posts.columns.title: '{random 10 letters}' is not known here; write {number}, "
            "{uniform 1..100} or {random 10 lowercase}",
        ),
        (
            "{server: mariadb, when: {store: mariadb}, table: post}",
            "{server: maria, when: {store: mariadb}, table: post}",
            "86: data.posts.into.0.server: 'maria' is no server; did you mean 'mariadb'? servers are: mariadb, redis",
        ),
        (
            "when: {store: mariadb}, table: post}",
            "when: {store: mariadb}}",
            "86: data.posts.into.0: mariadb is a MariaDB: write `table`, and no `commands`",
        ),
        (
            "SADD loadstone:subject:post {id}",
            "SADD loadstone:subject:post {key}",
            "91: data.posts.into.1.commands.1: '{key}' is no column; write {json} or one of: id, title, content",
        ),
        (
            "SADD loadstone:subject:post {id}",
            "SADD post {id}",
            "91: data.posts.into.1.commands.1: 'SADD post {id}' names no key that begins with loadstone:, and no "
            "other may be written",
        ),
        (
            "target: ${work.target}",
            "target: ap",
            "96: workload.target: 'ap' is no subject and no server; did you mean 'app'? there are: app, mariadb, redis",
        ),
        (
            'count_of: "${work.count_of}"',
            "count_of: post",
            "103: workload.keys.count_of: 'post' is no data set; did you mean 'posts'? data sets are: posts",
        ),
        (
            "{operation: write, server: mariadb,",
            "{operation: wrote, server: mariadb,",
            "122: workload.stored.0.operation: 'wrote' is no operation; did you mean 'write'? "
            "operations: write, read, set",
        ),
        (
            "{operation: write, server: mariadb,",
            "{operation: write, server: mysql,",
            "122: workload.stored.0.server: 'mysql' is no server; servers are: mariadb, redis",
        ),
        (
            "kind: comparison, name: store-write",
            "kind: comparison, name: store-writes",
            "139: lessons.2.name: 'store-writes' is no comparison; did you mean 'store-write'? "
            "comparisons are: store-write",
        ),
        (
            "kind: check, name: generator_ceiling",
            "kind: check",
            "140: lessons.3.name: is missing; a lesson of kind check needs the name of the check",
        ),
        (
            "    server: redis\n    vary",
            "    server: redis8\n    vary",
            "145: crashes.0.server: 'redis8' is no server; did you mean 'redis'? servers are: mariadb, redis",
        ),
        (
            '      aof: ["no", everysec, always]\n    count',
            '      aof: ["no", everysec, "no"]\n    count',
            "149: crashes.0.vary.aof.2: 'no' is given twice; remove it",
        ),
        (
            "    count: DBSIZE\n",
            "    promise: {when: {aof: sometimes}}\n",
            "150: crashes.0.promise.when.aof: 'sometimes' is no level of aof; levels are: no, everysec, always",
        ),
        (
            "    count: DBSIZE\n",
            '    count: " "\n',
            f"150: crashes.0.count: is empty; begin it with one of: {', '.join(REDIS_COUNTING)}",
        ),
        (
            "    count: DBSIZE\n",
            "    count: KEYS *\n",
            "150: crashes.0.count: 'KEYS *' does not count on redis, a Redis; begin it with one of: "
            f"{', '.join(REDIS_COUNTING)}",
        ),
        (
            "count: {table: post}",
            "count: SELECT COUNT(*) FROM post",
            "122: workload.stored.0.count: 'SELECT COUNT(*) FROM post' does not count on mariadb, a MariaDB; name the "
            "table whose rows are counted: {table: NAME}",
        ),
        (
            "count: {table: post}",
            "count: {tables: post}",
            "122: workload.stored.0.count.tables: unknown key; did you mean 'table'? known here: table",
        ),
        ("count: {table: post}", "count: {}", "122: workload.stored.0.count.table: is missing; write it"),
        ("count: {table: post}", "count: [post]", "122: workload.stored.0.count: a list is not text; put it in quotes"),
        (
            "count: {table: post}",
            'count: {table: "post; DROP TABLE post"}',
            "122: workload.stored.0.count.table: 'post; DROP TABLE post' is not the name of a table; use letters, "
            "digits and _ only",
        ),
        (
            "columns: [tps, peak_tps",
            "columns: [tps, peak",
            f"37: tables.0.columns.1: 'peak' is no column; did you mean 'peak_tps'? columns are: {', '.join(COLUMNS)}",
        ),
        (
            "column: mtt",
            "column: mttt",
            f"129: published.0.column: 'mttt' is no column; did you mean 'mtt'? columns are: {', '.join(COLUMNS)}",
        ),
    ],
)
def test_a_misfit_is_one_line_with_place_and_remedy(app: str, old: str, new: str, expected: str) -> None:
    assert app.count(old) == 1
    with pytest.raises(UserError) as caught:
        load_experiment(app.replace(old, new), label="app.yaml")
    assert str(caught.value) == f"app.yaml:{expected}"


def test_a_lesson_about_counts_needs_counts(app: str) -> None:
    start, end = app.index("  stored:\n"), app.index("design:\n")
    with pytest.raises(UserError, match=r"lessons\.0\.kind: 'stored' needs counts; write workload\.stored"):
        load_experiment(app[:start] + app[end:])


def test_a_mariadb_may_be_in_a_container(app: str) -> None:
    text = app.replace("    kind: mariadb\n", "    kind: container\n    software: mariadb\n    image: mariadb:11.4\n")
    assert load_experiment(text).data["posts"].into[0].table == "post"
    with pytest.raises(
        UserError,
        match=r"data\.posts\.into\.0: mariadb is no MariaDB and no PostgreSQL: write `commands`, and no `table`",
    ):
        load_experiment(text.replace("    software: mariadb\n", ""))
