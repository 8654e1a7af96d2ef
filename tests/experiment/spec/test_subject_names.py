"""Which manifest a word means."""

from pathlib import Path

import pytest

from loadstone.experiment.spec.loading import load_experiment
from loadstone.experiment.spec.subject_names import manifest_path, names

SUBJECTS = Path(__file__).parents[3] / "subjects"


def test_every_built_in_subject_is_there() -> None:
    assert names() == sorted(path.parent.name for path in SUBJECTS.glob("*/subject.yaml"))
    assert (manifest_path("spring", Path("/nowhere")) / "subject.yaml").samefile(SUBJECTS / "spring" / "subject.yaml")


def test_a_path_counts_from_the_experiments_file(tmp_path: Path, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "subject.yaml").write_text("name: mine\n")
    (tmp_path / "app.yaml").write_text(app.replace("manifest: spring", "manifest: mine"))
    monkeypatch.chdir("/")
    experiment = load_experiment(tmp_path / "app.yaml")
    assert experiment.manifest("mine") == tmp_path / "mine"
    assert experiment.manifest("mine/subject.yaml") == tmp_path / "mine" / "subject.yaml"
    assert experiment.manifest(str(tmp_path / "mine")) == tmp_path / "mine"


def test_a_folder_without_a_manifest_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"^folder '.*empty' has no subject\.yaml; built-in subjects: .*spring"):
        manifest_path("empty", tmp_path)
