"""From a form to a run, against a real server of pages and real runs: nothing of a run depends on the page."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.korean_terms import english_in
from tests.real_servers import UserRedis

from loadstone.addons.pages.following import Followers, Following
from loadstone.addons.pages.running import writer_of
from loadstone.addons.pages.started_runs import Starts
from loadstone.measure.machine_lock import VARIABLE
from loadstone.run_folder.files import PLAN

from .conftest import PATIENCE_S, Pages, serving
from .test_korean import NAMES, words_of

PASSWORD = "s3same-0pen/it@once"
LONG = {"kind": "redis", "time": "8s", "connections": "4"}
THEIRS = """\
format: 1
name: theirs
question: Is it mine?
factors: {{f: {{levels: [1, 2]}}}}
tables: [{{name: all, title: All, vary: {{f: [1, 2]}}}}]
servers: {{redis: {{kind: process, binary: {binary}}}}}
workload:
  model: {{kind: closed, users: 1}}
  pool: {{connections: "${{f}}"}}
  operations: [{{name: get, commands: [{{args: "GET {{key}}"}}]}}]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for pages, runs, cache and the notes of who measures: other tests' runs are not noticed."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "lock").mkdir()
    return folder


@pytest.fixture(scope="module")
def later(own: Path) -> Iterator[Pages]:
    """A server of pages for all tests; it was not there when the first run began."""
    with serving(own, variables={VARIABLE: str(own / "lock"), "XDG_CACHE_HOME": str(own / "cache")}) as found:
        yield found


@pytest.fixture(autouse=True)
def _variables(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the pages, their runs, and this process, which looks at the same notes."""
    monkeypatch.setenv(VARIABLE, str(own / "lock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(own / "cache"))


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> float:
    """How long it took until it held."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < seconds, "it does not come"
        time.sleep(0.05)
    return time.monotonic() - began


def started(pages: Pages, answer: str) -> Path:
    """The folder of the run behind the page of a start, once it has one."""
    where: list[str] = []

    def there() -> bool:
        page = pages.client.get(answer)
        if page.status_code == 303:
            where.append(page.headers["location"])
        assert "The run ended" not in page.text, page.text
        return bool(where)

    wait_for(there)
    name = where[0].removeprefix("/runs/")
    assert (pages.runs / name / PLAN).is_file()
    return pages.runs / name


def fate(folder: Path) -> str:
    """How it is with a run, as its page says."""
    return asyncio.run(_followed(folder)).fate


async def _followed(folder: Path) -> Following:
    return await Followers().of(folder)


def test_a_run_needs_no_page_and_shows_no_password(
    own: Path, user_redis: Callable[..., UserRedis], request: pytest.FixtureRequest
) -> None:
    """Kill -9 of the page, then of the run: what is there is found, and goes on when it is asked to."""
    redis = user_redis("--requirepass", PASSWORD)
    url = f"redis://:{quote(PASSWORD, safe='')}@127.0.0.1:{redis.port}"
    with serving(own) as first:
        answer = first.client.post("/quick/start", data={**LONG, "url": url})
        assert answer.status_code == 303, answer.text
        folder = started(first, answer.headers["location"])
        asked = first.client.post("/quick/start", data=LONG)
        assert "Another run is in progress" in asked.text
        assert folder.name in asked.text
        first.process.kill()
        first.process.wait(PATIENCE_S)
    assert fate(folder) == "running"
    writer = writer_of(folder)
    assert writer is not None
    assert PASSWORD not in Path(f"/proc/{writer.pid}/cmdline").read_text()
    second: Pages = request.getfixturevalue("later")
    assert f"/runs/{folder.name}" in second.client.get("/").text
    os.kill(writer.pid, signal.SIGKILL)
    assert wait_for(lambda: fate(folder) != "running") < 2.0
    assert fate(folder) == "killed"
    variable = re.search(r'name="(variable\.\w+)"', second.client.post(f"/runs/{folder.name}/resume").text)
    assert variable is not None
    resumed = second.client.post(f"/runs/{folder.name}/resume", data={variable[1]: PASSWORD})
    assert resumed.status_code == 303, resumed.text
    assert started(second, resumed.headers["location"]) == folder
    assert fate(folder) == "running"
    assert second.client.post(f"/runs/{folder.name}/stop").status_code == 303
    wait_for(lambda: fate(folder) != "running")
    ended = asyncio.run(_followed(folder)).told.ended
    assert ended is not None
    assert ended["status"] == 130
    pages = "".join(second.client.get(f"/starts/{note.stem}").text for note in (own / "cache").rglob("*.json"))
    assert PASSWORD not in pages
    written = [path for path in own.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert written == []


def test_what_a_stranger_wrote_is_asked_about_and_never_twice_the_same(later: Pages) -> None:
    """The act that was read is the one that is allowed: where the file changes meanwhile, it is asked again."""
    pages = later
    file = pages.experiments / "theirs.yaml"
    file.write_text(THEIRS.format(binary="/bin/false"))
    sent = {"sent": "1", "quick": "on", "level.f": "1"}
    first = pages.client.post("/own/theirs.yaml/start", data=sent)
    assert "was not run here before" in first.text
    assert "/bin/false" in first.text
    file.write_text(THEIRS.format(binary="/bin/true"))
    second = pages.client.post("/begin", data=answers_of(first.text))
    assert "It changed since you read it" in second.text
    assert "/bin/true" in second.text
    third = pages.client.post("/own/theirs.yaml/start", data=sent)
    begun = pages.client.post("/begin", data=answers_of(third.text))
    assert begun.status_code == 303, begun.text
    wait_for(lambda: "The run ended" in pages.client.get(begun.headers["location"]).text)
    assert pages.client.post("/begin", data=answers_of(third.text)).status_code == 409
    assert pages.client.post("/own/theirs.yaml/start", data=sent).status_code == 303


HOLDS = """
import sys
from pathlib import Path
from loadstone.measure.machine_lock import measuring
print("ready", flush=True)
sys.stdin.readline()
with measuring(Path("their-run"), share=False, remark=print):
    print("measures", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.fault(
    "another run takes the machine between check and start", "one button begins when it ends", area="users"
)
def test_who_is_too_late_begins_by_one_button_when_the_other_ends(later: Pages) -> None:
    """In the language of the page, and what the run itself says, too."""
    korean = {"accept-language": "ko"}
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        answer = later.client.post("/quick/start", data=LONG, headers=korean)
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "measures\n"
        where = answer.headers["location"]
        wait_for(lambda: "/again" in later.client.get(where, headers=korean).text)
        page = later.client.get(where, headers=korean).text
        assert "their-run" in page
        assert '<button type="submit" name="beside" value="wait"' in page
        assert english_in(words_of(page), NAMES) == []
        assert "add --wait" not in page
        assert "--wait" in page  # what the run said, in Korean
        again = later.client.post(f"{where}/again", data={"beside": "wait"}, headers=korean)
        assert again.status_code == 303, again.text
        assert later.client.post(f"{where}/again", data={"beside": "wait"}).status_code == 409
        waits = again.headers["location"]
        wait_for(lambda: "their-run" in later.client.get(waits).text)
        other.communicate("\n")
    folder = started(later, waits)
    assert later.client.post(f"/runs/{folder.name}/stop").status_code == 303
    wait_for(lambda: fate(folder) != "running")


def answers_of(text: str) -> dict[str, str]:
    """The fields of a question as its form sends them."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))


def test_what_waits_is_seen_and_for_what(later: Pages) -> None:
    """On its own page and above the lists, with what is left of the run that measures."""
    answer = later.client.post("/quick/start", data={**LONG, "time": "30s"})
    folder = started(later, answer.headers["location"])
    asked = later.client.post("/quick/start", data=LONG).text
    pending = re.search(r'name="pending" value="([^"]+)"', asked)
    assert pending is not None
    waiting = later.client.post("/begin", data={"pending": pending[1], "beside": "wait"})
    address = waiting.headers["location"]
    wait_for(lambda: "left" in later.client.get("/now").text)
    page = later.client.get(address).text
    assert "waits until the machine is free" in page
    assert folder.name in page
    for listed in ("/", "/runs", "/now"):
        text = later.client.get(listed).text
        assert f'href="/runs/{folder.name}"' in text, listed
        assert re.search(rf'Waits until the machine is free:\s*<a href="{address}">', text), listed
    later.client.post(f"{address}/cancel")
    later.client.post(f"/runs/{folder.name}/stop")
    wait_for(lambda: "notice" not in later.client.get("/now").text)
    longer = later.client.post(f"/runs/{folder.name}/resume", data={"minutes": "soon"})
    assert (longer.status_code, "not a number of minutes" in longer.text) == (400, True)
    longer = later.client.post(f"/runs/{folder.name}/resume", data={"minutes": "5"})
    assert longer.status_code == 303, longer.text
    budget_s = json.loads((folder / PLAN).read_text())["budget_s"]
    (note,) = [one for one in Starts().all() if one.name == longer.headers["location"].removeprefix("/starts/")]
    assert note.words[-2:] == ("--budget", f"{round(budget_s) + 300}s")
    later.client.post(f"{longer.headers['location']}/cancel")
    wait_for(lambda: not Starts().find(note.name).runs)  # type: ignore[union-attr]
