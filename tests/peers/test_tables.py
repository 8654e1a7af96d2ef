"""The arithmetic of the bench's tables, and the page that they are put into."""

import importlib
from pathlib import Path
from typing import Any

import pytest


def module(name: str) -> Any:
    return importlib.import_module(f"bench.peers.{name}")


def taken(generator: str, turn: str, cpu_us: float, rate: float, load: str = "GET", connections: int = 50) -> Any:
    return module("results").Throughput(generator, load, connections, 1, turn, rate, cpu_us)


def test_a_ratio_is_that_of_one_round_and_has_a_median_and_a_range() -> None:
    found = [
        *(taken("loadstone", f"{n}", us, 100_000) for n, us in enumerate((4, 5, 9))),
        *(taken("redis-benchmark", f"{n}", us, 80_000) for n, us in enumerate((10, 10, 10))),
        taken("redis-benchmark", "of a round without loadstone", 1, 1),
    ]
    (row,) = module("ratios").rows(found)
    assert (row.cpu.median, row.cpu.least, row.cpu.greatest) == (0.5, 0.4, 0.9)
    assert (row.rate.median, row.rounds, row.own_us.median, row.peer_us.median) == (1.25, 3, 5, 10)
    assert (row.target, row.reached) == (0.47, False)


@pytest.mark.parametrize(
    ("peer", "load", "connections", "target"),
    [("wrk", "HTTP", 50, 0.75), ("wrk", "HTTP", 1, None), ("hey", "HTTP", 50, None), ("k6", "HTTP", 50, 0.11)],
)
def test_a_target_holds_for_50_connections(peer: str, load: str, connections: int, target: float | None) -> None:
    both = [taken("loadstone", "1", 9, 1, load, connections), taken(peer, "1", 10, 1, load, connections)]
    (row,) = module("ratios").rows(both)
    assert row.target == target
    assert row.reached is (None if target is None else False)


@pytest.mark.parametrize(
    ("peer", "load", "value_bytes", "target"),
    [("redis-benchmark", "SET", 10_000, 0.6), ("memtier_benchmark", "GET", 32_000, 0.9), ("oha", "HTTP", 1000, 1.0)],
)
def test_other_sizes_have_targets_of_their_own_and_rows_of_their_own(
    peer: str, load: str, value_bytes: int, target: float
) -> None:
    throughput = module("results").Throughput
    both = [
        throughput(name, load, 500, 1, "1", 1, cpu_us, value_bytes=value_bytes)
        for name, cpu_us in (("loadstone", 5), (peer, 9))
    ]
    small = [taken("loadstone", "1", 1, 1, load, 500), taken(peer, "1", 1, 1, load, 500)]
    (_, row) = module("ratios").rows([*both, *small])
    assert (row.value_bytes, row.target, row.reached) == (value_bytes, target, True)


@pytest.mark.parametrize("value_bytes", [1, 100_000, 64_000_000])
def test_large_values_have_fewer_keys_and_no_long_argument(value_bytes: int) -> None:
    throughput = module("throughput")
    (cases,) = throughput.cases_by_size([value_bytes], (1, 500))
    assert all(case.keys * value_bytes <= 256_000_000 and case.keys >= 1 for case in cases)
    assert all(len(case.document) < 131_072 for case in cases if case.kind == "JSON.SET")
    assert {case.connections for case in cases} == ({1} if value_bytes > 100_000 else {1, 500})


def test_few_connections_have_a_target_beside_redis_benchmark() -> None:
    both = [taken("loadstone", "1", 9, 2, "GET", 8), taken("redis-benchmark", "1", 10, 1, "GET", 8)]
    (row,) = module("ratios").rows(both)
    assert (row.target, row.reached, row.behind) == (0.95, True, False)


def test_the_truth_of_the_server_that_freezes_follows_from_its_rule() -> None:
    p50, p99, p999 = module("freezes").truth_ms(60)
    assert p50 == pytest.approx(1.0)
    # Of 10 s a request in 100 is intended in the first (1 s - P99)/.9 of a freeze: behind 10 connections its wait
    # shrinks by .9 ms with each ms that passes.
    assert p99 == pytest.approx(1000 - 0.9 * 100, abs=2)
    assert p999 == pytest.approx(1000 - 0.9 * 10, abs=2)


def test_what_the_server_recorded_counts_from_the_intended_time() -> None:
    """1 ms each, and of 2,000 after the warm-up 100 wait for the end of a freeze of 100 ms."""
    left_ms = [2100 if 2000 <= number < 2100 else number + 1 for number in range(4000)]
    left_ns = [10**9 + ms * 10**6 for ms in left_ms]
    assert module("freezes").recorded(left_ns, 10**9, 2) == pytest.approx([1, 81, 99], abs=1.5)


def test_the_tables_come_from_the_file_and_say_what_is_missed(tmp_path: Path) -> None:
    results, page = module("results"), module("page")
    file, document = tmp_path / "bench.jsonl", tmp_path / "performance.md"
    kept = [
        results.Machine("2026-11-23", "a CPU", 2, "6.18", {"wrk": "4.1.0"}, {"version": "0.1.0"}, "nginx", 0.7),
        results.Throughput("loadstone", "HTTP", 50, 1, "1", 90_000, 6, 1),
        taken("wrk", "1", 6.5, 91_000, "HTTP"),
        results.Quantiles("loadstone", "--rate 1000", "Redis", 1000, 1.0, 910, 991, [1.0, 909, 1000]),
        results.Quantiles("wrk", "no rate", "HTTP", 9000, 1.0, 2.0, None),
        results.Users(10_000, 50, 50_000, 49_990, 12, 340, 9.1, 512),
        results.Users(10_000, 50, 50_000, 49_980, 14, 360, 9.3, 514),
        results.Delay("default", 20_000, 50, 8, 55, 31),
        results.Delay("--precise", 20_000, 50, 2, 21, 41),
        results.Added("loadstone, awake", 1.0, 10.0),
        results.Added("loadstone, awake", 1.0, 12.0),
        results.Threads("loadstone", 2, 40, 19_000, 5.5, 2.1),
        results.Threads("loadstone", 2, 40, 19_400, 5.7, 2.1),
    ]
    for one in kept:
        results.add(file, one)
    assert results.read(file) == kept
    document.write_text(f"# Before\n\n{page.BEGIN}\nold\n{page.END}\n\nAfter.\n")
    page.put(document, results.read(file))
    text = document.read_text()
    assert text.startswith("# Before")
    assert text.endswith("After.\n")
    assert "old" not in text
    assert (
        "| HTTP, 50 | wrk | 6.00 | 6.50 | 0.92 [0.92, 0.92] | 0.77 [0.77, 0.77] | 0.75 **missed** | 90 | 91 "
        "| 0.99 [0.99, 0.99] | 1 |" in text
    )
    assert "0 of 1 targets are reached." in text
    assert "- HTTP, 50: 0.92 of wrk, 0.75 is the target." in text
    assert "- HTTP, 50: wrk; CPU 0.92, rate 0.99." in text
    assert "| 1 | loadstone, awake | 11.0 [10.0, 12.0] | 10.0 | 2 |" in text
    assert "| 40 | loadstone | 2 | 19200 [19000, 19400] | 0.96 | 5.60 [5.50, 5.70] | 2.10 | 2 |" in text
    assert "| wrk, HTTP | `no rate` | 9000 | 1.00 | 2.00 | - | +0.0, -99.8, - |  |" in text
    assert "| 1.00 | 910.00 | 991.00 | +0.0, -0.1, -0.1 | +0.0, +0.1, -0.9 |" in text
    assert "| 50,000 | 49985 [49980, 49990] | 13 [12, 14] | 350 [340, 360] | 9.2 [9.1, 9.3] | 513 | 2 |" in text
    assert text.index("| default |") < text.index("| `--precise` |")
    page.put(document, results.read(file))
    assert document.read_text() == text


def test_a_row_says_how_many_requests_timed_out() -> None:
    results, page = module("results"), module("page")
    own = [
        results.Throughput("loadstone", "SET", 50, 1, f"{n}", 9, 1, value_bytes=64_000_000, timeouts=n) for n in (3, 4)
    ]
    peers = [results.Throughput("redis-benchmark", "SET", 50, 1, f"{n}", 9, 2, value_bytes=64_000_000) for n in (3, 4)]
    text = page.document([*own, *peers])
    assert "- SET 64,000,000 B, 50, 1: 7 requests of loadstone's timed out." in text
    assert "timed out" not in page.document([taken("loadstone", "1", 1, 9), taken("redis-benchmark", "1", 1, 9)])


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    page = module("page")
    (tmp_path / "page.md").write_text("# Nothing\n")
    with pytest.raises(ValueError, match="has no place for the tables; put <!-- measured"):
        page.put(tmp_path / "page.md", [])
