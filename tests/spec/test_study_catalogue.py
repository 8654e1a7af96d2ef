from pathlib import Path

import pytest

from loadstone.errors import UserError
from loadstone.spec.built_in import names, questions
from loadstone.spec.load_settings import find

STUDIES = Path(__file__).parents[2] / "experiments"


def test_every_built_in_experiment_is_there_and_right() -> None:
    assert names() == sorted(path.stem for path in STUDIES.glob("*.yaml"))
    assert "json-documents" in names()
    for name in names():
        assert find(name).name == name


def test_what_each_asks_is_found_without_reading_all_of_it() -> None:
    assert questions() == [(name, find(name).question) for name in names()]


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        find("json-document")
    assert str(caught.value).startswith(
        "experiment 'json-document' is not known; did you mean 'json-documents'? built-in experiments: "
    )
    assert str(caught.value).endswith("; or name a file that ends in .yaml")


def test_a_path_is_a_file(tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(small)
    (tmp_path / "without-suffix").write_text(small)
    assert find(str(tmp_path / "mine.yaml")).name == "small"
    monkeypatch.chdir(tmp_path)
    assert find("mine.yaml").name == "small"
    assert find("without-suffix").name == "small"
    with pytest.raises(UserError, match=r"^absent\.yaml: there is no such file; `loadstone list` names"):
        find("absent.yaml")
