"""The experiments that can be started: built-in ones and the user's own, each with a form of what it varies."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.pages import command_preview
from loadstone.addons.pages.command_lines import (
    OF_GATE,
    OF_QUICK,
    OF_RUNS,
    CommandLine,
    of_experiment,
    of_gate,
    of_quick,
)
from loadstone.addons.pages.experiment_facts import ExperimentFacts
from loadstone.addons.pages.field_errors import at_field
from loadstone.addons.pages.forms import Form, form_of
from loadstone.addons.pages.in_progress import in_progress
from loadstone.addons.pages.literal_secrets import ShownText, as_page_shows, has_mask, shown
from loadstone.addons.pages.own_files import own_files, own_path, read_own, text_there, version_of, write_own
from loadstone.addons.pages.page import page
from loadstone.addons.pages.run_again import allowed, filled
from loadstone.addons.pages.settings import PageSettings, as_typed, place_of
from loadstone.addons.pages.start_run import begin, describe
from loadstone.cli.init_command import TEMPLATE
from loadstone.experiment.spec.built_in import FOLDER, names, questions
from loadstone.run_folder.earlier_runs import RUNS
from loadstone.safety.errors import UserError
from loadstone.text.language import _, language, of_author
from loadstone.text.message import AnyText, said

Make = Callable[[ExperimentFacts | None], CommandLine]
"""Makes a command line, for an experiment of which these are the facts. Raises UserError."""


@dataclass(frozen=True)
class _FormRequest:
    """An experiment that a form is about."""

    address: str
    word: str
    """As the command line names it."""
    file: str = ""
    """The user's own file; empty for a built-in experiment."""


async def _list(request: Request) -> Response:
    place = place_of(request)
    if request.headers.get("sec-fetch-mode") == "navigate":  # somebody reads the list before they open a form
        await run_in_threadpool(place.memory.apart.load)
    return page(
        request,
        "experiments.html",
        built_in=[(name, of_author(question)) for name, question in questions()],
        own=await run_in_threadpool(own_files, place.experiments),
        folder=place.experiments,
        measuring=await run_in_threadpool(in_progress, place),
        form=Form(()),
        told=None,
        error="",
        field="",
    )


async def _form(request: Request) -> Response:
    asked, is_saved = _asked(request), _is_saved(request)
    try:
        found = await _facts(request, asked)
    except UserError:
        if asked.file and is_saved:  # the editor says what is wrong with it, and that it is kept
            return _to_editor(asked.file)
        raise
    form = Form(())
    if request.query_params.get("again"):
        form = filled(Form(allowed(request.query_params.multi_items())), found, fields_of(found))
    return _form_page(request, asked, found, form, is_saved=is_saved)


def _form_page(
    request: Request,
    asked: _FormRequest,
    found: ExperimentFacts,
    form: Form,
    error: AnyText = "",
    *,
    is_saved: bool = False,
) -> Response:
    return page(
        request, "experiment.html", 200 if not error else 400, asked=asked, facts=found, form=form, told=None,
        filled=bool(form.all("sent")), saved=asked.file if is_saved else "",
        **_wrong(error, fields_of(found)),
    )  # fmt: skip


async def _check(request: Request) -> Response:
    """What a form would do now, as a part of its page."""
    form = await form_of(request)
    asked = _asked(request)
    return await _told(request, lambda found: _command(request, asked, found, form), asked)


async def _facts(request: Request, asked: _FormRequest) -> ExperimentFacts:
    """What the form of an experiment is made from; a built-in one is read once. Raises UserError."""
    kept, key = place_of(request).memory.facts, (asked.word, language())
    found = kept.get(key)
    if found is None:
        found = await place_of(request).memory.apart.call(command_preview.facts, asked.word)
    if not asked.file:
        kept[key] = found
    return found


def _wrong(error: AnyText, fields: Collection[str]) -> dict[str, str]:
    field, text = at_field(error, fields) if error else ("", "")
    return {"error": text, "field": field}


def fields_of(found: ExperimentFacts) -> set[str]:
    """The names of the fields of an experiment's form."""
    settings = [*found.settings, *([found.users] if found.users else [])]
    parts = [*(f"server.{one.name}" for one in found.servers), *(f"subject.{one.name}" for one in found.subjects)]
    return {*OF_RUNS, *parts, *(f"set.{one.path}" for one in settings), *(f"level.{one.name}" for one in found.factors)}


async def _start(request: Request) -> Response:
    form = await form_of(request)
    asked = _asked(request)
    found = await _facts(request, asked)
    try:
        return await begin(request, _command(request, asked, found, form))
    except UserError as error:
        return _form_page(request, asked, found, form, error.message)


async def _told(request: Request, make: Make, asked: _FormRequest | None, fields: Collection[str] = ()) -> Response:
    """What a command line would do, or what is wrong with it."""
    place = place_of(request)
    try:
        found = None if asked is None else await _facts(request, asked)
        fields = fields if found is None else fields_of(found)
        command = make(found)
        return page(request, "told.html", command=command, told=await describe(place, command), error="", field="")
    except UserError as error:
        return page(request, "told.html", 200, command=None, told=None, **_wrong(error.message, fields))


def _command(request: Request, asked: _FormRequest, found: ExperimentFacts | None, form: Form) -> CommandLine:
    """Raises UserError."""
    assert found is not None
    place = place_of(request)
    factors = {one.name: [level.text for level in one.levels] for one in found.factors}
    usual = {one.name: [level.text for level in one.levels if level.on] for one in found.factors}
    settings = [*found.settings, *([found.users] if found.users else [])]
    values = {one.path: one.value for one in settings}
    parts = [f"server.{one.name}" for one in found.servers] + [f"subject.{one.name}" for one in found.subjects]
    made = of_experiment(asked.word, form, factors, usual, values, parts)
    return _placed(place, made)


def _placed(place: PageSettings, command: CommandLine, *, always: bool = False) -> CommandLine:
    """The command with its passwords, and with the folder of the runs where it would take another one."""
    if always or place.runs != place.here / RUNS:
        command = command.adding("--out", as_typed(place.runs, place.here))
    return place.memory.with_variables(command)


def _asked(request: Request) -> _FormRequest:
    """Raises HTTPException."""
    place, name = place_of(request), request.path_params["name"]
    if request.url.path.startswith("/own/"):
        path = own_path(place.experiments, name)
        word = as_typed(path, place.here)
        return _FormRequest(f"/own/{name}", word if word.startswith("/") else f"./{word}", name)
    if name not in names():
        raise HTTPException(404, _("There is no experiment of this name here."))
    return _FormRequest(f"/experiments/{name}", name)


@dataclass(frozen=True)
class _CommandForm:
    """A page with the form of one command."""

    template: str
    fields: Sequence[str]
    make: Callable[[Form], CommandLine]

    def command(self, request: Request, form: Form) -> CommandLine:
        """Raises UserError."""
        made = self.make(form)
        return _placed(place_of(request), made, always=made.words[0] != "saturate")

    async def page(self, request: Request) -> Response:
        """The form, empty or as a run was started."""
        given = [(name, value) for name, value in request.query_params.multi_items() if name in self.fields]
        return self._page(request, Form(allowed(given)))

    async def check(self, request: Request) -> Response:
        """What it would do now, as a part of its page."""
        form = await form_of(request)
        return await _told(request, lambda _: self.command(request, form), None, self.fields)

    async def start(self, request: Request) -> Response:
        """Start what it says."""
        form = await form_of(request)
        try:
            return await begin(request, self.command(request, form))
        except UserError as error:
            return self._page(request, form, error.message)

    def _page(self, request: Request, form: Form, error: AnyText = "") -> Response:
        wrong = _wrong(error, self.fields)
        return page(request, self.template, 400 if error else 200, form=form, told=None, **wrong)

    def routes(self, address: str) -> tuple[Route, ...]:
        """Its pages below an address."""
        return (
            Route(address, self.page),
            Route(f"{address}/check", self.check, methods=["POST"]),
            Route(f"{address}/start", self.start, methods=["POST"]),
        )


QUICK = _CommandForm("quick.html", OF_QUICK, of_quick)
GATE = _CommandForm("gate.html", OF_GATE, of_gate)


async def _edit(request: Request) -> Response:
    """The text of an experiment: of a file of the user's, or of a built-in one to start from."""
    place, copied = place_of(request), request.query_params.get("copy", "")
    name = request.path_params.get("name", "")
    if name:
        text = read_own(place.experiments, name)
        whole = await _shown(place, text)
        version = version_of(text) if whole.whole else ""
        return _editor(request, name, whole, is_new=False, version=version, locked=not whole.whole)
    if copied in names():
        name, text = f"my-{copied}.yaml", (FOLDER / f"{copied}.yaml").read_text(encoding="utf-8")
    else:
        name, text = "experiment.yaml", TEMPLATE.read_text(encoding="utf-8")
    return _editor(request, name, ShownText(text, whole=True), is_new=True)


async def _shown(place: PageSettings, text: str) -> ShownText:
    """The text of an experiment as a page shows it: passwords that forms gave are known in this process alone."""
    found, here = await place.memory.apart.call(shown, text), as_page_shows(text)
    return ShownText(as_page_shows(found.text), found.whole and here == text)


def _editor(
    request: Request,
    name: str,
    text: ShownText,
    *,
    is_new: bool,
    error: AnyText = "",
    version: str = "",
    locked: bool = False,
) -> Response:
    """The editor; `locked`: a secret stands in the file, so it is shown without it and cannot be saved from here."""
    return page(
        request,
        "edit.html",
        400 if error else 200,
        name=name,
        text=text.text,
        is_new=is_new,
        error=error,
        locked=_literal(name) if locked else "",
        opened=version,
        saved=name if _is_saved(request) else "",
    )


def _literal(name: str) -> AnyText:
    return said(
        "{name}: a password stands in it as it is, so it is shown without it and can only be read here; write "
        "${{env:NAME}} in its place with an editor of yours, and start `loadstone serve` with this variable",
        name=name,
    )


def _is_saved(request: Request) -> bool:
    """Whether the page comes behind one that saved."""
    return request.query_params.get("saved") == "1"


def _to_editor(name: str) -> Response:
    return RedirectResponse(f"/edit/{name}?saved=1", 303)


async def _edit_check(request: Request) -> Response:
    form = await form_of(request)
    name, place = form.one("name") or "experiment.yaml", place_of(request)
    label = as_typed(place.experiments / name, place.here)
    error = await place.memory.apart.call(command_preview.checked, form.raw("text").replace("\r\n", "\n"), label)
    return page(request, "checked.html", error=error, line=command_preview.line_of(error))


async def _edit_save(request: Request) -> Response:
    """Keeps the text in the folder of experiments, also one that is wrong: it is the user's.

    Not one that a page cannot show whole, neither what comes nor what is there: stars would be written over a password.
    """
    form = await form_of(request)
    place, name = place_of(request), form.one("name")
    text = form.raw("text").replace("\r\n", "\n")
    whole = await _shown(place, text)
    try:
        over = form.one("over") == "on"
        await _require_no_secret(place, name, text, whole)
        await _require_shown(place, name, form.one("version"), over=over)
        await run_in_threadpool(write_own, place.experiments, name, text, over=over)
    except UserError as error:
        return _editor(request, name, whole, is_new=True, error=error.message)
    return _to_editor(name) if form.one("then") == "edit" else RedirectResponse(f"/own/{name}?saved=1", 303)


async def _require_no_secret(place: PageSettings, name: str, text: str, whole: ShownText) -> None:
    """Raises UserError where what was sent holds a password, or what a page shows in its place."""
    if not whole.whole or await place.memory.apart.call(has_mask, text):
        raise UserError(
            "{name}: a password stands in it, or *** in the place of one; write ${{env:NAME}} there, and start "
            "`loadstone serve` with this variable",
            name=name[:80],
        )


async def _require_shown(place: PageSettings, name: str, version: str, *, over: bool) -> None:
    """Raises UserError where saving would destroy what no page showed: a password, or a change made elsewhere."""
    there = await run_in_threadpool(text_there, place.experiments, name) if over else None
    if there is None:
        return
    if not (await _shown(place, there)).whole:
        raise UserError("{name}: a password stands in this file as it is; save it by another name", name=name)
    if version and version != version_of(there):
        raise UserError("{name}: it changed since it was opened here; save it by another name, or over it", name=name)


routes = (
    Route("/", _list),
    Route("/experiments/{name}", _form),
    Route("/experiments/{name}/check", _check, methods=["POST"]),
    Route("/experiments/{name}/start", _start, methods=["POST"]),
    Route("/own/{name}", _form),
    Route("/own/{name}/check", _check, methods=["POST"]),
    Route("/own/{name}/start", _start, methods=["POST"]),
    *QUICK.routes("/quick"),
    *GATE.routes("/gate"),
    Route("/edit", _edit),
    Route("/edit/check", _edit_check, methods=["POST"]),
    Route("/edit/save", _edit_save, methods=["POST"]),
    Route("/edit/{name}", _edit),
)
