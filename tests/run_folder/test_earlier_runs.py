"""The newest run of a folder, and how one was started."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer

from loadstone.cli import main
from loadstone.run_folder import earlier_runs
from loadstone.run_folder.earlier_runs import command_of, files_sent, run_folder, written_by
from loadstone.safety.errors import UserError


def run(root: Path, name: str, command: str = "loadstone run tiny.yaml --quick", **analysis: object) -> Path:
    path = root / name
    path.mkdir(parents=True)
    (path / "plan.json").write_text(json.dumps({"format": 1, "experiment": "tiny"}))
    (path / "environment.json").write_text(json.dumps({"format": 1, "command": command}))
    if analysis:
        (path / "analysis.json").write_text(json.dumps({"experiment": "tiny", **analysis}))
    return path


def test_the_newest_is_called_latest(tmp_path: Path) -> None:
    run(tmp_path, "20260102T000000Z-tiny", complete=True, answer="It\nis so.")
    run(tmp_path, "20260103T000000Z-tiny", trials_done=3, trials_planned=9, complete=False, answer="Not yet.")
    run(tmp_path, "20260103T000000Z-tiny-2")
    (tmp_path / "no-run").mkdir()
    assert run_folder("latest", tmp_path) == tmp_path / "20260103T000000Z-tiny-2"
    assert run_folder("runs/other", tmp_path) == Path("runs/other")


def test_a_renamed_folder_counts_by_its_age(tmp_path: Path) -> None:
    run(tmp_path, "20260102T000000Z-tiny")
    renamed = run(tmp_path, "baseline")
    assert run_folder("latest", tmp_path) == renamed
    os.utime(renamed / "plan.json", (0, 0))
    assert run_folder("latest", tmp_path).name == "20260102T000000Z-tiny"


def test_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="latest: there is no run in"):
        run_folder("latest", tmp_path)


def test_how_a_run_was_started_without_how_it_was_shown(tmp_path: Path) -> None:
    path = run(tmp_path, "a", "loadstone run json-documents --quick --json --only 'payload=1 kB' --quiet --open")
    assert command_of(path) == ["run", "json-documents", "--quick", "--only", "payload=1 kB"]
    gone = run(tmp_path, "b", "loadstone run gone/tiny.yaml --blocks 3")
    assert command_of(gone) == ["run", str(gone / "experiment.yaml"), "--blocks", "3"]


def test_a_search_for_saturation_goes_on_by_its_own_command(tmp_path: Path) -> None:
    path = run(tmp_path, "a", "loadstone saturate redis --command set --json")
    assert command_of(path) == ["saturate", "redis", "--command", "set"]
    path = run(tmp_path, "b", "loadstone saturate http http://***@h/")
    with pytest.raises(UserError, match="is not kept; add the whole command that started the run"):
        command_of(path)


def test_a_password_is_requested_again(tmp_path: Path) -> None:
    path = run(tmp_path, "a", "loadstone run tiny --server 'redis=redis://***@host:1/0' --quick")
    with pytest.raises(UserError, match="the password of redis is not kept; add --server redis=URL"):
        command_of(path, ["--resume", str(path)])
    assert command_of(path, ["--server", "redis=redis://:secret@host:1/0"]) == ["run", "tiny", "--quick"]


def test_a_setting_that_is_not_kept_is_requested_by_its_own_option(tmp_path: Path) -> None:
    for number, option in enumerate(("--set a.environment.PW=***", "--set=a.environment.PW=***")):
        path = run(tmp_path, str(number), f"loadstone run tiny {option} --quick")
        with pytest.raises(UserError, match=r"secret in --set a.environment.PW is not kept; add --set .*PW=VALUE"):
            command_of(path, ["--resume", str(path)])
        assert command_of(path, ["--set", "a.environment.PW=x"]) == ["run", "tiny", "--quick"]
    path = run(tmp_path, "b", "loadstone run tiny --subject http://***@h/")
    with pytest.raises(UserError, match="the password of the subject is not kept; add --subject URL"):
        command_of(path)
    assert command_of(path, ["--subject", "http://u:p@h/"]) == ["run", "tiny"]
    kept = "loadstone run tiny --secret-file A=a --set 'x=${env:PW}'"
    assert command_of(run(tmp_path, "c", kept)) == ["run", "tiny", "--secret-file", "A=a", "--set", "x=${env:PW}"]


def test_what_is_no_run_and_what_does_not_say_how_it_was_started(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--resume .*nowhere: not a run's folder"):
        command_of(tmp_path / "nowhere")
    with pytest.raises(UserError, match="name the experiment, too"):
        command_of(run(tmp_path, "a", ""))
    with pytest.raises(UserError, match="longer than 64,000 characters"):
        command_of(run(tmp_path, "b", f"loadstone redis --body {'a' * 64_000}"))


@pytest.mark.fault("a run's folder says where to write a file", "`--resume` ignores it and says so", area="disk")
@pytest.mark.parametrize("written", ["--json-out-file {}/a", "--json-out-file={}/a", "--hdr-file-prefix {}/a"])
def test_where_to_write_is_not_taken_from_a_folder(written: str, tmp_path: Path) -> None:
    option = written.replace("=", " ").split()[0]
    words = written.format(tmp_path)
    path = run(tmp_path, "a", f"loadstone redis redis://127.0.0.1:1 {words} --out runs {words} -n 10")
    assert command_of(path) == ["redis", "redis://127.0.0.1:1", "--out", "runs", "-n", "10"]
    assert written_by(path, ["--resume", str(path)]) == [option]
    assert written_by(path, [f"{option}=mine"]) == []


def test_files_that_options_put_into_the_load() -> None:
    words = ["http", "http://h/", "--body", "@a", "--body=@b", "-D", "c", "-Dd", "--body-file=e", "--body", "text"]
    assert files_sent(words) == ["a", "b", "c", "d", "e"]
    assert files_sent(["redis", "--commands", "f", "-n", "10"]) == ["f"]
    assert files_sent(["http", "http://h/", "--key", "-D", "--", "-D", "x"]) == [], "values and words"
    assert files_sent(["http", "http://h/", "--request-file=f", "--request-file", "g"]) == ["f", "g"]


@pytest.mark.fault(
    "a run's folder opens a port, removes the run, or names an option that nobody decided about",
    "`--resume` takes what says how it is measured, and nothing else",
    area="foreign",
)
def test_what_is_not_known_to_say_what_is_measured_is_not_taken_from_a_folder(tmp_path: Path) -> None:
    words = "redis redis://127.0.0.1:1 -q3n10 --prometheus 9000 --no-keep --fleet=ssh:evil --resume x --key --trust"
    path = run(tmp_path, "a", f"loadstone {words}")
    assert command_of(path) == ["redis", "redis://127.0.0.1:1", "-3", "-n10", "--key", "--trust"]
    assert written_by(path, ["--resume", str(path)]) == ["--prometheus", "--no-keep"]
    path = run(tmp_path, "b", "loadstone http http://127.0.0.1:1 -q 100 --quiet -n 5 -- -x")
    assert command_of(path) == ["http", "http://127.0.0.1:1", "-q", "100", "-n", "5", "--", "-x"]
    for number, unknown in enumerate(("--summary x", "--new", "-qxD/etc/passwd")):
        path = run(tmp_path, f"c{number}", f"loadstone redis redis://127.0.0.1:1 {unknown}")
        with pytest.raises(UserError, match=r"(--summary|--new|-x) is not taken from a run's folder"):
            command_of(path)


def test_each_option_of_what_is_resumed_is_decided_about() -> None:
    """A new one is neither taken from a folder nor passed over, until it stands in one of the lists."""
    commands: dict[str, Any] = typer.main.get_command(main.whole()).commands  # type: ignore[attr-defined]
    require_decided([commands[name] for name in ("run", "redis", "http")])


def require_decided(measuring: list[Any]) -> None:
    """Fails where an option of such a command stands in none of the lists."""
    options = [one for command in measuring for one in command.params if one.param_type_name == "option"]
    valued = {name for one in options if not one.is_flag for name in one.opts} - {"-q"}  # of http
    switches = {name for one in options if one.is_flag for name in one.opts}
    assert valued <= earlier_runs.TAKEN | earlier_runs._LEFT_OUT
    assert switches <= earlier_runs.TAKEN_SWITCHES | earlier_runs._LEFT_OUT_SWITCHES
    assert not (earlier_runs.TAKEN | earlier_runs._LEFT_OUT) & switches
    assert not earlier_runs.TAKEN & earlier_runs._LEFT_OUT
    assert not earlier_runs.TAKEN_SWITCHES & earlier_runs._LEFT_OUT_SWITCHES
