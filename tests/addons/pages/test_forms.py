"""A form and the command line are one: the same checks, the same messages, the same command."""

import html
import json
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlencode

import pytest
from tests.calling import called

from loadstone.addons.pages.command_lines import (
    OF_RUNS,
    CommandLine,
    of_experiment,
    of_gate,
    of_quick,
    references_in,
    without_secrets,
)
from loadstone.addons.pages.experiment_facts import ExperimentFacts, FactorFacts, LevelFacts
from loadstone.addons.pages.field_errors import at_field
from loadstone.addons.pages.forms import Form
from loadstone.addons.pages.run_again import again, filled
from loadstone.addons.pages.settings import Memory, PageSettings
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.references import resolve

from .conftest import Pages

CHECKED = re.compile(r'name="(level\.[^"]*)" value="([^"]*)" checked')
FORM = {"content-type": "application/x-www-form-urlencoded"}
FACTORS = {"size": ["1 kB", "10 kB"], "client": ["a,b", "c"]}
USUAL = {"size": ["1 kB", "10 kB"], "client": ["c"]}
PARTS = ("server.redis", "subject.spring")
SENT = (("level.size", "1 kB"), ("level.size", "10 kB"), ("level.client", "c"))


def of(*fields: tuple[str, str]) -> tuple[str, ...]:
    return of_experiment("x", Form(fields), FACTORS, USUAL, {"workload.model.users": "8"}, PARTS).words


def test_what_is_left_as_it_is_stands_in_no_option() -> None:
    assert of(*SENT, ("budget", ""), ("set.workload.model.users", "8")) == ("run", "x")


def test_each_field_becomes_its_option() -> None:
    words = of(
        ("level.size", "10 kB"), ("level.client", "a,b"), ("level.client", "c"), ("quick", "on"), ("budget", "2m"),
        ("seed", "-1"), ("set.workload.model.users", "9"), ("further", "a.b=1\r\n\r\nc=d e\r\n"),
        ("server.redis", "redis://h:1"), ("subject.spring", "http://h"),
    )  # fmt: skip
    assert words == (
        *("run", "x", "--only", "size=10 kB", "--only", "client=a,b", "--only", "client=c"),
        *("--server", "redis=redis://h:1", "--subject", "spring=http://h", "--set", "workload.model.users=9"),
        *("--set", "a.b=1", "--set", "c=d e", "--quick", "--budget", "2m", "--seed=-1"),
    )


def test_a_command_line_becomes_its_form_again(tmp_path: Path) -> None:
    place = PageSettings(experiments=tmp_path, here=tmp_path)
    (tmp_path / "x").write_text("")
    levels = (("level.size", "10 kB"), ("level.client", "a,b"), ("level.client", "c"))
    given = (("quick", "on"), ("seed", "-1"), ("set.workload.model.users", "16"), ("server.redis", "redis://h:1"))
    words = of(*levels, *given)
    address, fields = again([*words, "--wait", "--out", "runs"], place)
    assert address == "/own/x"
    factors = [
        FactorFacts(name, "", "", tuple(LevelFacts(text, on=text in USUAL[name], usual=False) for text in texts))
        for name, texts in FACTORS.items()
    ]
    facts = ExperimentFacts("x", "x", "", "", tuple(factors), (), (), None, (), "", "", as_published=False)
    known = {*OF_RUNS, *PARTS, "set.workload.model.users", *(f"level.{name}" for name in FACTORS)}
    form = filled(Form(fields), facts, known)
    assert of(*form.fields) == words
    assert of(*filled(Form(again(["run", "x"], place)[1]), facts, known).fields) == ("run", "x")
    for option in ("--driver", "--trials"):
        with pytest.raises(UserError, match=option):
            again(["run", "x", option, "2"], place)
    with pytest.raises(UserError, match="--only 2 kB"):
        filled(Form(again(["run", "x", "--only", "size=1 kB,2 kB"], place)[1]), facts, known)
    for unknown in ("--server=other=redis://h:1", "--set=servers.redis.port=1", "--only=other=1"):
        with pytest.raises(UserError, match="no form takes this"):
            filled(Form(again(["run", "x", unknown], place)[1]), facts, known)
    quick = [("kind", "redis"), ("search", "on"), ("url", "redis://h:1"), ("connections", "16")]
    command = of_quick(Form([*quick, ("seed", "3")])).words
    assert sorted(again(command, place)[1]) == sorted(quick)
    assert again(command, place)[0] == "/quick"


@pytest.mark.fault("a run's folder of someone else fills a form", "what may fill it is listed", area="foreign")
@pytest.mark.parametrize(
    "command",
    [
        "run x --driver 2", "run x --trials 2", "run x y", "run", "gate",
        "run x --set servers.redis.kind=process", "run x --set servers.redis.binary=runs/x/evil",
        "run x --set workload.data.path=evil", "run x --set 'subjects.s.environment.JAVA_TOOL_OPTIONS=-javaagent:x'",
        "run x --server redis=redis://:${env:AWS_SECRET_ACCESS_KEY}@evil:1",
        "run x --server redis=redis://evil:1?password_env=AWS_SECRET_ACCESS_KEY",
        "run x --server redis=unix://127.0.0.1:6379/run/redis.sock", "redis redis+sentinel://evil:26379/m",
        "run x --set workload.model.users=0x10", "run x --set 'workload.phases.measure_s=5 s'",
        "run x --subject ./evil", "run x --subject http://h:8080",
        "run x --fleet ssh:host", "run x --seed 1 -D --fleet=ssh:host", "run x --budget 'x password='",
        "run x --secret-file a=b",
        "redis redis://u:secret@h", "redis redis://:input@h", "redis 'redis://${env:HOME}:1'", "redis redis://h?a=b",
        f"redis redis://127.0.0.1-6379-{'a' * 80}.example", "redis redis://a redis://b", "redis --against ${env:A}",
        "redis -c 8", "http http://h -R 100", "http http://h -X POST", "redis --connections ../../etc",
        "http http://h/@/etc", "saturate redis redis://a redis://b", "redis --against redis://h,redis://i",
    ],
)  # fmt: skip
def test_a_run_fills_a_form_with_numbers_levels_and_plain_addresses_alone(command: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    place = PageSettings(experiments=tmp_path, here=tmp_path)
    facts = ExperimentFacts("x", "x", "", "", (), (), (), None, (), "", "", as_published=False)
    with pytest.raises(UserError, match="start it from a terminal"):
        filled(Form(again(shlex.split(command), place)[1]), facts, {*OF_RUNS, *PARTS})


def test_a_password_is_given_again_at_its_own_place_alone() -> None:
    memory = Memory()
    given = of_quick(Form((("kind", "redis"), ("url", "redis://me:sesame123@h:1"))))
    (name,) = given.variables
    assert memory.with_variables(given).variables == given.variables
    assert memory.with_variables(CommandLine(given.words)).variables == given.variables
    part = CommandLine(("run", "x", "--server", f"redis=redis://me:${{env:{name}}}@h:1"))
    assert memory.with_variables(part).variables == given.variables
    memory.remember("start", given)
    memory.has_folder("start", "a-run")
    memory.has_folder("another", "a-stranger's")
    assert memory.given == {"a-run": given.variables}, "a run that goes on gets those of its own start"
    foreign = (
        *("redis://me:{}@evil:1", "redis://you:{}@h:1", "redis://evil/{}", "redis://evil?password={}"),
        *("redis://me:{}@evil:6379#@h:1", "redis://me:{}@evil/x@h:1", "rediss://me:{}@h:1", "redis://me:{}@h:1/0"),
        "redis://evil/{},redis://me:x@h:1",
    )
    for url in foreign:
        words = ("redis", url.format(f"${{env:{name}}}"))
        assert memory.with_variables(CommandLine(words)).variables == {}, words
    for beside in (["--against", foreign[0]], ["-H", "X: a=redis://me:{}@h:1"]):
        words = (*given.words, *(word.format(f"${{env:{name}}}") for word in beside))
        assert memory.with_variables(CommandLine(words)).variables == {}, "it stands at another place, too"


@pytest.mark.parametrize(
    "url", ["redis://:pass@h:1/0", "redis://me:p%40ss%2Fw@h:1,rediss://:other@i:2", "redis://me:un/esc@ped@h:1",
            "http://me:pässword@h/p?q=1", "redis+sentinel://:pass@a:1,b:2/main", "https://h/?password=sesame123&x=1",
            "mysql://u:geheim12@h/db?ssl=no"],
)  # fmt: skip
def test_a_password_of_a_url_goes_by_a_variable_and_arrives_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe, variables = without_secrets(url)
    assert variables
    assert not any(secret in safe or unquote(secret) in safe for secret in variables.values())
    assert set(references_in([safe])) == set(variables)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert unquote(resolve(safe)) == unquote(url)
    assert without_secrets(safe) == (safe, {})


def test_a_password_that_stays_in_a_word_is_refused() -> None:
    with pytest.raises(UserError, match="list of processes"):
        of(*SENT, ("further", "servers.redis.password=sesame123"))


@pytest.mark.parametrize(
    "fields",
    [
        [("further", "servers.redis.password=***")],
        [("further", "servers.redis.url=redis://u:***@h")],
        [("server.redis", "redis://***@h:1")],
        [("server.redis", "http://h/?token=***")],
    ],
)
def test_stars_in_the_place_of_a_password_are_no_password(fields: list[tuple[str, str]]) -> None:
    """A form that is shown again after a mistake has them; a run would log in with them."""
    with pytest.raises(UserError, match="stands in the place of a password"):
        of(*SENT, *fields)


@pytest.mark.parametrize(
    "field", ["trust", "set.other", "server.other", "server.--trust", "level.other", "out", "allow-any-command"]
)
def test_a_field_that_the_page_does_not_offer_is_refused(field: str) -> None:
    with pytest.raises(UserError, match="no such field"):
        of(*SENT, (field, "on"))
    with pytest.raises(UserError, match="no such field"):
        of_quick(Form((("kind", "redis"), (field, "on"))))


@pytest.mark.parametrize("url", ["--trust", "-h", "redis://a\nb"])
def test_an_address_is_never_an_option(url: str) -> None:
    with pytest.raises(UserError):
        of_quick(Form((("kind", "redis"), ("url", url))))


@pytest.mark.parametrize(
    ("address", "sent", "words"),
    [
        ("/experiments/json-documents/check", {"budget": "soon"}, ["run", "json-documents", "--budget", "soon"]),
        ("/quick/check", {"kind": "redis", "url": "127.0.0.1:6379"}, ["redis", "127.0.0.1:6379"]),
        ("/quick/check", {"kind": "redis", "connections": "many"}, ["redis", "--connections", "many"]),
    ],
)  # fmt: skip
def test_a_wrong_form_says_what_the_command_says(
    pages: Pages, address: str, sent: dict[str, str], words: list[str]
) -> None:
    field = list(sent)[-1]
    if "experiments" in address:
        form = pages.client.get(address.removesuffix("/check")).text
        sent = [*sent.items(), *levels_of(form)]  # type: ignore[assignment]
        told = pages.client.post(address, content=encoded(sent), headers=FORM).text  # type: ignore[arg-type]
    else:
        told = pages.client.post(address, data=sent).text
    printed = called(*words)
    assert printed.returncode == 2
    message = printed.stderr.strip().removeprefix("loadstone: ").partition(": ")[2]  # the option is the field's name
    assert f'data-field="{field}"' in told
    assert html.escape(message, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in told


@pytest.mark.parametrize(
    ("error", "field", "said"),
    [
        ("--budget soon: 'soon' is not a time", "budget", "'soon' is not a time"),
        ("--duration soon: 'soon' is not a time", "time", "'soon' is not a time"),
        ("--server redis=...: it begins with no scheme; write redis=redis://h:1", "server.redis",
         "it begins with no scheme; write redis://h:1"),
        ("--set workload.model.users: 'x' is not a number", "set.workload.model.users", "'x' is not a number"),
        ("--set a.b=1: no such setting", "further", "a.b=1: no such setting"),
        ("size: no level is chosen; choose one at least", "level.size", "no level is chosen; choose one at least"),
        ("URL 'h:1': it begins with no scheme", "url", "it begins with no scheme"),
        ("--fleet x: gone", "", "--fleet x: gone"),
        ("nothing of the kind", "", "nothing of the kind"),
    ],
)  # fmt: skip
def test_a_message_stands_at_its_field(error: str, field: str, said: str) -> None:
    fields = {"budget", "time", "url", "server.redis", "set.workload.model.users", "further", "level.size"}
    assert at_field(error, fields) == (field, said)


def test_a_gate_is_a_form(pages: Pages) -> None:
    assert 'name="base"' in pages.client.get("/gate").text
    assert 'href="/gate"' in pages.client.get("/").text
    assert of_gate(Form((("base", "redis"), ("head", "redis,hz=11"), ("budget", "60s"), ("path", "")))).words == (
        "gate", "--base", "redis", "--head", "redis,hz=11", "--budget", "60s",
    )  # fmt: skip
    told = html.unescape(pages.client.post("/gate/check", data={"base": "redis", "head": "redis,hz=11"}).text)
    assert "2 comparisons" in told
    assert "gate --base redis --head redis,hz=11" in told
    wrong = pages.client.post("/gate/start", data={"base": "redis", "head": ""})
    assert wrong.status_code == 400
    assert 'data-field="head"' in wrong.text


def test_what_a_quick_run_leaves_out_is_known_to_the_form(pages: Pages) -> None:
    form = pages.client.get("/experiments/json-documents").text
    measured = {}
    for quick in ([("quick", "on")], []):
        told = pages.client.post(
            "/experiments/json-documents/check", content=encoded([("sent", "1"), *quick, *levels_of(form)]),
            headers=FORM,
        ).text  # fmt: skip
        found = re.search(r'data-measured="([^"]*)"', told)
        assert found is not None
        measured[bool(quick)] = json.loads(html.unescape(found[1]))
    assert set(measured[True]) == set(measured[False]) >= {"operation", "payload", "workers", "storage"}
    assert set(measured[True]["pool"]) < set(measured[False]["pool"])


def test_the_form_shows_what_it_will_take_and_the_command(pages: Pages) -> None:
    form = pages.client.get("/experiments/json-documents").text
    told = pages.client.post(
        "/experiments/json-documents/check", content=encoded([("sent", "1"), ("quick", "on"), *levels_of(form)]),
        headers=FORM,
    ).text  # fmt: skip
    assert "54 of" in told or "conditions" in told
    assert "run json-documents --quick" in told
    assert "--only" not in told


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(12)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format: 1\nname: x\nquestion: why\nworklaod: {}\n", "mine.yaml:4: worklaod: unknown key"),
        (BOMB, "anchor"),
        ("[" * 50_000, "nest"),
        ("\0", "mine.yaml"),
        ("<script>alert(1)</script>: 1", "&lt;script&gt;"),
    ],
)
def test_a_text_is_checked_while_it_is_typed(pages: Pages, text: str, said: str) -> None:
    answer = pages.client.post("/edit/check", data={"name": "mine.yaml", "text": text})
    assert answer.status_code == 200
    assert said in answer.text
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize("name", ["../x.yaml", "x.txt", "/etc/x.yaml", ".x.yaml", "a/b.yaml", "", "x.yaml\0", "é.yaml"])
def test_a_file_is_written_in_the_folder_alone(pages: Pages, name: str) -> None:
    before = sorted(pages.experiments.parent.rglob("*.yaml"))
    answer = pages.client.post("/edit/save", data={"name": name, "text": "x: 1"})
    assert answer.status_code == 400
    assert sorted(pages.experiments.parent.rglob("*.yaml")) == before


def test_a_file_is_replaced_only_where_it_is_said_and_a_link_never_followed(pages: Pages) -> None:
    victim = pages.experiments.parent / "victim"
    victim.write_text("mine")
    (pages.experiments / "link.yaml").symlink_to(victim)
    assert pages.client.post("/edit/save", data={"name": "link.yaml", "text": "x"}).status_code == 400
    assert pages.client.get("/edit/link.yaml").status_code == 400
    assert pages.client.post("/edit/save", data={"name": "link.yaml", "text": "y", "over": "on"}).status_code == 303
    assert victim.read_text() == "mine"
    assert (pages.experiments / "link.yaml").read_text() == "y"


def test_what_is_no_form_is_refused(pages: Pages) -> None:
    for kind, body in (
        (FORM["content-type"], b"\xff=1"),
        ("application/json", b"{}"),
        (FORM["content-type"], b"a&" * 5000),
    ):
        assert pages.client.post("/quick/check", content=body, headers={"content-type": kind}).status_code == 400


def levels_of(form: str) -> list[tuple[str, str]]:
    """The levels that are checked in a form."""
    return [(html.unescape(name), html.unescape(value)) for name, value in CHECKED.findall(form)]


def encoded(fields: list[tuple[str, str]]) -> bytes:
    return urlencode(fields).encode()
