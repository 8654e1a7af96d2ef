"""Each kind of bad input and its exact line."""

from pathlib import Path

import pytest
from tests.experiments import find_experiment

from loadstone.experiment.spec.built_in import names, questions
from loadstone.experiment.spec.loading import LARGEST_BYTES, load_experiment
from loadstone.safety.errors import UserError
from tests import readable

KNOWN_METRICS = (
    "goodput_per_s, throughput_per_s, peak_per_s, units_per_s, response_ns.p99, service_ns.p99, pool_wait_ns.p99 "
    "(or mean, p50, p90, p95, p99, p999, max)"
)
STUDIES = Path(__file__).parents[3] / "experiments"


def message(text: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        load_experiment(text, label="small.yaml") if isinstance(text, str) else load_experiment(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the example"
    return text.replace(old, new)


def test_a_right_file_is_read_with_its_defaults(small: str) -> None:
    experiment = load_experiment(small)
    assert experiment.format == 1
    assert experiment.primary_metric == "goodput_per_s"
    assert experiment.factors["payload"].usual == "1 kB"
    assert experiment.factors["operation"].usual == "set"
    assert experiment.tables[1].vary["workers"] == (1, 8)
    assert experiment.workload.operations[0].weight == 1.0
    assert experiment.servers == {"redis": {"kind": "embedded"}}


def test_levels_keep_their_types() -> None:
    text = "name: a\nquestion: b\nservers: {}\nworkload: {model: {}, pool: {}, operations: [{name: a, commands: []}]}\n"
    text += "tables: [{name: a, title: b, vary: {mixed: [1, 1.5, true, 'on']}}]\n"
    text += "factors: {mixed: {levels: [1, 1.5, true, 'on', on]}}"
    with pytest.raises(UserError, match="given twice"):
        load_experiment(text)
    levels = load_experiment(text.replace(", on]", "]")).factors["mixed"].levels
    assert [(type(level), level) for level in levels] == [(int, 1), (float, 1.5), (bool, True), (str, "on")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "    title: By size\n",
            "    titel: By size\n",
            "17: tables.0.titel: unknown key; did you mean 'title'? known here: name, title, vary, note, "
            "quick, quick_only, columns",
        ),
        (
            "    kind: ratio\n",
            "    kind: ratio\n    metric: response_ns.p98\n",
            "69: conclusions.1.metric: 'response_ns.p98' is no metric; did you mean 'response_ns.p99'? "
            f"metrics are: {KNOWN_METRICS}",
        ),
        (
            "question: How",
            "primary_metric: tps\nquestion: How",
            f"2: primary_metric: 'tps' is no metric; metrics are: {KNOWN_METRICS}",
        ),
        ("    title: By size\n", "", "16: tables.0.title: is missing; write for example `title: All`"),
        (
            "question: How fast is a small thing?\n",
            "",
            "1: question: is missing; write for example `question: Is B faster?`",
        ),
        (
            "    quick: false\n",
            "    quick: perhaps\n",
            "27: tables.1.quick: 'perhaps' is not true or false; write true or false",
        ),
        (
            "    value: 6000\n",
            "    value: many\n",
            "66: conclusions.0.value: 'many' is not a number; write for example 0.5",
        ),
        (
            "    kind: at_least\n",
            "    kind: at_last\n",
            "64: conclusions.0.kind: 'at_last' is not known; did you mean 'at_least'? "
            "write 'at_least', 'ratio', 'beyond' or 'pool_wait'",
        ),
        (
            "name: small\n",
            "name: Small Thing\n",
            "1: name: 'Small Thing' is not a valid name; use lower-case letters, digits and hyphens, and "
            "begin with a letter",
        ),
        (
            "levels: [1, 8]\n",
            "levels: 8\n",
            "9: factors.workers.levels: '8' is not a list; write [a, b] or one item a line, each after a dash",
        ),
        (
            "levels: [1, 8]\n",
            "levels: []\n",
            "9: factors.workers.levels: is empty; write at least one entry",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, [8]]\n",
            "9: factors.workers.levels.1: a list is not text, a whole number, a number or true or false; "
            "put it in quotes",
        ),
        (
            "  pool:\n    connections: 8\n    min_idle: ${idle.least}\n    max_idle: ${idle.most}\n",
            "  pool: 8\n",
            "34: workload.pool: '8' is not a mapping (`key: value`); write its keys below it, indented",
        ),
        ("name: small\n", "name: small\nformat: 2\n", "2: format: '2' is not known; write 1"),
        (
            "title: By users",
            "title: 2026-11-21",
            "22: tables.1.title: '2026-11-21' would be read as a date; put it in quotes",
        ),
        ("value: 6000", "value: .inf", "66: conclusions.0.value: '.inf' is not a finite number"),
        (
            "    connections: 8\n",
            "    connections: 8\n    connections: 9\n",
            "36: workload.pool.connections: the key is given twice, first in line 35; remove one",
        ),
        (
            "  pool:\n",
            "  pool: &pool\n",
            "34: workload.pool: the anchor `&pool` is not supported; write the value out",
        ),
        (
            "  pool:\n",
            "  pool:\n    <<: {connections: 1}\n",
            "35: workload.pool: the merge key `<<` is not supported; write the keys out",
        ),
        (
            "name: small\n",
            "name: !!python/name:os.system small\n",
            "1: name: the tag `tag:yaml.org,2002:python/name:os.system` is not supported; leave it out",
        ),
        ("name: small\n", "? [a, b]\n: c\nname: small\n", "1: a key must be text; put it in quotes"),
        (
            "title: By size\n",
            "title: By size: all\n",
            "17: is not valid YAML: mapping values are not allowed here",
        ),
    ],
)
def test_a_mistake_is_one_line_with_place_path_and_remedy(small: str, old: str, new: str, expected: str) -> None:
    assert message(changed(small, old, new)) == f"small.yaml:{expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: the file is empty; write an experiment, or copy one that `loadstone list` names"),
        (
            "# nothing\n",
            "1: the file is empty; write an experiment, or copy one that `loadstone list` names",
        ),
        ("- a\n- b\n", "1: not a mapping; an experiment begins with `name: ...` and `question: ...`"),
        ("hello", "1: not a mapping; an experiment begins with `name: ...` and `question: ...`"),
        (
            "a: *b\n",
            "1: is not valid YAML: found undefined alias 'b'",
        ),
        ("a: 1\nb: \x07\n", "2: is not valid YAML: it holds a control character; write plain text"),
        ("[" * 1000, "1: is nested too deeply; an experiment needs about six levels"),
        (
            "a: 1\n---\nb: 1\n",
            "2: is not valid YAML: expected a single document in the stream but found another document; "
            "write one experiment a file, without `---`",
        ),
    ],
)
def test_what_is_no_experiment_is_said_in_one_line(text: str, expected: str) -> None:
    assert message(text) == f"small.yaml:{expected}"


def test_files_that_cannot_be_read(tmp_path: Path, small: str) -> None:
    absent = tmp_path / "absent.yaml"
    assert message(absent) == f"{absent}: there is no such file; `loadstone list` names the built-in experiments"
    assert message(tmp_path) == f"{tmp_path}: not a file; name a YAML file"

    huge = tmp_path / "huge.yaml"
    huge.write_text(small + "#" * LARGEST_BYTES)
    assert message(huge) == f"{huge}: 1.0 MB is too much for an experiment; the limit is 1 MB"

    for content in (b"\x7fELF\x00\x00", b"\xff\xfe\x00n", "größe: 1".encode("latin-1")):
        binary = tmp_path / "binary.yaml"
        binary.write_bytes(content)
        assert message(binary) == f"{binary}: not a text file; write an experiment as YAML in UTF-8"

    through_a_file = tmp_path / "file" / "x.yaml"
    (tmp_path / "file").write_text("")
    assert message(through_a_file).startswith(f"{through_a_file}: cannot be read (Not a directory)")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path, small: str) -> None:
    path = tmp_path / "mark.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + small.encode())
    assert load_experiment(path).name == "small"


def test_the_line_of_an_error_is_that_of_the_file(tmp_path: Path, small: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("\n\n" + small.replace("title: By size", "titel: By size"))
    assert message(path).startswith(f"{path}:19: tables.0.titel: unknown key;")


def test_a_password_in_a_url_is_never_shown(small: str) -> None:
    experiment = load_experiment(small)
    error = experiment.source.error(("servers", "redis"), "'redis://user:secret@host:1/x' is refused")
    assert str(error) == "experiment.yaml:29: servers.redis: 'redis://***@host:1/x' is refused"


def test_every_built_in_experiment_is_there_and_right() -> None:
    assert names() == sorted(path.stem for path in STUDIES.glob("*.yaml"))
    assert "json-documents" in names()
    for name in readable.names():
        assert find_experiment(name).name == name


def test_what_each_asks_is_found_without_reading_all_of_it() -> None:
    found = dict(questions())
    assert [*found] == names()
    here = readable.names()
    assert {name: found[name] for name in here} == {name: find_experiment(name).question for name in here}


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        find_experiment("json-document")
    assert str(caught.value).startswith(
        "experiment 'json-document' is not known; did you mean 'json-documents'? built-in experiments: "
    )
    assert str(caught.value).endswith("; or name a file that ends in .yaml")


def test_a_path_is_a_file(tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(small)
    (tmp_path / "without-suffix").write_text(small)
    assert find_experiment(str(tmp_path / "mine.yaml")).name == "small"
    monkeypatch.chdir(tmp_path)
    assert find_experiment("mine.yaml").name == "small"
    assert find_experiment("without-suffix").name == "small"
    with pytest.raises(UserError, match=r"^absent\.yaml: there is no such file; `loadstone list` names"):
        find_experiment("absent.yaml")
