"""The commands that measure nothing, and the documents that show how to use them."""

import re
from pathlib import Path

from loadstone import __version__
from loadstone.deploy.manifest import read_manifest
from loadstone.plan.design import make_run_plan
from loadstone.spec.load import load_experiment
from tests.end_to_end.conftest import Lab

ROOT = Path(__file__).parents[2]


def test_version_and_list(lab: Lab) -> None:
    assert __version__ in lab.loadstone("--version").out
    done = lab.loadstone("list")
    assert done.status == 0
    assert "json-documents" in done.out


def test_show_says_how_long_it_takes_and_what_it_can_see(lab: Lab) -> None:
    done = lab.loadstone("show", "json-documents", "--quick", "--budget", "5m")
    assert done.status == 0
    assert "2 comparisons" in done.out
    assert "the budget ends it after 5 min" in done.out
    assert "is seen 8 times in 10" in done.out


def test_doctor_names_what_is_there(lab: Lab) -> None:
    done = lab.loadstone("doctor")
    assert done.status in (0, 1)  # 1: something on this machine could be better
    for name in ("redis-server", "RedisJSON", "CPUs", "clock source"):
        assert name in done.err
    assert "Traceback" not in done.err


def test_every_command_explains_itself(lab: Lab) -> None:
    for command in ("list", "show", "run", "report", "compare", "doctor"):
        done = lab.loadstone(command, "--help")
        assert done.status == 0
        assert command in done.out


def test_the_tutorials_experiments_can_be_planned(tmp_path: Path) -> None:
    texts = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL)
    experiments = [text for text in texts if text.startswith("format:")]
    (manifest,) = [text for text in texts if text not in experiments]
    (tmp_path / "subject.yaml").write_text(f"name: shop\nrun: {{command: start-it}}\n{manifest}")
    (tmp_path / "schema.sql").write_text("CREATE TABLE article (id BIGINT PRIMARY KEY)")
    assert read_manifest(tmp_path)[0].tables == {"mariadb": "schema.sql"}
    plans = {}
    for text in experiments:
        (tmp_path / "experiment.yaml").write_text(text)
        plan = make_run_plan(load_experiment(tmp_path / "experiment.yaml"))
        plans[plan.experiment] = plan
    assert {trial.plan.pipeline_depth for trial in plans["pipeline"].trials} == {1, 16}
    caches = {trial.subjects["shop"].environment["CACHE_SECONDS"] for trial in plans["front-page"].trials}
    assert caches == {"0", "10"}


def test_links_in_the_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
