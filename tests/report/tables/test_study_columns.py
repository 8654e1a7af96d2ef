"""The studies' own columns, by their keys."""

from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.spec.experiment import COLUMNS as OF_STUDIES
from loadstone.judge.analysis.analysis import Analysis, AtOnce, ResultTable, Row
from loadstone.report.tables.columns import COLUMNS, USUAL, columns_for
from loadstone.run_folder.facts import AvgMax


def headers(table: ResultTable) -> list[str]:
    return [column.header for column in columns_for(table)]


def cells(table: ResultTable, key: str) -> list[str]:
    [column] = [column for column in columns_for(table) if column.key == key]
    return [column.cell(row) for row in table.rows]


def with_columns(table: ResultTable, *keys: str, **changes: Any) -> ResultTable:
    rows = [row.model_copy(update=changes) for row in table.rows]
    return table.model_copy(update={"columns": list(keys), "rows": rows})


def one(table: ResultTable, place: int) -> ResultTable:
    return table.model_copy(update={"rows": [table.rows[place]]})


def test_an_experiment_may_name_just_these() -> None:
    assert len(OF_STUDIES) == len(set(OF_STUDIES))
    assert set(COLUMNS) == {*OF_STUDIES, *(column.key for column in USUAL), "throughput_interval"}


def test_every_column_is_explained_and_keeps_its_key() -> None:
    for key, column in COLUMNS.items():
        assert column.key == key
        assert column.explanation.endswith(".")


def test_columns_stand_in_the_order_of_the_experiment_with_the_published_ones_behind_theirs(
    application: Analysis,
) -> None:
    posts, clients = application.tables
    assert headers(posts) == [
        "TPS (store)", "published", "goodput", "95 % interval", "blocks", "MTT", "executed tests", "stored / answered",
        "error share", "P99", "bottleneck",
    ]  # fmt: skip
    assert headers(clients) == [
        "TPS", "published", "peak TPS", "MTT", "published", "executed tests", "errors", "app CPU", "published",
        "Redis CPU", "published", "connections", "published", "MariaDB reads/s", "pool wait",
    ]  # fmt: skip


def test_the_generators_cpu_stands_for_each_operation(application: Analysis) -> None:
    table = one(application.tables[1], 0)
    for share, rate, cell in ((0.5, 2000.0, "250 µs"), (0.9, 0.0, "—"), (None, 2000.0, "—")):
        shares = {} if share is None else {"generator": share, "redis": 1.0}
        assert cells(with_columns(table, "driver_cpu", cpu_share=shares, throughput_per_s=rate), "driver_cpu") == [cell]


def test_a_table_without_columns_of_its_own_is_as_every_table(analysis: Analysis) -> None:
    assert headers(analysis.tables[1])[:3] == ["operations", "elapsed", "RPS"]


def test_the_store_stands_in_brackets_in_millicores(application: Analysis, applications: ModuleType) -> None:
    row = (
        application.tables[0]
        .rows[0]
        .model_copy(
            update={
                "throughput_per_s": 2600.4,
                "goodput_per_s": 2600.4,
                "seen": applications.figures_of_parts("mariadb", 0.38),
                "kinds": {"mariadb": "mariadb", "spring": "subject"},
            }
        )
    )
    table = application.tables[0].model_copy(update={"rows": [row], "columns": ["tps_store", "store_cpu"]})
    assert cells(table, "tps_store") == ["2,600 (380m)"]
    assert cells(table, "store_cpu") == ["380m"]
    assert cells(table, "published_tps_store") == ["1,550 (980m)"]
    assert cells(table, "published_store_cpu") == ["980m"]


def test_of_several_stores_each_is_named(application: Analysis) -> None:
    table = with_columns(application.tables[1], "tps_store", "store_cpu")
    assert cells(table, "store_cpu") == ["redis 55m, mariadb 200m"] * 3
    assert [column.value(table.rows[0]) for column in columns_for(table) if column.key == "store_cpu"] == [0.2]


def test_a_store_whose_process_no_one_sees_leaves_the_rate_alone(application: Analysis) -> None:
    table = with_columns(one(application.tables[0], 0), "tps_store", "store_cpu", seen={}, published_columns={})
    assert cells(table, "tps_store") == ["347"]
    assert cells(table, "store_cpu") == ["—"]


def test_cpu_is_average_and_maximum_of_all_replicas(application: Analysis) -> None:
    table = with_columns(application.tables[0], "app_cpu", "redis_cpu")
    assert set(cells(table, "app_cpu")) == {"93 / 98 %"}
    assert len({row.condition["replicas"] for row in table.rows}) == 2
    assert cells(table, "redis_cpu")[0] == "—"
    assert cells(application.tables[1], "published_app_cpu") == ["16.1 %", "17 %", "18.7 %"]


def test_connections_are_those_of_the_load(application: Analysis) -> None:
    table = with_columns(application.tables[1], "connections", ours=True)
    assert [int(row.seen["redis"]["connected_clients"].max) for row in table.rows] == [10, 46, 3]
    assert cells(table, "connections") == cells(table, "published_connections") == ["8", "44", "1"]
    assert cells(with_columns(application.tables[0], "connections", ours=True), "connections")[0] == "—"
    theirs = with_columns(application.tables[1], "connections", ours=False)
    assert cells(theirs, "connections") == ["—"] * 3, "others are connected, too"


def test_what_was_stored_stands_beside_what_was_answered(application: Analysis) -> None:
    table = with_columns(one(application.tables[0], 0), "stored", stored=5_310, answered=5_310)
    assert cells(table, "stored") == ["5,310 of 5,310"]
    assert cells(with_columns(table, "stored", stored=None), "stored") == ["—"]


def test_users_as_driven_are_given_a_scaled_run(application: Analysis, analysis: Analysis) -> None:
    table = with_columns(application.tables[0], "tps", users=300)
    assert headers(table)[:2] == ["vUsers", "TPS"]
    assert cells(table, "users")[0] == "300"
    assert headers(with_columns(table, "tps", users=None))[0] == "TPS"
    assert headers(with_columns(analysis.tables[1], users=300))[0] == "vUsers"


@pytest.mark.parametrize(
    ("condition", "words"),
    [({"store": "redis-json"}, "207 (mariadb 3m)"), ({"store": "mariadb"}, "207 (3m)"), ({}, "207 (mariadb 3m)")],
)
def test_of_several_stores_only_the_busiest_stands_beside_the_rate(
    application: Analysis, condition: dict[str, Any], words: str
) -> None:
    used = {"used_memory": AvgMax(avg=1, max=1), "cpu_share": AvgMax(avg=0.001, max=0.002)}
    busier = {"threads_connected": AvgMax(avg=1, max=1), "cpu_share": AvgMax(avg=0.001, max=0.003)}
    kinds = {"redis": "redis", "mariadb": "mariadb"}
    changes = {"seen": {"redis": used, "mariadb": busier}, "kinds": kinds, "condition": condition}
    table = with_columns(one(application.tables[0], 0), "tps_store", **changes, throughput_per_s=207, goodput_per_s=207)
    assert cells(table, "tps_store") == [words]


def test_mtt_and_its_published_figure_are_times(application: Analysis) -> None:
    table = one(application.tables[1], 0)
    assert cells(table, "mtt") == ["1.46 s"]
    assert cells(table, "published_mtt") == ["2.07 s"]
    assert cells(table, "mariadb_reads") == ["8,123"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["tps", "mtt"], ["TPS", "goodput", "MTT", "errors"]),
        (["tps_store", "tps"], ["TPS (store)", "TPS", "goodput", "errors"]),
        (["goodput", "error_share"], ["TPS", "goodput", "error share"]),
        (["tps", "goodput", "errors"], ["TPS", "goodput", "errors"]),
        (["mtt"], ["MTT", "errors"]),
    ],
)
def test_where_failures_tell_tps_from_goodput_both_are_there_and_the_errors(
    application: Analysis, columns: list[str], expected: list[str]
) -> None:
    failing = next(row for row in application.tables[0].rows if row.errors)
    table = application.tables[0].model_copy(
        update={"rows": [failing.model_copy(update={"published_columns": {}})], "columns": columns}
    )
    assert headers(table) == expected
    if "TPS" in expected:
        assert cells(table, "tps") != cells(table, "goodput")


def test_without_failures_nothing_is_added(application: Analysis) -> None:
    table = with_columns(one(application.tables[0], 1), "tps", "mtt", published_columns={})
    assert headers(table) == ["TPS", "MTT"]


def test_a_share_of_errors_is_never_more_than_all(application: Analysis) -> None:
    def share(row: Row) -> str:
        return COLUMNS["error_share"].cell(row)

    row = application.tables[0].rows[0]
    assert share(row.model_copy(update={"operations": 1000, "errors": {"timeout": 26}})) == "2.6 %"
    assert share(row.model_copy(update={"operations": 0, "errors": {"timeout": 26}})) == "100 %"
    assert share(row.model_copy(update={"operations": 0, "errors": {}})) == "0 %"
    assert share(row.model_copy(update={"operations": None})) == "—"


def test_rows_stored_are_counted(application: Analysis) -> None:
    assert cells(with_columns(one(application.tables[0], 0), "stored", stored=390_012), "stored") == ["390,012"]


def test_one_block_has_neither_a_column_of_blocks_nor_of_intervals(application: Analysis) -> None:
    table = with_columns(
        application.tables[0], "tps", "interval", "blocks", "held_back", "published", blocks=1, goodput_interval=None,
        bottleneck=None, errors={}, goodput_per_s=100.0, throughput_per_s=100.0, published_columns={},
    )  # fmt: skip
    assert headers(table) == ["TPS"]


def test_a_row_without_a_figure_has_dashes(application: Analysis, empty_analysis: Analysis) -> None:
    row = empty_analysis.tables[0].rows[0].model_copy(update={"published": None})
    table = application.tables[0].model_copy(update={"rows": [row], "columns": list(OF_STUDIES)})
    shown = columns_for(table)
    assert {"tps", "tps_store", "goodput", "mtt", "stored", "store_cpu", "app_cpu"} <= {one.key for one in shown}
    assert {column.cell(row) for column in shown} == {"—"}


def test_parts_are_known_by_the_kind_that_their_record_carries(application: Analysis) -> None:
    row = application.tables[0].rows[0]
    odd = {"cache": row.seen["mariadb"], "cpu7": {"busy": AvgMax(avg=1, max=2)}, "spring": row.seen["spring"]}
    kinds = {"cache": "mariadb", "spring": "subject"}
    table = one(application.tables[0], 0)
    table = table.model_copy(
        update={"rows": [row.model_copy(update={"seen": odd, "kinds": kinds})], "columns": ["store_cpu", "app_cpu"]}
    )
    assert cells(table, "store_cpu") == [f"{1000 * row.seen['mariadb']['cpu_share'].max:.0f}m"]
    assert cells(table, "app_cpu") == ["93 / 98 %"]


def test_what_the_generator_stayed_awake_for_is_no_part_of_what_a_request_costs_it() -> None:
    at_once = AtOnce(wakeups_per_s=9.0, replies_a_wakeup=1.0, requests_a_send=1.0, awake=0.7)
    row = Row.model_construct(cpu_share={"generator": 0.9}, at_once=at_once, throughput_per_s=10_000.0)
    asleep = row.model_copy(update={"at_once": None})

    assert [COLUMNS["driver_cpu"].value(one) for one in (row, asleep)] == pytest.approx([20_000, 90_000])
    assert [COLUMNS["generator_cpu"].cell(one) for one in (row, asleep)] == ["90 % (awake in waits 70 %)", "90 %"]
