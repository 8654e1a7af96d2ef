"""Going on with a folder: the same run only."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.required import PlannedCrash, RequiredData, RequiredSubject, StoredCount
from loadstone.experiment.plan.run_plan import CrashTrial
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import PlanSummary, summarise_plan
from loadstone.run_folder.reading import read_plan
from loadstone.run_folder.resume import require_same_run
from loadstone.safety.errors import UserError


@pytest.fixture(scope="module")
def path(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_run(tmp_path_factory.mktemp("runs"), until=0)


def changed(environment: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(environment)
    *keys, last = place.split(".")
    part = copied
    for key in keys:
        part = part[key]
    part[last] = value
    return copied


def test_the_same_run_goes_on(synthetic: ModuleType, path: Path) -> None:
    require_same_run(path, summarise_plan(synthetic.make_run_plan()), synthetic.ENVIRONMENT)


def test_addresses_passwords_and_cpus_may_differ(synthetic: ModuleType, path: Path) -> None:
    plan = synthetic.make_run_plan()
    elsewhere = {"endpoints": [{"port": 1234, "password": "another"}], "cpus": [1]}
    trials = tuple(
        replace(t, plan=synthetic.make_plan(t.condition["operation"], **elsewhere), servers=anew(t))
        for t in plan.trials
    )
    require_same_run(path, summarise_plan(replace(plan, trials=trials)), synthetic.ENVIRONMENT)


def anew(trial: Any) -> dict[str, dict[str, object]]:
    return {name: settings | {"password": "another"} for name, settings in trial.servers.items()}


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"experiment": "other"}, "the folder is of experiment 'small', not 'other'"),
        ({"seed": 8}, "--seed was 7 and is now 8"),
        ({"quick": True}, "--quick was off and is now on"),
        ({"as_published": True}, "--as-published was off and is now on"),
        ({"scale": 0.5}, "--scale was 1.0 and is now 0.5"),
    ],
)
def test_another_plan_is_refused(synthetic: ModuleType, path: Path, change: dict[str, Any], difference: str) -> None:
    with pytest.raises(UserError) as raised:
        require_same_run(path, summarise_plan(synthetic.make_run_plan(**change)), synthetic.ENVIRONMENT)
    assert difference in str(raised.value)
    assert str(raised.value).startswith(f"--resume {path}: ")
    assert "\n" not in str(raised.value)


def test_other_conditions_are_named(synthetic: ModuleType, path: Path) -> None:
    plan = synthetic.make_run_plan()
    with pytest.raises(
        UserError, match=r"conditions differ \(1\): 'operation=set, .*idle=many' was in the folder's plan"
    ):
        require_same_run(path, summarise_plan(replace(plan, trials=plan.trials[:4])), synthetic.ENVIRONMENT)


def test_more_blocks_are_refused(synthetic: ModuleType, path: Path) -> None:
    with pytest.raises(UserError, match="5 trials were planned and now 10"):
        require_same_run(path, summarise_plan(synthetic.make_run_plan(blocks=2)), synthetic.ENVIRONMENT)


def test_another_load_is_refused(synthetic: ModuleType, path: Path) -> None:
    plan = synthetic.make_run_plan()
    longer = plan.trials[2].plan.model_copy(update={"pipeline_depth": 16})
    trials = (*plan.trials[:2], replace(plan.trials[2], plan=longer), *plan.trials[3:])
    with pytest.raises(
        UserError, match="trial b01-003 is planned otherwise: its load or the settings of a server, a subject"
    ):
        require_same_run(path, summarise_plan(replace(plan, trials=trials)), synthetic.ENVIRONMENT)


@pytest.mark.parametrize(
    "changes",
    [
        {"subjects": {"app": RequiredSubject(manifest="/elsewhere")}},
        {"data": (RequiredData(name="posts", rows=10, columns={}, server="redis"),)},
        {"stored": (StoredCount("set", "redis", "DBSIZE"),)},
        {"target": "redis"},
    ],
)
def test_other_parts_are_refused(synthetic: ModuleType, path: Path, changes: dict[str, Any]) -> None:
    plan = synthetic.make_run_plan()
    trials = (replace(plan.trials[0], **changes), *plan.trials[1:])
    with pytest.raises(UserError, match="its load or the settings of a server, a subject or the data differ"):
        require_same_run(path, summarise_plan(replace(plan, trials=trials)), synthetic.ENVIRONMENT)


def test_the_login_of_a_subject_may_differ_and_its_address_not(synthetic: ModuleType) -> None:
    plan = synthetic.make_run_plan()

    def summary(url: str) -> PlanSummary:
        trials = tuple(replace(trial, subjects={"app": RequiredSubject(urls=(url,))}) for trial in plan.trials)
        return summarise_plan(replace(plan, trials=trials))

    assert summary("http://user:one@host") == summary("http://user:two@host") != summary("http://user:one@other")


def test_other_crashes_are_refused(synthetic: ModuleType, tmp_path: Path) -> None:
    plan = synthetic.make_run_plan()
    crashes = tuple(
        CrashTrial(
            replace(plan.trials[0], name=f"crash-{number}"),
            PlannedCrash("durability", f"crash-{number}", "redis", "DBSIZE", 1.0, number),
        )
        for number in (1, 2)
    )
    folder = synthetic.write_run(tmp_path, replace(plan, crashes=crashes), until=0)
    lines = read_plan(folder).crashes
    assert [(line.name, line.trial, line.number) for line in lines] == [
        ("durability", "crash-1", 1),
        ("durability", "crash-2", 2),
    ]
    require_same_run(folder, summarise_plan(replace(plan, crashes=crashes)), synthetic.ENVIRONMENT)
    later = (replace(crashes[0], crash=replace(crashes[0].crash, after_s=2.0)), crashes[1])
    for other, name in ((later, "crash-1"), (crashes[:1], "crash-2")):
        with pytest.raises(UserError, match=f"crash {name} is planned otherwise; run it again"):
            require_same_run(folder, summarise_plan(replace(plan, crashes=other)), synthetic.ENVIRONMENT)


GROUP = Group(
    name="storage",
    conditions=(),
    pairs=(),
    metric="goodput_per_s",
    margin=0.05,
    looks=(8, 12),
    sequential=True,
    warm_block=True,
    trial_s=3.0,
    overhead_s=0.6,
)


def test_another_budget_is_taken_and_kept(synthetic: ModuleType, tmp_path: Path) -> None:
    plan = synthetic.make_run_plan(groups=(GROUP,))
    folder = synthetic.write_run(tmp_path, plan, until=0)
    more = summarise_plan(replace(plan, budget_s=3600.0, groups=(replace(GROUP, overhead_s=9.0),)))
    require_same_run(folder, more, synthetic.ENVIRONMENT)
    with RunFolder.resume(folder) as opened:
        opened.write_plan(more)
    assert read_plan(folder).budget_s == 3600.0


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"looks": (8,)}, "group storage: looks was 8, 12 and is now 8"),
        ({"sequential": False}, "group storage: sequential was on and is now off"),
        ({"margin": 0.1}, "group storage: margin was 0.05 and is now 0.1"),
        ({"name": "pool"}, "group storage was planned, and now pool"),
        ({"pairs": (PairDesign({"a": 1}, {"a": 2}),)}, "group storage: other conditions are compared"),
    ],
)
def test_another_comparison_is_refused(
    synthetic: ModuleType, tmp_path: Path, change: dict[str, Any], difference: str
) -> None:
    plan = synthetic.make_run_plan(groups=(GROUP,))
    folder = synthetic.write_run(tmp_path, plan, until=0)
    other = summarise_plan(replace(plan, groups=(replace(GROUP, **change),)))
    with pytest.raises(UserError) as raised:
        require_same_run(folder, other, synthetic.ENVIRONMENT)
    assert difference in str(raised.value)


@pytest.mark.parametrize(
    ("place", "value", "difference"),
    [
        ("machine.machine_id", "1" * 64, "the folder was made on another machine"),
        ("machine.cpu_count", 4, "machine cpu_count was 2 and is now 4"),
        ("kernel.release", "6.2.0", "kernel release was 6.1.0 and is now 6.2.0"),
        ("versions.loadstone", "0.2.0", "versions loadstone was 0.1.0 and is now 0.2.0"),
        ("servers.redis.version", "8.4.0", "server redis: version was 8.2.3 and is now 8.4.0"),
    ],
)
def test_another_machine_or_server_is_refused(
    synthetic: ModuleType, path: Path, place: str, value: Any, difference: str
) -> None:
    plan = summarise_plan(synthetic.make_run_plan())
    with pytest.raises(UserError) as raised:
        require_same_run(path, plan, changed(synthetic.ENVIRONMENT, place, value))
    assert difference in str(raised.value)


@pytest.mark.parametrize("parts", [[1, {}], "x", {"redis": 1}, {"redis": ["version"]}, 5])
def test_what_a_strangers_folder_says_of_its_parts_is_a_difference_and_no_defect(
    synthetic: ModuleType, tmp_path: Path, parts: object
) -> None:
    path = synthetic.write_run(tmp_path, until=0)
    environment = json.loads((path / "environment.json").read_text())
    (path / "environment.json").write_text(json.dumps({**environment, "servers": parts, "subjects": parts}))
    with pytest.raises(UserError, match="server redis: software was None and is now redis"):
        require_same_run(path, summarise_plan(synthetic.make_run_plan()), synthetic.ENVIRONMENT)


HALF_A_CPU = {"status": "in_force", "value": 0.5, "why": ""}
SUBJECT = {"ours": True, "source": "a" * 16, "limits": {"cpu": HALF_A_CPU}, "jvm_flags": "-Xmx256m"}


@pytest.mark.parametrize(
    ("key", "value", "difference"),
    [
        ("source", "b" * 16, "subject app: source was aaaaaaaaaaaaaaaa and is now bbbbbbbbbbbbbbbb"),
        (
            "limits",
            {"cpu": {"status": "unavailable", "value": None, "why": "no group"}},
            "subject app: cpu limit was 0.5 and is now unavailable; run it again",
        ),
        (
            "limits",
            {"cpu": HALF_A_CPU, "memory": {"status": "in_force", "value": 1000.0, "why": ""}},
            "subject app: memory limit in bytes was none and is now 1000",
        ),
        ("jvm_flags", "-Xmx1g", "subject app: jvm_flags was -Xmx256m and is now -Xmx1g"),
        ("url", "http://elsewhere", "subject app: url was none and is now http://elsewhere"),
    ],
)
def test_another_subject_is_refused(
    synthetic: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    value: object,
    difference: str,
) -> None:
    then = {**synthetic.ENVIRONMENT, "subjects": {"app": SUBJECT}}
    monkeypatch.setattr(synthetic, "ENVIRONMENT", then)
    folder = synthetic.write_run(tmp_path, until=0)
    plan = summarise_plan(synthetic.make_run_plan())
    require_same_run(folder, plan, then)
    with pytest.raises(UserError) as raised:
        require_same_run(folder, plan, {**then, "subjects": {"app": {**SUBJECT, key: value}}})
    assert difference in str(raised.value)


def test_the_machines_identity_is_not_printed(synthetic: ModuleType, path: Path) -> None:
    plan = summarise_plan(synthetic.make_run_plan())
    with pytest.raises(UserError) as raised:
        require_same_run(path, plan, changed(synthetic.ENVIRONMENT, "machine.machine_id", "f" * 64))
    assert "ffff" not in str(raised.value)
    assert "0" * 16 not in str(raised.value)


def test_equal_plans_have_equal_summaries(synthetic: ModuleType) -> None:
    assert summarise_plan(synthetic.make_run_plan()) == summarise_plan(synthetic.make_run_plan())
