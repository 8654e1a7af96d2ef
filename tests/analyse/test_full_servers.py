"""What full servers do, from a run's folder: recorded runs of real servers."""

from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.analyse.analysis import analyse
from loadstone.analyse.model import Analysis
from loadstone.goals.full_server import ServerWhenFull
from loadstone.report.csv_report import render
from loadstone.report.text.sentences import text


def analysed(name: str, folder: Path) -> Analysis:
    return analyse(unpacked(name, folder))


def by_label(analysis: Analysis) -> dict[str, ServerWhenFull]:
    return {one.label: one for one in analysis.full_servers}


def test_a_place_is_a_server_an_operation_and_a_payload_over_all_numbers_of_users(tmp_path: Path) -> None:
    found = by_label(analysed("json-documents", tmp_path))
    one = found["set, 1 kB"]
    assert text(one.said) == "123,000 [121,000, 124,000] a second (measured at 32 workers)"
    assert "workers" not in one.condition
    assert one.users_vary
    assert found["set, 1 kB, string"].capacity.per_s == pytest.approx(168_000, rel=0.01)
    assert found["set, 500 B"].capacity.how == "refused"
    assert "busy .48 of the time with 1 user" in text(found["set, 500 B"].said)


def test_where_a_rate_or_an_application_is_the_load_no_server_has_a_capacity(tmp_path: Path) -> None:
    for name in ("redis-rate", "memory-vs-disk", "saturate-open"):
        assert analysed(name, tmp_path / name).full_servers == []


def test_beside_programs_that_have_its_cpu_nothing_is_known(tmp_path: Path) -> None:
    found = analysed("caches", tmp_path).full_servers
    assert {one.server for one in found} >= {"redis", "valkey", "memcached"}
    assert {one.capacity.how for one in found} == {"refused"}
    assert "other programs had its CPU" in text(
        by_label(analysed("caches", tmp_path / "b"))["valkey, get, payload 1 kB"].said
    )


def test_reports_have_a_section_and_a_file_of_it(tmp_path: Path) -> None:
    run = unpacked("json-documents", tmp_path)
    analysis = analyse(run)
    assert "full-servers" in [section.name for section in analysis.sections]
    lines = render(analysis)["full-servers.csv"].decode().splitlines()
    assert lines[0].startswith("label,condition,server,how,per_s,")
    assert len(lines) == 1 + len(analysis.full_servers)
    assert Analysis.model_validate_json(analysis.model_dump_json()) == analysis
