"""`loadstone clean`: removes what killed runs left on servers that are not loadstone's own, by their ledgers.

A ledger holds no password, and none is sent to where it points: what is known of a server beside its address comes from
`--server NAME=URL` alone, and goes to that URL alone.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from loadstone import registry
from loadstone.bounds.conversation import REMOVAL, conversation
from loadstone.deploy.control import Control
from loadstone.deploy.ledger import Made, Place, describe, describe_place
from loadstone.deploy.leftovers import remove_left
from loadstone.errors import LoadstoneError, UserError
from loadstone.language import _, in_language, said
from loadstone.record.ledger import Entries, RunLedger, goes_on, read_ledger, this_machine
from loadstone.record.run_files import LEDGER
from loadstone.runs import LATEST, RUNS, run_folder
from loadstone.secrecy.references import give_files, learn_environment, learn_options, resolve
from loadstone.terminal import printable

LEFT_STATUS = 3
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Given:
    """A server as `--server NAME=URL` names it."""

    place: Place
    url: str = field(repr=False)


def clean(
    run: str | None,
    servers: Sequence[str],
    say: Callable[[str], None],
    *,
    secret_files: Sequence[str] = (),
    dry_run: bool = False,
) -> int:
    """Clean up after one run, or all of ./runs; the exit status: 0, or 3 if something stays.

    `servers` are `NAME=URL`, with references to secrets (`secret_files`: `NAME=PATH`) as `loadstone run` takes them.
    `say` gets a line for each thing that was removed, and for each that stays, with the reason.

    Raises:
        UserError: there is no such run, or an option is none.
    """
    learn_environment()
    give_files(secret_files)
    learn_options(servers)
    given = [_given(text) for text in servers]
    folders = [_folder(run)] if run is not None else sorted(_ledgers(RUNS))
    ends = [_clean_run(folder, given, say, dry_run=dry_run) for folder in folders]
    if all(end == "nothing" for end in ends):
        say(_("nothing is left on any server"))
    return LEFT_STATUS if "stays" in ends else 0


def _clean_run(
    folder: Path, given: Sequence[Given], say: Callable[[str], None], *, dry_run: bool
) -> Literal["nothing", "removed", "stays"]:
    try:
        with closing(RunLedger(folder)) as ledger:
            earlier = ledger.earlier
            if earlier is None or not ledger.left():
                return "nothing"
            if goes_on(earlier):  # the lock is of the file, and this one is a copy
                say(
                    _(
                        "left: {folder}: its run goes on (process {pid}); wait for its end",
                        folder=printable(str(folder)),
                        pid=earlier.process[0],
                    )
                )
                return "stays"
            say(f"{printable(str(folder))}:")
            ends = [_CleanPlace(folder, ledger, place, say).run(given, dry_run=dry_run) for place in ledger.left()]
            return "removed" if all(ends) else "stays"
    except UserError as error:
        say(_("left: {what}", what=printable(in_language(str(error)))))
        return "stays"


@dataclass(frozen=True)
class _CleanPlace:
    """What one run left on one server."""

    folder: Path
    ledger: RunLedger
    place: Place
    say: Callable[[str], None]

    def run(self, given: Sequence[Given], *, dry_run: bool) -> bool:
        """Remove it; whether all of it is gone, or would be."""
        where = describe_place(self.place)
        try:
            url = self._url(given)
            things = self._unused()
            if dry_run:
                for thing in things:
                    self.say(_("  {where}: {thing}: would be removed", where=where, thing=describe(thing)))
                return len(things) == len(self._left())
            with conversation(REMOVAL), _control(self.place, url) as control:
                for outcome in remove_left(control, self.ledger.run_id, things):
                    text = printable(in_language(outcome.text))
                    left = _("  left: {where}: {what}", where=where, what=text)
                    self.say(left if outcome.left else f"  {where}: {text}")
                    if not outcome.left:
                        self.ledger.removed(self.place, outcome.thing)
        except LoadstoneError as error:
            self.say(f"  left: {where}: {', '.join(map(describe, self._left()))}: {printable(str(error))}")
        return not self._left()

    def _left(self) -> list[Made]:
        return self.ledger.left().get(self.place, [])

    def _url(self, given: Sequence[Given]) -> str:
        """How the server is reached: by the URL that the user gives, or by its address. Raises UserError if neither."""
        same_name = [server for server in given if server.place.server == self.place.server]
        known = next((server for server in same_name if server.place.is_at(self.place)), None)
        if known is not None:
            return known.url
        option = f"--server {printable(self.place.server)}"
        if same_name:
            raise UserError(
                said(
                    "{option}=... is {address}, another server or database",
                    option=option,
                    address=printable(same_name[0].place.address),
                )
            )
        if self.ledger.earlier is None or self.ledger.earlier.machine != this_machine():
            raise UserError(said("its run was on another machine; clean there, or add {option}=URL", option=option))
        if self.place.login:
            raise UserError(said("its login and TLS options are not kept; add {option}=URL", option=option))
        url = _plain_url(self.place.address)
        if _place(self.place.server, url) != self.place:
            raise UserError(
                said("this is no address that loadstone writes; add {option}=URL if it is yours", option=option)
            )
        return url

    def _unused(self) -> list[Made]:
        """What is left, but for what a run beside this one goes on to use."""
        running = [
            (beside.name, ledger)
            for beside in _ledgers(self.folder.resolve().parent)
            if beside.name != self.folder.resolve().name and (ledger := _running(beside)) is not None
        ]
        unused = []
        for thing in self._left():
            users = (name for name, ledger in running for p, t in ledger.open if t == thing and p.is_at(self.place))
            user = next(users, None)
            if user is None:
                unused.append(thing)
            else:
                self.say(
                    _(
                        "  left: {thing}: the run {name} goes on and uses it; wait for its end",
                        thing=describe(thing),
                        name=printable(user),
                    )
                )
        return unused


def _running(folder: Path) -> Entries | None:
    """The ledger of a run that goes on; None of any other."""
    try:
        ledger = read_ledger(folder)
    except UserError:
        return None
    return ledger if ledger is not None and goes_on(ledger) else None


def _control(place: Place, url: str) -> Control:
    kind = registry.software_by_url(url).url_kind
    return registry.server(place.server, {"kind": kind, "url": url}).control(TIMEOUT_S)


def _given(text: str) -> Given:
    name, equals, url = text.partition("=")
    if not equals or not name or not url:
        raise UserError(said("--server {equals}: write NAME=URL", equals=f"{name}=..." if equals else "..."))
    try:
        url = resolve(url)
        return Given(_place(name, url), url)
    except UserError as error:
        raise UserError(said("--server {name}=...: {error}", name=name, error=error)) from None


def _place(name: str, url: str) -> Place:
    """Where a URL leads. Raises UserError."""
    return registry.room(registry.software_by_url(url).name).place(name, url)


def _plain_url(address: str) -> str:
    scheme, _, rest = address.partition(":")
    if scheme != "unix":
        return address
    path, _, number = rest.rpartition("/")
    return f"unix://{quote(path)}?db={quote(number)}"


def _folder(word: str) -> Path:
    """The run's folder: a path, `latest`, or a name under ./runs. Raises UserError."""
    folder = run_folder(word)
    if word != LATEST and not folder.is_dir() and os.sep not in word:
        folder = RUNS / word
    if not folder.is_dir():
        raise UserError(
            said("{word}: there is no such folder; name a run's, or none for all of ./{runs}", word=word, runs=RUNS)
        )
    return folder


def _ledgers(root: Path) -> Iterator[Path]:
    return (path for path in root.glob("*") if os.path.lexists(path / LEDGER)) if root.is_dir() else iter(())
