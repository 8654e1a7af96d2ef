import json
from pathlib import Path

import jsonschema
import pytest
from tests.scripts import checked

from loadstone.experiment.spec.built_in import names
from loadstone.experiment.spec.yaml_text import read_yaml

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs" / "experiment.schema.json").read_text())
ALL_EXPERIMENTS = [ROOT / "experiments" / f"{name}.yaml" for name in names()]


@pytest.mark.whole
def test_the_schemas_in_docs_are_current() -> None:
    assert checked("schemas") == (0, "")


@pytest.mark.parametrize(
    "path",
    [*ALL_EXPERIMENTS, *(ROOT / "tests" / "examples" / "experiment").glob("*.yaml")],
    ids=lambda path: path.stem,
)
def test_an_editor_finds_nothing_wrong_in_a_right_experiment(path: Path) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(read_yaml(path.read_text())[0])


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("connections: 8", "conections: 8", "$.workload.pool"),
        ("connections: 8", "connections: many", "$.workload.pool.connections"),
        ("measure_s: 2 s", "measure_s: [2]", "$.workload.phases.measure_s"),
        ("field_share: 10 %", "field_size: 1", "$.workload.documents"),
        ("  documents:", "  keys: {prefix: mine}\n  documents:", "$.workload.keys"),
        ("expect: ok", "expect: okay", "$.workload.operations[0].commands[0].expect"),
        ("title: By size", "titel: By size", "$.tables[0]"),
    ],
)
def test_an_editor_marks_what_is_wrong(small: str, old: str, new: str, path: str) -> None:
    assert path in marked(small, old, new)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("method: POST", "method: PUSH", "$.workload.operations[0].requests[0].method"),
        ("json_fields: [id]", "json_field: [id]", "$.workload.operations[0].requests[0].expect"),
        ("columns: [tps, peak_tps", "columns: [tps, peak", "$.tables[0].columns[1]"),
        ("manifest: spring #", "manifst: spring #", "$.subjects.app"),
        ("kind: repeats", "kind: repeat", "$.lessons[1].kind"),
        (", table: post}", ", tables: post}", "$.data.posts.into[0]"),
        ('count_of: "${work.count_of}"', "countof: posts", "$.workload.keys"),
    ],
)
def test_an_editor_marks_what_is_wrong_about_an_application(app: str, old: str, new: str, path: str) -> None:
    assert path in marked(app, old, new)


def marked(text: str, old: str, new: str) -> list[str]:
    """The places that an editor marks once `old` has become `new`."""
    assert text.count(old) == 1
    data = read_yaml(text.replace(old, new))[0]
    return [error.json_path for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(data)]
