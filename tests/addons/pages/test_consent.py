"""The question of consent as an attacker meets it: only what was shown is allowed, and all that is asked is shown."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.tiny_experiment import TINY

from loadstone.measure.machine_lock import VARIABLE

from .conftest import Pages, serving
from .test_forms import FORM
from .test_history import PLAN
from .test_starting import THEIRS, answers_of

QUICK = {"sent": "1", "quick": "on", "level.f": "1"}
ACT = re.compile(r"<li><code>(.*?)</code></li>", re.DOTALL)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Pages whose cache is their own: nothing was agreed to before."""
    folder = tmp_path_factory.mktemp("consent")
    (folder / "lock").mkdir()
    with serving(folder, variables={VARIABLE: str(folder / "lock"), "XDG_CACHE_HOME": str(folder / "cache")}) as found:
        yield found


def acts_in(text: str) -> list[str]:
    """What a page asks about."""
    return [html.unescape(act) for act in ACT.findall(text)]


def notes(pages: Pages) -> list[Path]:
    """What was agreed to."""
    return list((pages.runs.parent / "cache").rglob("trusted/*.json"))


@pytest.mark.parametrize(
    "binary",
    [
        "/bin/x?password=rm-all",
        "/bin/redis://u:rm-all@h",
        "/bin/token=rm-all.sh",
        "/bin/" + "a" * 200 + "rm-all",
        "/bin/rm-all\u202e\u200b",
    ],
)
def test_no_act_hides_itself(pages: Pages, binary: str) -> None:
    """Neither as a password, which pages hide, nor by its length or its characters."""
    text = THEIRS.format(binary=json.dumps(binary))
    (pages.experiments / "odd.yaml").write_text(text)
    asked = pages.client.post("/own/odd.yaml/start", data=QUICK)
    assert "was not run here before" in asked.text
    acts = acts_in(asked.text)
    assert any("rm-all" in act and act.startswith("starts ") for act in acts), acts
    assert "\u202e" not in asked.text
    told = pages.client.post("/own/odd.yaml/check", data=QUICK)
    assert "rm-all" in told.text
    assert "programs: 1" in asked.text


def test_many_acts_are_all_shown(pages: Pages) -> None:
    levels = ", ".join(str(level) for level in range(1, 41))
    text = THEIRS.format(binary='"/bin/false-${f}"').replace("levels: [1, 2]", f"levels: [{levels}]")
    (pages.experiments / "many.yaml").write_text(text.replace("f: [1, 2]", f"f: [{levels}]"))
    sent = [("sent", "1"), ("quick", "on"), *(("level.f", str(level)) for level in range(1, 41))]
    asked = pages.client.post("/own/many.yaml/start", content=urlencode(sent), headers=FORM)
    assert {f"starts /bin/false-{level} (binary of server redis)" for level in range(1, 41)} <= set(acts_in(asked.text))
    assert "programs: 40" in asked.text


@pytest.mark.fault("a folder's command changes between question and answer", "it is asked again", area="foreign")
def test_the_command_of_a_folder_that_changes_is_asked_again(pages: Pages) -> None:
    """Its contents are the same to the hash; what it would do is not."""
    (pages.experiments / "tiny.yaml").write_text(TINY)
    folder = pages.runs / "20260101T000000Z-theirs"
    folder.mkdir(exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(PLAN | {"trials": []}))

    def command(host: str) -> None:
        words = f"loadstone run {pages.experiments}/tiny.yaml --only users=1 --server redis=redis://{host}:6379"
        (folder / "environment.json").write_text(json.dumps({"command": words}))

    command("a.example")
    first = pages.client.post(f"/runs/{folder.name}/resume")
    assert any("a.example" in act for act in acts_in(first.text)), first.text
    command("b.example")
    second = pages.client.post("/begin", data=answers_of(first.text))
    assert second.status_code == 200
    assert "It changed since you read it" in second.text
    assert any("b.example" in act for act in acts_in(second.text))


@pytest.mark.fault(
    "a form claims that someone else's experiment was agreed to",
    "only what a question showed is allowed",
    area="foreign",
)
def test_only_what_was_asked_can_be_answered(pages: Pages) -> None:
    """No form says that the user agreed: it names a question, which knows what it showed. Each is answered once."""
    (pages.experiments / "theirs.yaml").write_text(THEIRS.format(binary="/bin/false"))
    before = notes(pages)
    asked = pages.client.post("/own/theirs.yaml/start", data={**QUICK, "agreed": "x", "trust": "on", "beside": "share"})
    if asked.status_code == 200:
        assert "was not run here before" in asked.text
    for forged in ({"pending": "x"}, {"pending": ""}, {}, {"pending": "x", "agreed": "x" * 64}):
        assert pages.client.post("/begin", data=forged).status_code == 409
    assert notes(pages) == before
    one = pages.client.post("/own/theirs.yaml/start", data=QUICK)
    other = pages.client.post("/own/theirs.yaml/start", data={**QUICK, "budget": "1m"})
    assert set(answers_of(one.text)) == {"pending"}
    assert answers_of(one.text) != answers_of(other.text)
    elsewhere = {"origin": "http://127.0.0.1:1"}
    assert pages.client.post("/begin", data=answers_of(one.text), headers=elsewhere).status_code == 403
    assert pages.client.get("/begin", params=answers_of(one.text)).status_code == 405
    assert notes(pages) == before
    assert pages.client.post("/begin", data=answers_of(one.text)).status_code == 303
    assert pages.client.post("/begin", data=answers_of(one.text)).status_code == 409
    assert len(notes(pages)) == len(before) + 1
