"""What full servers do, from a run's folder: recorded runs of real servers."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.capacity.full_server_rates import FullServerRates, FullServers
from loadstone.experiment.plan.run_plan import FULL_SERVERS
from loadstone.judge.analysis.analyse import analyse, analyse_run
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.csv_report import render
from loadstone.report.sections.of_analysis import document_of
from loadstone.run_folder.reading import read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message


def analysed(name: str, folder: Path) -> Analysis:
    return analyse(unpacked(name, folder))


def full_servers(analysis: Analysis) -> list[FullServerRates]:
    found = analysis.part(FullServers)
    return [] if found is None else found.root


def by_label(analysis: Analysis) -> dict[str, FullServerRates]:
    return {one.label: one for one in full_servers(analysis)}


def test_a_place_is_a_server_an_operation_and_a_payload_over_all_numbers_of_users(tmp_path: Path) -> None:
    found = by_label(analysed("json-documents", tmp_path))
    one = found["set, 1 kB"]
    assert render_message(one.said) == "123,000 [121,000, 124,000] a second (measured at 32 workers)"
    assert "workers" not in one.condition
    assert one.users_vary
    assert found["set, 1 kB, string"].capacity.per_s == pytest.approx(168_000, rel=0.01)
    assert found["set, 500 B"].capacity.how == "refused"
    assert "busy 48 % of the time with 1 user" in render_message(found["set, 500 B"].said)


def test_trials_with_more_users_answer_this_question_alone(tmp_path: Path) -> None:
    run = read_run(unpacked("json-documents", tmp_path))
    one_user = next(one for one in run.trials if _is(one, "500 B", 1))
    full = next(one for one in run.trials if _is(one, "100 B", 32))
    named = {"trial": "full-servers-32", "group": FULL_SERVERS, "condition": one_user.condition}
    before, after = (
        analyse_run(one) for one in (run, replace(run, trials=[*run.trials, full.model_copy(update=named)]))
    )
    assert after.tables == before.tables
    assert after.families == before.families
    found = by_label(after)["set, 500 B"].capacity
    assert by_label(before)["set, 500 B"].capacity.how == "refused"
    assert (found.how, found.users) == ("measured", 32)


def _is(trial: TrialRecord, payload: str, workers: int) -> bool:
    wanted = {"operation": "set", "payload": payload, "workers": workers, "storage": "json"}
    return trial.group == "table" and all(trial.condition[name] == level for name, level in wanted.items())


def test_where_a_rate_or_an_application_is_the_load_no_server_has_a_capacity(tmp_path: Path) -> None:
    for name in ("redis-rate", "memory-vs-disk", "saturate-open"):
        assert full_servers(analysed(name, tmp_path / name)) == []


def test_beside_programs_that_have_its_cpu_nothing_is_known(tmp_path: Path) -> None:
    found = full_servers(analysed("caches", tmp_path))
    assert {one.server for one in found} >= {"redis", "valkey", "memcached"}
    assert {one.capacity.how for one in found} == {"refused"}
    assert "other programs had its CPU" in render_message(
        by_label(analysed("caches", tmp_path / "b"))["valkey, get, payload 1 kB"].said
    )


def test_reports_have_a_section_and_a_file_of_it(tmp_path: Path) -> None:
    run = unpacked("json-documents", tmp_path)
    analysis = analyse(run)
    assert "full-servers" in [section.name for section in document_of(analysis).sections]
    lines = render(analysis)["full-servers.csv"].decode().splitlines()
    assert lines[0].startswith("label,condition,server,how,per_s,")
    assert len(lines) == 1 + len(full_servers(analysis))
    assert Analysis.model_validate_json(analysis.model_dump_json()) == analysis
