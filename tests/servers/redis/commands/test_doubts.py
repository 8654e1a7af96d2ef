"""A command that looks wrong is named before anything is started or connected to."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.real_servers import UserRedis
from tests.tiny_experiment import sending

from loadstone.experiment.spec.built_in import names
from loadstone.run.describe import describe_experiment
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.servers.redis.commands.confinement import ARITIES, KNOWN, doubt_about


def shown(folder: Path, command: str, *, allow: bool = False) -> str:
    file = folder / "tiny.yaml"
    file.write_text(sending(command))
    return describe_experiment(RunRequest(experiment=str(file), allow_any_command=allow))[0]


@pytest.mark.fault("a command of an experiment is misspelt", "it is refused with the nearest", area="commands")
@pytest.mark.parametrize(
    ("command", "nearest"),
    [
        ("EXPIER {key} 10", "EXPIRE"),
        ("mgte {key} x", "MGET"),
        ("JSON.GTE {key}", "JSON.GET"),
        ("TS.ADDD {key}", "TS.ADD"),
    ],
)
def test_a_command_that_is_not_known_is_refused_with_the_nearest(tmp_path: Path, command: str, nearest: str) -> None:
    with pytest.raises(UserError) as caught:
        shown(tmp_path, command)
    assert str(caught.value) == (
        f"operation 'set': '{command}' is no command of Redis or of a module that loadstone knows; did you mean "
        f"'{nearest}'? correct it, or let any command pass by --allow-any-command"
    )
    allowed = shown(tmp_path, command, allow=True)
    assert f"'{command}' is no command of Redis or of a module that loadstone knows" in allowed


def test_a_command_of_a_users_own_module_passes(tmp_path: Path) -> None:
    assert "'MY.COUNT {key}' is of a module that loadstone does not know" in shown(tmp_path, "MY.COUNT {key}")


def test_what_reads_back_is_looked_at_too(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    back = "expect: any}], writes: document, read_back: {args: 'GTE {key}', expect: document}"
    file.write_text(sending("SET {key} {document}").replace("expect: any}]", back))
    with pytest.raises(UserError, match=r"'GTE .key.' is no command"):
        describe_experiment(RunRequest(experiment=str(file)))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("SET {key}", "has 1 argument, and SET takes at least 2"),
        ("GET {key} x", "has 2 arguments, and GET takes 1"),
        ("PING a b c", ""),
        ("SET {key} x", ""),
        ("MGET {key} {key}", ""),
        ("hget {key} f", ""),
    ],
)
def test_arguments_are_counted_before_the_load(tmp_path: Path, command: str, says: str) -> None:
    if not says:
        assert "operation 'set': " not in shown(tmp_path, command)
        return
    with pytest.raises(UserError) as caught:
        shown(tmp_path, command)
    assert str(caught.value) == f"operation 'set': '{command}' {says}; correct the command"


@pytest.mark.parametrize("name", names())
def test_no_experiment_of_ours_looks_wrong(name: str) -> None:
    assert "loadstone knows" not in describe_experiment(RunRequest(experiment=name))[0]


def test_the_numbers_are_those_of_a_server(user_redis: Callable[..., UserRedis]) -> None:
    with user_redis().client() as client:
        theirs = {name.upper(): found["arity"] for name, found in client.command().items()}
    both = theirs.keys() & ARITIES.keys()
    assert {name: theirs[name] for name in both} == {name: ARITIES[name] for name in both}
    assert len(both) > 150
    assert theirs.keys() <= KNOWN, "what a server has is no misspelling"


def test_a_command_that_is_drawn_is_left_alone() -> None:
    assert doubt_about(["{value}", "x"]) is None
