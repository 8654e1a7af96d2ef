"""What a number, a name or an alias alone could make endless is counted before anything is built."""

import itertools
from pathlib import Path

import pytest
from tests.experiments import with_overrides
from tests.tiny_experiment import TINY, sending

from loadstone.experiment.plan.design import run_design
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec import counting
from loadstone.experiment.spec.loading import load_experiment
from loadstone.experiment.spec.overrides import parse_only
from loadstone.programs.manifest import read_manifest
from loadstone.safety.bounds.bounded_yaml import load_yaml
from loadstone.safety.errors import UserError


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        make_run_plan(load_experiment(text, label="tiny.yaml"))
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 400
    return said


def with_factors(count: int, levels: int) -> str:
    names = [f"f{number}" for number in range(count)]
    listed = list(range(levels))
    factors = "".join(f"  {name}: {{levels: {listed}}}\n" for name in names)
    vary = ", ".join(f"{name}: {listed}" for name in names)
    return (TINY.replace("  users: {levels: [1, 2, 3]}\n", f"  users: {{levels: [1, 2, 3]}}\n{factors}")).replace(
        "vary: {users: [1, 2, 3]}", f"vary: {{{vary}}}"
    )


@pytest.fixture
def nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at the first product of levels: it would be waited for without end."""

    def built(*_: object) -> None:
        raise AssertionError("the conditions are built")

    monkeypatch.setattr(itertools, "product", built)


@pytest.mark.fault("10^9 conditions, endless numbers, huge or nested manifests", "refused", area="input")
@pytest.mark.usefixtures("nothing_is_built")
def test_a_thousand_million_conditions_are_counted_and_not_built() -> None:
    said = refusal(with_factors(9, 10))
    assert said.startswith("tiny.yaml:16: tables.0.vary: makes 1,000,000,000 conditions or pairs (10 of f0 x 10 of f1")
    assert said.endswith("at most 10,000 in all: vary fewer levels")


@pytest.mark.usefixtures("nothing_is_built")
def test_pairs_of_levels_are_counted() -> None:
    levels = list(range(1000))
    text = TINY.replace("levels: [1, 2, 3]", f"levels: {levels}").replace(
        "vary: {users: [1, 2, 3]}", "vary: {users: [1]}"
    )
    said = refusal(text + f"comparisons: [{{name: c, question: q, between: users, levels: {levels}}}]\n")
    assert "comparisons.0.at: makes 499,500 conditions or pairs" in said


@pytest.mark.usefixtures("nothing_is_built")
def test_crashes_are_counted_with_their_times() -> None:
    text = with_factors(3, 10).replace(
        "vary: {f0", "vary: {users: [1]}}\ncrashes:\n  - {name: c, title: t, server: redis, times: 100, vary: {f0"
    )
    assert "crashes.0.vary: makes 100,000 conditions or pairs" in refusal(text)


def test_as_many_as_are_allowed_are_planned() -> None:
    assert len(make_run_plan(load_experiment(with_factors(2, 10))).conditions) == 100


def test_too_many_levels_are_refused() -> None:
    text = TINY.replace("levels: [1, 2, 3]", f"levels: {list(range(1001))}")
    assert "factors.users.levels: has too many entries; at most 1,000 are allowed" in refusal(text)


@pytest.mark.fault("10^9 conditions, endless numbers, huge or nested manifests")
def test_too_many_trials_are_refused_with_what_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_design, "TRIALS_MAX", 29)
    experiment = load_experiment(TINY)
    with pytest.raises(UserError, match=r"30 trials are planned, .*table: 3 conditions in 10 blocks\); lower --blocks"):
        make_run_plan(experiment, blocks=10)
    assert len(make_run_plan(experiment, blocks=9).trials) == 27
    assert counting.TRIALS_MAX >= 100_000


@pytest.mark.fault("10^9 conditions, endless numbers, huge or nested manifests")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("workload.keys.count", "1000000000001"),
        ("workload.keys.count", "1.0e18"),
        ("workload.model.users", "1000000000000"),
        ("workload.model.think_time_ms", "1.0e300"),
        ("workload.model.operations_per_user", "9000000000000000000"),
        ("workload.model.ramp_up", "{initial_users: 1, step_users: 1, step_every_s: 1.0e300}"),
        ("workload.model", "{kind: open, rate_per_s: 1.0e300}"),
        ("workload.model", "{kind: open, rate_per_s: 1, backlog_max: 9000000000000000000}"),
        ("workload.pool.connections", "1000000000"),
        ("workload.pipeline_depth", "1000000000"),
        ("workload.threads", "1000000000"),
        *((f"workload.phases.{name}", "1.0e300") for name in ("ramp_up_s", "warm_up_s", "measure_s", "drain_s")),
        ("workload.phases.measure_max_s", "99999999999 h"),
        ("workload.phases.measure_operations", "9000000000000000000"),
        ("workload.documents.payload_bytes", "1000 GB"),
        ("workload.verify.read_back_max", "9000000000000000000"),
        ("workload.timeouts.request_ms", "1.0e300"),
        ("workload.timeouts.connect_ms", "1.0e300"),
        ("workload.timeouts.gone_s", "1.0e300"),
        ("workload.operations.0.commands.0.repeat", "1000000000"),
        ("design.budget", "99999999999 h"),
        ("design.table_blocks", "1000000000"),
        ("design.trial", "1.0e300"),
        *((name, "9" * 4000) for name in ("workload.keys.count", "design.budget", "scale", "factors.users.default")),
        *((name, "9" * 5000) for name in ("workload.keys.count", "design.budget", "scale")),
        *(("workload.keys.count", word) for word in (".inf", "-.inf", ".nan", "1e400", "2026-11-22", "1:30:00", "-1")),
        ("workload.keys.count", '"\\ud800"'),
        ("name", '"\\ud800"'),
        ("workload.keys.count", "[" * 50_000),
        ("workload.keys", "{a: " * 2000),
        ("workload.keys.count", "&a [*a]"),
        ("workload.keys.count", "!!python/object/apply:os.system [ls]"),
        ("name", "x" * 200),
    ],
)
def test_a_number_alone_makes_nothing_endless(path: str, value: str) -> None:
    with pytest.raises(UserError) as caught:
        make_run_plan(with_overrides(load_experiment(TINY), sets=[f"{path}={value}"]))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert path.split(".")[-1] in str(caught.value) or "--set" in str(caught.value)


@pytest.mark.parametrize(("written", "read"), [("1_000", 1000), ("0x10", 16), ("0o20", 16), ("1.0e3", 1000)])
def test_numbers_that_yaml_knows_are_read(written: str, read: int) -> None:
    experiment = with_overrides(load_experiment(TINY), sets=[f"workload.keys.count={written}"])
    assert make_run_plan(experiment).trials[0].plan.keys.count == read


@pytest.mark.parametrize("word", ["9" * 5000, "1e400", "nan", ".inf", "\x1b[31m", "9" * 20 + " GB"])
def test_a_level_that_is_no_level_is_one_line(word: str) -> None:
    with pytest.raises(UserError, match="is no level of users"):
        parse_only(load_experiment(TINY), [f"users={word}"])


@pytest.mark.fault("absurd names, numbers or values for any option")
@pytest.mark.parametrize(
    "name", ["a b", "../../x", "/etc", "a/b", "x" * 300, "-x", "\u00e9", "e\u0301", "a\u202eb", "a\x1bb"]
)
@pytest.mark.parametrize("section", ["servers", "subjects", "data"])
def test_one_rule_for_names_of_parts(section: str, name: str) -> None:
    quoted = '"' + "".join(c if " " < c < "\x7f" or c == " " else f"\\u{ord(c):04x}" for c in name) + '"'
    parts = {
        "servers": "{kind: embedded}",
        "subjects": "{manifest: spring}",
        "data": "{rows: 1, columns: {a: '{number}'}, into: [{server: redis, commands: ['SET loadstone:{a} 1']}]}",
    }
    if section == "servers":
        text = TINY.replace("  redis: {kind: embedded}\n", f"  {quoted}: {{kind: embedded}}\n")
    else:
        text = TINY + f"{section}:\n  {quoted}: {parts[section]}\n"
    said = refusal(text)
    assert f": {section}." in said
    assert "is not the name of a" in said or "characters; the name of a" in said


@pytest.mark.parametrize("name", ["redis", "redis-alone", "Redis_1", "x" * 80])
def test_names_that_are_in_use_stay(name: str) -> None:
    assert load_experiment(TINY.replace("  redis: {", f"  {name}: {{")).servers.keys() == {name}


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{two}: &{two} [{', '.join([f'*{one}'] * 10)}]\n" for one, two in itertools.pairwise("abcdefghij")
)


@pytest.mark.fault("10^9 conditions, endless numbers, huge or nested manifests")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LAUGHS + "environment: *j\n", "its aliases expand to"),
        ("a: &a [*a]\n", "an alias contains itself"),
        ("[" * 100_000, "it is nested too deeply"),
        ("a:\n" + "".join(f"{' ' * depth}b:\n" for depth in range(1, 100)), "it is nested too deeply"),
        ("a: 1\nb: [\n", "it is not YAML: line"),
        ("a: \x00\n", "it is not YAML"),
        ("run: {command: 'x'}\nname: x\nwarm_up_s: " + "9" * 5000, ""),
        ("run: {command: 'x'}\nname: x\nwarm_up_s: 1.0e300\n", "warm_up_s"),
        (
            "run: {command: 'x'}\nname: x\nbuild: {commands: [x], inputs: [x], output: x, timeout_s: .inf}\n",
            "timeout_s",
        ),
        ("name: !!python/object/apply:os.system [ls]\n", ""),
    ],
)
def test_a_manifest_is_read_within_bounds(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "subject.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        read_manifest(tmp_path)
    assert str(caught.value).startswith(f"{file}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(file))


def test_aliases_that_stand_for_little_are_read() -> None:
    assert load_yaml("a: &a [1, 2]\nb: *a\n") == {"a": [1, 2], "b": [1, 2]}
    assert load_yaml("") is None


@pytest.mark.fault("10^9 conditions, endless numbers, huge or nested manifests")
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 2_000_000])
def test_a_manifest_that_is_no_text_or_huge_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "subject.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"subject\.yaml: it is (not text in UTF-8|larger than 1 MB)"):
        read_manifest(tmp_path)


@pytest.mark.fault("absurd names, numbers or values for any option")
@pytest.mark.parametrize("digits", [20, 5000])
@pytest.mark.parametrize(
    "written",
    [
        "SADD {key} {uniform 1..N}",
        "SADD {key} {uniform -N..1}",
        "SET {key} {random N lowercase}",
        "SETRANGE {key} {uniform 0..N} x",
    ],
)
def test_a_drawn_number_that_no_generator_takes_is_no_placeholder(written: str, digits: int) -> None:
    text = written.replace("N", "9" * digits)
    said = refusal(sending(text))
    assert ":16: workload.operations.0.commands.0.args: " in said
    assert "is no placeholder" in said
    assert len(said) < 600


@pytest.mark.fault("absurd names, numbers or values for any option")
@pytest.mark.parametrize(
    "written", [f"SETRANGE {{key}} {'9' * 5000} x", f"LMPOP {'9' * 5000} {{key}} LEFT", "SETRANGE {key} ² x"]
)
def test_an_argument_is_a_text_however_many_digits_it_has(written: str) -> None:
    experiment = load_experiment(sending(written))
    assert make_run_plan(experiment).trials[0].plan.operations[0].commands[0].args == tuple(written.split())


@pytest.mark.parametrize(
    ("right", "wrong", "remedy"),
    [
        ("  pool:", "\tpool:", "it is a tab; write spaces in its place"),
        ("  keys: {count: 100}", "  keys:\n\t\tcount: 100", "it is a tab; write spaces in its place"),
        ("name: tiny", "name: @tiny", "put the text in quotes"),
        ("name: tiny", "name: %tiny", "put the text in quotes"),
        ("workload:", "---\nworkload:", "write one experiment a file"),
        ("question: Is", 'question: "Is" it', "write each key on a line of its own"),
    ],
)
def test_a_sign_that_yaml_does_not_take_has_a_remedy(right: str, wrong: str, remedy: str) -> None:
    said = refusal(TINY.replace(right, wrong))
    assert "is not valid YAML" in said
    assert said.endswith(remedy) or remedy in said
