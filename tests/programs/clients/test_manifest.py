"""A driver's manifest, and what it lets a plan have: one line for what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.driver_features import FEATURES, needed
from loadstone.experiment.spec.driver_names import DriverWord, names, resolved
from loadstone.programs.clients.chosen import chosen_driver, require_can
from loadstone.programs.clients.manifest import DriverManifest, read_driver_manifest
from loadstone.safety.errors import UserError

ROOT = Path(__file__).parents[3]
WHOLE: dict[str, Any] = {
    "name": "mine",
    "title": "Mine",
    "library": "mine",
    "version": "1.0",
    "run": {"command": "{folder}/run"},
    "can": {"protocols": ["resp2"], "models": ["closed"], "distributions": ["uniform"], "features": []},
    "options": {"mode": ["threads", "asyncio"]},
}
BUILD: dict[str, Any] = {"commands": ["make"], "inputs": ["*.py"], "output": "out"}
PLAN: dict[str, Any] = {
    "endpoints": [{}],
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 1},
    "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
}


def written(folder: Path, **changed: object) -> Path:
    (folder / "driver.yaml").write_text(json.dumps({**WHOLE, **changed}))
    return folder


@pytest.mark.parametrize("name", names())
def test_every_built_in_driver_has_a_manifest_of_its_name(name: str) -> None:
    manifest, folder = read_driver_manifest(ROOT / "clients" / name)
    assert (manifest.name, folder.name) == (name, name)


def test_there_are_built_in_drivers() -> None:
    assert "go-redis" in names()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "Mine"}, "name: String should match pattern"),
        ({"colour": "red"}, "colour: unknown key; known are format, name, title"),
        ({"run": {"command": "x", "colour": "red"}}, "run.colour: unknown key; see"),
        ({"version": 1.10}, "version: 1.1 is a number; write it in quotes"),
        ({"run": {"command": "{port} x"}}, "run.command: '{port}' is not known; known are folder, output"),
        ({"run": {"command": "x ${secret:P}"}}, "run.command: every user of the machine can read a command"),
        (
            {"run": {"command": "x 'y"}},
            "run.command: is not a command line (no closing quotation); write it as a shell",
        ),
        ({"can": {**WHOLE["can"], "features": ["magic"]}}, "'magic' is no feature; features are: tls"),
        ({"can": {**WHOLE["can"], "models": []}}, "can.models: Tuple should have at least 1 item"),
        ({"options": {"mode": []}}, "options.mode"),
        ({"options": {"version": ["1"]}}, "options: 'version' is the option of every driver"),
        ({"format": 2}, "format: Input should be 1"),
        ({"run": {"command": "{output} x"}}, "run.command: {output} is what a build makes, and there is none"),
        ({"build": {**BUILD, "inputs": ["../*.py"]}}, "build.inputs.0: '../*.py' leads out of the folder"),
        ({"build": {**BUILD, "inputs": ["/etc/*"]}}, "build.inputs.0: '/etc/*' leads out of the folder"),
        ({"build": {**BUILD, "output": "../../out"}}, "build.output: '../../out' leads out of the folder"),
        ({"build": {**BUILD, "output": "/bin/sh"}}, "build.output: '/bin/sh' leads out of the folder"),
        ({"build": {**BUILD, "commands": ["make && make install"]}}, "build.commands.0: '&&' is for a shell"),
        ({"build": {**BUILD, "commands": ["cd src"]}}, "build.commands.0: 'cd' is for a shell"),
        ({"build": {**BUILD, "commands": ["make 'x"]}}, "is not a command line"),
        ({"build": {**BUILD, "commands": ["make ${env:TOKEN}"]}}, "build.commands.0: every user of the machine can"),
    ],
)
def test_a_manifest_that_is_wrong_is_refused_by_its_field(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        read_driver_manifest(written(tmp_path, **changed))
    assert said in str(refused.value)
    assert "docs/drivers.md" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_braces_of_its_own_stay_in_a_command(tmp_path: Path) -> None:
    command = "node -e 'run({a: 1}, \"{folder.parent}\")' {folder}/x '{folder} y'"
    manifest, _ = read_driver_manifest(written(tmp_path, run={"command": command}))
    assert manifest.run.words("", "/f") == ["node", "-e", 'run({a: 1}, "{folder.parent}")', "/f/x", "/f y"]


def test_a_word_may_have_options(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert chosen_driver(str(folder)).options == {"mode": "threads"}
    assert chosen_driver(f"{folder}:mode=asyncio").options == {"mode": "asyncio"}
    assert DriverWord.of("redis-py:mode=asyncio,a=b") == DriverWord("redis-py", (("mode", "asyncio"), ("a", "b")))
    assert str(DriverWord.of("redis-py:mode=asyncio,a=b")) == "redis-py:mode=asyncio,a=b"
    for options, said in (("colour=red", "'colour' is no option; it has: mode"), ("mode=x", "threads, asyncio")):
        with pytest.raises(UserError, match=said):
            chosen_driver(f"{folder}:{options}")


def test_a_version_of_its_library_may_be_asked_for(tmp_path: Path) -> None:
    build = {**BUILD, "version_commands": ["make VERSION={version} all"]}
    folder = written(tmp_path, build=build)
    assert chosen_driver(f"{folder}:version=1.0").other is None, "the one that it is built with anyway"
    chosen = chosen_driver(f"{folder}:mode=asyncio,version=2.0-rc.1")
    assert chosen.other is not None
    assert chosen.other.commands == ("make VERSION=2.0-rc.1 all",)
    assert (chosen.manifest.version, chosen.options) == ("2.0-rc.1", {"mode": "asyncio"})
    with pytest.raises(UserError, match=r"^driver mine:version=latest: no version; write it in full, as 1\.0$"):
        chosen_driver(f"{folder}:version=latest")
    written(tmp_path, build=BUILD)
    with pytest.raises(UserError, match=r"^driver mine:version=2\.0: it is built with 1\.0 alone; leave it"):
        chosen_driver(f"{folder}:version=2.0")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("go-rediz", "'go-rediz' is no driver; did you mean 'go-redis'? drivers are: native"),
        ("native:mode=x", "the native engine has no options"),
    ],
)
def test_a_word_that_means_no_driver_is_refused(tmp_path: Path, word: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        resolved(word, tmp_path)


def test_a_path_counts_from_the_folder(tmp_path: Path) -> None:
    written(tmp_path)
    assert resolved(".:mode=asyncio", tmp_path) == f"{tmp_path}:mode=asyncio"
    assert resolved("go-redis", tmp_path) == "go-redis"
    assert resolved("native", tmp_path) == "native"


NEEDS: dict[str, dict[str, Any]] = {
    "tls": {"endpoints": [{"tls": {}}]},
    "client_certificates": {"endpoints": [{"tls": {"cert_file": "c", "key_file": "k"}}]},
    "unix_sockets": {"endpoints": [{"unix_path": "/tmp/x"}]},
    "endpoints": {"endpoints": [{}, {}]},
    "slots": {"endpoints": [{"slots": [[0, 16383]]}]},
    "sentinel": {"endpoints": [{}, {"sentinel_of": "primary"}]},
    "replicas": {"endpoints": [{}, {"replica_of": 0}]},
    "pipelining": {"pipeline_depth": 2},
    "idle_limits": {"pool": {"connections": 1, "max_idle": 1}},
    "lifo": {"pool": {"connections": 2}},
    "fifo": {"pool": {"connections": 2, "order": "fifo"}},
    "operations_per_user": {"model": {"kind": "closed", "users": 1, "operations_per_user": 1}},
    "operations_more": {"model": {"kind": "closed", "users": 2, "operations_per_user": 1, "operations_more": 1}},
    "ramp_up_steps": {
        "model": {"kind": "closed", "users": 1, "ramp_up": {"initial_users": 0, "step_users": 1, "step_every_s": 1}}
    },
    "rate_schedule": {
        "model": {"kind": "open", "rate_per_s": 1, "schedule": [{"rate_per_s": 1, "duration_s": 1}]},
    },
    "measure_operations": {"phases": {"measure_operations": 1}},
    "acknowledged": {"acknowledged": True, "keys": {"distribution": "exactly_once"}},
    "start_at": {"start_at_unix_ns": 1},
    "start_at_monotonic": {"start_at_monotonic_ns": 1},
    "share": {"share": {"number": 0, "of": 2}},
    "data_file": {"data": {"path": "values.jsonl", "format": "documents"}},
    "recording": {
        "recording": {"path": "commands.recorded"},
        "operations": [{"name": "set", "commands": [{"args": ["SET"]}]}],
    },
    "several_keys": {"operations": [{"name": "mget", "commands": [{"args": ["MGET", "{key}", "{key2}"]}]}]},
    "repeated_content": {"documents": {"content": "repeat"}},
    "receivers": {
        "receivers": {"kind": "subscribe", "connections": 1},
        "keys": {"count": 1},
        "operations": [{"name": "publish", "commands": [{"args": ["PUBLISH", "{key}", "{message}"]}]}],
    },
}


def test_every_feature_is_asked_for_by_some_plan() -> None:
    assert {*NEEDS, "read_back"} == set(FEATURES)
    assert list(needed(Plan.model_validate(PLAN))) == []


@pytest.mark.parametrize("feature", NEEDS)
def test_a_plan_that_needs_more_than_a_driver_can_is_refused_by_the_field(feature: str) -> None:
    plan = Plan.model_validate({**PLAN, **NEEDS[feature]})
    assert feature in {name for name, _, _ in needed(plan)}
    distributions, models = ["uniform", "exactly_once"], ["closed", "open"]
    all_but = [one for one in FEATURES if one != feature]
    can = {**WHOLE["can"], "features": all_but, "distributions": distributions, "models": models}
    with pytest.raises(UserError, match=rf"^driver mine: .*\(feature '{feature}'\); leave it out"):
        require_can(DriverManifest.model_validate({**WHOLE, "can": can}), plan)
    require_can(DriverManifest.model_validate({**WHOLE, "can": {**can, "features": FEATURES}}), plan)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"protocol": "resp3"}, "protocol: it cannot drive 'resp3'; it can: resp2"),
        ({"model": {"kind": "open", "rate_per_s": 1}}, "model.kind: it cannot drive 'open'"),
        ({"keys": {"distribution": "zipf"}}, "keys.distribution: it cannot drive 'zipf'"),
    ],
)
def test_what_is_not_in_its_lists_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        require_can(DriverManifest.model_validate(WHOLE), Plan.model_validate({**PLAN, **changed}))


def test_a_driver_gets_its_least_warm_up_and_no_read_back_that_it_has_not(tmp_path: Path) -> None:
    chosen = chosen_driver(str(written(tmp_path, warm_up_s=3)))
    share = chosen.share(Plan.model_validate(PLAN))
    assert (share.phases.warm_up_s, share.verify.read_back_max) == (3.0, 0)
    longer = Plan.model_validate({**PLAN, "phases": {"warm_up_s": 5}})
    assert chosen.share(longer).phases.warm_up_s == 5.0
    model = {"kind": "closed", "users": 2, "operations_per_user": 100}
    for ends in ({"model": model}, {"keys": {"distribution": "exactly_once"}}):
        share = Plan.model_validate({**PLAN, "phases": {"warm_up_s": 0}, **ends})
        assert chosen.share(share).phases.warm_up_s == 0.0
